//! ClusterQueues and LocalQueues come, change and go.

use std::sync::Arc;

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use crate::change::{LocalQueueSpec, QueueSpec};
use crate::engine::Engine;
use crate::id::{LocalQueueId, Name, QueueId, WorkloadId};
use crate::pending::Pending;
use crate::queue::{LocalQueueObject, Queue, QueueHoldings, ResourceGroup, Rules};
use crate::reserving::Reserving;
use crate::workload::Place;

impl Engine {
    pub(crate) fn on_queue(&mut self, mut spec: QueueSpec) {
        if !self.settings.gates.enabled(Gate::ConcurrentAdmission) {
            spec.concurrent = None;
        }
        match self.queue_ids.get(&spec.name) {
            Some(id) if self.queues[*id].spec == spec => {}
            Some(id) => self.change_queue(*id, spec),
            None => self.add_queue(spec),
        }
    }

    fn add_queue(&mut self, spec: QueueSpec) {
        let name = spec.name.clone();
        let rules = Arc::new(self.rules_of(&spec));
        let node = self.quotas.add_queue(&name);
        let id = self.queues.insert(Queue {
            name: name.clone(),
            node,
            spec,
            rules,
            is_active: false,
            pending: Pending::default(),
            reserving: Reserving::default(),
            holdings: QueueHoldings::default(),
        });
        self.quotas.set_queue_id(node, id);
        self.queue_ids.insert(name.clone(), id);
        self.set_home(&name, Some(id));
        self.sync_usage_mode(id);
        self.place_in_tree(id);
        self.count_strays(&name);
        for lq in self.served_by.get(&name).cloned().unwrap_or_default() {
            self.admit_items(lq);
        }
        self.notify(&[id]);
        self.unsettle_queue(&name);
    }

    fn change_queue(&mut self, id: QueueId, spec: QueueSpec) {
        let old = &self.queues[id].spec;
        let changes_variants = old.concurrent.is_some() != spec.concurrent.is_some();
        let changes_life = old.stop != spec.stop || old.is_terminating != spec.is_terminating;
        let concerns_workloads = old.checks != spec.checks || changes_life || changes_variants;
        let was_usage_based = old.is_usage_based;
        let name = spec.name.clone();
        let rules = Arc::new(self.rules_of(&spec));
        let queue = &mut self.queues[id];
        queue.spec = spec;
        queue.rules = rules;
        self.place_in_tree(id);
        self.notify(&[id]);
        if was_usage_based != self.queues[id].spec.is_usage_based {
            self.sync_usage_mode(id);
        }
        if concerns_workloads {
            self.unsettle_queue(&name);
        }
        if changes_variants {
            self.count_strays(&name);
            for lq in self.served_by.get(&name).cloned().unwrap_or_default() {
                self.withdraw_stand_ins(lq, id);
                self.admit_items(lq);
            }
        }
    }

    /// Counts what was held in the queue while nothing could be, or was to be, counted there.
    fn count_strays(&mut self, name: &Name) {
        let strays = self.strays.iter().filter(|(_, queue)| *queue == name);
        for stray in strays.map(|(id, _)| *id).collect::<Vec<WorkloadId>>() {
            self.sync_claim(stray);
        }
    }

    fn place_in_tree(&mut self, id: QueueId) {
        let groups = self.queues[id].spec.groups.clone();
        let quotas = self.quotas_of(&groups);
        let queue = &self.queues[id];
        self.quotas.set_weight(queue.node, queue.spec.weight);
        self.quotas.set_queue(queue.node, quotas, queue.spec.cohort.as_ref());
        if self.quotas.has_seen_cycle() {
            self.refresh_activity();
        } else {
            self.refresh_activity_of(id);
        }
    }

    fn rules_of(&mut self, spec: &QueueSpec) -> Rules {
        let names = &mut self.names;
        let groups: Vec<ResourceGroup> = spec
            .groups
            .iter()
            .map(|group| ResourceGroup {
                resources: group.resources.iter().map(|resource| names.resource_id(resource)).collect(),
                flavors: group.flavors.iter().map(|quota| names.flavor_id(&quota.flavor)).collect(),
            })
            .collect();
        let mut all: Vec<_> = groups.iter().flat_map(|group| group.flavors.iter().copied()).collect();
        all.dedup();
        let checks = spec
            .checks
            .iter()
            .map(|check| match check.flavors.as_slice() {
                [] => (check.name.clone(), all.clone()),
                some => (check.name.clone(), some.iter().map(|flavor| names.flavor_id(flavor)).collect()),
            })
            .collect();
        Rules {
            groups,
            preemption: spec.preemption,
            fungibility: spec.fungibility,
            strategy: spec.strategy,
            namespaces: spec.namespaces.clone(),
            checks,
        }
    }

    pub(crate) fn on_queue_gone(&mut self, name: &Name) {
        let Some(id) = self.queue_ids.remove(name) else { return };
        self.set_home(name, None);
        let queue = &self.queues[id];
        let waiting: Vec<WorkloadId> = queue
            .pending
            .in_order(None)
            .chain(queue.pending.in_flight.iter().map(|seat| &seat.ticket))
            .map(|ticket| ticket.id)
            .collect();
        let reserving: Vec<WorkloadId> = queue.reserving.iter().map(|rank| rank.id).collect();
        for workload in waiting {
            self.workloads[workload].place = Place::Nowhere;
        }
        for workload in reserving {
            self.drop_claim(workload);
            self.strays.insert(workload, name.clone());
        }
        self.ready.remove(&id);
        let queue = self.queues.remove(id);
        for class in queue.pending.no_fit.into_keys() {
            self.classes.leave(class);
        }
        self.quotas.remove_queue(queue.node);
        if self.quotas.has_seen_cycle() {
            self.refresh_activity();
        }
        self.unsettle_queue(name);
    }

