//! What there is on every node, and who uses it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::node::{Node, SharedNames};
use super::tree::{Leaf, Tree};
use super::{DomainShare, HOSTNAME, NodeSpec, PlainPodSpec, TopologyAssignment};
use crate::effect::Key;
use crate::id::{FlavorId, Name, ResourceId};
use crate::names::Names;
use crate::placement::FlavorNodes;

/// More than any domain has. Who claims to use more is counted with this much, so that sums of nonsense stay exact and
/// what others use is still known when it is gone.
const LARGEST: i64 = i64::MAX / 4096;

/// All nodes, the trees of all flavors over them, and what is used where.
///
/// Changed in place. While a [`Mark`] is open the old values are logged and come back when it is closed.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    columns: Columns,
    nodes: FxHashMap<Name, Arc<Node>>,
    shared_names: SharedNames,
    /// What plain pods use, by node, whether or not the node is known.
    plain: FxHashMap<Name, Vec<i64>>,
    pods: FxHashMap<Key, (Name, Vec<(usize, i64)>)>,
    trees: BTreeMap<FlavorId, Tree>,
    /// Usage by lowest domain: one for all trees whose lowest domains are nodes, else one per flavor.
    spaces: Vec<Space>,
    space_ids: FxHashMap<Option<FlavorId>, usize>,
    space_of: FxHashMap<FlavorId, usize>,
    log: Vec<Logged>,
    open_marks: usize,
}

/// A place for each resource that some node has, in vectors of amounts.
#[derive(Debug, Default)]
struct Columns {
    places: FxHashMap<ResourceId, usize>,
}

/// Usage by lowest domain, whether or not it has nodes at present.
#[derive(Debug, Default)]
pub(super) struct Space {
    cells: FxHashMap<Name, u32>,
    used: Vec<Vec<i64>>,
    /// What the pod sets of one workload take of each other, while places are looked for.
    assumed: FxHashMap<u32, Vec<i64>>,
}

#[derive(Debug)]
struct Logged {
    space: usize,
    cell: u32,
    column: usize,
    used: i64,
}

/// What pods use in one lowest domain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Occupied {
    space: usize,
    cell: u32,
    amounts: Vec<(usize, i64)>,
}

/// A point to return to.
#[derive(Debug)]
#[must_use = "a mark that is not closed keeps the log growing"]
pub(crate) struct Mark(usize);

/// What one pod needs of a resource, and where nodes keep it.
#[derive(Clone, Debug)]
pub(super) struct Need {
    pub(super) resource: ResourceId,
    pub(super) column: Option<usize>,
    pub(super) amount: i64,
}

/// What is left in the lowest domains of a tree.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    columns: &'a Columns,
    space: &'a Space,
}

impl Columns {
    fn column(&mut self, resource: ResourceId) -> usize {
        let next = self.places.len();
        *self.places.entry(resource).or_insert(next)
    }

    fn named(&self, amounts: &[i64]) -> Amounts {
        let mut named: Amounts =
            self.places.iter().map(|(resource, column)| (*resource, at(amounts, *column))).collect();
        named.retain(|(_, amount)| *amount != 0);
        named.sort_unstable_by_key(|(resource, _)| *resource);
        named
    }

    fn amounts(&mut self, amounts: &[(Name, i64)], names: &mut Names) -> Vec<(usize, i64)> {
        amounts.iter().map(|(name, amount)| (self.column(names.resource_id(name)), *amount)).collect()
    }
}

/// What there is of each resource; none of it where there is nothing.
pub(crate) type Amounts = Vec<(ResourceId, i64)>;

fn add(amounts: &mut Vec<i64>, column: usize, amount: i64) {
    if amounts.len() <= column {
        amounts.resize(column + 1, 0);
    }
    amounts[column] = amounts[column].saturating_add(amount);
}

fn at(amounts: &[i64], column: usize) -> i64 {
    amounts.get(column).copied().unwrap_or_default()
}

