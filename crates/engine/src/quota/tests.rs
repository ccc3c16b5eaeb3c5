//! The quota tree against a model that computes everything from scratch, by definition.

mod moves;
mod shares;

use kueue_core::amount::Amount;
use proptest::prelude::*;

use super::{Quota, Quotas};
use crate::id::{Id as _, Name, NodeId, PoolId, QueueId};

/// A node of the model: its parent by index, its quota, and, for a ClusterQueue, its usage.
#[derive(Clone, Debug)]
struct Model {
    parent: Option<usize>,
    quota: Quota,
    usage: i64,
}

fn amount(value: i64) -> Amount {
    Amount::new(value)
}

fn subtree(nodes: &[Model], at: usize) -> i64 {
    let below = (0..nodes.len()).filter(|child| nodes[*child].parent == Some(at));
    nodes[at].quota.nominal.get() + below.map(|child| subtree(nodes, child) - local(nodes, child)).sum::<i64>()
}

fn local(nodes: &[Model], at: usize) -> i64 {
    nodes[at].quota.lending_limit.map_or(0, |limit| (subtree(nodes, at) - limit.get()).max(0))
}

fn usage(nodes: &[Model], at: usize) -> i64 {
    let below = (0..nodes.len()).filter(|child| nodes[*child].parent == Some(at));
    nodes[at].usage + below.map(|child| (usage(nodes, child) - local(nodes, child)).max(0)).sum::<i64>()
}

fn available(nodes: &[Model], at: usize) -> i64 {
    let Some(parent) = nodes[at].parent else { return subtree(nodes, at) - usage(nodes, at) };
    let (local, used) = (local(nodes, at), usage(nodes, at));
    let mut from_parent = available(nodes, parent);
    if let Some(limit) = nodes[at].quota.borrowing_limit {
        from_parent = from_parent.min(subtree(nodes, at) - local - (used - local).max(0) + limit.get());
    }
    (local - used).max(0) + from_parent
}

fn quota() -> impl Strategy<Value = Quota> {
    let limit = || prop::option::of((0i64..20).prop_map(amount));
    (0i64..20, limit(), limit()).prop_map(|(nominal, borrowing_limit, lending_limit)| Quota {
        nominal: amount(nominal),
        borrowing_limit,
        lending_limit,
    })
}

/// Cohorts first, each below an earlier one or alone; then ClusterQueues below some cohort.
fn forest() -> impl Strategy<Value = (usize, Vec<Model>)> {
    let cohorts = prop::collection::vec((quota(), any::<prop::sample::Index>(), any::<bool>()), 1..6);
    let queues = prop::collection::vec((quota(), any::<prop::sample::Index>()), 1..6);
    (cohorts, queues).prop_map(|(cohorts, queues)| {
        let count = cohorts.len();
        let mut nodes: Vec<Model> = Vec::new();
        for (index, (quota, parent, is_root)) in cohorts.into_iter().enumerate() {
            let parent = (index > 0 && !is_root).then(|| parent.index(index));
            nodes.push(Model { parent, quota, usage: 0 });
        }
        for (quota, parent) in queues {
            nodes.push(Model { parent: Some(parent.index(count)), quota, usage: 0 });
        }
        (count, nodes)
    })
}

fn build(cohorts: usize, nodes: &[Model]) -> (Quotas, Vec<NodeId>) {
    let pool = PoolId::from_index(0);
    let name = |index: usize| -> Name { format!("n{index}").into() };
    let mut quotas = Quotas::default();
    let mut ids = Vec::new();
    // ClusterQueues come before the cohorts they belong to: any order gives the same tree.
    for (index, model) in nodes.iter().enumerate().skip(cohorts) {
        let node = quotas.add_queue(&name(index));
        quotas.set_queue_id(node, QueueId::from_index(index));
        quotas.set_queue(node, vec![(pool, model.quota)], model.parent.map(name).as_ref());
        ids.push(node);
    }
    for (index, model) in nodes.iter().enumerate().take(cohorts) {
        quotas.set_cohort(&name(index), vec![(pool, model.quota)], 1.0, model.parent.map(name).as_ref());
    }
    (quotas, ids)
}

proptest! {
    #[test]
    fn usage_and_availability_follow_their_definitions(
        (cohorts, mut nodes) in forest(),
        steps in prop::collection::vec((any::<prop::sample::Index>(), -12i64..15), 0..30),
    ) {
        let pool = PoolId::from_index(0);
        let (mut quotas, queues) = build(cohorts, &nodes);
        for (queue, change) in steps {
            let index = queue.index(queues.len());
            let model = &mut nodes[cohorts + index];
            let change = change.max(-model.usage);
            model.usage += change;
            if change >= 0 {
                quotas.add_usage(queues[index], pool, amount(change));
            } else {
                quotas.remove_usage(queues[index], pool, amount(-change));
            }
            quotas.check_invariants();
            for (at, node) in queues.iter().enumerate() {
                prop_assert_eq!(quotas.available(*node, pool).get(), available(&nodes, cohorts + at).max(0));
            }
        }
    }

    #[test]
    fn rolling_back_restores_every_node((cohorts, nodes) in forest(), amounts in prop::collection::vec(0i64..15, 1..6)) {
        let pool = PoolId::from_index(0);
        let (mut quotas, queues) = build(cohorts, &nodes);
        for (queue, used) in queues.iter().zip(&amounts) {
            quotas.add_usage(*queue, pool, amount(*used));
        }
        let before: Vec<_> = queues.iter().map(|queue| quotas.available(*queue, pool)).collect();
        let mark = quotas.open_mark();
        for (queue, used) in queues.iter().zip(&amounts) {
            quotas.remove_usage(*queue, pool, amount(*used));
            let inner = quotas.open_mark();
            quotas.add_usage(queues[0], pool, amount(*used));
            quotas.close_mark(inner);
        }
        quotas.close_mark(mark);
        quotas.check_invariants();
        let after: Vec<_> = queues.iter().map(|queue| quotas.available(*queue, pool)).collect();
        prop_assert_eq!(before, after);
    }
}
