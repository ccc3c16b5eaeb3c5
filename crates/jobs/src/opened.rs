//! How long pods stayed behind our gates after their admission.

use std::sync::Arc;

use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::ConditionStatus;
use kueue_core::time::Time;

/// A gate that was taken off a pod.
#[derive(Clone, PartialEq, Debug)]
pub struct Opened<'a> {
    pub gate: &'a str,
    /// The ClusterQueue that the pod was admitted to.
    pub queue: &'a str,
    /// Whether the pod is one of a group.
    pub is_group: bool,
    /// How long after the admission that was.
    pub waited_s: f64,
}

/// Told of every gate that is taken off.
pub type OnOpened = Arc<dyn Fn(&Opened<'_>) + Send + Sync>;

impl<'a> Opened<'a> {
    /// A gate that is taken off a pod of the Workload now; none when it was not admitted.
    pub fn now(gate: &'a str, is_group: bool, workload: &'a Workload, now: Time) -> Option<Self> {
        let mut conditions = workload.status.conditions.iter();
        let admitted = conditions.find(|condition| condition.r#type == condition::ADMITTED)?;
        if admitted.status != ConditionStatus::True {
            return None;
        }
        let waited_s = now.timestamp().duration_since(admitted.last_transition_time.timestamp()).as_secs_f64();
        let queue = workload.status.admission.as_ref().map_or("", |admission| admission.cluster_queue.as_str());
        // The clock of whoever admitted it may be ahead of ours.
        Some(Self { gate, queue, is_group, waited_s: waited_s.max(0.0) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_who_was_admitted_waited_since_and_never_less_than_nothing() {
        let waited = |status: &str, since: &str| {
            let condition = json!({"type": "Admitted", "status": status, "reason": "r", "message": "",
                "lastTransitionTime": since});
            let workload: Workload = serde_json::from_value(json!({"metadata": {"name": "w"}, "spec": {"podSets": []},
                "status": {"conditions": [condition]}}))
            .unwrap();
            Opened::now("g", false, &workload, "2026-01-01T00:00:09Z".parse().unwrap()).map(|opened| opened.waited_s)
        };
        assert_eq!(waited("True", "2026-01-01T00:00:04Z"), Some(5.0));
        assert_eq!(waited("True", "2026-01-01T00:00:14Z"), Some(0.0));
        assert_eq!(waited("False", "2026-01-01T00:00:04Z"), None);
    }
}
