//! The workloads of the loads. What the engine is told about one is built anew each time, as it would be from an
//! object that came over a wire: no name is shared that would not be.

use std::sync::Arc;

use kueue_core::duration::Duration;
use kueue_core::time::Time;
use kueue_engine::{
    Admission, Change, Condition, ConditionKind, Key, PodPlacement, PodSetAdmission, PodSetSpec, Reason, Status,
    TopologyAssignment, TopologyRequest, Verdict, WorkloadSpec,
};

use crate::nodes::RACK;

pub const NAMESPACE: &str = "team";

/// One workload: all that the driver remembers of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Job {
    pub queue: u32,
    /// Of one pod.
    pub cpu: u32,
    pub priority: i32,
    /// More than one pod, close together.
    pub gang: Option<Gang>,
}

/// Pods in one rack.
#[derive(Clone, Copy, Debug)]
pub struct Gang {
    pub pods: i32,
    /// They need it; else they like it.
    pub is_required: bool,
}

impl Job {
    fn pods(&self) -> i32 {
        self.gang.map_or(1, |gang| gang.pods)
    }

    fn topology(&self) -> Option<TopologyRequest> {
        let rack = || Some(RACK.into());
        self.gang.map(|gang| TopologyRequest {
            required: gang.is_required.then(rack).flatten(),
            preferred: (!gang.is_required).then(rack).flatten(),
            ..TopologyRequest::default()
        })
    }
}

/// All workloads that were ever made, by number.
#[derive(Debug, Default)]
pub struct Jobs {
    jobs: Vec<Job>,
}

/// SplitMix64, so that a load is the same on every machine.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        u32::try_from(self.next() % u64::from(bound)).expect("less than a u32")
    }
}

pub fn start() -> Time {
    "2026-01-01T00:00:00Z".parse().expect("a time")
}

pub fn queue_name(queue: u32) -> String {
    format!("cluster-queue-{queue}")
}

fn local_queue_name(queue: u32) -> String {
    format!("queue-{queue}")
}

/// The LocalQueue that leads to a ClusterQueue.
pub fn local_queue(queue: u32) -> kueue_engine::LocalQueueSpec {
    kueue_engine::LocalQueueSpec {
        namespace: NAMESPACE.into(),
        name: local_queue_name(queue).into(),
        queue: queue_name(queue).into(),
        ..Default::default()
    }
}

impl Jobs {
    pub fn with_capacity(count: usize) -> Self {
        Self { jobs: Vec::with_capacity(count) }
    }

    pub fn add(&mut self, job: Job) -> usize {
        self.jobs.push(job);
        self.jobs.len() - 1
    }

    pub fn job(&self, number: usize) -> Job {
        self.jobs[number]
    }

    /// The number of the job that a key names.
    pub fn number(key: &Key) -> usize {
        let digits = key.name.trim_start_matches("job-sample-").get(..8).expect("a name of ours");
        digits.parse().expect("a number of ours")
    }

    pub fn key(number: usize) -> Key {
        let name = format!("job-sample-{number:08}-{:05x}", number * 7919 % 0x0010_0000);
        Key { namespace: NAMESPACE.into(), name: name.into() }
    }

    /// The workload with this status, as it would come from the API server.
    pub fn change(&self, number: usize, status: Status) -> Change {
        let job = self.jobs[number];
        let Key { namespace, name } = Self::key(number);
        let words = (Random(number as u64).next(), Random(!(number as u64)).next());
        let uid = format!("{:08x}-{:04x}-4{:03x}-8000-{:012x}", words.0 >> 32, words.0 & 0xffff, 0, words.1 >> 16);
        Change::Workload(Box::new(WorkloadSpec {
            namespace,
            name,
            uid: uid.into(),
            created: start() + Duration::from_seconds((number / 1000) as i64 - 10_000),
            generation: 1,
            local_queue: local_queue_name(job.queue).into(),
            metric_labels: [].into(),
            priority: job.priority,
            is_active: true,
            pod_sets: vec![PodSetSpec {
                name: "main".into(),
                count: job.pods(),
                min_count: None,
                requests: vec![("cpu".into(), i64::from(job.cpu) * 1000)],
                group: None,
                placement: PodPlacement::default(),
                topology: job.topology(),
                room: None,
                fingerprint: 0,
            }],
            status,
            ..Default::default()
        }))
    }

    pub fn gone(number: usize) -> Change {
        let Key { namespace, name } = Self::key(number);
        Change::WorkloadGone { namespace, name }
    }

    /// What is told when jobs that ran are over: each finishes, and its workload goes.
    pub fn ends(&self, over: Vec<(usize, Status)>, now: Time) -> impl Iterator<Item = Change> + use<'_> {
        let end = move |(number, status)| [self.change(number, finished(status, now)), Self::gone(number)];
        over.into_iter().flat_map(end)
    }

    /// The status of a workload that was admitted before the engine started.
    pub fn admitted(&self, number: usize) -> Status {
        self.admitted_on(number, None)
    }

    /// The same for one whose pods were placed.
    pub fn admitted_on(&self, number: usize, place: Option<&Arc<TopologyAssignment>>) -> Status {
        let job = self.jobs[number];
        let queue = queue_name(job.queue);
        let condition = |kind, reason, message: String| Condition {
            kind,
            verdict: Verdict::True,
            reason: Reason::Borrowed(reason),
            message: message.into(),
            since: start() + Duration::from_seconds((number % 1000) as i64 - 5_000),
            generation: 1,
        };
        Status {
            conditions: vec![
                condition(
                    ConditionKind::QuotaReserved,
                    "QuotaReserved",
                    format!("Quota reserved in ClusterQueue {queue}"),
                ),
                condition(ConditionKind::Admitted, "Admitted", "The workload is admitted".to_owned()),
            ],
            admission: Some(Arc::new(Admission {
                queue: queue.into(),
                pod_sets: vec![PodSetAdmission {
                    name: "main".into(),
                    count: Some(job.pods()),
                    flavors: vec![("cpu".into(), "default".into())],
                    usage: vec![("cpu".into(), i64::from(job.cpu) * 1000 * i64::from(job.pods()))],
                    topology: place.cloned(),
                    unreadable: None,
                    delayed: None,
                }],
            })),
            ..Status::default()
        }
    }
}

/// The same status, with the job finished.
fn finished(mut status: Status, now: Time) -> Status {
    status.conditions.push(Condition {
        kind: ConditionKind::Finished,
        verdict: Verdict::True,
        reason: Reason::Borrowed("Succeeded"),
        message: "Job finished successfully".into(),
        since: now,
        generation: 1,
    });
    status
}
