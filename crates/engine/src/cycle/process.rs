//! The second look, in order: what earlier entries took or will free is counted now.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;

use super::Recomputation;
use super::entry::{Entry, Outcome, Proposal, RequeueReason};
use crate::assign::Mode;
use crate::change::PreemptionPolicy;
use crate::engine::Engine;
use crate::id::{FlavorId, Id as _, NodeId, PoolId, WorkloadId};
use crate::preempt::remove_claim;
use crate::status::ConditionKind;
use crate::text;
use crate::topology::Occupied;

/// What was decided so far in this cycle, as far as later entries have to know it.
#[derive(Debug, Default)]
struct Leaving {
    /// They make room: their quota is as good as free.
    victims: BTreeSet<WorkloadId>,
    /// What the victims hold, by tree, ClusterQueue and pool: so many sums, however many victims.
    freed: BTreeMap<(NodeId, NodeId, PoolId), Amount>,
    /// Larger slices take their places, and their quota with them.
    replaced: BTreeSet<WorkloadId>,
    /// Somebody starts in this cycle whose pods cannot run yet.
    has_starter: bool,
    /// What is kept free for those that have to wait.
    reserved: Vec<(NodeId, PoolId, Amount)>,
}

impl Leaving {
    fn overlaps(&self, entry: &Entry) -> bool {
        let mut wanted = entry.targets.iter().map(|target| target.workload).chain(entry.replaces);
        wanted.any(|id| self.victims.contains(&id) || self.replaced.contains(&id))
    }

    fn all(&self) -> BTreeSet<WorkloadId> {
        self.victims.union(&self.replaced).copied().collect()
    }

    /// What the victims in a tree hold.
    fn freed_in(&self, root: NodeId) -> impl Iterator<Item = (NodeId, PoolId, Amount)> {
        let from = (root, NodeId::from_index(0), PoolId::from_index(0));
        let here = self.freed.range(from..).take_while(move |((tree, _, _), _)| *tree == root);
        here.map(|((_, node, pool), amount)| (*node, *pool, *amount))
    }
}

/// Whether an entry can have what it was assigned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fit {
    Yes,
    NoQuota,
    /// There is quota, but others were placed where it would go.
    NoPlace,
}

impl Engine {
    /// Decides about all entries and returns the order in which that was done.
    pub(super) fn process_all(&mut self, entries: &mut [Entry]) -> Vec<usize> {
        let mut leaving = Leaving::default();
        if self.settings.fair_sharing.is_none() {
            let order = self.classical_order(entries);
            for index in &order {
                self.process(&mut entries[*index], &mut leaving);
            }
            return order;
        }
        let mut order = Vec::with_capacity(entries.len());
        for mut waiting in self.trees(entries) {
            while let Some(index) = self.next_by_share(entries, &mut waiting) {
                self.process(&mut entries[index], &mut leaving);
                order.push(index);
            }
        }
        order
    }

