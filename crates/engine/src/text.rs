//! Every word that a user can see, in one place: reasons, condition messages, event texts.
//!
//! They are interface: people and tools read them, so they are Kueue's, byte for byte. Code elsewhere hands over
//! values and never formats a sentence.

mod explanation;
pub(crate) mod readiness;
pub(crate) mod refusal;

use kueue_core::amount::Amount;
use kueue_core::resource::Formatter;
use kueue_core::selector::ParseSelectorError;
use kueue_core::time::Time;

use crate::change::Hold;
use crate::id::Name;
use crate::status::{CheckProgress, CheckState, Reason};

pub(crate) const ADMITTED: &str = "Admitted";
pub(crate) const EVICTED: &str = "Evicted";
pub(crate) const QUOTA_RESERVED: &str = "QuotaReserved";
pub(crate) const PREEMPTED: &str = "Preempted";
pub(crate) const PREEMPTED_WORKLOAD: &str = "PreemptedWorkload";
pub(crate) const ON_HOLD: &str = "OnHold";
pub(crate) const DEACTIVATED: &str = "Deactivated";
pub(crate) const DEACTIVATED_DUE_TO: &str = "DeactivatedDueTo";
pub(crate) const OWNER_NOT_FOUND: &str = "OwnerNotFound";
pub(crate) const DELETED: &str = "Deleted";
pub(crate) const WAITING: &str = "Waiting";
pub(crate) const REACTIVATED: &str = "Reactivated";
pub(crate) const PODS_READY_TIMEOUT: &str = "PodsReadyTimeout";
pub(crate) const WAIT_FOR_START: &str = "WaitForStart";
pub(crate) const WAIT_FOR_RECOVERY: &str = "WaitForRecovery";
pub(crate) const PODS_READY: &str = "PodsReady";
pub(crate) const REQUEUING_LIMIT_EXCEEDED: &str = "RequeuingLimitExceeded";
pub(crate) const NODE_FAILURES: &str = "NodeFailures";
pub(crate) const FLAVOR_MIGRATION: &str = "FlavorMigration";
pub(crate) const ADMISSION_CHECK: &str = "AdmissionCheck";
pub(crate) const ADMISSION_CHECK_REJECTED: &str = "AdmissionCheckRejected";
pub(crate) const BACKOFF_FINISHED: &str = "BackoffFinished";
pub(crate) const LOCAL_QUEUE_STOPPED: &str = "LocalQueueStopped";
pub(crate) const LOCAL_QUEUE_RESTARTED: &str = "LocalQueueRestarted";
pub(crate) const CLUSTER_QUEUE_STOPPED: &str = "ClusterQueueStopped";
pub(crate) const CLUSTER_QUEUE_RESTARTED: &str = "ClusterQueueRestarted";
pub(crate) const WORKLOAD_SLICE_REPLACED: &str = "WorkloadSliceReplaced";
pub(crate) const ADMISSION_GATED: &str = "AdmissionGated";
pub(crate) const PREEMPTION_GATED: &str = "PreemptionGated";
pub(crate) const ADMISSION_GATE_CLEARED: &str = "AdmissionGateCleared";
pub(crate) const MAXIMUM_EXECUTION_TIME_EXCEEDED: &str = "MaximumExecutionTimeExceeded";

pub(crate) const NO_RESERVATION: &str = "NoReservation";
pub(crate) const NO_RESERVATION_UNSATISFIED_CHECKS: &str = "NoReservationUnsatisfiedChecks";
pub(crate) const UNSATISFIED_ADMISSION_CHECKS: &str = "UnsatisfiedAdmissionChecks";
pub(crate) const PENDING_DELAYED_TOPOLOGY_REQUESTS: &str = "PendingDelayedTopologyRequests";
pub(crate) const UNSATISFIED_CHECKS: &str = "UnsatisfiedChecks";

/// Reasons of a missing reservation.
pub(crate) const INADMISSIBLE: &str = "Inadmissible";
pub(crate) const PENDING: &str = "Pending";
pub(crate) const PENDING_EVALUATION: &str = "PendingEvaluation";
pub(crate) const WAITING_FOR_QUOTA: &str = "WaitingForQuota";
pub(crate) const WAITING_FOR_PREEMPTED: &str = "WaitingForPreemptedWorkloads";
pub(crate) const WAITING_FOR_PODS_READY: &str = "WaitingForPodsReady";
pub(crate) const NO_MATCHING_FLAVOR: &str = "NoMatchingFlavor";
pub(crate) const EXCEEDS_MAX_QUOTA: &str = "ExceedsMaxQuota";
pub(crate) const SECOND_PASS_FAILED: &str = "SecondPassFailed";
pub(crate) const TOPOLOGY_PLACEMENT_FAILED: &str = "TopologyPlacementFailed";
pub(crate) const SUSPENDED: &str = "Suspended";
pub(crate) const MISCONFIGURED: &str = "Misconfigured";

