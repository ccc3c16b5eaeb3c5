//! What others write into a workload's status: jobs, check controllers, and whoever gets it wrong.

use std::sync::Arc;

use kueue_core::time::Time;
use kueue_engine::{
    Admission, CheckProgress, Condition, ConditionKind, DomainShare, PodSetAdmission, Requeue, Status,
    TopologyAssignment, Verdict, WorkloadSpec,
};

use crate::objects::{FLAVORS, QUEUES, RESOURCES};
use crate::places::{HOSTNAME, NODES, RACK};
use crate::random::Random;
use crate::world::World;

const KINDS: &[ConditionKind] = &[
    ConditionKind::QuotaReserved,
    ConditionKind::Admitted,
    ConditionKind::Evicted,
    ConditionKind::Preempted,
    ConditionKind::Requeued,
    ConditionKind::PodsReady,
    ConditionKind::DeactivationTarget,
    ConditionKind::BlockedOnPreemptionGates,
    ConditionKind::WaitingForReplacementPods,
    ConditionKind::Finished,
];

const REASONS: &[&str] =
    &["", "Preempted", "AdmissionCheck", "PodsReadyTimeout", "Deactivated", "OnHold", "LocalQueueStopped", "Pending"];

impl World {
    pub(crate) fn finish_one(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let now = self.now;
        self.edit(&key, |spec| set(spec, ConditionKind::Finished, Verdict::True, "Succeeded", now));
    }

    /// A check controller answers.
    pub(crate) fn answer_check(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let now = self.now;
        self.edit(&key, |spec| {
            if spec.status.checks.is_empty() {
                return;
            }
            let at = random.below(spec.status.checks.len());
            let check = &mut spec.status.checks[at];
            check.progress = match random.below(8) {
                0 => CheckProgress::Rejected,
                1 | 2 => CheckProgress::Retry,
                3 => CheckProgress::Pending,
                _ => CheckProgress::Ready,
            };
            check.requeue_after_s = random.once_in(3).then_some(30);
            check.since = now;
        });
    }

    /// Pods of a job are done.
    pub(crate) fn reclaim_pods(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let odd = self.weather.has_nonsense && random.once_in(4);
        self.edit(&key, |spec| {
            let done = if odd { *random.pick(&[-1, i32::MAX, i32::MIN]) } else { 1 };
            spec.status.reclaimable =
                spec.pod_sets.iter().take(1 + random.below(2)).map(|pod_set| (pod_set.name.clone(), done)).collect();
        });
    }

    /// Somebody else reserved quota: in a queue that may be gone, with flavors that may be gone, more than there is.
    pub(crate) fn reserve_elsewhere(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let queue = *random.pick(QUEUES);
        let amounts: Vec<i64> = (0..8).map(|_| self.amount(random)).collect();
        let (now, has_nonsense) = (self.now, self.weather.has_nonsense);
        self.edit(&key, |spec| {
            let pod_sets = spec.pod_sets.iter().zip(&amounts).map(|(pod_set, amount)| PodSetAdmission {
                name: if random.once_in(8) { "unheard-of".into() } else { pod_set.name.clone() },
                count: (!random.once_in(4)).then_some(pod_set.count),
                flavors: vec![
                    ("cpu".into(), (*random.pick(FLAVORS)).into()),
                    ((*random.pick(RESOURCES)).into(), if random.once_in(4) { "gone" } else { "f0" }.into()),
                ],
                usage: vec![("cpu".into(), *amount), ((*random.pick(RESOURCES)).into(), *amount)],
                topology: random.once_in(2).then(|| Arc::new(anywhere(random, has_nonsense))),
                unreadable: (has_nonsense && random.once_in(8)).then(|| "nonsense".into()),
                delayed: None,
            });
            let admission = Admission { queue: queue.into(), pod_sets: pod_sets.collect() };
            spec.status.admission = Some(Arc::new(admission));
            set(spec, ConditionKind::QuotaReserved, Verdict::True, "QuotaReserved", now);
            if random.once_in(2) {
                set(spec, ConditionKind::Admitted, Verdict::True, "Admitted", now);
            }
        });
    }

    /// A condition that nobody decided.
    pub(crate) fn scribble(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let now = self.now;
        self.edit(&key, |spec| {
            let verdict = *random.pick(&[Verdict::True, Verdict::False, Verdict::Unknown]);
            match random.below(8) {
                0 => spec.status = Status::default(),
                1 => spec.status.admission = None,
                2 => spec.status.requeue = Some(Requeue { count: Some(1), at: Some(now) }),
                3 => spec.status.checks.clear(),
                4 => spec.status.past_execution_s = Some(*random.pick(&[-5, i32::MAX, i32::MIN, 3])),
                _ => set(spec, *random.pick(KINDS), verdict, random.pick::<&str>(REASONS), now),
            }
        });
    }
}

pub(crate) fn set(spec: &mut WorkloadSpec, kind: ConditionKind, verdict: Verdict, reason: &'static str, since: Time) {
    let conditions = &mut spec.status.conditions;
    conditions.retain(|condition| condition.kind != kind);
    let generation = spec.generation;
    conditions.push(Condition { kind, verdict, reason: reason.into(), message: "".into(), since, generation });
}

/// Places by somebody who knows little of the nodes: some are gone, some never were.
fn anywhere(random: &mut Random, has_nonsense: bool) -> TopologyAssignment {
    let levels: &[&str] = match random.below(4) {
        0 => &[],
        1 => &[RACK],
        2 => &[RACK, HOSTNAME],
        _ => &[HOSTNAME],
    };
    let share = |random: &mut Random| DomainShare {
        values: levels
            .iter()
            .map(|_| if random.once_in(6) { "unheard-of" } else { *random.pick(NODES) }.into())
            .collect(),
        count: if has_nonsense { *random.pick(&[1, -1, 0, i32::MAX, i32::MIN]) } else { 1 },
    };
    let domains = (0..random.below(4)).map(|_| share(random)).collect();
    TopologyAssignment { levels: levels.iter().map(|level| (*level).into()).collect(), domains }
}