    fn process(&mut self, entry: &mut Entry, leaving: &mut Leaving) {
        if self.is_held_by_pods {
            entry.outcome = Outcome::Postponed;
            entry.requeue = RequeueReason::FailedAfterNomination;
            entry.progress = None;
            return;
        }
        if self.admitted_sibling(entry.workload, entry.queue, Ordering::Less).is_some() {
            entry.outcome = Outcome::Skipped;
            entry.requeue = RequeueReason::SiblingAdmitted;
            entry.reason = text::PENDING_EVALUATION;
            entry.message = Some(text::SIBLING_ADMITTED);
            entry.progress = None;
            return;
        }
        let recomputes = self.settings.gates.enabled(Gate::RecomputeAssignmentUponPreemptionTargetsOverlap);
        let is_reassigned = recomputes && leaving.overlaps(entry);
        if is_reassigned {
            self.reassign(entry, leaving.all());
            if entry.assignment.mode == Mode::Fit {
                entry.assignment.force_mode(Mode::DeferredFit);
            }
        }
        let mut fit = self.fits(entry, leaving);
        let replaces_places = self.settings.gates.enabled(Gate::TASRecomputeAssignmentWithinSchedulingCycle);
        if fit == Fit::NoPlace && !is_reassigned && replaces_places {
            self.reassign(entry, BTreeSet::new());
            fit = self.fits(entry, leaving);
        }
        let is_fitting = fit == Fit::Yes;
        if is_reassigned {
            let result = match entry.assignment.mode {
                Mode::DeferredFit => Recomputation::DeferredFit,
                _ if is_fitting && !entry.targets.is_empty() && !leaving.overlaps(entry) => Recomputation::NewTargets,
                _ => Recomputation::Skipped,
            };
            self.last_cycle.count_recomputation(&self.queues[entry.queue].name, result);
        }
        if entry.assignment.mode != Mode::Fit
            && self.settings.gates.enabled(Gate::TASFailedNodeReplacementFailFast)
            && self.is_on_failed_node(entry.workload)
        {
            entry.outcome = Outcome::Evicted;
            return;
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
                self.reserve_for_later(entry, leaving);
                return;
            }
            Mode::Preempt if self.is_preemption_gated(entry.workload) => {
                entry.outcome = Outcome::Gated;
                entry.requeue = RequeueReason::PreemptionGated;
                entry.reason = text::ADMISSION_GATED;
                entry.message = Some(text::PREEMPTION_IS_GATED);
                entry.progress = None;
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
        if leaving.overlaps(entry) {
            return self.skip(entry, text::OVERLAPPING_TARGETS);
        }
        if !is_fitting {
            return self.skip(entry, text::NO_LONGER_FITS);
        }
        if entry.assignment.mode == Mode::Fit && entry.returns.is_none() && self.must_wait_for_pods(leaving) {
            return self.block(entry);
        }
        self.let_go(entry, leaving);
        self.take_usage(entry);
        if entry.assignment.mode == Mode::Preempt {
            entry.outcome = Outcome::Preempting;
            entry.requeue = RequeueReason::PendingPreemption;
            entry.reason = text::WAITING_FOR_PREEMPTED;
            entry.progress = None;
        } else {
            match self.admitted_sibling(entry.workload, entry.queue, Ordering::Greater) {
                Some(sibling) => self.migrate(entry, sibling),
                None => {
                    entry.outcome = Outcome::Admitted;
                    leaving.has_starter |= !self.workloads[entry.workload].status.is_true(ConditionKind::PodsReady);
                }
            }
        }
    }

    /// Whether pods of somebody who has quota, or was given some in this cycle, do not all run yet.
    fn must_wait_for_pods(&self, leaving: &Leaving) -> bool {
        let blocks = self.settings.pods_ready.as_ref().is_some_and(|rules| rules.blocks_admission);
        blocks && (self.unready > 0 || leaving.has_starter)
    }

    /// Nothing starts before the pods of all others run; those behind the entry wait without a look.
    fn block(&mut self, entry: &mut Entry) {
        self.is_held_by_pods = true;
        entry.outcome = Outcome::Blocked;
        entry.requeue = RequeueReason::FailedAfterNomination;
        entry.reason = text::WAITING_FOR_PODS_READY;
        entry.message = Some(text::NOT_ALL_PODS_READY);
        // The flavor that it fits into is not a flavor that was tried in vain.
        entry.progress = None;
    }

    /// The variant could start: the job moves to its flavor as soon as the sibling has left.
    fn migrate(&self, entry: &mut Entry, sibling: WorkloadId) {
        if self.may_migrate(entry.workload, entry.queue) {
            entry.outcome = Outcome::Migrating(sibling);
            entry.requeue = RequeueReason::PendingMigration;
            entry.reason = text::WAITING_FOR_PREEMPTED;
            entry.progress = None;
        } else {
            entry.reason = text::PENDING_EVALUATION;
            entry.message = Some(text::NOT_ACCEPTABLE_FLAVOR);
        }
    }

    fn is_preemption_gated(&self, id: WorkloadId) -> bool {
        let gates = self.settings.gates;
        (gates.enabled(Gate::ConcurrentAdmission) || gates.enabled(Gate::MultiKueueOrchestratedPreemption))
            && self.workloads[id].has_closed_gate()
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

    /// Looks again, as if some had left, at the flavors that were chosen before.
    fn reassign(&mut self, entry: &mut Entry, departed: BTreeSet<WorkloadId>) {
        let mark = self.quotas.open_mark();
        self.departed = departed;
        for id in &self.departed {
            remove_claim(&mut self.quotas, &self.workloads, &self.queues, *id);
        }
        let pins = entry.assignment.pins();
        let Proposal { mut assignment, targets, replaces } =
            self.find_assignment(entry.workload, entry.queue, Some(&pins));
        self.departed.clear();
        self.quotas.close_mark(mark);
        entry.progress = Some(std::mem::take(&mut assignment.progress));
        entry.assignment = assignment;
        entry.targets = targets;
        entry.replaces = replaces;
    }

    /// What the entry would take of nodes beyond what it has there already, by flavor.
    fn net_places(&mut self, entry: &Entry) -> Vec<(FlavorId, Vec<Occupied>)> {
        let Self { quotas, workloads, .. } = self;
        let workload = &workloads[entry.workload];
        let mut taken = Vec::new();
        for assigned in &entry.assignment.pod_sets {
            let Some(place) = &assigned.place else { continue };
            let pod_set = &workload.pod_sets[assigned.index];
            let has_tree = |flavor: &FlavorId| quotas.sites.tree(*flavor).is_some();
            let Some(flavor) = assigned.flavors.iter().map(|(_, choice)| choice.flavor).find(has_tree) else {
                continue;
            };
            let held = workload.status.admission.iter().flat_map(|admission| &admission.pod_sets);
            let held = held.filter(|held| held.name == pod_set.spec.name).find_map(|held| held.topology.as_deref());
            let beyond = held.map(|held| place.beyond(held));
            taken.push((flavor, quotas.sites.occupied(flavor, beyond.as_ref().unwrap_or(place), &pod_set.room)));
        }
        taken
    }

    /// What the entry would add to usage: nothing if it holds its quota already.
    pub(super) fn net_usage<'a>(&self, entry: &'a Entry) -> &'a [(PoolId, Amount)] {
        if self.workloads[entry.workload].status.has_reservation() { &[] } else { &entry.assignment.usage }
    }

