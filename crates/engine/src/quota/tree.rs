//! Shape of the forest: nodes come, go and move; the sums above them follow.

use kueue_core::amount::Amount;

use super::{Cell, Node, Quota, Quotas};
use crate::id::{Name, NodeId, PoolId, QueueId};

impl Quotas {
    /// A new ClusterQueue that stands alone and has no quota yet.
    pub(crate) fn add_queue(&mut self, name: &Name) -> NodeId {
        self.nodes.insert(Node::new(name.clone()))
    }

    /// Says which ClusterQueue the node is, before it gets its place.
    pub(crate) fn set_queue_id(&mut self, node: NodeId, queue: QueueId) {
        self.nodes[node].queue = Some(queue);
        self.nodes[node].is_explicit = true;
    }

    /// Whether there ever was a cycle; without one nothing but a node itself has to be looked at again.
    pub(crate) fn has_seen_cycle(&self) -> bool {
        self.has_seen_cycle
    }

    /// A ClusterQueue that admits nothing does not make its cohorts taller.
    pub(crate) fn set_active(&mut self, node: NodeId, is_active: bool) {
        self.nodes[node].is_active = is_active;
        if !self.nodes[node].is_in_cycle {
            let above: Vec<NodeId> = self.ancestors(node).collect();
            for ancestor in above {
                self.nodes[ancestor].height = self.height_of(ancestor);
            }
        }
    }

    pub(super) fn height_of(&self, node: NodeId) -> u32 {
        let here = &self.nodes[node];
        let has_queues = here.child_queues.iter().any(|queue| self.nodes[*queue].is_active);
        let above_cohorts = here.child_cohorts.iter().map(|cohort| self.nodes[*cohort].height + 1).max();
        above_cohorts.unwrap_or(0).max(u32::from(has_queues))
    }

    /// Takes the ClusterQueue out of the forest.
    pub(crate) fn remove_queue(&mut self, node: NodeId) {
        let parent = self.detach(node);
        self.nodes.remove(node);
        if let Some(parent) = parent {
            self.rebuild_or_drop(parent);
        }
    }

    /// Gives the ClusterQueue its quotas and its cohort; says whether anything changed.
    pub(crate) fn set_queue(&mut self, node: NodeId, quotas: Vec<(PoolId, Quota)>, cohort: Option<&Name>) -> bool {
        let same_parent = self.nodes[node].parent.map(|parent| &self.nodes[parent].name) == cohort;
        if same_parent && self.nodes[node].quotas == quotas {
            return false;
        }
        self.nodes[node].quotas = quotas;
        self.move_below(node, cohort);
        true
    }

    /// A Cohort object appeared or changed.
    pub(crate) fn set_cohort(&mut self, name: &Name, quotas: Vec<(PoolId, Quota)>, weight: f64, parent: Option<&Name>) {
        let node = self.cohort_or_new(name);
        let here = &mut self.nodes[node];
        here.is_explicit = true;
        here.quotas = quotas;
        here.weight = weight;
        self.move_below(node, parent);
    }

    /// The Cohort object is gone: with children it stays as a bare name.
    pub(crate) fn remove_cohort(&mut self, name: &Name) {
        let Some(node) = self.cohort(name) else { return };
        let here = &mut self.nodes[node];
        here.is_explicit = false;
        here.quotas.clear();
        here.weight = 0.0;
        let parent = self.detach(node);
        if let Some(parent) = parent {
            self.rebuild_or_drop(parent);
        }
        // In a cycle the way up led back here, and it went with the others.
        if self.cohort(name) == Some(node) {
            self.rebuild_or_drop(node);
        }
    }

    pub(crate) fn set_weight(&mut self, node: NodeId, weight: f64) {
        self.nodes[node].weight = weight;
    }

    /// Says that capacity may have come free at the ClusterQueue.
    pub(crate) fn bump_generation(&mut self, node: NodeId) {
        self.nodes[node].generation += 1;
    }

    fn cohort_or_new(&mut self, name: &Name) -> NodeId {
        if let Some(node) = self.cohort(name) {
            return node;
        }
        let node = self.nodes.insert(Node::new(name.clone()));
        self.cohorts.insert(name.clone(), node);
        node
    }

    fn move_below(&mut self, node: NodeId, parent: Option<&Name>) {
        let old = self.detach(node);
        if let Some(parent) = parent {
            let parent = self.cohort_or_new(parent);
            self.attach(node, parent);
        }
        if let Some(old) = old
            && self.nodes[node].parent != Some(old)
        {
            self.rebuild_or_drop(old);
        }
        self.rebuild(node);
    }

    fn attach(&mut self, node: NodeId, parent: NodeId) {
        self.nodes[node].parent = Some(parent);
        let mut siblings = std::mem::take(self.siblings(node, parent));
        let slot = siblings.partition_point(|other| self.nodes[*other].name < self.nodes[node].name);
        siblings.insert(slot, node);
        *self.siblings(node, parent) = siblings;
    }

