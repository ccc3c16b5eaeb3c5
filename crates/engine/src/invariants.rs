//! What is always so between two calls, checked from scratch. For tests and storms: it looks at everything.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::amount::Amount;
use rustc_hash::FxHashMap;

use crate::engine::Engine;
use crate::id::{ClassId, QueueId, WorkloadId};
use crate::queue::QueueHoldings;
use crate::workload::{Place, Workload};

impl Engine {
    /// Panics when the state contradicts itself.
    pub fn check_invariants(&self) {
        self.quotas.check_invariants();
        for id in self.queues.ids() {
            self.check_queue(id);
        }
        for id in self.workloads.ids() {
            self.check_workload(id);
        }
        self.check_names();
        self.check_classes();
        assert!(self.departed.is_empty(), "nobody is departed outside a cycle");
        let claims = self.workloads.ids().filter_map(|id| self.workloads[id].claim.as_ref());
        assert_eq!(
            claims.filter(|claim| !claim.is_ready).count(),
            self.unready,
            "those whose pods do not run are counted"
        );
    }

    fn check_queue(&self, id: QueueId) {
        let queue = &self.queues[id];
        let name = &queue.name;
        assert_eq!(self.queue_ids.get(name), Some(&id), "{name} is found by its name");
        assert_eq!(self.quotas.node(queue.node).queue, Some(id), "{name} is where the tree says");
        queue.pending.check_invariants();
        assert_eq!(self.ready.contains(&id), queue.pending.has_awake(), "{name} is ready when somebody is awake");
        let is_active = !self.quotas.node(queue.node).is_in_cycle && self.is_ready(id);
        assert_eq!(queue.is_active, is_active, "{name} admits while it may");
        for ticket in queue.pending.awake(None).chain(queue.pending.asleep()) {
            match &self.workloads[ticket.id].place {
                Place::Queued(seat) | Place::Held(seat) => {
                    assert_eq!((seat.queue, &seat.ticket), (id, ticket), "who waits in {name} knows it");
                }
                place => panic!("{} waits in {name} and is elsewhere: {place:?}", self.workloads[ticket.id].key),
            }
        }
        if let Some(preemptor) = &queue.pending.preemptor {
            let workload = &self.workloads[preemptor.workload];
            assert!(workload.is_admissible(), "{} preempts in {name} and is not even queued", workload.key);
        }
        let mut usage: BTreeMap<_, Amount> = BTreeMap::new();
        let mut holdings = QueueHoldings::default();
        for rank in queue.reserving.iter() {
            let claim = self.workloads[rank.id].claim.as_ref().expect("who reserves has a claim");
            assert_eq!((claim.queue, &claim.rank), (id, rank), "a claim knows its queue");
            holdings.add(claim);
            for (pool, amount) in &claim.usage {
                let sum = usage.entry(*pool).or_default();
                *sum = sum.plus(*amount);
            }
        }
        assert_eq!(queue.holdings, holdings, "what is held in {name} is known, by LocalQueue too");
        usage.retain(|_, amount| *amount != Amount::ZERO);
        let counted: BTreeMap<_, _> = self.quotas.usages(queue.node).collect();
        assert_eq!(counted, usage, "the usage of {name} is the sum of what is reserved there");
    }

    fn check_workload(&self, id: WorkloadId) {
        let workload = &self.workloads[id];
        let key = &workload.key;
        assert_eq!(self.workload_ids.get(key), Some(&id), "{key} is found by its name");
        let peers = self.local_queues.get(&workload.local_queue).map(|lq| &lq.workloads);
        assert!(peers.is_some_and(|peers| peers.contains(&id)), "the LocalQueue of {key} knows it");
        self.check_claim(id, workload);
        let queue = self.queue_of(workload.local_queue).filter(|_| workload.is_admissible());
        let queue = queue.filter(|queue| !self.is_stand_in(id, *queue));
        match (&workload.place, queue) {
            (Place::Nowhere, None) => {}
            (Place::Nowhere, Some(_)) if workload.status.requeue_at().is_some() => {
                let is_watched = workload.timer.is_some() || self.unsettled.contains(id);
                assert!(is_watched, "{key} will be queued when its backoff is over");
            }
            (Place::Nowhere, Some(queue)) => panic!("{key} should wait in {} and does not", self.queues[queue].name),
            (Place::Queued(seat) | Place::Held(seat), Some(queue)) => {
                assert_eq!(*seat, self.seat(id, queue), "{key} waits where it would be put now");
            }
            (Place::Queued(_) | Place::Held(_), None) => panic!("{key} is queued and must not be"),
            (Place::InFlight(_), _) => panic!("{key} is lost in a cycle"),
        }
        let class = self.classes.likeness(workload.class.expect("every workload has a class"));
        assert_eq!((&class.pod_sets, class.priority), (&workload.pod_sets, workload.priority), "{key} is in its class");
        if let Some(at) = workload.timer {
            assert!(self.timers.contains(&(at, key.clone())), "the timer of {key} is known");
        }
    }

