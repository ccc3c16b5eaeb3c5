//! Who is charged, what is settled, and when LocalQueues are looked at.

use kueue_core::duration::Duration;
use kueue_core::resource::Formatter;
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;

use super::{Ledger, Usage, entry_penalty};
use crate::effect::{Effect, Key};
use crate::engine::Engine;
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
        match &lq.ledger {
            Some(ledger) => ledger.usage(weight, &rules.resource_weights),
            None => Ledger::new(Time::default()).usage(weight, &rules.resource_weights),
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
        let object = self.local_queues.get(&lq).and_then(|lq| lq.object.as_ref());
        let Some(queue) = object.and_then(|object| self.queue_ids.get(&object.queue)).copied() else { return };
        if !self.is_usage_based(queue) {
            self.queues[queue].pending.forget_usage(lq);
            return;
        }
        let usage = self.usage_of(lq);
        let lq_state = &self.local_queues[&lq];
        let has_penalty = lq_state.target().is_some() && lq_state.ledger.as_ref().is_some_and(Ledger::has_penalty);
        self.queues[queue].pending.note_usage(lq, usage, has_penalty);
    }

    /// Charges a workload that is given quota; one that holds some already was charged for it.
    pub(crate) fn charge_entry(&mut self, id: WorkloadId, queue: QueueId, now: Time) {
        let Some(rules) = self.settings.usage_rules() else { return };
        if !self.queues[queue].spec.is_usage_based {
            return;
        }
        let requests = self.requests_of(id, queue);
        let penalty = entry_penalty(&requests, rules.sampling_interval, rules.half_life);
        let workload = &self.workloads[id];
        let (lq, key) = (workload.local_queue, workload.key.clone());
        let ledger = &mut self.local_queues.entry(lq).or_default().ledger;
        ledger.get_or_insert_with(|| Ledger::new(now)).charge(key, penalty);
        self.refresh_usage(lq);
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

    /// Settles or drops the workload's penalty, as its state asks for.
    pub(crate) fn keep_ledger(&mut self, id: WorkloadId, before: Stage, now: Time) {
        if self.settings.usage_rules().is_none() {
            return;
        }
        let workload = &self.workloads[id];
        let (lq, stage) = (workload.local_queue, workload.status.stage());
        if workload.is_active && stage == Stage::Admitted && before != Stage::Admitted {
            self.settle_penalty(id, lq, now);
        }
        let workload = &self.workloads[id];
        if stage == Stage::Finished || (!workload.is_active && !workload.status.has_reservation()) {
            self.waive_penalty(id, lq);
        }
    }

    fn settle_penalty(&mut self, id: WorkloadId, lq: LocalQueueId, now: Time) {
        let Some(claim) = &self.workloads[id].claim else { return };
        let queue = claim.queue;
        let leads_here = self
            .local_queues
            .get(&lq)
            .and_then(|lq| lq.object.as_ref())
            .is_some_and(|object| object.queue == self.queues[queue].name);
        if !leads_here || !self.is_usage_based(queue) {
            return;
        }
        let usage = self.admitted_usage(lq, queue);
        let Self { settings, local_queues, workloads, .. } = self;
        let half_life = settings.usage_rules().expect("checked before").half_life;
        let ledger = local_queues.entry(lq).or_default().ledger.get_or_insert_with(|| Ledger::new(now));
        ledger.settle(&workloads[id].key, &usage, half_life, now);
        self.refresh_usage(lq);
    }

    /// Forgets the workload's penalty.
    pub(crate) fn waive_penalty(&mut self, id: WorkloadId, lq: LocalQueueId) {
        let key = &self.workloads[id].key;
        let ledger = self.local_queues.get_mut(&lq).and_then(|lq| lq.ledger.as_mut());
        if ledger.and_then(|ledger| ledger.waive(key)).is_some() {
            self.refresh_usage(lq);
        }
    }

    fn admitted_usage(&self, lq: LocalQueueId, queue: QueueId) -> ResourceList {
        let mut sums = ResourceList::new();
        for (pool, amount) in self.queues[queue].admitted.get(&lq).into_iter().flatten() {
            let (_, resource) = self.names.pool(*pool);
            let quantity = Formatter::default().quantity(resource, i64::try_from(*amount).unwrap_or(i64::MAX));
            *sums.entry(resource.to_string()).or_default() += &quantity;
        }
        sums
    }

    /// Has the usage of a LocalQueue counted at that time, and no more before.
    pub(crate) fn plan_sample(&mut self, lq: LocalQueueId, at: Option<Time>) {
        if self.settings.usage_rules().is_none() {
            return;
        }
        let Some(state) = self.local_queues.get_mut(&lq) else { return };
        if let Some(old) = std::mem::replace(&mut state.next_sample, at) {
            self.samples.remove(&(old, lq));
        }
        self.samples.extend(at.map(|at| (at, lq)));
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
            self.sample_one(lq, now);
            self.plan_sample(lq, Some(now + interval.max(Duration::from_seconds(1))));
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

    fn sample_one(&mut self, lq: LocalQueueId, now: Time) {
        let Some(queue) = self.queue_of(lq).filter(|queue| self.queues[*queue].is_active) else { return };
        let usage = self.admitted_usage(lq, queue);
        let local_queue = self.key_of(lq);
        let Self { settings, local_queues, effects, .. } = self;
        let Some(rules) = settings.usage_rules() else { return };
        let Some(LocalQueue { object: Some(object), ledger, .. }) = local_queues.get_mut(&lq) else { return };
        let is_new = ledger.is_none();
        let ledger = ledger.get_or_insert_with(|| Ledger::new(now));
        ledger.add_history(object.consumed.as_ref());
        if !is_new && now < ledger.updated() + rules.sampling_interval && !ledger.has_penalty() {
            return;
        }
        ledger.sample(&usage, rules.half_life, now);
        if object.consumed.as_ref() != Some(ledger.consumed()) {
            object.consumed = Some(ledger.consumed().clone());
            effects.push(Effect::Consumed { local_queue, consumed: ledger.consumed().clone(), at: now });
        }
        self.refresh_usage(lq);
        self.queues[queue].pending.reorder();
    }
}
