//! A cycle by hand: heads are taken out of their queues and given back with a verdict that somebody else decided.
//!
//! Kueue's own tests look at the two ends of a cycle and at single comparisons inside it; only their replays need
//! this, so only they compile it (feature `by-hand`).

use std::sync::Arc;

use kueue_core::time::Time;

use super::commit::Touched;
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
    /// What its status is to say.
    pub told: Told,
}

/// What a workload that is given back is told.
#[derive(Clone, Debug)]
pub enum Told {
    /// Nothing.
    Nothing,
    /// Why it waits.
    Waits(String),
    /// That it may not preempt.
    Gated(String),
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
        let mut touched = Touched::default();
        match handover.told {
            Told::Nothing => {}
            Told::Waits(message) => self.say_why(id, handover.why, message, &mut touched, now),
            Told::Gated(message) => self.explain_gated(id, message, &mut touched, now),
        }
        self.draw_consequences(touched, now);
        matches!(self.workloads[id].place, Place::Queued(_) | Place::Held(_))
    }

    /// Whether what a scan of flavors left behind is of no use so many cycles later, with so much freed in between.
    pub fn is_scan_outdated(&self, workload: &Key, cycles: u64, generations: u64) -> Option<bool> {
        let workload = &self.workloads[*self.workload_ids.get(workload)?];
        let is_outdated = |progress: &Progress| {
            let (generation, cycle) = (progress.generation + generations, progress.cycle + cycles);
            progress.is_outdated(generation, cycle, self.settings.gates)
        };
        Some(workload.progress.as_deref().is_none_or(is_outdated))
    }
}