    fn take_usage(&mut self, entry: &Entry) {
        for (pool, amount) in self.net_usage(entry) {
            self.quotas.add_usage(entry.node, *pool, *amount);
        }
        self.take_places(entry);
    }

    fn take_places(&mut self, entry: &Entry) {
        for (_, places) in self.net_places(entry) {
            places.iter().for_each(|place| self.quotas.sites.add(place));
        }
    }

    /// Whether the entry fits when its own targets and all earlier victims have left.
    ///
    /// With slices it is asked twice. As in Kueue, what a replaced slice held counts as free, so that a replacement
    /// is not held up by quota that is kept for others; but what its successor took must not be given out again.
    fn fits(&mut self, entry: &Entry, leaving: &Leaving) -> Fit {
        let mut replaced = leaving.replaced.clone();
        replaced.extend(entry.replaces);
        if !self.fits_without(entry, leaving, &replaced, &[]) {
            return Fit::NoQuota;
        }
        let has_slices = entry.replaces.is_some() || !leaving.replaced.is_empty();
        if has_slices && !self.fits_without(entry, leaving, &BTreeSet::new(), &leaving.reserved) {
            return Fit::NoQuota;
        }
        if self.has_places(entry, leaving, &replaced) { Fit::Yes } else { Fit::NoPlace }
    }

