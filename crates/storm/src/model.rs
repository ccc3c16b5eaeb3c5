//! The quota tree by definition, computed from scratch: slow and plain.

use std::collections::BTreeMap;

use kueue_engine::{CohortSpec, Decision, Effect, Engine, Key, Name, QueueSpec, QuotaSpec, ResourceGroupSpec};

/// More ancestors than any tree here has; who has more is in a cycle.
const DEEPEST: usize = 32;

/// All queues and cohorts as they were told, and what the engine counts as used.
#[derive(Debug)]
pub(crate) struct Model<'a> {
    queues: &'a BTreeMap<Name, QueueSpec>,
    cohorts: &'a BTreeMap<Name, CohortSpec>,
    usage: BTreeMap<Name, Vec<(Name, Name, i64)>>,
}

/// A node of the tree.
#[derive(Clone, Copy, Debug)]
enum Node<'a> {
    Queue(&'a Name),
    Cohort(&'a Name),
}

impl<'a> Model<'a> {
    pub(crate) fn new(
        queues: &'a BTreeMap<Name, QueueSpec>,
        cohorts: &'a BTreeMap<Name, CohortSpec>,
        engine: &Engine,
    ) -> Self {
        let usage_of = |queue: &Name| {
            let usage = engine.usage(queue).into_iter();
            usage.map(|(flavor, resource, amount)| (flavor, resource, amount.get())).collect()
        };
        let usage = queues.keys().map(|queue| (queue.clone(), usage_of(queue))).collect();
        Self { queues, cohorts, usage }
    }

    /// Nobody was given more than there was: after it is counted, nothing is overdrawn. Who takes the place of another
    /// one and asks for no more than that one held makes nothing worse, even where quota was taken away meanwhile.
    pub(crate) fn check_reservations(&self, effects: &[Effect]) {
        for effect in effects {
            let Effect::Status { workload, status, decision: Decision::Reserved } = effect else { continue };
            let admission = status.admission.as_ref().expect("a reservation says what is reserved");
            for pod_set in &admission.pod_sets {
                for (resource, flavor) in &pod_set.flavors {
                    let used = pod_set.usage.iter().find(|(name, _)| name == resource).map_or(0, |(_, used)| *used);
                    let left = self.left(Node::Queue(&admission.queue), (flavor, resource));
                    let held = replaced_usage(effects, workload, flavor, resource);
                    assert!(
                        used <= held || left >= 0,
                        "{workload} took {resource} in {flavor} that is not there: {left}"
                    );
                }
            }
        }
    }

    fn parent(&self, node: Node<'a>) -> Option<Node<'a>> {
        let parent = match node {
            Node::Queue(name) => self.queues.get(name)?.cohort.as_ref(),
            Node::Cohort(name) => self.cohorts.get(name)?.parent.as_ref(),
        };
        parent.map(Node::Cohort)
    }

    fn children(&self, node: Node<'a>) -> Vec<Node<'a>> {
        let Node::Cohort(name) = node else { return Vec::new() };
        let queues = self.queues.values().filter(|queue| queue.cohort.as_ref() == Some(name));
        let cohorts = self.cohorts.values().filter(|cohort| cohort.parent.as_ref() == Some(name));
        queues.map(|queue| Node::Queue(&queue.name)).chain(cohorts.map(|cohort| Node::Cohort(&cohort.name))).collect()
    }

    fn quota(&self, node: Node<'a>, (flavor, resource): (&Name, &Name)) -> Option<&'a QuotaSpec> {
        let groups: &[ResourceGroupSpec] = match node {
            Node::Queue(name) => &self.queues.get(name)?.groups,
            Node::Cohort(name) => &self.cohorts.get(name)?.groups,
        };
        let flavors = groups.iter().flat_map(|group| &group.flavors).filter(|quota| quota.flavor == *flavor);
        flavors.flat_map(|quota| &quota.resources).rfind(|quota| quota.resource == *resource)
    }

    fn subtree(&self, node: Node<'a>, pool: (&Name, &Name)) -> i64 {
        let own = self.quota(node, pool).map_or(0, |quota| quota.nominal.get());
        let lent = |child| self.subtree(child, pool) - self.kept(child, pool);
        own + self.children(node).into_iter().map(lent).sum::<i64>()
    }

    /// What the lending limit keeps back.
    fn kept(&self, node: Node<'a>, pool: (&Name, &Name)) -> i64 {
        let limit = self.quota(node, pool).and_then(|quota| quota.lending_limit);
        limit.map_or(0, |limit| (self.subtree(node, pool) - limit.get()).max(0))
    }

    fn used(&self, node: Node<'a>, pool: (&Name, &Name)) -> i64 {
        let own = match node {
            Node::Queue(name) => self.usage.get(name).into_iter().flatten().find(|(f, r, _)| (f, r) == pool),
            Node::Cohort(_) => None,
        };
        let taken = |child| (self.used(child, pool) - self.kept(child, pool)).max(0);
        own.map_or(0, |(_, _, used)| *used) + self.children(node).into_iter().map(taken).sum::<i64>()
    }

    /// What could still be taken; negative when it is overdrawn.
    fn left(&self, node: Node<'a>, pool: (&Name, &Name)) -> i64 {
        assert!(self.depth(node) < DEEPEST, "nothing is reserved below a cycle");
        let Some(parent) = self.parent(node) else { return self.subtree(node, pool) - self.used(node, pool) };
        let (kept, used) = (self.kept(node, pool), self.used(node, pool));
        let mut from_parent = self.left(parent, pool);
        if let Some(limit) = self.quota(node, pool).and_then(|quota| quota.borrowing_limit) {
            from_parent = from_parent.min(self.subtree(node, pool) - kept - (used - kept).max(0) + limit.get());
        }
        (kept - used).max(0) + from_parent
    }

    fn depth(&self, node: Node<'a>) -> usize {
        std::iter::successors(Some(node), |node| self.parent(*node)).take(DEEPEST).count()
    }
}

/// What the workload whose place this one takes held of a pool.
fn replaced_usage(effects: &[Effect], new: &Key, flavor: &Name, resource: &Name) -> i64 {
    let replaced = effects.iter().filter_map(|effect| match effect {
        Effect::Status { status, decision: Decision::Replaced { by }, .. } if by == new => status.admission.as_ref(),
        _ => None,
    });
    let pod_sets = replaced.flat_map(|admission| &admission.pod_sets);
    let held = pod_sets.filter(|pod_set| pod_set.flavors.iter().any(|(name, held)| name == resource && held == flavor));
    held.flat_map(|pod_set| &pod_set.usage).filter(|(name, _)| name == resource).map(|(_, used)| *used).sum()
}
