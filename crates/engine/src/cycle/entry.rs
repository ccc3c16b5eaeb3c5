//! A workload on its way through one cycle.

use crate::assign::{Assignment, Mode};
use crate::id::{NodeId, QueueId, WorkloadId};
use crate::preempt::Target;
use crate::workload::Progress;

/// Why a workload goes back to its queue; decides whether it stays in line or steps aside.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequeueReason {
    /// Nothing in particular.
    Generic,
    /// It could have started, and something failed.
    FailedAfterNomination,
    /// The ClusterQueue does not accept its namespace.
    NamespaceMismatch,
    /// It waits for its victims to leave.
    PendingPreemption,
    /// It waits for a less favourable variant of itself to leave.
    PendingMigration,
    /// Another variant of it was admitted.
    SiblingAdmitted,
    /// It would preempt, and is not let.
    PreemptionGated,
    /// No quota is left for it, nor could be.
    NoFit,
    /// There would be quota if somebody left, and nobody has to.
    NoCandidates,
}

/// What became of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    /// It waits, as it did before.
    Waiting,
    /// It was about to start or preempt when an earlier entry got in its way.
    Skipped,
    /// It could start, and waits until the pods of all others run.
    Blocked,
    /// It was not looked at: somebody before it waits for pods.
    Postponed,
    /// It would have to preempt others, and a gate keeps it from that.
    Gated,
    /// It waits for its victims to leave.
    Preempting,
    /// It waits for this less favourable sibling to leave.
    Migrating(WorkloadId),
    /// No node could replace the one that failed.
    Evicted,
    /// It has quota.
    Admitted,
}

/// How a workload could start.
#[derive(Debug)]
pub(crate) struct Proposal {
    pub(crate) assignment: Assignment,
    /// Who has to go first.
    pub(crate) targets: Vec<Target>,
    /// Whose place it takes.
    pub(crate) replaces: Option<WorkloadId>,
}

/// A nominated workload.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) workload: WorkloadId,
    pub(super) queue: QueueId,
    pub(super) node: NodeId,
    pub(super) is_preemptor: bool,
    /// How often it has come for places before, if that is what it comes for.
    pub(super) returns: Option<u32>,
    pub(super) assignment: Assignment,
    pub(super) targets: Vec<Target>,
    /// The slice whose place it takes when it is admitted.
    pub(super) replaces: Option<WorkloadId>,
    /// What is remembered of the scan of flavors for the next attempt.
    pub(super) progress: Option<Progress>,
    pub(super) outcome: Outcome,
    pub(super) requeue: RequeueReason,
    pub(super) reason: &'static str,
    /// Replaces what the assignment says.
    pub(super) message: Option<&'static str>,
}

impl Entry {
    /// Whether it can only wait, because nobody has to go for it.
    pub(super) fn is_waiting(&self) -> bool {
        self.assignment.mode == Mode::Preempt && self.targets.is_empty()
    }
}

/// A workload that could not be nominated.
#[derive(Debug)]
pub(super) struct Refused {
    /// How often it has come for places before, if that is what it came for.
    pub(super) returns: Option<u32>,
    pub(super) workload: WorkloadId,
    pub(super) requeue: RequeueReason,
    pub(super) reason: &'static str,
    pub(super) message: String,
}
