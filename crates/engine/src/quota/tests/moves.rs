//! Trees that change shape while they are used, cycles and absurd amounts among them, against the definitions.

use kueue_core::amount::Amount;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::{Quota, Quotas};
use crate::id::{Id as _, Name, NodeId, PoolId, QueueId};

const COHORTS: usize = 5;
const QUEUES: usize = 4;

/// Cohorts come first, then ClusterQueues; each knows its parent by index and what is held in it, claim by claim.
#[derive(Clone, Debug, Default)]
struct Model {
    parent: Option<usize>,
    quota: Option<Quota>,
    claims: Vec<Amount>,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Claim(Index, i64),
    Release(Index, Index),
    Move(Index, Option<Index>),
    SetQuota(Index, Quota),
    DropCohort(Index),
}

/// Mostly small, sometimes beyond all numbers or less than nothing.
fn amounts() -> impl Strategy<Value = i64> {
    prop_oneof![8 => 0i64..20, 1 => Just(i64::MAX), 1 => Just(i64::MAX - 3), 1 => -5i64..0]
}

fn quotas() -> impl Strategy<Value = Quota> {
    let limit = || prop::option::of(amounts().prop_map(|limit| Amount::new(limit.max(0))));
    (amounts(), limit(), limit()).prop_map(|(nominal, borrowing_limit, lending_limit)| Quota {
        nominal: Amount::new(nominal),
        borrowing_limit,
        lending_limit,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<Index>;
    let step = prop_oneof![
        3 => (index(), amounts()).prop_map(|(queue, amount)| Step::Claim(queue, amount.max(0))),
        2 => (index(), index()).prop_map(|(queue, claim)| Step::Release(queue, claim)),
        3 => (index(), prop::option::of(index())).prop_map(|(node, parent)| Step::Move(node, parent)),
        2 => (index(), quotas()).prop_map(|(node, quota)| Step::SetQuota(node, quota)),
        1 => index().prop_map(Step::DropCohort),
    ];
    prop::collection::vec(step, 1..40)
}

fn pool() -> PoolId {
    PoolId::from_index(0)
}

fn name(index: usize) -> Name {
    format!("n{index}").into()
}

fn children(nodes: &[Model], at: usize) -> impl Iterator<Item = usize> {
    (0..nodes.len()).filter(move |child| nodes[*child].parent == Some(at))
}

fn is_in_cycle(nodes: &[Model], at: usize) -> bool {
    std::iter::successors(Some(at), |node| nodes[*node].parent).nth(nodes.len()).is_some()
}

fn quota(nodes: &[Model], at: usize) -> Quota {
    nodes[at].quota.unwrap_or_default()
}

fn subtree(nodes: &[Model], at: usize) -> Amount {
    children(nodes, at)
        .fold(quota(nodes, at).nominal, |sum, child| sum.plus(subtree(nodes, child).minus(kept(nodes, child))))
}

/// What a node does not lend.
fn kept(nodes: &[Model], at: usize) -> Amount {
    quota(nodes, at).lending_limit.map_or(Amount::ZERO, |limit| subtree(nodes, at).minus(limit).max(Amount::ZERO))
}

fn usage(nodes: &[Model], at: usize) -> Amount {
    let own = nodes[at].claims.iter().fold(Amount::ZERO, |sum, claim| sum.plus(*claim));
    children(nodes, at).fold(own, |sum, child| sum.plus(taken(nodes, child)))
}

/// What a node has of its parent's.
fn taken(nodes: &[Model], at: usize) -> Amount {
    usage(nodes, at).minus(kept(nodes, at)).max(Amount::ZERO)
}

fn available(nodes: &[Model], at: usize) -> Amount {
    let Some(parent) = nodes[at].parent else { return subtree(nodes, at).minus(usage(nodes, at)) };
    let mut from_parent = available(nodes, parent);
    if let Some(limit) = quota(nodes, at).borrowing_limit {
        let lent = subtree(nodes, at).minus(kept(nodes, at));
        from_parent = from_parent.min(lent.minus(taken(nodes, at)).plus(limit));
    }
    kept(nodes, at).minus(usage(nodes, at)).max(Amount::ZERO).plus(from_parent)
}

fn capacity(nodes: &[Model], at: usize) -> Amount {
    let Some(parent) = nodes[at].parent else { return subtree(nodes, at) };
    let reachable = kept(nodes, at).plus(capacity(nodes, parent));
    match quota(nodes, at).borrowing_limit {
        Some(limit) => reachable.min(subtree(nodes, at).plus(limit)),
        None => reachable,
    }
}

/// The tree, and the model that it must agree with.
struct Pair {
    tree: Quotas,
    queues: Vec<NodeId>,
    nodes: Vec<Model>,
}

impl Pair {
    fn new() -> Self {
        let mut tree = Quotas::default();
        let queues = (COHORTS..COHORTS + QUEUES).map(|index| {
            let node = tree.add_queue(&name(index));
            tree.set_queue_id(node, QueueId::from_index(index));
            node
        });
        let queues = queues.collect();
        Self { tree, queues, nodes: vec![Model::default(); COHORTS + QUEUES] }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Claim(queue, amount) => {
                let at = COHORTS + queue.index(QUEUES);
                self.nodes[at].claims.push(Amount::new(amount));
                let is_exact = self.tree.add_usage(self.queues[at - COHORTS], pool(), Amount::new(amount));
                self.recount(at, is_exact);
            }
            Step::Release(queue, claim) => {
                let at = COHORTS + queue.index(QUEUES);
                let claims = &mut self.nodes[at].claims;
                if !claims.is_empty() {
                    let amount = claims.remove(claim.index(claims.len()));
                    let is_exact = self.tree.remove_usage(self.queues[at - COHORTS], pool(), amount);
                    self.recount(at, is_exact);
                }
            }
            Step::Move(node, parent) => {
                let at = node.index(self.nodes.len());
                self.nodes[at].parent = parent.map(|parent| parent.index(COHORTS));
                self.place(at);
            }
            Step::SetQuota(node, quota) => {
                let at = node.index(self.nodes.len());
                self.nodes[at].quota = Some(quota);
                self.place(at);
            }
            Step::DropCohort(cohort) => {
                let at = cohort.index(COHORTS);
                self.nodes[at].quota = None;
                self.nodes[at].parent = None;
                self.tree.remove_cohort(&name(at));
            }
        }
    }

    /// As the engine does when a sum went beyond all numbers.
    fn recount(&mut self, at: usize, is_exact: bool) {
        if !is_exact {
            let sum = self.nodes[at].claims.iter().fold(Amount::ZERO, |sum, claim| sum.plus(*claim));
            self.tree.set_usages(self.queues[at - COHORTS], &[(pool(), sum)]);
        }
    }

    fn place(&mut self, at: usize) {
        let node = &self.nodes[at];
        let quotas: Vec<(PoolId, Quota)> = node.quota.iter().map(|quota| (pool(), *quota)).collect();
        let parent = node.parent.map(name);
        if at < COHORTS {
            self.tree.set_cohort(&name(at), quotas, 1.0, parent.as_ref());
        } else {
            self.tree.set_queue(self.queues[at - COHORTS], quotas, parent.as_ref());
        }
    }

    fn compare(&self) -> Result<(), TestCaseError> {
        for at in 0..self.nodes.len() {
            let node = match at < COHORTS {
                true => self.tree.cohort(&name(at)),
                false => Some(self.queues[at - COHORTS]),
            };
            let Some(node) = node else { continue };
            prop_assert_eq!(self.tree.node(node).is_in_cycle, is_in_cycle(&self.nodes, at), "cycle at {}", at);
            if is_in_cycle(&self.nodes, at) {
                continue;
            }
            prop_assert_eq!(self.tree.usage(node, pool()), usage(&self.nodes, at), "usage of {}", at);
            prop_assert_eq!(self.tree.capacity(node, pool()), capacity(&self.nodes, at), "capacity of {}", at);
            let wanted = available(&self.nodes, at).max(Amount::ZERO);
            prop_assert_eq!(self.tree.available(node, pool()), wanted, "available to {}", at);
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn a_tree_that_changes_shape_is_the_tree_of_its_objects(steps in steps()) {
        let mut pair = Pair::new();
        for step in steps {
            pair.take(step);
            pair.compare()?;
        }
    }
}
