//! Preemption for the sake of fairness: from those whose share of what was borrowed is greatest.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kueue_core::gates::Gate;

use super::{Demand, Judge, Queues, Standing, Target, Workloads, departure, fill_back, fits, remove_claim};
use crate::ask::FairStep;
use crate::change::PreemptionPolicy;
use crate::engine::Engine;
use crate::few::Few;
use crate::id::{NodeId, QueueId, WorkloadId};
use crate::names::Names;
use crate::quota::Quotas;
use crate::quota::share::Share;
use crate::reserving::{self, Eligibility};
use crate::settings::{FairStrategy, Settings};
use crate::text;
use crate::topology::Manner;
use crate::workload::Rank;

/// What a search looks at and never changes.
struct Field<'a> {
    queues: &'a Queues,
    workloads: &'a Workloads,
    settings: &'a Settings,
    names: &'a Names,
    demand: &'a Demand,
    departed: &'a BTreeSet<WorkloadId>,
}

/// The queues from which somebody may have to go, and who, in the order in which they would.
struct Round {
    candidates: BTreeMap<NodeId, VecDeque<WorkloadId>>,
    pruned: BTreeSet<NodeId>,
    preemptor: NodeId,
    /// From the preemptor's parent to the root.
    path: Vec<NodeId>,
}

impl Engine {
    pub(super) fn fair_targets(&mut self, demand: &Demand) -> Vec<Target> {
        let Self { quotas, queues, workloads, settings, names, departed, .. } = self;
        let field = Field { queues, workloads, settings, names, demand, departed };
        let candidates = field.find_candidates(quotas);
        if candidates.is_empty() {
            return Vec::new();
        }
        let strategies = settings.fair_sharing.as_ref().map_or(&[][..], |fair| &fair.strategies);
        let mark = quotas.open_mark();
        let simulation = quotas.open_mark();
        for (pool, amount) in &demand.requests {
            quotas.add_usage(demand.node, *pool, *amount);
        }
        let mut targets = Vec::new();
        let mut retry = BTreeMap::new();
        let first = strategies.first().copied().unwrap_or(FairStrategy::LessThanOrEqualToFinalShare);
        let mut is_fitting = field.run_first(quotas, candidates, first, &mut targets, &mut retry);
        if !is_fitting && strategies.len() > 1 {
            is_fitting = field.run_second(quotas, retry, &mut targets);
        }
        // From here on the victims are gone but the preemptor is not there yet.
        quotas.close_mark(simulation);
        if is_fitting {
            for target in &targets {
                remove_claim(quotas, workloads, queues, target.workload);
            }
            fill_back(quotas, workloads, queues, demand, &mut targets, true);
        } else {
            targets.clear();
        }
        quotas.close_mark(mark);
        targets
    }
}

impl Engine {
    /// Whose turn it is, again and again, while an answer says what is done with that queue.
    pub(crate) fn fair_turns(
        &self,
        preemptor: QueueId,
        from: &[QueueId],
        mut step: impl FnMut(usize) -> FairStep,
    ) -> Vec<QueueId> {
        let Self { quotas, queues, workloads, settings, names, departed, .. } = self;
        let node = queues[preemptor].node;
        let somebody = from.iter().find_map(|queue| queues[*queue].reserving.iter().next());
        let Some(somebody) = somebody else { return Vec::new() };
        let demand = Demand {
            preemptor: somebody.id,
            queue: preemptor,
            node,
            requests: Few::new(),
            pools: Vec::new(),
            wanted: Vec::new(),
            manner: Manner { explains: false, ..self.manner(somebody.id, false) },
        };
        let field = Field { queues, workloads, settings, names, demand: &demand, departed };
        let all = |queue: &QueueId| (queues[*queue].node, field.in_order(*queue, |_| Eligibility::Yes));
        let candidates: BTreeMap<NodeId, VecDeque<WorkloadId>> = from.iter().map(all).collect();
        let mut round = Round::new(quotas, node, candidates);
        let mut turns = Vec::new();
        while let Some(turn) = round.next(&field, quotas) {
            match step(turns.len()) {
                FairStep::PassOver => drop(round.pop(turn)),
                FairStep::LeaveAlone => drop(round.pruned.insert(turn)),
            }
            turns.push(quotas.node(turn).queue.expect("turns are taken by ClusterQueues"));
        }
        turns
    }
}

