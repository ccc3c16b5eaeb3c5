//! Who waits, in which order, and how many.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::time::Time;

use crate::effect::Key;
use crate::engine::Engine;
use crate::few::Few;
use crate::id::{LocalQueueId, Name, ResourceId};
use crate::pending::PendingCount;
use crate::queue::Queue;
use crate::workload::{Place, Seat, Ticket};

/// A ClusterQueue's waiting workloads.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PendingView {
    /// Those that are looked at next, in order.
    pub active: Vec<Key>,
    /// Those that wait for something to change, by name.
    pub parked: Vec<Key>,
}

/// A waiting workload and how many are before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Position {
    /// The workload.
    pub workload: Key,
    /// Its LocalQueue.
    pub local_queue: Name,
    /// Without any boost.
    pub priority: i32,
    /// When it was created.
    pub created: Time,
    /// How many of the ClusterQueue are before it.
    pub in_cluster_queue: usize,
    /// How many of its LocalQueue are before it.
    pub in_local_queue: usize,
}

impl Engine {
    /// Who waits in a ClusterQueue.
    pub fn pending(&self, queue: &str) -> PendingView {
        let Some(queue) = self.queue(queue) else { return PendingView::default() };
        let key = |id| self.workloads[id].key.clone();
        let active = queue.pending.awake(self.sticky(queue)).map(|ticket| key(ticket.id)).collect();
        let mut parked: Vec<Key> = queue.pending.asleep().map(|ticket| key(ticket.id)).collect();
        parked.sort();
        PendingView { active, parked }
    }

    /// Everybody who waits in a ClusterQueue, parked or not, in the order in which they would be served. Taking a
    /// page of it costs what comes before and in the page, not what comes after.
    pub fn positions(&self, queue: &str) -> impl Iterator<Item = Position> {
        let mut before: BTreeMap<LocalQueueId, usize> = BTreeMap::new();
        let tickets = self.queue(queue).into_iter().flat_map(|queue| self.tickets(queue));
        tickets.enumerate().map(move |(in_cluster_queue, ticket)| {
            let workload = &self.workloads[ticket.id];
            let count = before.entry(workload.local_queue).or_default();
            let in_local_queue = *count;
            *count += 1;
            Position {
                workload: workload.key.clone(),
                local_queue: self.names.local_queue(workload.local_queue).clone(),
                priority: workload.base_priority,
                created: workload.created,
                in_cluster_queue,
                in_local_queue,
            }
        })
    }

    /// How many stand in line where a cycle would look. While it changes from cycle to cycle, cycles get on even when
    /// they change no status.
    pub fn in_line(&self) -> usize {
        self.ready.iter().map(|queue| self.queues[*queue].pending.tally().total().active).sum()
    }

    /// How many wait in a ClusterQueue.
    pub fn pending_count(&self, queue: &str) -> Option<PendingCount> {
        let pending = &self.queue(queue)?.pending;
        let mut count = pending.tally().total();
        count.active += usize::from(pending.in_flight.is_some());
        Some(count)
    }

    /// How many wait in a ClusterQueue, by the label values that metrics tell them apart by.
    pub fn pending_by_labels(&self, queue: &str) -> Vec<(Arc<[Name]>, PendingCount)> {
        let Some(queue) = self.queue(queue) else { return Vec::new() };
        let in_flight = queue.pending.in_flight.iter();
        let in_flight = in_flight.map(|seat| (seat.origin, PendingCount { active: 1, inadmissible: 0 }));
        let mut counts: Vec<(Arc<[Name]>, PendingCount)> = Vec::new();
        for (origin, count) in queue.pending.tally().origins().chain(in_flight) {
            let labels = self.names.labels(origin.labels);
            match counts.iter_mut().find(|(known, _)| known == labels) {
                Some((_, sum)) => *sum = sum.plus(count),
                None => counts.push((labels.clone(), count)),
            }
        }
        counts.sort();
        counts
    }

    /// How many wait in a LocalQueue that leads to a ClusterQueue, or for one to appear.
    pub fn pending_in_local_queue(&self, namespace: &Name, name: &Name) -> Option<PendingCount> {
        let id = self.names.known_local_queue(namespace, name)?;
        let local_queue = self.local_queues.get(&id)?;
        let target = local_queue.target()?;
        let Some(queue) = self.queue(target) else {
            let waits = |workload: &&crate::id::WorkloadId| self.workloads[**workload].is_admissible();
            return Some(PendingCount { active: 0, inadmissible: local_queue.workloads.iter().filter(waits).count() });
        };
        let mut count = queue.pending.tally().of_local_queue(id);
        count.active += usize::from(queue.pending.in_flight.as_ref().is_some_and(|seat| seat.origin.local_queue == id));
        Some(count)
    }

