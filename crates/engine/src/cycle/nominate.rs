//! The first look at a head: may it be admitted at all, with which flavors, and who would have to go.

use kueue_core::gates::Gate;

use super::Head;
use super::entry::{Entry, Outcome, Proposal, Refused, RequeueReason};
use crate::assign::{Assignment, Mode, Oracle, Plan};
use crate::engine::Engine;
use crate::id::{FlavorId, QueueId, ResourceId, WorkloadId};
use crate::preempt::{Target, remove_claim};
use crate::text;
use crate::workload::{Progress, Total};

impl Engine {
    pub(super) fn nominate(&mut self, head: Head, entries: &mut Vec<Entry>, refused: &mut Vec<Refused>) {
        let Head { workload: id, queue, is_preemptor, returns } = head;
        if returns.is_none() && self.workloads[id].claim.as_ref().is_some_and(|claim| claim.queue == queue) {
            // It got quota in the meantime.
            self.vacate(id);
            return;
        }
        if self.has_failed_check(id) {
            refused.push(Refused {
                returns,
                workload: id,
                requeue: RequeueReason::Generic,
                reason: text::PENDING_EVALUATION,
                message: text::FAILED_CHECKS.to_owned(),
            });
            return;
        }
        if !self.queues[queue].is_active {
            let message = text::queue_inactive(&self.queues[queue].name);
            let requeue = RequeueReason::Generic;
            refused.push(Refused { returns, workload: id, requeue, reason: text::SUSPENDED, message });
            return;
        }
        if let Some((is_namespace, message)) = self.inadmissibility(id, queue) {
            let requeue = if is_namespace { RequeueReason::NamespaceMismatch } else { RequeueReason::Generic };
            refused.push(Refused { returns, workload: id, requeue, reason: text::MISCONFIGURED, message });
            return;
        }
        let Proposal { mut assignment, targets, replaces } = self.find_assignment(id, queue, None);
        entries.push(Entry {
            workload: id,
            queue,
            node: self.queues[queue].node,
            is_preemptor,
            returns,
            progress: Some(std::mem::take(&mut assignment.progress)),
            assignment,
            targets,
            replaces,
            outcome: Outcome::Waiting,
            requeue: RequeueReason::Generic,
            reason: "",
            message: None,
        });
    }

    /// Flavors for the workload and the workloads that have to go for it.
    pub(crate) fn find_assignment(
        &mut self,
        id: WorkloadId,
        queue: QueueId,
        pins: Option<&[Vec<(ResourceId, FlavorId)>]>,
    ) -> Proposal {
        let rules = self.queues[queue].rules.clone();
        let node = self.queues[queue].node;
        let progress = self.workloads[id].progress.take();
        let generation = self.quotas.node(node).generation;
        let is_outdated = |progress: &Progress| progress.is_outdated(generation, self.cycles, self.settings.gates);
        let progress = progress.filter(|progress| pins.is_none() && !is_outdated(progress));
        let replaced = self.replaced_slice(id, queue);
        let plan = Plan {
            workload: id,
            queue,
            node,
            rules: &rules,
            progress: progress.as_deref(),
            pins,
            replaced: replaced.as_ref(),
            oracle: Oracle::Search,
        };
        let replaces = replaced.as_ref().map(|replaced| replaced.workload);
        let totals = self.workloads[id].totals(self.settings.gates);
        let mut full = self.assign(&plan, &totals);
        if full.mode == Mode::Fit {
            return Proposal { assignment: full, targets: Vec::new(), replaces };
        }
        if full.mode == Mode::Preempt {
            let targets = self.targets_for(&plan, &mut full, &totals);
            if !targets.is_empty() {
                self.keep_places_free(&plan, &mut full, &targets);
                return Proposal { assignment: full, targets, replaces };
            }
        }
        if self.settings.gates.enabled(Gate::PartialAdmission)
            && self.workloads[id].can_start_with_fewer()
            && let Some((mut assignment, targets)) = self.find_partial(&plan, &totals)
        {
            if assignment.mode == Mode::Preempt {
                self.keep_places_free(&plan, &mut assignment, &targets);
            }
            return Proposal { assignment, targets, replaces };
        }
        if full.mode == Mode::Preempt {
            self.keep_places_free(&Plan { replaced: None, ..plan }, &mut full, &[]);
        }
        Proposal { assignment: full, targets: Vec::new(), replaces: None }
    }

    /// Looks where the pods would go once the targets have left, so that nobody else is placed there in the meantime.
    fn keep_places_free(&mut self, plan: &Plan<'_>, assignment: &mut Assignment, targets: &[Target]) {
        let is_placed = self.settings.gates.enabled(Gate::TopologyAwareScheduling)
            && (self.places_all(plan.rules)
                || self.workloads[plan.workload].pod_sets.iter().any(|pod_set| pod_set.spec.topology.is_some()));
        if !is_placed || self.is_on_failed_node(plan.workload) {
            return;
        }
        let leaving = targets.iter().map(|target| target.workload).chain(plan.replaced.map(|old| old.workload));
        let leaving: Vec<WorkloadId> = leaving.collect();
        let mark = self.quotas.open_mark();
        for id in &leaving {
            remove_claim(&mut self.quotas, &self.workloads, &self.queues, *id);
        }
        self.place_ahead(plan, assignment, !leaving.is_empty());
        self.quotas.close_mark(mark);
    }

    /// The largest number of pods that can start, found by halving the range.
    fn find_partial(&mut self, plan: &Plan<'_>, totals: &[Total]) -> Option<(Assignment, Vec<Target>)> {
        let pod_sets = self.workloads[plan.workload].pod_sets.clone();
        let spare = |index: usize| {
            let spec = &pod_sets[index].spec;
            i64::from(spec.count) - i64::from(spec.min_count.unwrap_or(spec.count))
        };
        let total_spare: i64 = (0..pod_sets.len()).map(spare).sum();
        let mut best = None;
        let (mut low, mut high) = (0, total_spare + 1);
        while low < high {
            let middle = low + (high - low) / 2;
            let reduced: Vec<Total> = totals
                .iter()
                .enumerate()
                .map(|(index, total)| {
                    let fewer = i128::from(spare(index)) * i128::from(middle) / i128::from(total_spare);
                    let count = i128::from(pod_sets[index].spec.count) - fewer;
                    total.scaled_to(i32::try_from(count).unwrap_or(i32::MAX))
                })
                .collect();
            match self.try_reduced(plan, &reduced) {
                Some(found) => {
                    best = Some((middle, found));
                    high = middle;
                }
                None => low = middle + 1,
            }
        }
        best.filter(|(index, _)| *index == low).map(|(_, found)| found)
    }

    fn try_reduced(&mut self, plan: &Plan<'_>, totals: &[Total]) -> Option<(Assignment, Vec<Target>)> {
        let mut assignment = self.assign(plan, totals);
        match assignment.mode {
            Mode::Fit => Some((assignment, Vec::new())),
            Mode::Preempt => {
                let targets = self.targets_for(plan, &mut assignment, totals);
                (!targets.is_empty()).then_some((assignment, targets))
            }
            Mode::NoFit | Mode::DeferredFit => None,
        }
    }
}