pub(crate) const IN_CLUSTER_QUEUE: &str = "InClusterQueue";
pub(crate) const IN_COHORT_RECLAMATION: &str = "InCohortReclamation";
pub(crate) const IN_COHORT_FAIR_SHARING: &str = "InCohortFairSharing";
pub(crate) const IN_COHORT_RECLAIM_WHILE_BORROWING: &str = "InCohortReclaimWhileBorrowing";

pub(crate) const IS_ADMITTED: &str = "The workload is admitted";
pub(crate) const HAS_NO_RESERVATION: &str = "The workload has no reservation";
pub(crate) const NO_RESERVATION_NOR_CHECKS: &str = "The workload has no reservation and not all checks ready";
pub(crate) const NOT_ALL_CHECKS_READY: &str = "The workload has not all checks ready";
pub(crate) const PLACEMENT_PENDING: &str = "There are pending delayed topology requests";
pub(crate) const FAILED_CHECKS: &str = "The workload has failed admission checks";
pub(crate) const NAMESPACE_MISMATCH: &str = "workload namespace doesn't match ClusterQueue selector";
pub(crate) const NO_LONGER_FITS: &str = "Workload no longer fits after processing another workload";
pub(crate) const OVERLAPPING_TARGETS: &str = "Workload has overlapping preemption targets with another workload";
pub(crate) const DEFERRED_FIT: &str =
    "Workload has overlapping preemption targets with another workload, but will fit after these preemptions complete";
pub(crate) const SIBLING_ADMITTED: &str = "A more favorable variant is already admitted";
pub(crate) const NOT_ACCEPTABLE_FLAVOR: &str = "Target flavor is below LastAcceptableFlavorName";
pub(crate) const PENDING_MIGRATION: &str = ". Pending the migration of 1 workload(s)";
pub(crate) const PREEMPTION_IS_GATED: &str = "Workload requires preemption, but it's gated";
pub(crate) const WORKLOAD_DEACTIVATED: &str = "The workload is deactivated";
pub(crate) const OWNER_IS_GONE: &str = "The workload's owner no longer exists";
pub(crate) const DELETED_FINISHED: &str = "Deleted finished workload due to elapsed retention";
pub(crate) const NO_LONGER_ON_HOLD: &str = "Workload no longer on hold; waiting for quota reservation";
pub(crate) const NOT_ALL_PODS_READY: &str = "waiting for all admitted workloads to be in PodsReady condition";
pub(crate) const WORKLOAD_REACTIVATED: &str = "The workload was reactivated";
pub(crate) const BACKOFF_OVER: &str = "The workload backoff was finished";
pub(crate) const LOCAL_QUEUE_IS_STOPPED: &str = "The LocalQueue is stopped";
pub(crate) const CLUSTER_QUEUE_IS_STOPPED: &str = "The ClusterQueue is stopped";
pub(crate) const LOCAL_QUEUE_WAS_RESTARTED: &str = "The LocalQueue was restarted after being stopped";
pub(crate) const CLUSTER_QUEUE_WAS_RESTARTED: &str = "The ClusterQueue was restarted after being stopped";
pub(crate) const GATE_CLEARED: &str = "AdmissionGatedBy cleared, waiting for quota reservation";
pub(crate) const GATE_CLEARED_EVENT: &str = "Admission gate cleared, workload is now admissible";
pub(crate) const IN_SCHEDULING_QUEUE: &str = "Workload is pending evaluation in the scheduling queue";
pub(crate) const BYPASSED: &str = "Bypassed scheduling evaluation because an equivalent workload recently failed";
pub(crate) const TOO_MANY_ATTEMPTS: &str = "exceeding the maximum number of re-queuing retries";
pub(crate) const EXECUTION_TIME_EXCEEDED: &str = "exceeding the maximum execution time";

/// The longest message of a condition, in bytes.
const CONDITION_BYTES: usize = 32 * 1024;
/// The longest text of an event, in bytes.
const EVENT_BYTES: usize = 1024;

/// A message that fits into a condition.
pub fn condition_message(message: Name) -> Name {
    if message.len() <= CONDITION_BYTES { message } else { cut(&message, CONDITION_BYTES).into() }
}

pub(crate) fn event_message(message: String) -> String {
    if message.len() <= EVENT_BYTES { message } else { cut(&message, EVENT_BYTES) }
}

