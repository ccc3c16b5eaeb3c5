//! The second look, in order: what earlier entries took or will free is counted now.

use std::collections::BTreeSet;

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;

use super::Recomputation;
use super::entry::{Entry, Outcome, RequeueReason};
use crate::assign::Mode;
use crate::change::PreemptionPolicy;
use crate::engine::Engine;
use crate::id::{PoolId, WorkloadId};
use crate::preempt::{Target, remove_claim};
use crate::text;

impl Engine {
    /// Decides about all entries and returns the order in which that was done.
    pub(super) fn process_all(&mut self, entries: &mut [Entry]) -> Vec<usize> {
        let mut victims = BTreeSet::new();
        if self.settings.fair_sharing.is_none() {
            let order = self.classical_order(entries);
            for index in &order {
                self.process(&mut entries[*index], &mut victims);
            }
            return order;
        }
        let mut order = Vec::with_capacity(entries.len());
        for mut waiting in self.trees(entries) {
            while let Some(index) = self.next_by_share(entries, &mut waiting) {
                self.process(&mut entries[index], &mut victims);
                order.push(index);
            }
        }
        order
    }

    fn process(&mut self, entry: &mut Entry, victims: &mut BTreeSet<WorkloadId>) {
        let overlaps = |targets: &[Target], victims: &BTreeSet<WorkloadId>| {
            targets.iter().any(|target| victims.contains(&target.workload))
        };
        let recomputes = self.settings.gates.enabled(Gate::RecomputeAssignmentUponPreemptionTargetsOverlap);
        let is_reassigned = recomputes && overlaps(&entry.targets, victims);
        if is_reassigned {
            self.reassign(entry, victims);
        }
        let is_fitting = self.fits_without(entry, victims);
        if is_reassigned {
            let result = match entry.assignment.mode {
                Mode::DeferredFit => Recomputation::DeferredFit,
                _ if is_fitting && !entry.targets.is_empty() && !overlaps(&entry.targets, victims) => {
                    Recomputation::NewTargets
                }
                _ => Recomputation::Skipped,
            };
            self.last_cycle.count_recomputation(&self.queues[entry.queue].name, result);
        }
        match entry.assignment.mode {
            Mode::NoFit => {
                entry.requeue = RequeueReason::NoFit;
                entry.reason = entry.assignment.obstacle.unwrap_or_default();
                return;
            }
            Mode::Preempt if entry.targets.is_empty() => {
                entry.requeue = RequeueReason::NoCandidates;
                entry.reason = text::WAITING_FOR_QUOTA;
                self.reserve_for_later(entry);
                return;
            }
            Mode::DeferredFit => {
                entry.requeue = RequeueReason::PendingPreemption;
                entry.reason = text::WAITING_FOR_PREEMPTED;
                entry.message = Some(text::DEFERRED_FIT);
                entry.progress = None;
                self.take_usage(entry);
                return;
            }
            Mode::Preempt | Mode::Fit => {}
        }
        if overlaps(&entry.targets, victims) {
            return self.skip(entry, text::OVERLAPPING_TARGETS);
        }
        if !is_fitting {
            return self.skip(entry, text::NO_LONGER_FITS);
        }
        victims.extend(entry.targets.iter().map(|target| target.workload));
        self.take_usage(entry);
        if entry.assignment.mode == Mode::Preempt {
            entry.outcome = Outcome::Preempting;
            entry.requeue = RequeueReason::PendingPreemption;
            entry.reason = text::WAITING_FOR_PREEMPTED;
            entry.progress = None;
        } else {
            entry.outcome = Outcome::Admitted;
        }
    }

    fn skip(&mut self, entry: &mut Entry, message: &'static str) {
        if entry.assignment.mode == Mode::Preempt {
            self.last_cycle.count_skip(&self.queues[entry.queue].name);
        }
        entry.outcome = Outcome::Skipped;
        entry.requeue = RequeueReason::FailedAfterNomination;
        entry.reason = text::WAITING_FOR_QUOTA;
        entry.message = Some(message);
        if !self.settings.gates.enabled(Gate::FlavorFungibilityPreserveScanProgress) {
            entry.progress = None;
        }
    }

    /// Looks again, as if the victims of earlier entries had left, at the flavors that were chosen before.
    fn reassign(&mut self, entry: &mut Entry, victims: &BTreeSet<WorkloadId>) {
        let mark = self.quotas.open_mark();
        for victim in victims {
            remove_claim(&mut self.quotas, &self.workloads, &self.queues, *victim);
        }
        self.departed.clone_from(victims);
        let pins = entry.assignment.pins();
        let (assignment, targets) = self.find_assignment(entry.workload, entry.queue, Some(&pins));
        self.departed.clear();
        self.quotas.close_mark(mark);
        entry.progress = Some(assignment.progress.clone());
        entry.assignment = assignment;
        entry.targets = targets;
        if entry.assignment.mode == Mode::Fit {
            entry.assignment.force_mode(Mode::DeferredFit);
        }
    }

    /// What the entry would add to usage: nothing if it holds its quota already.
    pub(super) fn net_usage(&self, entry: &Entry) -> Vec<(PoolId, Amount)> {
        if self.workloads[entry.workload].status.has_reservation() {
            Vec::new()
        } else {
            entry.assignment.usage.clone()
        }
    }

    fn take_usage(&mut self, entry: &Entry) {
        for (pool, amount) in self.net_usage(entry) {
            self.quotas.add_usage(entry.node, pool, amount);
        }
    }

    /// Whether the entry fits when its own targets and all earlier victims have left.
    fn fits_without(&mut self, entry: &Entry, victims: &BTreeSet<WorkloadId>) -> bool {
        let mark = self.quotas.open_mark();
        let own = entry.targets.iter().map(|target| target.workload).filter(|target| !victims.contains(target));
        for id in victims.iter().copied().chain(own) {
            remove_claim(&mut self.quotas, &self.workloads, &self.queues, id);
        }
        let usage = self.net_usage(entry);
        let is_fitting = usage.iter().all(|(pool, amount)| self.quotas.available(entry.node, *pool) >= *amount);
        self.quotas.close_mark(mark);
        is_fitting
    }

    /// Keeps what is free for a workload that has to wait for quota which its queue cannot always reclaim.
    fn reserve_for_later(&mut self, entry: &Entry) {
        let can_always_reclaim =
            self.queues[entry.queue].rules.preemption.reclaim_within_cohort == PreemptionPolicy::Any;
        let is_preferred = entry.is_preemptor && self.settings.gates.enabled(Gate::PrioritizePreemptorWorkloads);
        if can_always_reclaim && !is_preferred {
            return;
        }
        let is_borrowing = entry.assignment.borrowing > 0;
        for (pool, amount) in self.net_usage(entry) {
            let nominal = self.quotas.nominal(entry.node, pool);
            let usage = self.quotas.usage(entry.node, pool);
            let reserved = match (is_borrowing, self.quotas.borrowing_limit(entry.node, pool)) {
                (true, None) => amount,
                (true, Some(limit)) => amount.min(nominal.plus(limit).minus(usage)),
                (false, _) => amount.min(nominal.minus(usage)).max(Amount::ZERO),
            };
            self.quotas.add_usage(entry.node, pool, reserved);
        }
    }
}