impl Space {
    fn cell(&mut self, id: &Name) -> u32 {
        if let Some(cell) = self.cells.get(id) {
            return *cell;
        }
        let cell = u32::try_from(self.used.len()).expect("fewer than 2^32 domains");
        self.used.push(Vec::new());
        self.cells.insert(id.clone(), cell);
        cell
    }
}

impl Room<'_> {
    pub(super) fn needs(&self, requests: &[(ResourceId, i64)]) -> Vec<Need> {
        let need = |(resource, amount): &(ResourceId, i64)| Need {
            resource: *resource,
            column: self.columns.places.get(resource).copied(),
            amount: *amount,
        };
        requests.iter().map(need).collect()
    }

    /// How many resources are known.
    pub(super) fn resources(&self) -> usize {
        self.columns.places.len()
    }

    pub(super) fn left(&self, leaf: &Leaf, column: usize, is_empty: bool) -> i64 {
        let mut left = at(&leaf.free, column);
        if !is_empty {
            left = left.saturating_sub(at(&self.space.used[leaf.cell as usize], column));
        }
        if let Some(assumed) = self.space.assumed.get(&leaf.cell) {
            left = left.saturating_sub(at(assumed, column));
        }
        left
    }
}

impl Sites {
    pub(crate) fn tree(&self, flavor: FlavorId) -> Option<&Tree> {
        self.trees.get(&flavor)
    }

    /// A flavor stands for nodes of a topology. What workloads use there has to be told again afterwards.
    pub(crate) fn set_flavor(
        &mut self,
        flavor: FlavorId,
        nodes: &FlavorNodes,
        topology: &Name,
        levels: &[Name],
        shares_nodes: bool,
    ) {
        let mut tree = Tree::new(topology.clone(), levels.to_vec(), nodes.labels.clone(), nodes.tolerations.clone());
        let owner = if shares_nodes && tree.is_by_host() { None } else { Some(flavor) };
        let next = self.spaces.len();
        let space = *self.space_ids.entry(owner).or_insert(next);
        if space == next {
            self.spaces.push(Space::default());
        }
        self.space_of.insert(flavor, space);
        let mut leaves: BTreeMap<Name, ()> = BTreeMap::new();
        for node in self.nodes.values() {
            if let Some(leaf) = tree.leaf_id_of(node) {
                tree.join(&leaf, &node.name);
                leaves.insert(leaf, ());
            }
        }
        self.trees.insert(flavor, tree);
        for leaf in leaves.keys() {
            self.rebuild_leaf(flavor, leaf);
        }
    }

    pub(crate) fn remove_flavor(&mut self, flavor: FlavorId) {
        self.trees.remove(&flavor);
        self.space_of.remove(&flavor);
    }

    /// Says whether anything about the node matters that was not so before.
    pub(crate) fn set_node(&mut self, mut spec: NodeSpec, names: &mut Names) -> bool {
        let mut allocatable = Vec::new();
        for (column, amount) in self.columns.amounts(&std::mem::take(&mut spec.allocatable), names) {
            add(&mut allocatable, column, amount);
        }
        let new = Node::new(spec, allocatable, &mut self.shared_names);
        if self.nodes.get(&new.name).is_some_and(|known| **known == new) {
            return false;
        }
        self.replace_node(&new.name.clone(), Some(&Arc::new(new)));
        true
    }

    pub(crate) fn remove_node(&mut self, name: &Name) -> bool {
        self.nodes.contains_key(name) && {
            self.replace_node(name, None);
            true
        }
    }

    /// The flavors that stand for a node as it is now.
    pub(crate) fn flavors_of(&self, node: &str) -> BTreeSet<FlavorId> {
        let Some(node) = self.nodes.get(node) else { return BTreeSet::new() };
        let stands_for = |tree: &Tree| tree.stands_for(node);
        self.trees.iter().filter(|(_, tree)| stands_for(tree)).map(|(flavor, _)| *flavor).collect()
    }

