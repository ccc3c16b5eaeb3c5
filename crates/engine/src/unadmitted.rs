//! Why workloads are not admitted, counted by LocalQueue, reason and cause: the numbers behind a metric.

use std::collections::BTreeMap;

use crate::engine::Engine;
use crate::id::{LocalQueueId, Name, WorkloadId};
use crate::status::{ConditionKind, Reason, Status, Verdict};
use crate::text;

/// Under what a workload is counted.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Standing {
    local_queue: LocalQueueId,
    reason: Reason,
    cause: Reason,
}

/// How many workloads of a LocalQueue are not admitted for one reason.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnadmittedCount {
    /// The namespace of the LocalQueue.
    pub namespace: Name,
    /// The LocalQueue.
    pub local_queue: Name,
    /// Why they are not admitted.
    pub reason: Reason,
    /// Why they have no quota, where that is the reason.
    pub cause: Reason,
    /// How many.
    pub count: usize,
}

/// All standings with somebody in them.
#[derive(Debug, Default)]
pub(crate) struct Unadmitted {
    counts: BTreeMap<Standing, usize>,
}

impl Unadmitted {
    fn shift(&mut self, old: Option<&Standing>, new: Option<&Standing>) {
        if let Some(old) = old
            && let Some(count) = self.counts.get_mut(old)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(old);
            }
        }
        if let Some(new) = new {
            *self.counts.entry(new.clone()).or_default() += 1;
        }
    }
}

impl Engine {
    /// Counts the workload as its status says now.
    pub(crate) fn recount_unadmitted(&mut self, id: WorkloadId) {
        let workload = &mut self.workloads[id];
        let new = standing(&workload.status).map(|(reason, cause)| Standing {
            local_queue: workload.local_queue,
            reason,
            cause,
        });
        if workload.standing.as_deref() != new.as_ref() {
            let old = workload.standing.take();
            self.unadmitted.shift(old.as_deref(), new.as_ref());
            self.workloads[id].standing = new.map(Box::new);
        }
    }

    /// The workload is gone.
    pub(crate) fn forget_unadmitted(&mut self, id: WorkloadId) {
        let old = self.workloads[id].standing.take();
        self.unadmitted.shift(old.as_deref(), None);
    }

    /// How many workloads are not admitted, by LocalQueue and reason, in a ClusterQueue.
    pub fn unadmitted(&self, queue: &str) -> Vec<UnadmittedCount> {
        let leads_here = |lq: LocalQueueId| {
            let object = self.local_queues.get(&lq).and_then(|lq| lq.object.as_ref());
            object.is_some_and(|object| *object.queue == *queue)
        };
        let here = self.unadmitted.counts.iter().filter(|(standing, _)| leads_here(standing.local_queue));
        here.map(|(standing, count)| UnadmittedCount {
            namespace: self.names.namespace(self.names.namespace_of(standing.local_queue)).clone(),
            local_queue: self.names.local_queue(standing.local_queue).clone(),
            reason: standing.reason.clone(),
            cause: standing.cause.clone(),
            count: *count,
        })
        .collect()
    }
}

/// Why a workload is not admitted, and what is behind it; nothing for one that is admitted or over.
fn standing(status: &Status) -> Option<(Reason, Reason)> {
    if status.is_true(ConditionKind::Admitted) || status.is_true(ConditionKind::Finished) {
        return None;
    }
    let reason = status.condition(ConditionKind::Admitted).map_or(text::NO_RESERVATION.into(), |no| no.reason.clone());
    let cause = match status.condition(ConditionKind::QuotaReserved) {
        None => text::PENDING_EVALUATION.into(),
        Some(reserved) if reserved.verdict == Verdict::True => Reason::default(),
        Some(reserved) => reserved.reason.clone(),
    };
    Some((reason, cause))
}
