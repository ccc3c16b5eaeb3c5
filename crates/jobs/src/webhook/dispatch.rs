//! Whether jobs of a queue are sent to other clusters.

use kueue_api::kueue::names::CONTROLLER_MULTIKUEUE;
use kueue_api::kueue::v1beta2::{AdmissionCheck, ClusterQueue};

/// Whether one of the queue's checks sends jobs away.
pub fn is_dispatched<'c>(queue: &ClusterQueue, checks: impl Iterator<Item = &'c AdmissionCheck>) -> bool {
    let strategy = queue.spec.admission_checks_strategy.as_ref();
    let named: Vec<&str> =
        strategy.into_iter().flat_map(|strategy| &strategy.admission_checks).map(|rule| rule.name.as_str()).collect();
    let mut checks = checks.filter(|check| named.contains(&check.metadata.name.as_str()));
    checks.any(|check| check.spec.controller_name == CONTROLLER_MULTIKUEUE)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_check_of_the_right_controller_sends_jobs_away() {
        let queue = |check: &str| -> ClusterQueue {
            let strategy = json!({"admissionChecks": [{"name": check}]});
            serde_json::from_value(json!({"metadata": {"name": "q"}, "spec": {"admissionChecksStrategy": strategy}}))
                .unwrap()
        };
        let check = |name: &str, controller: &str| -> AdmissionCheck {
            serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"controllerName": controller}})).unwrap()
        };
        let checks = [check("far", CONTROLLER_MULTIKUEUE), check("near", "other")];
        assert!(is_dispatched(&queue("far"), checks.iter()));
        assert!(!is_dispatched(&queue("near"), checks.iter()));
        assert!(!is_dispatched(&ClusterQueue::default(), checks.iter()));
    }
}