impl Field<'_> {
    fn find_candidates(&self, quotas: &Quotas) -> BTreeMap<NodeId, VecDeque<WorkloadId>> {
        let preemption = self.queues[self.demand.queue].rules.preemption;
        let mut found = BTreeMap::new();
        let mut add = |node: NodeId, queue: QueueId, policy| {
            let eligible = self.eligible(queue, policy);
            if !eligible.is_empty() {
                found.insert(node, eligible);
            }
        };
        add(self.demand.node, self.demand.queue, preemption.within_queue);
        if preemption.reclaim_within_cohort != PreemptionPolicy::Never && quotas.node(self.demand.node).parent.is_some()
        {
            let mut nodes = Vec::new();
            quotas.queues_below(quotas.root(self.demand.node), &mut nodes);
            for node in nodes {
                let queue = quotas.node(node).queue.expect("only ClusterQueues are listed");
                let is_borrowing = self.demand.pools.iter().any(|pool| quotas.is_borrowing(node, *pool));
                if node != self.demand.node && self.queues[queue].is_active && is_borrowing {
                    add(node, queue, preemption.reclaim_within_cohort);
                }
            }
        }
        found
    }

    fn eligible(&self, queue: QueueId, policy: PreemptionPolicy) -> VecDeque<WorkloadId> {
        let standing = Standing::of(&self.workloads[self.demand.preemptor], self.settings);
        let Self { workloads, settings, departed, demand, .. } = *self;
        let judge = Judge { workloads, settings, departed, standing, policy, pools: &demand.pools };
        self.in_order(queue, |rank| judge.judge(rank))
    }

    /// The workloads of a queue that may go, as they would.
    fn in_order(&self, queue: QueueId, judge: impl Fn(&Rank) -> Eligibility) -> VecDeque<WorkloadId> {
        let queue = &self.queues[queue];
        let mut order = VecDeque::new();
        for is_staying in [false, true] {
            let mut lines: Vec<_> = queue.reserving.lines(is_staying, |lq| queue.pending.usage(lq)).collect();
            order.extend(std::iter::from_fn(|| reserving::next(&mut lines, &judge)).map(|rank| rank.id));
        }
        order
    }

    fn run_first(
        &self,
        quotas: &mut Quotas,
        candidates: BTreeMap<NodeId, VecDeque<WorkloadId>>,
        strategy: FairStrategy,
        targets: &mut Vec<Target>,
        retry: &mut BTreeMap<NodeId, VecDeque<WorkloadId>>,
    ) -> bool {
        let mut ordering = Round::new(quotas, self.demand.node, candidates);
        let is_within_nominal = self.settings.gates.enabled(Gate::FairSharingPreemptWithinNominal)
            && self.demand.pools.iter().all(|pool| !quotas.is_borrowing(self.demand.node, *pool));
        while let Some(node) = ordering.next(self, quotas) {
            if node == self.demand.node || is_within_nominal {
                let reason =
                    if node == self.demand.node { text::IN_CLUSTER_QUEUE } else { text::IN_COHORT_RECLAMATION };
                let Some(workload) = ordering.pop(node) else { continue };
                if self.take(quotas, targets, workload, reason) {
                    return true;
                }
                continue;
            }
            let (ours, theirs) = ordering.almost_common(quotas, node);
            let preemptor_new = self.share(quotas, ours);
            let target_old = self.share(quotas, theirs);
            let is_hopeless = preemptor_new.weighted().is_infinite() && !target_old.weighted().is_infinite();
            while let Some(workload) = ordering.pop(node) {
                let passes = !is_hopeless
                    && match strategy {
                        FairStrategy::LessThanOrEqualToFinalShare => {
                            let target_new = self.share_without(quotas, theirs, workload);
                            preemptor_new.compare(&target_new) != Ordering::Greater
                        }
                        FairStrategy::LessThanInitialShare => preemptor_new.compare(&target_old) == Ordering::Less,
                    };
                if passes {
                    if self.take(quotas, targets, workload, text::IN_COHORT_FAIR_SHARING) {
                        return true;
                    }
                    break;
                }
                retry.entry(node).or_default().push_back(workload);
            }
        }
        false
    }

    fn run_second(
        &self,
        quotas: &mut Quotas,
        retry: BTreeMap<NodeId, VecDeque<WorkloadId>>,
        targets: &mut Vec<Target>,
    ) -> bool {
        let mut ordering = Round::new(quotas, self.demand.node, retry);
        while let Some(node) = ordering.next(self, quotas) {
            let (ours, theirs) = ordering.almost_common(quotas, node);
            let passes = self.share(quotas, ours).compare(&self.share(quotas, theirs)) == Ordering::Less;
            let Some(workload) = ordering.pop(node) else { continue };
            if passes && self.take(quotas, targets, workload, text::IN_COHORT_FAIR_SHARING) {
                return true;
            }
            ordering.pruned.insert(node);
        }
        false
    }

    /// Lets the workload go; says whether that was enough.
    fn take(&self, quotas: &mut Quotas, targets: &mut Vec<Target>, workload: WorkloadId, reason: &'static str) -> bool {
        remove_claim(quotas, self.workloads, self.queues, workload);
        targets.push(Target { workload, reason });
        let mark = quotas.open_mark();
        for (pool, amount) in &self.demand.requests {
            quotas.remove_usage(self.demand.node, *pool, *amount);
        }
        let is_fitting = fits(quotas, self.demand, true);
        quotas.close_mark(mark);
        is_fitting
    }

    /// Who of two queues' first candidates would go first.
    fn goes_before(&self, a: WorkloadId, b: WorkloadId) -> bool {
        let key = |id: WorkloadId| {
            let claim = self.workloads[id].claim.as_ref().expect("candidates hold quota");
            departure(&claim.rank, claim.queue == self.demand.queue)
        };
        key(a) < key(b)
    }

    fn share(&self, quotas: &Quotas, node: NodeId) -> Share {
        quotas.share(node, |pool| self.names.resource_of(pool))
    }

    fn share_without(&self, quotas: &mut Quotas, node: NodeId, workload: WorkloadId) -> Share {
        let mark = quotas.open_mark();
        remove_claim(quotas, self.workloads, self.queues, workload);
        let share = self.share(quotas, node);
        quotas.close_mark(mark);
        share
    }
}