    fn detach(&mut self, node: NodeId) -> Option<NodeId> {
        let parent = self.nodes[node].parent.take()?;
        self.siblings(node, parent).retain(|other| *other != node);
        Some(parent)
    }

    fn siblings(&mut self, node: NodeId, parent: NodeId) -> &mut Vec<NodeId> {
        let is_queue = self.nodes[node].queue.is_some();
        let parent = &mut self.nodes[parent];
        if is_queue { &mut parent.child_queues } else { &mut parent.child_cohorts }
    }

    fn rebuild_or_drop(&mut self, cohort: NodeId) {
        let here = &self.nodes[cohort];
        if here.is_explicit || !here.child_cohorts.is_empty() || !here.child_queues.is_empty() {
            self.rebuild(cohort);
            return;
        }
        let parent = self.detach(cohort);
        let gone = self.nodes.remove(cohort);
        self.cohorts.remove(&gone.name);
        if let Some(parent) = parent {
            self.rebuild_or_drop(parent);
        }
    }

    /// Computes everything that is derived, for the whole tree of `node`.
    pub(super) fn rebuild(&mut self, node: NodeId) {
        match self.find_top(node) {
            Ok(root) => self.rebuild_below(root, false),
            Err(in_cycle) => self.rebuild_cycle(in_cycle),
        }
    }

    /// The root of the tree, or a node of the cycle that the way up ends in.
    pub(super) fn find_top(&self, node: NodeId) -> Result<NodeId, NodeId> {
        let mut slow = node;
        let mut fast = node;
        loop {
            for _ in 0..2 {
                match self.nodes[fast].parent {
                    Some(parent) => fast = parent,
                    None => return Ok(fast),
                }
            }
            slow = self.nodes[slow].parent.expect("the faster walk came by here");
            if slow == fast {
                return Err(slow);
            }
        }
    }

    fn rebuild_cycle(&mut self, first: NodeId) {
        self.has_seen_cycle = true;
        let mut members = vec![first];
        let mut next = self.nodes[first].parent.expect("a member of a cycle has a parent");
        while next != first {
            members.push(next);
            next = self.nodes[next].parent.expect("a member of a cycle has a parent");
        }
        for member in &members {
            self.nodes[*member].is_in_cycle = true;
            self.nodes[*member].height = 1;
            let here = &self.nodes[*member];
            let below: Vec<NodeId> = here.child_cohorts.iter().chain(&here.child_queues).copied().collect();
            for child in below {
                if !members.contains(&child) {
                    self.rebuild_below(child, true);
                }
            }
        }
    }

    fn rebuild_below(&mut self, node: NodeId, is_in_cycle: bool) {
        let below = {
            let here = &self.nodes[node];
            here.child_cohorts.iter().chain(&here.child_queues).copied().collect::<Vec<_>>()
        };
        for child in &below {
            self.rebuild_below(*child, is_in_cycle);
        }
        let cells = self.sum_cells(node, &below);
        let height = self.height_of(node);
        let here = &mut self.nodes[node];
        here.cells = cells;
        here.height = height;
        here.is_in_cycle = is_in_cycle;
        here.generation += 1;
    }

    pub(super) fn sum_cells(&self, node: NodeId, below: &[NodeId]) -> Vec<Cell> {
        let here = &self.nodes[node];
        let mut cells: Vec<Cell> = Vec::with_capacity(here.quotas.len());
        let own_usage = here.cells.iter().filter(|cell| here.queue.is_some() && cell.usage != Amount::ZERO);
        for cell in own_usage {
            at(&mut cells, cell.pool).usage = cell.usage;
        }
        for (pool, quota) in &here.quotas {
            let cell = at(&mut cells, *pool);
            cell.quota = *quota;
            cell.subtree = quota.nominal;
            cell.is_named = true;
        }
        for child in below {
            for from in &self.nodes[*child].cells {
                let cell = at(&mut cells, from.pool);
                cell.subtree = cell.subtree.plus(from.subtree.minus(from.local_quota()));
                cell.usage = cell.usage.plus(from.used_in_parent());
                cell.is_named |= from.is_named;
            }
        }
        cells
    }
}

fn at(cells: &mut Vec<Cell>, pool: PoolId) -> &mut Cell {
    let slot = cells.binary_search_by_key(&pool, |cell| cell.pool).unwrap_or_else(|slot| {
        cells.insert(slot, Cell::empty(pool));
        slot
    });
    &mut cells[slot]
}

impl Node {
    fn new(name: Name) -> Self {
        Self {
            name,
            queue: None,
            is_explicit: false,
            is_active: false,
            parent: None,
            child_cohorts: Vec::new(),
            child_queues: Vec::new(),
            quotas: Vec::new(),
            cells: Vec::new(),
            height: 0,
            // A cohort that is only referred to is always a root, where no weight is ever asked for.
            weight: 0.0,
            is_in_cycle: false,
            generation: 0,
        }
    }
}
