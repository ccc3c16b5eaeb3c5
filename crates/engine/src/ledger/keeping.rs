//! Who is charged, what is settled, and when LocalQueues are looked at.

use kueue_core::duration::Duration;
use kueue_core::resource::Formatter;
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;

use super::{Ledger, Usage, entry_penalty};
use crate::effect::{Effect, Key};
use crate::engine::Engine;
use crate::few::Sums;
use crate::id::{LocalQueueId, QueueId, WorkloadId};
use crate::queue::LocalQueue;
use crate::settings::WakePolicy;
use crate::status::Stage;

impl Engine {
    /// Whether LocalQueues of the ClusterQueue that used less go first.
    pub(crate) fn is_usage_based(&self, queue: QueueId) -> bool {
        self.settings.usage_rules().is_some() && self.queues[queue].spec.is_usage_based
    }

    /// What the LocalQueue used, as it counts in its ClusterQueue.
    pub(crate) fn usage_of(&self, lq: LocalQueueId) -> Usage {
        let (Some(rules), Some(lq)) = (self.settings.usage_rules(), self.local_queues.get(&lq)) else {
            return Usage::default();
        };
        let weight = lq.object.as_ref().map_or(1.0, |object| object.weight);
        lq.ledger().map(|ledger| ledger.usage(weight, &rules.resource_weights)).unwrap_or_default()
    }

    /// The ClusterQueue that the LocalQueue names, whether or not it runs.
    fn home_of(&self, lq: LocalQueueId) -> Option<QueueId> {
        self.local_queues.get(&lq)?.object.as_ref()?.home
    }

    /// Begins to count for a LocalQueue that is new, with what its status says it used before.
    pub(crate) fn open_ledger(&mut self, lq: LocalQueueId, now: Time) {
        if self.settings.usage_rules().is_none() {
            return;
        }
        if let Some(object) = self.local_queues.get_mut(&lq).and_then(|lq| lq.object.as_mut()) {
            object.ledger = Some(Ledger::new(object.consumed.clone().unwrap_or_default(), now));
            self.plan_sample(lq, now);
            self.refresh_usage(lq);
        }
    }

    /// Orders the ClusterQueue by usage, or not, as its spec says.
    pub(crate) fn sync_usage_mode(&mut self, queue: QueueId) {
        let is_by_usage = self.is_usage_based(queue);
        let state = &mut self.queues[queue];
        state.reserving.set_by_usage(is_by_usage);
        for lq in self.served_by.get(&state.name).cloned().unwrap_or_default() {
            self.refresh_usage(lq);
        }
        self.queues[queue].pending.reorder();
    }

    /// Tells the ClusterQueue what the LocalQueue has used by now, even while that is stopped: what runs stays ranked.
    pub(crate) fn refresh_usage(&mut self, lq: LocalQueueId) {
        let Some(queue) = self.home_of(lq) else { return };
        if !self.is_usage_based(queue) {
            self.queues[queue].pending.forget_usage(lq);
            return;
        }
        let usage = self.usage_of(lq);
        let lq_state = &self.local_queues[&lq];
        let has_penalty = lq_state.target().is_some() && lq_state.ledger().is_some_and(Ledger::has_penalty);
        self.queues[queue].pending.note_usage(lq, usage, has_penalty);
    }

    /// Charges a workload that is given quota; one that holds some already was charged for it.
    pub(crate) fn charge_entry(&mut self, id: WorkloadId, queue: QueueId) {
        let Some(rules) = self.settings.usage_rules() else { return };
        if !self.queues[queue].spec.is_usage_based {
            return;
        }
        let requests = self.requests_of(id, queue);
        let penalty = entry_penalty(&requests, rules.sampling_interval, rules.half_life);
        let workload = &self.workloads[id];
        let (lq, key) = (workload.local_queue, workload.key.clone());
        if let Some(ledger) = self.local_queues.get_mut(&lq).and_then(LocalQueue::ledger_mut) {
            ledger.charge(key, penalty);
            self.refresh_usage(lq);
        }
    }

    /// All that the workload asks for, as far as the ClusterQueue counts it.
    fn requests_of(&self, id: WorkloadId, queue: QueueId) -> ResourceList {
        let rules = &self.queues[queue].rules;
        let mut sums: ResourceList = ResourceList::new();
        let totals = self.workloads[id].totals(self.settings.gates);
        for (resource, amount) in totals.iter().flat_map(|total| &total.requests) {
            if self.settings.ignores_undeclared && rules.group_of(*resource).is_none() {
                continue;
            }
            let name = self.names.resource(*resource);
            let quantity = Formatter::default().quantity(name, *amount);
            *sums.entry(name.to_string()).or_default() += &quantity;
        }
        sums
    }

    /// Settles or drops the penalty of a workload that was charged, as its state asks for.
    pub(crate) fn keep_ledger(&mut self, id: WorkloadId, now: Time) {
        let workload = &self.workloads[id];
        let lq = workload.local_queue;
        let ledger = self.local_queues.get(&lq).and_then(LocalQueue::ledger);
        if !ledger.is_some_and(|ledger| ledger.has_charged(&workload.key)) {
            return;
        }
        let stage = workload.status.stage();
        if stage == Stage::Finished || (!workload.is_active && !workload.status.has_reservation()) {
            self.waive_penalty(id, lq);
        } else if workload.is_active && stage == Stage::Admitted {
            self.settle_penalty(id, lq, now);
        }
    }