fn cut(message: &str, limit: usize) -> String {
    let end = message.floor_char_boundary(limit - " ...".len());
    format!("{} ...", &message[..end])
}

pub(crate) fn with_cause(reason: &str, cause: &str) -> Reason {
    Reason::Owned(format!("{reason}DueTo{cause}"))
}

pub(crate) fn quota_reserved(queue: &str) -> Name {
    ["Quota reserved in ClusterQueue ", queue].concat().into()
}

pub(crate) fn quota_reserved_event(queue: &str, waited_s: i64, considered: &str) -> String {
    let waited_s = waited_s.to_string();
    let mut message =
        ["Quota reserved in ClusterQueue ", queue, ", wait time since queued was ", &waited_s, "s"].concat();
    if !considered.is_empty() {
        message.push_str("; Flavors considered: ");
        message.push_str(considered);
    }
    message
}

pub(crate) fn admitted_event(queue: &str, waited_s: i64) -> String {
    ["Admitted by ClusterQueue ", queue, ", wait time since reservation was ", &waited_s.to_string(), "s"].concat()
}

pub(crate) fn previously(message: &str) -> Name {
    format!("Previously: {message}").into()
}

pub(crate) fn check_reset(progress: CheckProgress) -> Name {
    format!("Reset to Pending after eviction. Previously: {}", check_progress(progress)).into()
}

pub(crate) fn check_progress(progress: CheckProgress) -> &'static str {
    match progress {
        CheckProgress::Pending => "Pending",
        CheckProgress::Ready => "Ready",
        CheckProgress::Retry => "Retry",
        CheckProgress::Rejected => "Rejected",
    }
}

/// The checks that ended in `progress`, by name, with what their controllers said.
pub(crate) fn failed_checks(checks: &[CheckState], progress: CheckProgress) -> String {
    let mut failed: Vec<_> = checks.iter().filter(|check| check.progress == progress).collect();
    failed.sort_by(|a, b| a.name.cmp(&b.name));
    let noun = if failed.len() > 1 { "AdmissionChecks" } else { "AdmissionCheck" };
    let parts: Vec<String> = failed
        .iter()
        .map(|check| match &*check.message {
            "" => format!("{:?}", &*check.name),
            message => format!("{:?} ({message})", &*check.name),
        })
        .collect();
    format!("{noun} in {} state: {}", check_progress(progress), parts.join("; "))
}

pub(crate) fn queue_inactive(queue: &str) -> String {
    format!("ClusterQueue {queue} is inactive")
}

pub(crate) fn local_queue_missing(name: &str) -> Name {
    format!("LocalQueue {name} doesn't exist").into()
}

pub(crate) fn local_queue_inactive(name: &str) -> Name {
    format!("LocalQueue {name} is inactive").into()
}

pub(crate) fn local_queue_stopped(name: &str) -> Name {
    format!("LocalQueue {name} is stopped").into()
}

pub(crate) fn local_queue_terminating(name: &str) -> Name {
    format!("LocalQueue {name} is terminating or missing").into()
}

pub(crate) fn queue_missing(name: &str) -> Name {
    format!("ClusterQueue {name} doesn't exist").into()
}

pub(crate) fn queue_stopped(name: &str) -> Name {
    format!("ClusterQueue {name} is stopped").into()
}

pub(crate) fn queue_terminating(name: &str) -> Name {
    format!("ClusterQueue {name} is terminating or missing").into()
}

pub(crate) fn deactivated_due_to(message: &str) -> Name {
    format!("{WORKLOAD_DEACTIVATED} due to {message}").into()
}

pub(crate) fn on_hold(hold: Hold) -> &'static str {
    match hold {
        Hold::Job => "Job is on hold",
        Hold::ScaledToZero => "StatefulSet scaled to zero; workload on hold",
    }
}

pub(crate) fn pods_ready_timeout(workload: &str) -> Name {
    format!("Exceeded the PodsReady timeout {workload}").into()
}

pub(crate) fn execution_time_exceeded(limit_s: i32) -> String {
    format!("The maximum execution time ({limit_s}s) exceeded")
}

pub(crate) fn gated(gate: &str) -> Name {
    format!("Admission is gated by: {gate}").into()
}

pub(crate) fn gated_event(gate: &str) -> String {
    format!("Workload admission is gated by: {gate}")
}

pub(crate) fn invalid_selector(mistake: &ParseSelectorError) -> String {
    format!("invalid namespace selector: {mistake}")
}

pub(crate) fn namespace_missing(namespace: &str) -> String {
    format!("workload namespace {namespace:?} does not exist: namespaces {namespace:?} not found")
}

