//! Who has to go so that a workload can start.

mod classical;
mod fair;

use std::collections::BTreeSet;

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;
use smallvec::smallvec;

use crate::assign::{Assignment, Outlook, Plan, WantedPlaces};
use crate::change::PreemptionPolicy;
use crate::engine::Engine;
use crate::few::Few;
use crate::id::{NodeId, PoolId, QueueId, Slab, WorkloadId};
use crate::quota::Quotas;
use crate::reserving::Eligibility;
use crate::settings::Settings;
use crate::slice::Replaced;
use crate::status::history::OrderTime;
use crate::topology::Manner;
use crate::workload::{Rank, Total, Workload};

/// A workload that has to go, and by which rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub(crate) workload: WorkloadId,
    pub(crate) reason: &'static str,
}

/// What room is needed for.
#[derive(Debug)]
pub(crate) struct Demand {
    pub(crate) preemptor: WorkloadId,
    pub(crate) queue: QueueId,
    pub(crate) node: NodeId,
    pub(crate) requests: Few<(PoolId, Amount)>,
    /// Pools in which room is missing; only workloads in one of them are of any help.
    pub(crate) pools: Vec<PoolId>,
    /// Pods that need places, and how those are looked for.
    pub(crate) wanted: WantedPlaces,
    pub(crate) manner: Manner,
}

impl Engine {
    /// The workloads that have to go for the assignment; none when that is not allowed or does not help.
    pub(crate) fn targets_for(
        &mut self,
        plan: &Plan<'_>,
        assignment: &mut Assignment,
        totals: &[Total],
    ) -> Vec<Target> {
        let wanted = if self.settings.gates.enabled(Gate::TopologyAwareScheduling) {
            self.wanted_places(plan, assignment)
        } else {
            WantedPlaces::new()
        };
        let demand = self.demand_for(plan.workload, plan.queue, plan.replaced, assignment, totals);
        self.targets(&Demand { wanted, ..demand })
    }

    /// What room the assignment needs.
    pub(crate) fn demand_for(
        &mut self,
        preemptor: WorkloadId,
        queue: QueueId,
        replaced: Option<&Replaced>,
        assignment: &Assignment,
        totals: &[Total],
    ) -> Demand {
        let pod_sets = self.workloads[preemptor].pod_sets.iter();
        let held: Vec<i32> =
            pod_sets.map(|pod_set| replaced.map_or(0, |replaced| replaced.count(&pod_set.spec.name))).collect();
        Demand {
            preemptor,
            queue,
            node: self.queues[queue].node,
            requests: assignment.requests(totals, &held, &mut self.names),
            pools: assignment.pools_to_preempt(&mut self.names),
            wanted: WantedPlaces::new(),
            manner: Manner { explains: false, ..self.manner(preemptor, false) },
        }
    }

    pub(crate) fn is_allowed_to_preempt(
        &self,
        preemptor: WorkloadId,
        other: WorkloadId,
        policy: PreemptionPolicy,
    ) -> bool {
        let other = &self.workloads[other];
        let standing = Standing::of(&self.workloads[preemptor], &self.settings);
        standing.may_preempt(other.priority, policy, || other.order_time(&self.settings))
    }

    pub(crate) fn targets(&mut self, demand: &Demand) -> Vec<Target> {
        if self.settings.fair_sharing.is_some() { self.fair_targets(demand) } else { self.classical_targets(demand) }
    }

    /// What preemption could do for one pool alone, and how far quota would be borrowed from afterwards.
    pub(crate) fn foresee_preemption(&mut self, plan: &Plan<'_>, pool: PoolId, needed: Amount) -> (Outlook, u32) {
        let demand = Demand {
            preemptor: plan.workload,
            queue: plan.queue,
            node: plan.node,
            requests: smallvec![(pool, needed)],
            pools: vec![pool],
            wanted: WantedPlaces::new(),
            manner: Manner { explains: false, ..self.manner(plan.workload, false) },
        };
        let targets = self.targets(&demand);
        if targets.is_empty() {
            return (Outlook::NoCandidates, self.quotas.lowest_fit(plan.node, pool, needed).height);
        }
        let mark = self.quotas.open_mark();
        for target in &targets {
            remove_claim(&mut self.quotas, &self.workloads, &self.queues, target.workload);
        }
        let borrow = self.quotas.lowest_fit(plan.node, pool, needed).height;
        self.quotas.close_mark(mark);
        let is_own = |target: &Target| {
            self.workloads[target.workload].claim.as_ref().is_some_and(|claim| claim.queue == plan.queue)
        };
        let outlook = if targets.iter().any(is_own) { Outlook::Preempt } else { Outlook::Reclaim };
        (outlook, borrow)
    }
}