    fn settle_penalty(&mut self, id: WorkloadId, lq: LocalQueueId, now: Time) {
        let Some(queue) = self.workloads[id].claim.as_ref().map(|claim| claim.queue) else { return };
        if self.home_of(lq) != Some(queue) || !self.is_usage_based(queue) {
            return;
        }
        let usage = self.admitted_usage(lq, queue);
        let Self { settings, local_queues, workloads, .. } = self;
        let rules = settings.usage_rules();
        let ledger = local_queues.get_mut(&lq).and_then(LocalQueue::ledger_mut);
        if let (Some(rules), Some(ledger)) = (rules, ledger) {
            ledger.settle(&workloads[id].key, &usage, rules.half_life, now);
            self.refresh_usage(lq);
        }
    }

    /// Forgets the workload's penalty.
    pub(crate) fn waive_penalty(&mut self, id: WorkloadId, lq: LocalQueueId) {
        let key = &self.workloads[id].key;
        let ledger = self.local_queues.get_mut(&lq).and_then(LocalQueue::ledger_mut);
        if ledger.and_then(|ledger| ledger.waive(key)).is_some() {
            self.refresh_usage(lq);
        }
    }

    fn admitted_usage(&self, lq: LocalQueueId, queue: QueueId) -> ResourceList {
        let mut sums = ResourceList::new();
        let admitted = self.queues[queue].holdings.of(lq).map(|held| &held.admitted.usage);
        for (pool, amount) in admitted.into_iter().flat_map(Sums::iter) {
            let (_, resource) = self.names.pool(pool);
            let quantity = Formatter::default().quantity(resource, i64::try_from(amount).unwrap_or(i64::MAX));
            *sums.entry(resource.to_string()).or_default() += &quantity;
        }
        sums
    }

    /// Has the usage of a LocalQueue counted at that time next.
    fn plan_sample(&mut self, lq: LocalQueueId, at: Time) {
        if let Some(object) = self.local_queues.get_mut(&lq).and_then(|lq| lq.object.as_mut()) {
            if let Some(old) = object.next_sample.replace(at) {
                self.samples.remove(&(old, lq));
            }
            self.samples.insert((at, lq));
        }
    }

    /// Counts the usage of those LocalQueues whose time has come.
    pub(crate) fn sample_in_time(&mut self, now: Time) {
        let Some(interval) = self.settings.usage_rules().map(|rules| rules.sampling_interval) else { return };
        if self.settings.wake == WakePolicy::Batched {
            return;
        }
        let due: Vec<LocalQueueId> =
            self.samples.iter().take_while(|(at, _)| *at <= now).map(|(_, local_queue)| *local_queue).collect();
        for lq in due {
            let last = self.sample_one(lq, now).unwrap_or(now);
            self.plan_sample(lq, (last + interval).max(now + Duration::from_seconds(1)));
        }
    }

    /// Counts the usage of every LocalQueue that was not counted for an interval, or that has a penalty.
    pub fn sample(&mut self, now: Time) -> Vec<Effect> {
        let mut all: Vec<(Key, LocalQueueId)> = self.samples.iter().map(|(_, lq)| (self.key_of(*lq), *lq)).collect();
        all.sort();
        for (_, lq) in all {
            self.sample_one(lq, now);
        }
        self.take_effects()
    }

    fn key_of(&self, lq: LocalQueueId) -> Key {
        let namespace = self.names.namespace(self.names.namespace_of(lq)).clone();
        Key { namespace, name: self.names.local_queue(lq).clone() }
    }

    /// Counts the usage of a LocalQueue unless that was done lately; when it was done last, if it is done at all.
    fn sample_one(&mut self, lq: LocalQueueId, now: Time) -> Option<Time> {
        let queue = self.queue_of(lq).filter(|queue| self.queues[*queue].is_active)?;
        let usage = self.admitted_usage(lq, queue);
        let local_queue = self.key_of(lq);
        let Self { settings, local_queues, effects, .. } = self;
        let rules = settings.usage_rules()?;
        let object = local_queues.get_mut(&lq).and_then(|lq| lq.object.as_mut())?;
        let ledger = object.ledger.as_mut()?;
        let is_early = now < ledger.updated() + rules.sampling_interval && !ledger.has_penalty();
        if is_early && object.consumed.is_some() {
            return Some(ledger.updated());
        }
        ledger.sample(&usage, rules.half_life, now);
        if object.consumed.as_ref() != Some(ledger.consumed()) {
            object.consumed = Some(ledger.consumed().clone());
            object.told_at = Some(now);
            effects.push(Effect::Consumed { local_queue, consumed: ledger.consumed().clone(), at: now });
        }
        self.refresh_usage(lq);
        self.queues[queue].pending.reorder();
        Some(now)
    }
}