    fn check_claim(&self, id: WorkloadId, workload: &Workload) {
        let key = &workload.key;
        let holds = workload.holds_quota().then_some(workload.status.admission.as_ref()).flatten();
        match holds.map(|admission| (&admission.queue, self.queue_ids.get(&admission.queue))) {
            None => {
                assert!(workload.claim.is_none(), "{key} holds quota without right");
                assert!(!self.strays.contains_key(&id), "{key} holds no quota anywhere");
            }
            Some((name, None)) => {
                assert!(workload.claim.is_none(), "{key} holds quota in a queue that is gone");
                assert_eq!(self.strays.get(&id), Some(name), "{key} is remembered for its queue");
            }
            Some((name, Some(queue))) if workload.claim.is_none() && self.is_stand_in(id, *queue) => {
                assert_eq!(self.strays.get(&id), Some(name), "{key} is remembered until its queue has no variants");
            }
            Some((name, Some(queue))) => {
                let claim = workload.claim.as_ref().map(|claim| claim.queue);
                assert_eq!(claim, Some(*queue), "the quota of {key} is counted in {name}");
                assert!(!self.strays.contains_key(&id), "{key} is no stray");
                assert!(self.queues[*queue].reserving.iter().any(|rank| rank.id == id), "{name} knows {key}");
            }
        }
    }

    /// Whatever refers to something refers to what is there.
    fn check_names(&self) {
        assert_eq!(self.workload_ids.len(), self.workloads.ids().count(), "a workload has one name");
        assert_eq!(self.queue_ids.len(), self.queues.ids().count(), "a queue has one name");
        for (lq, entry) in &self.local_queues {
            for id in &entry.workloads {
                assert_eq!(self.workloads[*id].local_queue, *lq, "{} is in one LocalQueue", self.workloads[*id].key);
            }
            if let Some(object) = &entry.object {
                let serving = self.served_by.get(&object.queue);
                assert!(serving.is_some_and(|serving| serving.contains(lq)), "a LocalQueue is known where it leads");
                assert_eq!(object.home, self.queue_ids.get(&object.queue).copied(), "a LocalQueue knows its home");
            }
        }
        for (queue, serving) in &self.served_by {
            for lq in serving {
                let object = self.local_queues.get(lq).and_then(|entry| entry.object.as_ref());
                assert_eq!(object.map(|object| &object.queue), Some(queue), "a LocalQueue leads to one queue");
            }
        }
        for id in self.strays.keys() {
            assert!(self.workloads[*id].claim.is_none(), "a stray holds nothing that is counted");
        }
        let unsettled = self.workloads.ids().filter(|id| self.unsettled.contains(*id)).count();
        assert_eq!(self.unsettled.len(), unsettled, "only workloads that exist are looked at");
        for (at, key) in &self.timers {
            let timer = self.workload_ids.get(key).and_then(|id| self.workloads[*id].timer);
            assert_eq!(timer, Some(*at), "a timer belongs to {key}");
        }
        let queues: BTreeSet<QueueId> = self.queues.ids().collect();
        assert!(self.ready.is_subset(&queues), "only queues that exist are ready");
    }

    fn check_classes(&self) {
        let mut members: FxHashMap<ClassId, usize> = FxHashMap::default();
        for id in self.workloads.ids() {
            *members.entry(self.workloads[id].class.expect("every workload has a class")).or_default() += 1;
        }
        for class in self.queues.ids().flat_map(|queue| self.queues[queue].pending.no_fit.keys()) {
            *members.entry(*class).or_default() += 1;
        }
        self.classes.check_invariants(&members);
    }
}
