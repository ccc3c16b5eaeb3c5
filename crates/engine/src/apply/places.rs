//! Where workloads stand in the queues: in line, parked, held back by a backoff, or nowhere.

use std::cmp::Reverse;

use kueue_core::gates::Gate;
use kueue_core::time::Time;

use crate::change::QueueingStrategy;
use crate::engine::Engine;
use crate::id::{QueueId, WorkloadId};
use crate::workload::{Origin, Place, Seat, Ticket};

impl Engine {
    /// Puts a workload that may be admitted into its queue, or brings its place there up to date.
    pub(crate) fn queue_up(&mut self, id: WorkloadId, must_move: bool, now: Time) {
        let workload = &self.workloads[id];
        if !workload.is_admissible() {
            self.leave_queue(id);
            return;
        }
        let lq = workload.local_queue;
        if workload.assigned.is_some_and(|assigned| assigned != lq) {
            self.leave_queue(id);
            self.workloads[id].assigned = None;
        }
        if self.local_queues.get(&lq).is_none_or(|lq| lq.target().is_none()) {
            return;
        }
        let queue = self.queue_of(lq);
        if queue.is_some_and(|queue| self.is_stand_in(id, queue)) {
            self.leave_queue(id);
            return;
        }
        self.workloads[id].assigned = Some(lq);
        let Some(queue) = queue else { return };
        if matches!(self.workloads[id].place, Place::InFlight(_)) {
            return;
        }
        self.forget_evaluation(id);
        let place = std::mem::take(&mut self.workloads[id].place);
        let (was_awake, was_parked) = match &place {
            Place::Queued(seat) => {
                let is_awake = self.queues[seat.queue].pending.is_awake(seat);
                (is_awake, !is_awake)
            }
            // Who was held for a time gets a look when that time is over, even if nothing else changed.
            Place::Held(_) => (false, !self.workloads[id].is_backoff_over(now)),
            Place::Nowhere | Place::InFlight(_) => (false, false),
        };
        self.workloads[id].place = place;
        self.vacate(id);
        let seat = self.seat(id, queue);
        let pending = &self.queues[queue].pending;
        let is_hopeless = self.queues[queue].rules.strategy == QueueingStrategy::BestEffortFifo
            && pending.no_fit.contains_key(&seat.class);
        if !was_awake && !self.workloads[id].is_backoff_over(now) {
            self.hold(id, seat);
        } else if (was_parked && !must_move) || (!was_awake && is_hopeless) {
            self.park(id, seat);
        } else {
            self.wake_up(id, seat);
        }
    }

    /// A new look starts from nothing, unless progress of a scan is worth keeping.
    fn forget_evaluation(&mut self, id: WorkloadId) {
        let keeps = self.settings.gates.enabled(Gate::FlavorFungibilityPreserveScanProgress);
        let workload = &mut self.workloads[id];
        workload.evaluated_generation = 0;
        if !keeps || workload.place == Place::Nowhere {
            workload.progress = None;
        }
    }

    pub(crate) fn push_awake(&mut self, id: WorkloadId, queue: QueueId) {
        let seat = self.seat(id, queue);
        self.wake_up(id, seat);
    }

    pub(crate) fn wake_up(&mut self, id: WorkloadId, seat: Seat) {
        self.queues[seat.queue].pending.push(&seat);
        self.ready.insert(seat.queue);
        self.workloads[id].place = Place::Queued(seat);
    }

    pub(crate) fn park(&mut self, id: WorkloadId, seat: Seat) {
        self.queues[seat.queue].pending.park(&seat);
        self.workloads[id].place = Place::Queued(seat);
    }

    pub(crate) fn hold(&mut self, id: WorkloadId, seat: Seat) {
        self.queues[seat.queue].pending.hold(&seat);
        self.workloads[id].place = Place::Held(seat);
    }

    pub(crate) fn seat(&self, id: WorkloadId, queue: QueueId) -> Seat {
        let workload = &self.workloads[id];
        let ticket = Ticket {
            priority: Reverse(workload.priority),
            since: workload.order_time(&self.settings),
            uid: workload.uid.clone(),
            id,
        };
        let class = workload.class.expect("every workload has a class");
        let origin = Origin { local_queue: workload.local_queue, labels: workload.labels };
        let requests = self.classes.requests(class).clone();
        Seat { queue, class, origin, ticket, requests }
    }

    /// Takes the workload out of its queue; it is not the queue's preemptor any more.
    pub(crate) fn leave_queue(&mut self, id: WorkloadId) {
        let queue = match &self.workloads[id].place {
            Place::Nowhere => self.workloads[id].assigned.and_then(|lq| self.queue_of(lq)),
            Place::Queued(seat) | Place::Held(seat) => Some(seat.queue),
            Place::InFlight(queue) => Some(*queue),
        };
        self.vacate(id);
        if let Some(queue) = queue {
            let pending = &mut self.queues[queue].pending;
            if pending.preemptor.is_some_and(|preemptor| preemptor.workload == id) {
                pending.preemptor = None;
            }
        }
    }

    /// Takes the workload out of its place only.
    pub(crate) fn vacate(&mut self, id: WorkloadId) {
        match std::mem::take(&mut self.workloads[id].place) {
            Place::Nowhere => {}
            Place::InFlight(queue) => self.queues[queue].pending.in_flight = None,
            Place::Queued(seat) => {
                self.queues[seat.queue].pending.remove_queued(&seat);
                self.refresh_ready(seat.queue);
            }
            Place::Held(seat) => self.queues[seat.queue].pending.remove_held(&seat),
        }
    }
}
