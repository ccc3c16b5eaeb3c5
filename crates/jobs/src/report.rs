//! What a job does, as facts about its Workload. Whoever owns the Workload's status draws the conclusions.

use kueue_api::kueue::v1beta2::ReclaimablePod;
use kueue_api::meta::ConditionStatus;
use kueue_runtime::key::Key;

/// Why a job wants no quota for now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// It says so itself.
    Job,
    /// It was scaled down to nothing.
    ScaledToZero,
}

/// Something that is so about the job of a Workload.
#[derive(Clone, PartialEq, Debug)]
pub enum Report {
    /// The job of an evicted Workload has no active pods any more.
    Stopped,
    /// The Workload is over: the condition `Finished` with this reason and message.
    Finished { reason: &'static str, message: String },
    /// Whether all pods are ready: the condition `PodsReady`.
    PodsReady { status: ConditionStatus, reason: &'static str, message: &'static str },
    /// The job wants no quota for now, for that reason; or does again.
    OnHold(Option<Hold>),
    /// Whether pods of a group were lost and have no successors: the condition `WaitingForReplacementPods`.
    WaitingForReplacementPods { status: ConditionStatus, reason: String, message: String },
    /// So many pods of each pod set are done.
    Reclaimable(Vec<ReclaimablePod>),
}

/// A fact about the Workload of that name and identity.
#[derive(Clone, PartialEq, Debug)]
pub struct Fact {
    pub workload: Key,
    pub uid: String,
    pub report: Report,
}