type Queues = Slab<QueueId, crate::queue::Queue>;
type Workloads = Slab<WorkloadId, Workload>;

/// Takes the quota of a workload away, as if it had left.
pub(crate) fn remove_claim(quotas: &mut Quotas, workloads: &Workloads, queues: &Queues, id: WorkloadId) {
    if let Some(claim) = &workloads[id].claim {
        for (pool, amount) in &claim.usage {
            quotas.remove_usage(queues[claim.queue].node, *pool, *amount);
        }
        claim.places().for_each(|place| quotas.sites.remove(place));
    }
}

fn restore_claim(quotas: &mut Quotas, workloads: &Workloads, queues: &Queues, id: WorkloadId) {
    if let Some(claim) = &workloads[id].claim {
        for (pool, amount) in &claim.usage {
            quotas.add_usage(queues[claim.queue].node, *pool, *amount);
        }
        claim.places().for_each(|place| quotas.sites.add(place));
    }
}

fn fits(quotas: &mut Quotas, demand: &Demand, may_borrow: bool) -> bool {
    let has_quota = demand.requests.iter().all(|(pool, amount)| {
        (may_borrow || !quotas.is_borrowing_with(demand.node, *pool, *amount))
            && *amount <= quotas.available(demand.node, *pool)
    });
    has_quota
        && (demand.wanted.is_empty() || quotas.sites.find_places(&demand.wanted, &demand.manner).failure.is_none())
}

/// Lets those stay after all who need not go, the most important first.
fn fill_back(
    quotas: &mut Quotas,
    workloads: &Workloads,
    queues: &Queues,
    demand: &Demand,
    targets: &mut Vec<Target>,
    may_borrow: bool,
) {
    for index in (0..targets.len().saturating_sub(1)).rev() {
        let id = targets[index].workload;
        restore_claim(quotas, workloads, queues, id);
        if fits(quotas, demand, may_borrow) {
            targets.swap_remove(index);
        } else {
            remove_claim(quotas, workloads, queues, id);
        }
    }
}

/// Tells of whom a search may take quota.
#[derive(Clone, Copy)]
struct Judge<'a> {
    workloads: &'a Workloads,
    settings: &'a Settings,
    departed: &'a BTreeSet<WorkloadId>,
    standing: Standing,
    policy: PreemptionPolicy,
    /// Only who holds quota in one of them is of any help.
    pools: &'a [PoolId],
}

impl Judge<'_> {
    fn judge(&self, rank: &Rank) -> Eligibility {
        let workload = &self.workloads[rank.id];
        match self.standing.judge(rank, self.policy, workload, self.settings) {
            Eligibility::Yes if self.departed.contains(&rank.id) || !uses_any(workload, self.pools) => Eligibility::No,
            verdict => verdict,
        }
    }
}

/// Who preempts, as far as policies compare it.
#[derive(Clone, Copy, Debug)]
struct Standing {
    priority: i64,
    since: OrderTime,
}

impl Standing {
    fn of(workload: &Workload, settings: &Settings) -> Self {
        Self { priority: workload.priority, since: workload.order_time(settings) }
    }

    /// Whether a policy allows to preempt a workload of that priority and time.
    fn may_preempt(self, priority: i64, policy: PreemptionPolicy, since: impl FnOnce() -> OrderTime) -> bool {
        match policy {
            PreemptionPolicy::Never => false,
            PreemptionPolicy::Any => true,
            PreemptionPolicy::LowerPriority => priority < self.priority,
            PreemptionPolicy::LowerOrNewerEqualPriority => {
                priority < self.priority || (priority == self.priority && self.since < since())
            }
        }
    }

    /// The same for a candidate, and whether looking further is of use.
    fn judge(self, rank: &Rank, policy: PreemptionPolicy, other: &Workload, settings: &Settings) -> Eligibility {
        if self.may_preempt(rank.priority, policy, || other.order_time(settings)) {
            return Eligibility::Yes;
        }
        // Ranks grow with priority once those that leave anyway are past.
        let is_protected = rank.is_staying && rank.priority > self.priority;
        let is_for_lower_only = policy == PreemptionPolicy::LowerPriority && rank.is_staying;
        if policy == PreemptionPolicy::Never || is_protected || is_for_lower_only {
            Eligibility::NoneAfter
        } else {
            Eligibility::No
        }
    }
}

/// Those that leave anyway go first, then those of other queues, and in each the order of its queue.
pub(crate) fn departure(rank: &Rank, is_own: bool) -> (bool, bool, &Rank) {
    (rank.is_staying, is_own, rank)
}

/// Whether preempting the workload could help.
pub(crate) fn uses_any(workload: &Workload, pools: &[PoolId]) -> bool {
    workload.claim.as_ref().is_some_and(|claim| claim.usage.iter().any(|(pool, _)| pools.contains(pool)))
}
