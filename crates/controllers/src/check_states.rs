//! States of admission checks in a Workload, as their controllers set them.

use kueue_api::kueue::v1beta2::AdmissionCheckState;
use kueue_core::time::Time;

/// Puts a state among the others. Its time is the one it brings, or now; one that only has something else to say keeps
/// the time it has. How often was retried is not its controller's to say.
pub fn set(checks: &mut Vec<AdmissionCheckState>, mut new: AdmissionCheckState, now: Time) {
    if new.last_transition_time.is_zero() {
        new.last_transition_time = now;
    }
    let Some(known) = checks.iter_mut().find(|known| known.name == new.name) else {
        checks.push(new);
        return;
    };
    if known.state != new.state {
        known.state = new.state;
        known.last_transition_time = new.last_transition_time;
    }
    known.message = new.message;
    known.pod_set_updates = new.pod_set_updates;
    known.requeue_after_seconds = new.requeue_after_seconds;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_another_state_has_another_time() {
        let state = |state: &str, message: &str, at: Option<&str>| -> AdmissionCheckState {
            serde_json::from_value(
                json!({"name": "c", "state": state, "message": message, "lastTransitionTime": at, "retryCount": 2}),
            )
            .unwrap()
        };
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z".parse().unwrap());
        let mut checks = Vec::new();
        set(&mut checks, state("Pending", "a", Some(early)), late);
        set(&mut checks, state("Pending", "b", None), late);
        assert_eq!((checks[0].message.as_str(), checks[0].last_transition_time), ("b", early.parse().unwrap()));
        set(&mut checks, state("Ready", "c", None), late);
        assert_eq!((checks.len(), checks[0].last_transition_time), (1, late));
    }
}
