//! The two ends of a cycle, for whoever decides in another way what happens between them: heads are taken out of
//! their queues, and those that do not start are given back.

use std::sync::Arc;

use kueue_core::time::Time;

use super::entry::RequeueReason;
use crate::effect::Key;
use crate::engine::Engine;
use crate::few::Few;
use crate::id::Name;
use crate::trace::Trace;
use crate::workload::{Place, Progress};

/// How a workload is given back.
#[derive(Clone, Debug)]
pub struct Handover {
    /// Decides whether it stays in line or steps aside.
    pub reason: RequeueReason,
    /// Why it has no quota, in one word; told to those like it that are put aside with it.
    pub why: &'static str,
    /// Per pod set and resource the index of the last flavor that was tried; -1 when there are no more.
    pub tried: Vec<Vec<(Name, i32)>>,
}

impl Engine {
    /// Takes the first workload out of every queue that may admit, as a cycle does.
    pub fn take_out(&mut self) -> Vec<Key> {
        let heads = self.take_heads();
        heads.into_iter().map(|head| self.workloads[head.workload].key.clone()).collect()
    }

    /// Gives a workload back to its queue, as a cycle does; says whether it is in one now.
    pub fn hand_back(&mut self, workload: &Key, handover: Handover, now: Time) -> bool {
        let Some(id) = self.workload_ids.get(workload).copied() else { return false };
        let mut resource = |(name, index): (Name, i32)| (self.names.resource_id(&name), index);
        let mut tried: Few<Few<_>> = Few::new();
        for pod_set in handover.tried {
            tried.push(pod_set.into_iter().map(&mut resource).collect());
        }
        let queue = self.queue_of(self.workloads[id].local_queue);
        let generation = queue.map_or(0, |queue| self.quotas.node(self.queues[queue].node).generation);
        let progress = (!tried.is_empty()).then_some(Progress { tried, generation, cycle: self.cycles });
        // Nobody looked at its flavors here, so there is nothing to explain.
        let trace = Trace { at: now, pod_sets: Vec::new(), victims: Vec::new(), taken_by: None };
        self.workloads[id].trace = Some(Arc::new(trace));
        self.requeue(id, handover.reason, handover.why, progress, now);
        matches!(self.workloads[id].place, Place::Queued(_) | Place::Held(_))
    }
}