impl Round {
    fn new(quotas: &Quotas, preemptor: NodeId, candidates: BTreeMap<NodeId, VecDeque<WorkloadId>>) -> Self {
        let path = quotas.ancestors(preemptor).collect();
        Self { candidates, pruned: BTreeSet::new(), preemptor, path }
    }

    fn pop(&mut self, node: NodeId) -> Option<WorkloadId> {
        self.candidates.get_mut(&node)?.pop_front()
    }

    fn first(&self, node: NodeId) -> Option<WorkloadId> {
        self.candidates.get(&node)?.front().copied()
    }

    /// The queue from which the next one has to go.
    fn next(&mut self, field: &Field<'_>, quotas: &Quotas) -> Option<NodeId> {
        let Some(root) = self.path.last().copied() else {
            let is_left = !self.pruned.contains(&self.preemptor) && self.first(self.preemptor).is_some();
            return is_left.then_some(self.preemptor);
        };
        while !self.pruned.contains(&root) {
            if let Some(node) = self.descend(field, quotas, root) {
                return Some(node);
            }
        }
        None
    }

    fn descend(&mut self, field: &Field<'_>, quotas: &Quotas, cohort: NodeId) -> Option<NodeId> {
        let here = quotas.node(cohort);
        let mut queue: Option<NodeId> = None;
        let mut queue_share = Share::none();
        for child in &here.child_queues {
            let id = quotas.node(*child).queue.expect("a child queue is a ClusterQueue");
            if self.pruned.contains(child) || !field.queues[id].is_active {
                continue;
            }
            let share = field.share(quotas, *child);
            let Some(first) = self.first(*child).filter(|_| share.is_borrowing() || *child == self.preemptor) else {
                self.pruned.insert(*child);
                continue;
            };
            match (share.compare(&queue_share), queue.and_then(|best| self.first(best))) {
                (Ordering::Greater, _) => {
                    queue = Some(*child);
                    queue_share = share;
                }
                (Ordering::Equal, Some(best)) if field.goes_before(first, best) => queue = Some(*child),
                _ => {}
            }
        }
        let mut below: Option<NodeId> = None;
        let mut below_share = Share::none();
        for child in &here.child_cohorts {
            if self.pruned.contains(child) {
                continue;
            }
            let share = field.share(quotas, *child);
            if !share.is_borrowing() && !self.path.contains(child) {
                self.pruned.insert(*child);
            } else if share.compare(&below_share) != Ordering::Less {
                below = Some(*child);
                below_share = share;
            }
        }
        match (below, queue) {
            (None, None) => {
                self.pruned.insert(cohort);
                None
            }
            (Some(below), _) if below_share.compare(&queue_share) != Ordering::Less => {
                self.descend(field, quotas, below)
            }
            (_, queue) => queue,
        }
    }

    /// The children of the lowest common cohort on the preemptor's and on the target's side.
    fn almost_common(&self, quotas: &Quotas, target: NodeId) -> (NodeId, NodeId) {
        let mut theirs = target;
        for above in quotas.ancestors(target) {
            if let Some(slot) = self.path.iter().position(|node| *node == above) {
                let ours = if slot == 0 { self.preemptor } else { self.path[slot - 1] };
                return (ours, theirs);
            }
            theirs = above;
        }
        (self.preemptor, target)
    }
}