pub(crate) fn no_flavors(pod_set: &str, reasons: &[String]) -> String {
    format!("couldn't assign flavors to pod set {pod_set}: {}", reasons.join(", "))
}

const NO_PLACE: &str = "failed to assign flavors to pod set ";

pub(crate) fn no_place(pod_set: &str, why: &str) -> String {
    format!("{NO_PLACE}{pod_set}: {why}")
}

/// Whether a message says that a pod set can have no place.
pub(crate) fn is_unplaceable(message: &str) -> bool {
    message.starts_with(NO_PLACE)
}

pub(crate) fn no_replacement(nodes: &[Name]) -> String {
    let nodes: Vec<&str> = nodes.iter().map(|node| &**node).collect();
    format!("Workload was evicted as there was no replacement for unhealthy node(s): {}", nodes.join(","))
}

pub(crate) fn unreadable_places(pod_set: &str, why: &str) -> String {
    format!("The topology assignment of pod set {pod_set} cannot be read: {why}")
}

pub(crate) fn many_nodes_failed(nodes: &[Name]) -> String {
    let nodes: Vec<&str> = nodes.iter().map(|node| &**node).collect();
    format!("Workload eviction triggered due to multiple TAS assigned node failures, including: {}", nodes.join(", "))
}

pub(crate) fn pending_preemption(victims: usize) -> String {
    format!(". Pending the preemption of {victims} workload(s)")
}

/// Who preempts whom, for the texts about it.
#[derive(Debug)]
pub(crate) struct PreemptionParty<'a> {
    pub(crate) key: String,
    pub(crate) uid: &'a str,
    pub(crate) queue: &'a str,
    pub(crate) path: String,
    pub(crate) priority: i64,
    pub(crate) base_priority: i32,
}

/// What the condition of a preempted workload says.
pub fn preempted_message(
    preemptor_uid: &str,
    job_uid: &str,
    reason: &str,
    preemptor_path: &str,
    victim_path: &str,
) -> String {
    let why = match reason {
        IN_CLUSTER_QUEUE => "prioritization in the ClusterQueue",
        IN_COHORT_RECLAMATION => "reclamation within the cohort",
        IN_COHORT_FAIR_SHARING => "Fair Sharing within the cohort",
        IN_COHORT_RECLAIM_WHILE_BORROWING => "reclamation within the cohort while borrowing",
        _ => "",
    };
    let [uid, job_uid, why, preemptor_path, victim_path] =
        [preemptor_uid, job_uid, why, preemptor_path, victim_path].map(or_unknown);
    format!(
        "Preempted to accommodate a workload (UID: {uid}, JobUID: {job_uid}) due to {why}; \
         preemptor path: {preemptor_path}; preemptee path: {victim_path}"
    )
}

pub(crate) fn priorities(preemptor: &PreemptionParty<'_>, victim: &PreemptionParty<'_>) -> String {
    let of = |party: &PreemptionParty<'_>| {
        let boost = party.priority - i64::from(party.base_priority);
        format!("{} (base: {}, boost: {boost})", party.priority, party.base_priority)
    };
    format!("; preemptor effective priority: {}; preemptee effective priority: {}", of(preemptor), of(victim))
}

pub(crate) fn preempted_workload(preemptor: &PreemptionParty<'_>, victim: &PreemptionParty<'_>) -> String {
    format!(
        "Preempted workload {} (UID: {}) in ClusterQueue {}{}",
        victim.key,
        victim.uid,
        victim.queue,
        priorities(preemptor, victim)
    )
}

pub(crate) fn slice_replaced(uid: &str, job_uid: &str) -> Name {
    format!("Replaced to accommodate a workload (UID: {uid}, JobUID: {job_uid}) due to workload slice aggregation")
        .into()
}

pub(crate) fn migrated(uid: &str) -> Name {
    format!("Evicted to accommodate a workload (UID: {uid}) due to migration to more favorable resource flavor").into()
}

fn or_unknown(text: &str) -> &str {
    if text.is_empty() { "UNKNOWN" } else { text }
}

/// An amount of a resource as Kueue prints it.
pub(crate) fn amount(resource: &str, amount: Amount) -> String {
    if amount.is_unlimited() {
        return amount.to_string();
    }
    Formatter::default().quantity(resource, amount.get()).to_string()
}

/// The longest time that a message tells: 2^63 nanoseconds, rounded. Shown for an object that says not when it was made.
const LONGEST_S: i64 = 9_223_372_037;

/// Whole seconds from one moment to a later one; negative when the clock stepped back.
pub(crate) fn seconds_between(from: Time, to: Time) -> i64 {
    (to.timestamp().as_second() - from.timestamp().as_second()).clamp(-LONGEST_S, LONGEST_S)
}
