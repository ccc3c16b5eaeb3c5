//! Workloads that have quota and need places: after their checks, or because a node failed.
//!
//! They wait a moment, longer after every attempt, and then go into the next cycle before all others.

use std::collections::BTreeMap;

use kueue_core::duration::Duration;
use kueue_core::time::Time;

use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{QueueId, WorkloadId};
use crate::status::{CheckProgress, ConditionKind, PodSetAdmission};

/// Seconds before the first attempt, doubled for each one after it.
const FIRST_WAIT_S: i64 = 1;
const LONGEST_WAIT_S: i64 = 30;

/// Those that wait for a second pass, and those whose wait is over.
#[derive(Debug, Default)]
pub(crate) struct SecondPass {
    waiting: BTreeMap<Key, Wait>,
    ready: BTreeMap<Key, u32>,
}

#[derive(Clone, Copy, Debug)]
struct Wait {
    until: Time,
    attempt: u32,
}

/// A workload that comes for places.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Returning {
    pub(crate) workload: WorkloadId,
    pub(crate) queue: QueueId,
    pub(crate) attempt: u32,
}

impl SecondPass {
    pub(crate) fn forget(&mut self, key: &Key) {
        self.waiting.remove(key);
        self.ready.remove(key);
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.waiting.values().map(|wait| wait.until).min()
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }
}

impl Engine {
    /// The workloads that go into the next cycle for places, by name.
    pub fn second_pass(&self) -> impl Iterator<Item = &Key> {
        self.second_pass.ready.keys()
    }

    pub(crate) fn needs_second_pass(&self, id: WorkloadId) -> bool {
        let status = &self.workloads[id].status;
        if status.is_true(ConditionKind::Finished)
            || status.is_evicted()
            || !status.has_reservation()
            || status.is_on_hold()
        {
            return false;
        }
        let is_placed_late = !status.checks.is_empty()
            && status.checks.iter().all(|check| check.progress == CheckProgress::Ready)
            && status
                .admission
                .as_ref()
                .is_some_and(|admission| admission.pod_sets.iter().any(PodSetAdmission::is_placement_pending))
            && !status.is_true(ConditionKind::Admitted);
        is_placed_late || self.is_on_failed_node(id)
    }

    /// Lets the workload wait for a second pass if it needs one; says whether it begins to wait now.
    pub(crate) fn queue_second_pass(&mut self, id: WorkloadId, attempt: u32, now: Time) -> bool {
        let key = self.workloads[id].key.clone();
        if !self.needs_second_pass(id) {
            if attempt > 0 {
                self.second_pass.forget(&key);
            }
            return false;
        }
        if self.second_pass.waiting.contains_key(&key) {
            return false;
        }
        let wait_s = FIRST_WAIT_S.checked_shl(attempt).unwrap_or(LONGEST_WAIT_S).min(LONGEST_WAIT_S);
        let until = now + Duration::from_seconds(wait_s);
        self.second_pass.waiting.insert(key, Wait { until, attempt: attempt + 1 });
        true
    }

    /// Those whose wait is over are ready, unless they need nothing any more.
    pub(crate) fn ready_second_passes(&mut self, now: Time) {
        let due: Vec<(Key, u32)> = self
            .second_pass
            .waiting
            .iter()
            .filter(|(_, wait)| wait.until <= now)
            .map(|(key, wait)| (key.clone(), wait.attempt))
            .collect();
        for (key, attempt) in due {
            self.second_pass.waiting.remove(&key);
            let is_needed = self.workload_ids.get(&key).is_some_and(|id| self.needs_second_pass(*id));
            if is_needed {
                self.second_pass.ready.insert(key, attempt);
            }
        }
    }

    pub(crate) fn take_returning(&mut self) -> Vec<Returning> {
        let ready = std::mem::take(&mut self.second_pass.ready);
        let returning = |(key, attempt): (Key, u32)| {
            let workload = *self.workload_ids.get(&key)?;
            let queue = self.workloads[workload].claim.as_ref()?.queue;
            self.needs_second_pass(workload).then_some(Returning { workload, queue, attempt })
        };
        ready.into_iter().filter_map(returning).collect()
    }
}