    pub(crate) fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name).map(|node| &**node)
    }

    fn replace_node(&mut self, name: &Name, new: Option<&Arc<Node>>) {
        let old = match new {
            Some(new) => self.nodes.insert(name.clone(), new.clone()),
            None => self.nodes.remove(name),
        };
        let flavors: Vec<FlavorId> = self.trees.keys().copied().collect();
        for flavor in flavors {
            let Some(tree) = self.trees.get_mut(&flavor) else { continue };
            let was = old.as_ref().and_then(|old| tree.leaf_id_of(old));
            let is = new.and_then(|new| tree.leaf_id_of(new));
            if let Some(leaf) = &was {
                tree.leave(leaf, name);
            }
            if let Some(leaf) = &is {
                tree.join(leaf, name);
            }
            for leaf in was.iter().filter(|was| is.as_ref() != Some(*was)).chain(&is) {
                self.rebuild_leaf(flavor, leaf);
            }
        }
    }

    /// A plain pod runs on a node. Says which node it freed, if it did: the one it was on, or where it needs less now.
    pub(crate) fn set_pod(&mut self, spec: &PlainPodSpec, names: &mut Names) -> Option<Name> {
        let key = Key { namespace: spec.namespace.clone(), name: spec.name.clone() };
        let mut amounts = self.columns.amounts(&spec.requests, names);
        amounts.push((self.columns.column(names.pods()), 1));
        let old = self.take_pod(&key);
        self.use_plainly(&spec.node, &amounts, 1);
        let freed = old.filter(|(node, old)| {
            let now = |column| amounts.iter().find(|(known, _)| known == column).map_or(0, |(_, amount)| *amount);
            *node != spec.node || old.iter().any(|(column, amount)| *amount > now(column))
        });
        self.pods.insert(key, (spec.node.clone(), amounts));
        freed.map(|(node, _)| node)
    }

    /// Says on which node it was.
    pub(crate) fn remove_pod(&mut self, key: &Key) -> Option<Name> {
        self.take_pod(key).map(|(node, _)| node)
    }

    fn take_pod(&mut self, key: &Key) -> Option<(Name, Vec<(usize, i64)>)> {
        let (node, amounts) = self.pods.remove(key)?;
        self.use_plainly(&node, &amounts, -1);
        Some((node, amounts))
    }

    fn use_plainly(&mut self, node: &Name, amounts: &[(usize, i64)], sign: i64) {
        let used = self.plain.entry(node.clone()).or_default();
        for (column, amount) in amounts {
            add(used, *column, amount.saturating_mul(sign));
        }
        if used.iter().all(|amount| *amount == 0) {
            self.plain.remove(node);
        }
        let Some(node) = self.nodes.get(node).cloned() else { return };
        let flavors: Vec<FlavorId> = self.trees.keys().copied().collect();
        for flavor in flavors {
            if let Some(leaf) = self.trees.get(&flavor).and_then(|tree| tree.leaf_id_of(&node)) {
                self.rebuild_leaf(flavor, &leaf);
            }
        }
    }

    /// Sums up the nodes of a lowest domain.
    fn rebuild_leaf(&mut self, flavor: FlavorId, id: &Name) {
        let Self { trees, nodes, plain, spaces, space_of, .. } = self;
        let Some(tree) = trees.get_mut(&flavor) else { return };
        let mut free: Vec<i64> = Vec::new();
        let mut first: Option<Arc<Node>> = None;
        for node in tree.nodes_in(id).filter_map(|name| nodes.get(name)) {
            first.get_or_insert_with(|| node.clone());
            for (column, amount) in node.allocatable.iter().enumerate() {
                add(&mut free, column, *amount);
            }
            for (column, amount) in plain.get(&node.name).into_iter().flatten().enumerate() {
                add(&mut free, column, amount.saturating_neg());
            }
        }
        match first {
            Some(node) => {
                let cell = spaces[space_of[&flavor]].cell(id);
                tree.set_leaf(id, Leaf { cell, free: free.into(), node });
            }
            None => tree.remove_leaf(id),
        }
    }

    /// What pods use that are placed like this. Nothing where the flavor has no topology that is known.
    pub(crate) fn occupied(
        &mut self,
        flavor: FlavorId,
        placed: &TopologyAssignment,
        requests: &[(ResourceId, i64)],
    ) -> Vec<Occupied> {
        let Some(space) = self.space_of.get(&flavor).copied() else { return Vec::new() };
        let amounts = |columns: &mut Columns, count: i32| {
            let scaled = |(resource, amount): &(ResourceId, i64)| {
                let all = amount.saturating_mul(i64::from(count.max(0)));
                (columns.column(*resource), all.min(LARGEST))
            };
            requests.iter().map(scaled).collect()
        };
        let Self { columns, spaces, trees, nodes, .. } = self;
        let tree = trees.get(&flavor);
        let is_by_host = |levels: &[Name]| levels.last().is_some_and(|level| **level == *HOSTNAME);
        // Placed by nodes that are not told apart any more, since the topology is another one.
        let is_wider = is_by_host(&placed.levels) && tree.is_some_and(|tree| !tree.is_by_host());
        let id = |share: &DomainShare| {
            let node = share.values.last().filter(|_| is_wider).and_then(|node| nodes.get(node));
            node.and_then(|node| tree?.leaf_id_of(node)).unwrap_or_else(|| share.id())
        };
        let domain = |share: &DomainShare| Occupied {
            space,
            cell: spaces[space].cell(&id(share)),
            amounts: amounts(columns, share.count),
        };
        placed.domains.iter().map(domain).collect()
    }

    pub(crate) fn add(&mut self, occupied: &Occupied) {
        self.change(occupied, 1);
    }

    pub(crate) fn remove(&mut self, occupied: &Occupied) {
        self.change(occupied, -1);
    }

    fn change(&mut self, occupied: &Occupied, sign: i64) {
        let Occupied { space, cell, amounts } = occupied;
        for (column, amount) in amounts {
            let used = &mut self.spaces[*space].used[*cell as usize];
            if self.open_marks > 0 {
                self.log.push(Logged { space: *space, cell: *cell, column: *column, used: at(used, *column) });
            }
            add(used, *column, amount.saturating_mul(sign));
        }
        self.touch(*space, *cell);
    }

    fn touch(&mut self, space: usize, cell: u32) {
        for (flavor, tree) in &mut self.trees {
            if self.space_of.get(flavor) == Some(&space)
                && let Some(leaf) = tree.leaf_at(cell)
            {
                tree.censuses.touch(leaf);
            }
        }
    }

    pub(crate) fn open_mark(&mut self) -> Mark {
        self.open_marks += 1;
        Mark(self.log.len())
    }

    /// Rolls back. Marks are closed in the opposite order of their opening.
    #[expect(clippy::needless_pass_by_value, reason = "a closed mark must not be used again")]
    pub(crate) fn close_mark(&mut self, mark: Mark) {
        let mut last = None;
        while self.log.len() > mark.0 {
            let Logged { space, cell, column, used } = self.log.pop().expect("the log is longer than the mark");
            self.spaces[space].used[cell as usize][column] = used;
            if last.replace((space, cell)) != Some((space, cell)) {
                self.touch(space, cell);
            }
        }
        self.open_marks -= 1;
    }

    /// Whether there is room for all of that, by flavor, in nodes which exist.
    pub(crate) fn has_room(&self, wanted: &[(FlavorId, Vec<Occupied>)]) -> bool {
        // The pods of one pod set are counted per domain already.
        if let [(flavor, places)] = wanted {
            return places.iter().all(|place| self.fits(*flavor, place, None));
        }
        let mut sums: BTreeMap<(usize, u32), Occupied> = BTreeMap::new();
        for occupied in wanted.iter().flat_map(|(_, places)| places) {
            let Occupied { space, cell, amounts } = occupied;
            let sum = sums.entry((*space, *cell)).or_insert_with(|| Occupied { amounts: Vec::new(), ..*occupied });
            for (column, amount) in amounts {
                match sum.amounts.iter_mut().find(|(known, _)| known == column) {
                    Some((_, known)) => *known = known.saturating_add(*amount),
                    None => sum.amounts.push((*column, *amount)),
                }
            }
        }
        let sum_of = |place: &Occupied| &sums[&(place.space, place.cell)];
        wanted.iter().all(|(flavor, places)| places.iter().all(|place| self.fits(*flavor, sum_of(place), None)))
    }

    /// Whether there is room for each of that alone, without one resource.
    pub(crate) fn has_room_apart(&self, flavor: FlavorId, places: &[Occupied], without: ResourceId) -> bool {
        places.iter().all(|place| self.fits(flavor, place, self.columns.places.get(&without).copied()))
    }

    fn fits(&self, flavor: FlavorId, wanted: &Occupied, without: Option<usize>) -> bool {
        let room = Room { columns: &self.columns, space: &self.spaces[wanted.space] };
        let tree = self.trees.get(&flavor);
        let leaf = tree.and_then(|tree| tree.domain(tree.leaf_at(wanted.cell)?).leaf());
        leaf.is_some_and(|leaf| {
            let needed = wanted.amounts.iter().filter(|(column, amount)| *amount > 0 && Some(*column) != without);
            needed.into_iter().all(|(column, amount)| room.left(leaf, *column, false) >= *amount)
        })
    }

    /// Lets other pod sets of the same workload see what this one takes, until [`forget_assumed`](Self::forget_assumed).
    pub(super) fn assume(&mut self, occupied: &[Occupied]) {
        for Occupied { space, cell, amounts } in occupied {
            let assumed = self.spaces[*space].assumed.entry(*cell).or_default();
            amounts.iter().for_each(|(column, amount)| add(assumed, *column, *amount));
            self.touch(*space, *cell);
        }
    }

    pub(super) fn forget_assumed(&mut self) {
        for space in 0..self.spaces.len() {
            for (cell, _) in std::mem::take(&mut self.spaces[space].assumed) {
                self.touch(space, cell);
            }
        }
    }

    /// A tree to ask, and what is left in it.
    pub(super) fn tree_and_room(&mut self, flavor: FlavorId) -> Option<(&mut Tree, Room<'_>)> {
        let Self { trees, spaces, columns, space_of, .. } = self;
        let space = &spaces[*space_of.get(&flavor)?];
        Some((trees.get_mut(&flavor)?, Room { columns, space }))
    }

    /// The lowest domains of a flavor in their order: their values from the top, what their nodes have less what plain
    /// pods use, and what workloads use, by resource.
    pub(crate) fn lowest_domains(&self, flavor: FlavorId) -> impl Iterator<Item = (Vec<Name>, Amounts, Amounts)> {
        let of_flavor = self.trees.get(&flavor).zip(self.space_of.get(&flavor));
        of_flavor.into_iter().flat_map(move |(tree, space)| {
            let space = &self.spaces[*space];
            tree.at_level(tree.lowest()).into_iter().filter_map(move |domain| {
                let leaf = tree.domain(domain).leaf()?;
                let used = &space.used[leaf.cell as usize];
                Some((tree.values(domain), self.columns.named(&leaf.free), self.columns.named(used)))
            })
        })
    }

    /// Panics when an undo was not taken back.
    pub(crate) fn check_invariants(&self) {
        assert!(self.log.is_empty() && self.open_marks == 0, "no simulation is open");
        assert!(self.spaces.iter().all(|space| space.assumed.is_empty()), "nothing is assumed");
    }
}
