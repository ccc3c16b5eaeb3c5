//! What the operator chose, as one value that never changes while the engine lives.

use std::collections::BTreeMap;

use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use serde::{Deserialize, Serialize};

/// Gates and configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Settings {
    /// Feature gates.
    pub gates: Gates,
    /// How long jobs may take to get all their pods running, if that is limited.
    pub pods_ready: Option<PodsReady>,
    /// How long objects are kept that nobody needs any more.
    pub retention: Retention,
    /// Which time counts after an eviction because pods were not ready.
    pub requeue_order: RequeueOrder,
    /// Resources without quota anywhere in the queue are not counted.
    pub ignores_undeclared: bool,
    /// Fair sharing, when it is on.
    pub fair_sharing: Option<FairSharing>,
    /// Admission fair sharing, when it is configured.
    pub admission_fair_sharing: Option<AdmissionFairSharing>,
    /// When parked workloads are looked at again.
    pub wake: WakePolicy,
}

impl Settings {
    /// How LocalQueues are ordered by what they used, if that is configured and its gate is open.
    pub(crate) fn usage_rules(&self) -> Option<&AdmissionFairSharing> {
        self.admission_fair_sharing.as_ref().filter(|_| self.gates.enabled(Gate::AdmissionFairSharing))
    }
}

/// How usage of LocalQueues is counted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AdmissionFairSharing {
    /// After that time usage counts half; nothing is remembered when it is zero.
    pub half_life: Duration,
    /// How often usage is counted.
    pub sampling_interval: Duration,
    /// What a unit of each resource counts; one where none is given.
    pub resource_weights: BTreeMap<String, f64>,
}

/// What happens to jobs whose pods do not all run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PodsReady {
    /// How long they may take to start.
    pub timeout: Duration,
    /// How long they may take to recover when some of them failed; for ever when missing.
    pub recovery_timeout: Option<Duration>,
    /// How long an evicted workload waits before each new attempt.
    pub backoff: Backoff,
    /// After so many attempts the workload is deactivated.
    pub most_attempts: Option<i32>,
    /// Nothing is admitted while an admitted workload has pods that do not run.
    pub blocks_admission: bool,
}

/// How long objects are kept that nobody needs any more; for ever where nothing is said.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Retention {
    /// Finished workloads.
    pub finished: Option<Duration>,
    /// Jobs whose workloads were switched off by a limit.
    pub deactivated: Option<Duration>,
}

/// Which time orders a workload that was evicted because its pods were not ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum RequeueOrder {
    /// The time of the eviction: it goes to the end.
    #[default]
    Eviction,
    /// Its creation: it keeps its turn.
    Creation,
}

/// When parked workloads are looked at again after something changed, and the usage of LocalQueues is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum WakePolicy {
    /// Before the next cycle, and only those for whom a look could change something; usage when its time has come.
    #[default]
    Targeted,
    /// When [`Engine::flush`](crate::Engine::flush) is called; usage when [`Engine::sample`](crate::Engine::sample) is.
    Batched,
}

/// How shares are compared when room is made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FairSharing {
    /// Tried one after the other.
    pub strategies: Vec<FairStrategy>,
}

impl Default for FairSharing {
    fn default() -> Self {
        Self { strategies: vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare] }
    }
}

/// When a workload may be preempted for the sake of fairness.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum FairStrategy {
    /// The preemptor's share does not exceed what the victim's queue keeps.
    LessThanOrEqualToFinalShare,
    /// The preemptor's share is less than the victim's queue had.
    LessThanInitialShare,
}
