//! How far a status that is wanted is from the one that is there.

use kueue_api::kueue::names::condition;
use kueue_api::kueue::names::reason::quota;
use kueue_api::kueue::v1beta2::WorkloadStatus;
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_engine::Status;

/// Conditions that follow from what jobs report, each written by a field manager of its own.
const OWN_CONDITIONS: [(&str, &str); 2] = [
    (condition::PODS_READY, "kueue-job-controller-PodsReady"),
    (condition::WAITING_FOR_REPLACEMENT_PODS, "kueue-job-controller-WaitingForReplacementPods"),
];

/// What has to be written to make one status of the other.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Distance {
    /// Nothing.
    Same,
    /// Only texts, which nobody needs to be told on their own.
    Words,
    /// Why it waits. Nobody acts on that, so it is told when there is time.
    Reason,
    /// One condition that has a field manager of its own, and which.
    OwnCondition(Condition, &'static str),
    /// What was decided.
    Decision,
}

pub(super) fn distance(there: &WorkloadStatus, wanted: &WorkloadStatus) -> Distance {
    if there == wanted {
        return Distance::Same;
    }
    let (bare_there, bare_wanted) = (bare(there), bare(wanted));
    if bare_there == bare_wanted {
        return Distance::Words;
    }
    let without = |status: &WorkloadStatus, kind: &str| {
        let mut status = status.clone();
        status.conditions.retain(|condition| condition.r#type != kind);
        status
    };
    if waits(there) && waits(wanted) && without_reason(bare_there.clone()) == without_reason(bare_wanted.clone()) {
        return Distance::Reason;
    }
    let own = OWN_CONDITIONS.iter().find_map(|(kind, manager)| {
        let wanted = wanted.conditions.iter().find(|condition| condition.r#type == *kind)?;
        let is_alone = without(&bare_there, kind) == without(&bare_wanted, kind);
        is_alone.then(|| Distance::OwnCondition(wanted.clone(), manager))
    });
    own.unwrap_or(Distance::Decision)
}

/// Whether a text under this reason names somebody's mistake: another text is another mistake, and not the same one in
/// other numbers.
fn names_a_mistake(reason: &str) -> bool {
    reason == quota::MISCONFIGURED
}

/// The status without the words, its conditions in a fixed order.
fn bare(status: &WorkloadStatus) -> WorkloadStatus {
    let mut status = status.clone();
    for condition in &mut status.conditions {
        if !names_a_mistake(&condition.reason) {
            condition.message.clear();
        }
        condition.observed_generation = 0;
    }
    status.conditions.sort_by(|a, b| a.r#type.cmp(&b.r#type));
    if status.admission.is_some() {
        // Written as an empty list, which reads as none.
        status.resource_requests.clear();
    }
    status
}

fn waits(status: &WorkloadStatus) -> bool {
    let has = |condition: &Condition| tells_of_quota(condition) && condition.status == ConditionStatus::True;
    status.admission.is_none() && !status.conditions.iter().any(has)
}

fn tells_of_quota(condition: &Condition) -> bool {
    [condition::QUOTA_RESERVED, condition::ADMITTED].contains(&condition.r#type.as_str())
}

/// The status without why it waits and for how much.
fn without_reason(mut status: WorkloadStatus) -> WorkloadStatus {
    status.conditions.retain(|condition| !tells_of_quota(condition));
    status.resource_requests.clear();
    status
}

/// Whether two statuses of the engine differ in words at most.
pub(super) fn says_the_same(one: &Status, other: &Status) -> bool {
    bare_engine(one) == bare_engine(other)
}

fn bare_engine(status: &Status) -> Status {
    let mut status = status.clone();
    for condition in &mut status.conditions {
        if !names_a_mistake(&condition.reason) {
            condition.message = "".into();
        }
        condition.generation = 0;
    }
    status.conditions.sort_by_key(|condition| condition.kind);
    status
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn status(conditions: &[(&str, &str, &str)], patch: Value) -> WorkloadStatus {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, reason, message)| json!({"type": kind, "status": "False", "reason": reason, "message": message}))
            .collect();
        let mut status = json!({"conditions": conditions});
        if let (Some(status), Value::Object(patch)) = (status.as_object_mut(), patch) {
            status.extend(patch);
        }
        serde_json::from_value(status).unwrap()
    }

    #[test]
    fn words_alone_are_not_worth_a_write() {
        let there =
            status(&[("QuotaReserved", "WaitingForQuota", "needs 2"), ("Admitted", "NoReservation", "")], json!({}));
        let same =
            status(&[("Admitted", "NoReservation", ""), ("QuotaReserved", "WaitingForQuota", "needs 3")], json!({}));
        assert_eq!(distance(&there, &there), Distance::Same);
        assert_eq!(distance(&there, &same), Distance::Words);
        let mistake = |text| status(&[("QuotaReserved", "Misconfigured", text)], json!({}));
        let (no_queue, no_cluster_queue) =
            (mistake("LocalQueue a doesn't exist"), mistake("ClusterQueue b doesn't exist"));
        assert_eq!(distance(&no_queue, &no_cluster_queue), Distance::Reason, "another mistake");
        let counted = status(
            &[("QuotaReserved", "WaitingForQuota", "needs 2"), ("Admitted", "NoReservation", "")],
            json!({"requeueState": {"count": 1}}),
        );
        assert_eq!(distance(&there, &counted), Distance::Decision);
    }

    #[test]
    fn why_one_waits_can_be_told_later_and_what_was_decided_cannot() {
        let waiting =
            |reason| status(&[("QuotaReserved", reason, "needs 2"), ("Admitted", "NoReservation", "")], json!({}));
        let there = waiting("WaitingForQuota");
        assert_eq!(distance(&there, &waiting("NoMatchingFlavor")), Distance::Reason);
        let new = status(&[], json!({"resourceRequests": [{"name": "main"}]}));
        assert_eq!(distance(&new, &there), Distance::Reason);
        let mut admitted = waiting("QuotaReserved");
        admitted.conditions[0].status = ConditionStatus::True;
        assert_eq!(distance(&there, &admitted), Distance::Decision);
        assert_eq!(distance(&admitted, &there), Distance::Decision);
        let evicted = status(
            &[("QuotaReserved", "Pending", "needs 2"), ("Admitted", "NoReservation", ""), ("Evicted", "Preempted", "")],
            json!({}),
        );
        assert_eq!(distance(&there, &evicted), Distance::Decision);
    }

    #[test]
    fn what_jobs_report_of_pods_is_written_on_its_own_when_it_is_alone() {
        let there = status(&[("Admitted", "Admitted", "")], json!({}));
        let ready = status(&[("Admitted", "Admitted", "x"), ("PodsReady", "Started", "all")], json!({}));
        assert!(matches!(distance(&there, &ready), Distance::OwnCondition(ready, _) if ready.reason == "Started"));
        let lost = status(&[("Admitted", "Admitted", ""), ("WaitingForReplacementPods", "PodsFailed", "")], json!({}));
        let manager = "kueue-job-controller-WaitingForReplacementPods";
        assert!(matches!(distance(&there, &lost), Distance::OwnCondition(_, found) if found == manager));
        let both = status(&[("Admitted", "Other", ""), ("PodsReady", "Started", "all")], json!({}));
        assert_eq!(distance(&there, &both), Distance::Decision);
    }
}