    /// How many kinds of workloads wait in a ClusterQueue: those that any queue would treat alike are of one kind.
    /// A queue that admits nothing has none in line.
    pub fn pending_shapes(&self, name: &str) -> Option<PendingCount> {
        let queue = self.queue(name)?;
        if !self.settings.gates.enabled(kueue_core::gates::Gate::SchedulingEquivalenceHashing) {
            return Some(PendingCount::default());
        }
        let pending = &queue.pending;
        let mut shapes = pending.tally().shapes();
        let mut distinct = pending.tally().distinct_shapes();
        if let Some(seat) = &pending.in_flight {
            let (is_awake, is_known) = pending.knows(seat.class);
            shapes.active += usize::from(!is_awake);
            distinct += usize::from(!is_known);
        }
        Some(if self.is_ready(*self.queue_ids.get(name)?) {
            shapes
        } else {
            PendingCount { active: 0, inadmissible: distinct }
        })
    }

    /// What all who wait in a ClusterQueue ask for together, by resource: everything that it has quota for, and
    /// everything else that somebody asks for.
    pub fn pending_requests(&self, queue: &str) -> Vec<(Name, i64)> {
        let Some(queue) = self.queue(queue) else { return Vec::new() };
        let configured = queue.rules.groups.iter().flat_map(|group| &group.resources).map(|resource| (*resource, 0));
        let in_flight = queue.pending.in_flight.iter().flat_map(|seat| seat.requests.iter());
        let in_flight = in_flight.map(|(resource, amount)| (*resource, i128::from(*amount)));
        let mut sums = BTreeMap::new();
        for (resource, amount) in configured.chain(queue.pending.tally().requests()).chain(in_flight) {
            *sums.entry(self.names.resource(resource).clone()).or_insert(0) += amount;
        }
        sums.into_iter().map(|(resource, sum)| (resource, i64::try_from(sum).unwrap_or(i64::MAX))).collect()
    }

    /// Why a parked workload sleeps without having been looked at: one just like it did not fit.
    pub fn no_fit_reason(&self, workload: &Key) -> Option<&'static str> {
        self.reason_of_class(*self.workload_ids.get(workload)?)
    }

    /// The LocalQueue that a workload was last queued through.
    pub fn queued_through(&self, workload: &Key) -> Option<Name> {
        let id = self.workload_ids.get(workload)?;
        self.workloads[*id].assigned.map(|lq| self.names.local_queue(lq).clone())
    }

    /// The ClusterQueue that a LocalQueue leads to while it runs, whether or not that exists.
    pub fn queue_behind(&self, namespace: &Name, name: &Name) -> Option<Name> {
        let id = self.names.known_local_queue(namespace, name)?;
        self.local_queues.get(&id)?.target().cloned()
    }

    /// Per pod set and resource the flavor that the next look at a workload goes on from; -1 when it starts anew.
    pub fn tried_flavors(&self, workload: &Key) -> Option<Vec<Vec<(Name, i32)>>> {
        let progress = self.workloads[*self.workload_ids.get(workload)?].progress.as_ref()?;
        let of_pod_set = |tried: &Few<(ResourceId, i32)>| {
            tried.iter().map(|(resource, index)| (self.names.resource(*resource).clone(), *index)).collect()
        };
        Some(progress.tried.iter().map(of_pod_set).collect())
    }

    /// Grows whenever what is remembered about the flavors of a ClusterQueue is out of date.
    pub fn scan_generation(&self, queue: &str) -> Option<u64> {
        Some(self.quotas.node(self.queue(queue)?.node).generation)
    }

    fn tickets<'a>(&'a self, queue: &'a Queue) -> impl Iterator<Item = &'a Ticket> {
        let in_flight = queue.pending.in_flight.as_ref().map(|seat| &seat.ticket);
        in_flight.into_iter().chain(queue.pending.in_order(self.sticky(queue)))
    }

    /// The seat of the workload that is taken before all others.
    fn sticky<'a>(&'a self, queue: &Queue) -> Option<&'a Seat> {
        let preemptor = queue.pending.preemptor.filter(|preemptor| preemptor.is_sticky)?;
        match &self.workloads[preemptor.workload].place {
            Place::Queued(seat) | Place::Held(seat) if self.queues[seat.queue].node == queue.node => Some(seat),
            _ => None,
        }
    }
}