    /// The LocalQueues that name a ClusterQueue know whether it is there.
    fn set_home(&mut self, name: &Name, home: Option<QueueId>) {
        for lq in self.served_by.get(name).into_iter().flatten() {
            if let Some(object) = self.local_queues.get_mut(lq).and_then(|lq| lq.object.as_mut()) {
                object.home = home;
            }
        }
    }

    pub(crate) fn on_local_queue(&mut self, spec: &LocalQueueSpec, now: Time) {
        let namespace = self.names.namespace_id(&spec.namespace);
        let id = self.names.local_queue_id(namespace, &spec.name);
        let object = LocalQueueObject {
            queue: spec.queue.clone(),
            home: self.queue_ids.get(&spec.queue).copied(),
            stop: spec.stop,
            is_terminating: spec.is_terminating,
            weight: spec.weight,
            consumed: spec.consumed.clone(),
            told_at: None,
            ledger: None,
            next_sample: None,
        };
        let state = self.local_queues.entry(id).or_default();
        let mut old = state.object.replace(object);
        if let (Some(old), Some(new)) = (&mut old, &mut state.object) {
            new.consumed = old.consumed.take();
            new.told_at = old.told_at;
            new.ledger = old.ledger.take();
            new.next_sample = old.next_sample;
        }
        self.served_by.entry(spec.queue.clone()).or_default().insert(id);
        let Some(old) = old else {
            self.open_ledger(id, now);
            self.admit_items(id);
            self.unsettle_local_queue(id);
            return;
        };
        if old.queue != spec.queue
            && let Some(others) = self.served_by.get_mut(&old.queue)
        {
            others.remove(&id);
            if let Some(queue) = self.queue_ids.get(&old.queue) {
                self.queues[*queue].pending.forget_usage(id);
            }
        }
        self.refresh_usage(id);
        if old.weight != spec.weight
            && let Some(queue) = self.queue_of(id)
        {
            self.queues[queue].pending.reorder();
        }
        let was_running = old.is_running();
        let is_running = self.local_queues[&id].target().is_some();
        if was_running && (!is_running || old.queue != spec.queue) {
            self.withdraw_items(id);
        }
        if is_running && (!was_running || old.queue != spec.queue) {
            self.admit_items(id);
        }
        if old.stop != spec.stop || old.is_terminating != spec.is_terminating {
            self.unsettle_local_queue(id);
        }
    }

    pub(crate) fn on_local_queue_gone(&mut self, namespace: &Name, name: &Name) {
        let namespace = self.names.namespace_id(namespace);
        let id = self.names.local_queue_id(namespace, name);
        let Some(lq) = self.local_queues.get_mut(&id) else { return };
        let Some(old) = lq.object.take() else { return };
        if let Some(at) = old.next_sample {
            self.samples.remove(&(at, id));
        }
        if let Some(queue) = self.queue_ids.get(&old.queue) {
            self.queues[*queue].pending.forget_usage(id);
        }
        if let Some(others) = self.served_by.get_mut(&old.queue) {
            others.remove(&id);
        }
        self.withdraw_items(id);
        self.unsettle_local_queue(id);
    }

    /// The ClusterQueue that a LocalQueue leads to, if both are there and the LocalQueue runs.
    pub(crate) fn queue_of(&self, lq: LocalQueueId) -> Option<QueueId> {
        self.local_queues.get(&lq)?.object.as_ref().filter(|object| object.is_running())?.home
    }

    /// Puts all waiting workloads of the LocalQueue into its ClusterQueue, awake, whatever parked them before.
    fn admit_items(&mut self, lq: LocalQueueId) {
        let members: Vec<WorkloadId> = self
            .local_queues
            .get(&lq)
            .into_iter()
            .filter(|lq| lq.target().is_some())
            .flat_map(|lq| lq.workloads.iter().copied())
            .collect();
        let queue = self.queue_of(lq);
        for id in members {
            let workload = &mut self.workloads[id];
            workload.assigned = Some(lq);
            let is_waiting = workload.is_admissible() && workload.place == Place::Nowhere;
            if let Some(queue) = queue.filter(|queue| is_waiting && !self.is_stand_in(id, *queue)) {
                self.push_awake(id, queue);
            }
        }
    }

    /// Takes those out of the queue that have variants from now on.
    fn withdraw_stand_ins(&mut self, lq: LocalQueueId, queue: QueueId) {
        let members = self.local_queues.get(&lq).map(|lq| lq.workloads.clone()).unwrap_or_default();
        for id in members.into_iter().filter(|id| self.is_stand_in(*id, queue)).collect::<Vec<_>>() {
            self.leave_queue(id);
        }
    }

    fn withdraw_items(&mut self, lq: LocalQueueId) {
        let members: Vec<WorkloadId> =
            self.local_queues.get(&lq).into_iter().flat_map(|lq| lq.workloads.iter().copied()).collect();
        for id in members {
            if !matches!(self.workloads[id].place, Place::InFlight(_)) {
                self.leave_queue(id);
            }
        }
    }

    fn unsettle_queue(&mut self, name: &Name) {
        for lq in self.served_by.get(name).cloned().unwrap_or_default() {
            self.unsettle_local_queue(lq);
        }
    }

    fn unsettle_local_queue(&mut self, lq: LocalQueueId) {
        for id in self.local_queues.get(&lq).into_iter().flat_map(|lq| &lq.workloads) {
            self.unsettled.insert(*id);
        }
    }
}
