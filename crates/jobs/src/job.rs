//! What the framework asks of a job kind.

use kueue_api::kueue::v1beta2::{PodSet, ReclaimablePod};
use kueue_api::meta::Object;
use kueue_api::pod_set_info::{Conflict, PodSetInfo};
use kueue_core::field::Errors;
use kueue_core::gates::Gates;

use crate::topology_request::BadTopologyRequest;
use crate::webhook::{self, Around, Unanswerable, validation};

/// How a job ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finish {
    pub is_success: bool,
    /// What the job says about it.
    pub message: String,
}

/// Why no Workload can be made of what a job says.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadPodSets {
    #[error(transparent)]
    Topology(#[from] BadTopologyRequest),
    /// The job itself is incomplete.
    #[error("{0}")]
    Incomplete(&'static str),
    /// Its pods run in a cluster with a group that it knows nothing of.
    #[error(
        "PodSet name mismatch: RayCluster {cluster} has worker group {group} which is not found in Ray object {job} spec"
    )]
    UnknownGroup { cluster: String, group: String, job: String },
}

/// Why a job can never be started with what it was given.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CannotStart {
    /// The Workload has another number of pod sets than the job.
    #[error("invalid podset infos: expecting {expected} podset, got {given}")]
    PodSets { expected: usize, given: usize },
    /// A pod has a role that the Workload has no pod set for.
    #[error("invalid podset infos: podSetInfo with the name '{0}' is not found")]
    NoPodSet(String),
    /// The job says one thing and its flavors or checks another.
    #[error(transparent)]
    Conflict(#[from] Conflict),
}

/// Why a job is stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StopReason {
    WorkloadDeleted,
    /// With the reason of the eviction.
    WorkloadEvicted(String),
    NoMatchingWorkload,
    NotAdmitted,
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WorkloadDeleted => f.write_str("WorkloadDeleted"),
            Self::WorkloadEvicted(cause) => write!(f, "WorkloadEvictedDueTo{cause}"),
            Self::NoMatchingWorkload => f.write_str("NoMatchingWorkload"),
            Self::NotAdmitted => f.write_str("NotAdmitted"),
        }
    }
}

/// Why a job is stopped, and what is said about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop<'a> {
    pub reason: StopReason,
    pub message: &'a str,
}

/// One request of stopping a job; each is sent when the one before it was answered.
#[derive(Clone, PartialEq, Debug)]
pub enum Write<J> {
    /// The job is to be like this, except for its status.
    Spec(J),
    /// The job's status is to be like this.
    Status(J),
    /// The job is to be like this when its last pod is gone: API servers let nobody change its template before.
    Restored(J),
    /// The job is told that it ends, and why, by the condition `TerminationTarget`; then it is deleted.
    Terminate { reason: String, message: String },
    /// The job is deleted, and was told why before.
    Delete,
}

/// A job of some kind, as the framework sees it. The object is a partial view: what it does not know stays as it is.
pub trait Job: Object + Clone + PartialEq + Send + Sync + 'static {
    /// Its name in the configuration's list of integrations.
    const FRAMEWORK: &'static str;
    /// The name in events of its controller.
    const EVENT_SOURCE: &'static str;
    /// Whether a Workload may be made for it beforehand.
    const TAKES_PREBUILT: bool = false;
    /// Whether it may follow its size by slices.
    const MAY_BE_ELASTIC: bool = false;
    /// Whether its pods run in a RayCluster of its own, whose size others may change.
    const RUNS_IN_RAY_CLUSTER: bool = false;
    /// Who runs jobs that say nothing about it, for kinds that can be run by somebody else.
    const NATIVE_MANAGER: Option<&'static str> = None;

    /// Whether it runs no pods, and is to run none.
    fn is_suspended(&self) -> bool;

    fn suspend(&mut self);

    /// What it needs.
    fn pod_sets(&self, gates: Gates) -> Result<Vec<PodSet>, BadPodSets>;

    /// Lets it run with what its pod sets were given.
    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart>;

    /// Puts its pod templates back to what they were. Says whether that changed anything.
    fn restore(&mut self, original: &[PodSetInfo]) -> bool;

    /// Whether any of its pods still run.
    fn is_active(&self) -> bool;

    /// Whether all its pods are ready or done.
    fn pods_ready(&self) -> bool;

    /// Whether and how it ended.
    fn finished(&self) -> Option<Finish>;

    // What only some kinds can do follows; a kind that cannot says nothing.

    /// Pods that are done and need nothing any more; missing for kinds that cannot tell.
    fn reclaimable_pods(&self) -> Option<Vec<ReclaimablePod>> {
        None
    }

    /// Whether it puts itself under our management, for kinds that can say that they do not.
    fn is_ours(&self, _: Gates) -> bool {
        true
    }

    /// The same without what keeps it from being deleted, if anything of ours does.
    fn released(&self) -> Option<Self> {
        None
    }

    /// The requests that stop it, given what its pod templates were before it ran, if that is known.
    fn stop(&self, _: &Stop<'_>, original: Option<&[PodSetInfo]>) -> Vec<Write<Self>> {
        if self.is_suspended() {
            return Vec::new();
        }
        let mut stopped = self.clone();
        stopped.suspend();
        if let Some(original) = original {
            stopped.restore(original);
        }
        vec![Write::Spec(stopped)]
    }

    /// Whether its Workload is to be switched on, for kinds that decide that themselves.
    fn wants_active(&self) -> Option<bool> {
        None
    }

    /// Whether it wants no quota for now, for kinds that may say so.
    fn is_on_hold(&self) -> Option<bool> {
        None
    }

    /// The RayCluster that its pods run in, for kinds with [one of their own](Job::RUNS_IN_RAY_CLUSTER), once there is one.
    fn ray_cluster(&self) -> Option<&str> {
        None
    }

    /// Whether an autoscaler of its own may choose how many workers it has.
    fn is_autoscaled(&self) -> bool {
        false
    }

    /// What tells the Workloads of an elastic job apart: a new one for every change.
    fn slice_name_extra(&self) -> String {
        self.metadata().generation.to_string()
    }

    /// The PriorityClass that counts for the job, where it is not that of its first pod set.
    fn priority_class(&self) -> Option<String> {
        None
    }

    /// Who runs it, where it says so.
    fn managed_by(&self) -> Option<&str> {
        None
    }

    /// Called only for kinds with a [`NATIVE_MANAGER`](Job::NATIVE_MANAGER).
    fn set_managed_by(&mut self, _manager: &str) {}

    /// Whether it waits by itself although it belongs to a job that is managed, because that one lets its pods wait.
    fn waits_by_itself(&self) -> bool {
        false
    }

    /// The gate of ours that keeps this job back and no longer the next one, for kinds that are pods.
    fn opened_gate(&self, _next: &Self) -> Option<&'static str> {
        None
    }

    /// Fills in what a new job does not say.
    fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        webhook::default(self, around)
    }

    /// Every mistake in a new job.
    fn validate_create(&self, around: &Around<'_>) -> Errors {
        validation::create(self, around.settings.gates)
    }

    /// Every mistake in changing the old job to this one.
    fn validate_update(&self, old: &Self, around: &Around<'_>) -> Errors {
        validation::update(self, old, around.has_default_queue, around.settings.gates)
    }

    /// What users are told about a job that is new, or changed, and accepted all the same.
    fn warnings(&self, _is_update: bool, _around: &Around<'_>) -> Vec<String> {
        Vec::new()
    }
}
