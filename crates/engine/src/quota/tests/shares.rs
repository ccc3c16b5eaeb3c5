//! Shares against their definition, in whole numbers: fractions are compared, never rounded.

use std::cmp::Ordering;

use kueue_core::amount::Amount;
use proptest::prelude::*;
use proptest::sample::Index;

use super::super::Quotas;
use super::super::share::Share;
use super::{Model, amount, local, quota, subtree, usage};
use crate::id::{Id as _, Name, NodeId, PoolId, QueueId, ResourceId};

const POOLS: usize = 4;
const RESOURCES: usize = 2;
/// In halves. With powers of two the tree's floating point numbers are in the same order as the fractions.
const WEIGHTS: [i128; 4] = [0, 1, 2, 4];

/// A forest, pool by pool: all have the same nodes, cohorts first.
#[derive(Clone, Debug)]
struct Forest {
    cohorts: usize,
    halves: Vec<i128>,
    pools: Vec<Vec<Model>>,
    /// Per pool and node whether the object there names it; who does not has no quota.
    has_quota: Vec<Vec<bool>>,
}

/// What the definition says of one node.
#[derive(Debug, PartialEq)]
struct Wanted {
    borrowed: Vec<usize>,
    dominant: Vec<usize>,
    /// Borrowed times a thousand over lendable, of the dominant resource.
    ratio: (i128, i128),
    halves: i128,
}

fn forest() -> impl Strategy<Value = Forest> {
    let node = || (any::<Index>(), prop::bool::weighted(0.2), 0..WEIGHTS.len(), pools());
    (prop::collection::vec(node(), 1..5), prop::collection::vec(node(), 1..5)).prop_map(|(cohorts, queues)| {
        let count = cohorts.len();
        let mut forest = Forest {
            cohorts: count,
            halves: Vec::new(),
            pools: vec![Vec::new(); POOLS],
            has_quota: vec![Vec::new(); POOLS],
        };
        for (at, (parent, is_root, weight, pools)) in cohorts.into_iter().chain(queues).enumerate() {
            let parent = (at > 0 && !is_root).then(|| parent.index(at.min(count)));
            forest.halves.push(WEIGHTS[weight]);
            for (pool, (quota, used)) in pools.into_iter().enumerate() {
                let used = if at < count { 0 } else { used };
                forest.pools[pool].push(Model { parent, quota: quota.unwrap_or_default(), usage: used });
                forest.has_quota[pool].push(quota.is_some());
            }
        }
        forest
    })
}

fn pools() -> impl Strategy<Value = Vec<(Option<super::Quota>, i64)>> {
    prop::collection::vec((prop::option::weighted(0.7, quota()), prop_oneof![Just(0i64), 0i64..40]), POOLS)
}

fn capacity(nodes: &[Model], at: usize) -> i64 {
    let Some(parent) = nodes[at].parent else { return subtree(nodes, at) };
    let reachable = local(nodes, at) + capacity(nodes, parent);
    nodes[at].quota.borrowing_limit.map_or(reachable, |limit| reachable.min(subtree(nodes, at) + limit.get()))
}

fn resource_of(pool: usize) -> usize {
    pool % RESOURCES
}

impl Forest {
    fn parent(&self, at: usize) -> Option<usize> {
        self.pools[0][at].parent
    }

    /// Whether the node or one below it names the pool.
    fn is_named(&self, pool: usize, at: usize) -> bool {
        let is_named_below =
            (0..self.halves.len()).any(|child| self.parent(child) == Some(at) && self.is_named(pool, child));
        self.has_quota[pool][at] || is_named_below
    }

    fn wanted(&self, at: usize, added: &[i64]) -> Wanted {
        let mut wanted = Wanted { borrowed: vec![], dominant: vec![], ratio: (0, 1), halves: self.halves[at] };
        let Some(parent) = self.parent(at) else { return wanted };
        let beyond = |pool: usize| {
            let nodes = &self.pools[pool];
            (usage(nodes, at) + added[pool] - subtree(nodes, at)).max(0)
        };
        wanted.borrowed = (0..POOLS).filter(|pool| self.is_named(*pool, at) && beyond(*pool) > 0).collect();
        for resource in 0..RESOURCES {
            let of_it = |pool: &usize| resource_of(*pool) == resource;
            let borrowed: i64 = wanted.borrowed.iter().copied().filter(of_it).map(beyond).sum();
            let lendable: i64 = (0..POOLS).filter(of_it).map(|pool| capacity(&self.pools[pool], parent)).sum();
            if borrowed == 0 || lendable <= 0 {
                continue;
            }
            let ratio = (i128::from(borrowed) * 1000, i128::from(lendable));
            match compare_fractions(ratio, wanted.ratio) {
                Ordering::Greater => (wanted.ratio, wanted.dominant) = (ratio, vec![resource]),
                Ordering::Equal => wanted.dominant.push(resource),
                Ordering::Less => {}
            }
        }
        wanted
    }