    /// Whether the places of the entry are free when its own targets and all earlier victims have left.
    fn has_places(&mut self, entry: &Entry, leaving: &Leaving, replaced: &BTreeSet<WorkloadId>) -> bool {
        let wanted = self.net_places(entry);
        if wanted.is_empty() {
            return true;
        }
        let own = entry.targets.iter().map(|target| target.workload);
        let gone: BTreeSet<WorkloadId> =
            own.chain(leaving.victims.iter().copied()).chain(replaced.iter().copied()).collect();
        let mark = self.quotas.open_mark();
        for claim in gone.iter().filter_map(|id| self.workloads[*id].claim.as_ref()) {
            claim.places().for_each(|place| self.quotas.sites.remove(place));
        }
        let sites = &self.quotas.sites;
        let is_free = if entry.is_waiting() {
            // Nothing is given out: as in Kueue, each pod set is looked at alone, and numbers of pods are not.
            let pods = self.names.pods();
            wanted.iter().all(|(flavor, places)| sites.has_room_apart(*flavor, places, pods))
        } else {
            sites.has_room(&wanted)
        };
        self.quotas.close_mark(mark);
        is_free
    }

    fn fits_without(
        &mut self,
        entry: &Entry,
        leaving: &Leaving,
        replaced: &BTreeSet<WorkloadId>,
        reserved: &[(NodeId, PoolId, Amount)],
    ) -> bool {
        let mark = self.quotas.open_mark();
        for (node, pool, amount) in leaving.freed_in(self.quotas.root(entry.node)) {
            self.quotas.remove_usage(node, pool, amount);
        }
        let own: BTreeSet<WorkloadId> = entry.targets.iter().map(|target| target.workload).collect();
        for id in own.union(replaced).filter(|id| !leaving.victims.contains(id)) {
            remove_claim(&mut self.quotas, &self.workloads, &self.queues, *id);
        }
        for (node, pool, amount) in reserved {
            self.quotas.remove_usage(*node, *pool, *amount);
        }
        let usage = self.net_usage(entry);
        let is_fitting = usage.iter().all(|(pool, amount)| self.quotas.available(entry.node, *pool) >= *amount);
        self.quotas.close_mark(mark);
        is_fitting
    }

    /// How much of an amount is kept free for a workload that has to wait for it.
    pub(crate) fn kept_free(&self, node: NodeId, pool: PoolId, amount: Amount, is_borrowing: bool) -> Amount {
        let nominal = self.quotas.nominal(node, pool);
        let usage = self.quotas.usage(node, pool);
        match (is_borrowing, self.quotas.borrowing_limit(node, pool)) {
            (true, None) => amount,
            (true, Some(limit)) => amount.min(nominal.plus(limit).minus(usage)),
            (false, _) => amount.min(nominal.minus(usage)).max(Amount::ZERO),
        }
    }

    /// Counts the targets of the entry among the victims, and the slice that it replaces as gone.
    fn let_go(&self, entry: &Entry, leaving: &mut Leaving) {
        leaving.replaced.extend(entry.replaces);
        let root = self.quotas.root(entry.node);
        for target in &entry.targets {
            let Some(claim) = &self.workloads[target.workload].claim else { continue };
            if leaving.victims.insert(target.workload) {
                let node = self.queues[claim.queue].node;
                for (pool, amount) in &claim.usage {
                    let sum = leaving.freed.entry((root, node, *pool)).or_default();
                    *sum = sum.plus(*amount);
                }
            }
        }
    }

    /// Keeps what is free for a workload that has to wait for quota which its queue cannot always reclaim.
    fn reserve_for_later(&mut self, entry: &Entry, leaving: &mut Leaving) {
        let can_always_reclaim =
            self.queues[entry.queue].rules.preemption.reclaim_within_cohort == PreemptionPolicy::Any;
        let is_preferred = entry.is_preemptor && self.settings.gates.enabled(Gate::PrioritizePreemptorWorkloads);
        if can_always_reclaim && !is_preferred {
            return;
        }
        let is_borrowing = entry.assignment.borrowing > 0;
        for (pool, amount) in self.net_usage(entry) {
            let reserved = self.kept_free(entry.node, *pool, *amount, is_borrowing);
            self.quotas.add_usage(entry.node, *pool, reserved);
            if reserved > Amount::ZERO {
                leaving.reserved.push((entry.node, *pool, reserved));
            }
        }
        self.take_places(entry);
    }
}