    fn build(&self) -> (Quotas, Vec<NodeId>) {
        let name = |index: usize| -> Name { format!("n{index}").into() };
        let mut tree = Quotas::default();
        let queues: Vec<NodeId> = (self.cohorts..self.halves.len())
            .map(|at| {
                let node = tree.add_queue(&name(at));
                tree.set_queue_id(node, QueueId::from_index(at));
                node
            })
            .collect();
        for at in 0..self.halves.len() {
            let named = (0..POOLS).filter(|pool| self.has_quota[*pool][at]);
            let quotas = named.map(|pool| (PoolId::from_index(pool), self.pools[pool][at].quota)).collect();
            let weight = self.halves[at] as f64 / 2.0;
            let parent = self.parent(at).map(name);
            if at < self.cohorts {
                tree.set_cohort(&name(at), quotas, weight, parent.as_ref());
            } else {
                tree.set_queue(queues[at - self.cohorts], quotas, parent.as_ref());
                tree.set_weight(queues[at - self.cohorts], weight);
            }
        }
        for (at, node) in (self.cohorts..).zip(&queues) {
            for pool in 0..POOLS {
                tree.add_usage(*node, PoolId::from_index(pool), amount(self.pools[pool][at].usage));
            }
        }
        let cohorts = (0..self.cohorts).map(|at| tree.cohort(&name(at)).expect("it was set"));
        let nodes = cohorts.chain(queues).collect();
        (tree, nodes)
    }
}

fn compare_fractions(a: (i128, i128), b: (i128, i128)) -> Ordering {
    (a.0 * b.1).cmp(&(b.0 * a.1))
}

impl Wanted {
    fn is_beyond_all(&self) -> bool {
        self.halves == 0 && self.ratio.0 > 0
    }

    /// The ratio over the weight; of nothing nothing, whatever the weight.
    fn weighted(&self) -> (i128, i128) {
        if self.ratio.0 == 0 { (0, 1) } else { (self.ratio.0 * 2, self.ratio.1 * self.halves) }
    }

    fn rounded(&self) -> i64 {
        if self.is_beyond_all() {
            return i64::MAX;
        }
        let (top, bottom) = self.weighted();
        i64::try_from((top + bottom - 1) / bottom).expect("the amounts are small")
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.is_beyond_all(), other.is_beyond_all()) {
            (true, true) => compare_fractions(self.ratio, other.ratio),
            (false, false) => compare_fractions(self.weighted(), other.weighted()),
            (mine, theirs) => mine.cmp(&theirs),
        }
    }
}

fn share(tree: &Quotas, node: NodeId, added: &[(PoolId, Amount)]) -> Share {
    tree.share_with(node, added, |pool| ResourceId::from_index(resource_of(pool.index())))
}

proptest! {
    #[test]
    fn shares_follow_their_definition(forest in forest(), added in prop::collection::vec(0i64..30, POOLS)) {
        let (mut tree, nodes) = forest.build();
        let added_here: Vec<(PoolId, Amount)> =
            added.iter().enumerate().map(|(pool, more)| (PoolId::from_index(pool), amount(*more))).collect();
        let mut pairs = Vec::new();
        for (at, node) in nodes.iter().enumerate() {
            for (more, more_here) in [(&[0; POOLS][..], &[][..]), (&added, &added_here)] {
                let (wanted, found) = (forest.wanted(at, more), share(&tree, *node, more_here));
                let borrowed: Vec<usize> = found.borrowed.iter().map(|pool| pool.index()).collect();
                let mut dominant: Vec<usize> = found.dominant.iter().map(|resource| resource.index()).collect();
                dominant.sort_unstable();
                prop_assert_eq!(&borrowed, &wanted.borrowed, "what {} borrows", at);
                prop_assert_eq!(&dominant, &wanted.dominant, "what decides for {}", at);
                prop_assert_eq!(found.rounded(), wanted.rounded(), "the share of {}", at);
                prop_assert_eq!(found.weighted().is_infinite(), wanted.is_beyond_all(), "the share of {}", at);
                pairs.push((wanted, found));
            }
        }
        for (wanted, found) in &pairs {
            prop_assert_eq!(Share::none().compare(found), Ordering::Less);
            for (other_wanted, other_found) in &pairs {
                prop_assert_eq!(found.compare(other_found), wanted.compare(other_wanted), "{:?} {:?}", wanted, other_wanted);
            }
        }
        // To ask what a ClusterQueue would have is to let it have it and look.
        for queue in &nodes[forest.cohorts..] {
            let asked = share(&tree, *queue, &added_here);
            let mark = tree.open_mark();
            for (pool, more) in &added_here {
                tree.add_usage(*queue, *pool, *more);
            }
            prop_assert_eq!(asked, share(&tree, *queue, &[]));
            tree.close_mark(mark);
        }
    }
}
