//! What a deployment tells about itself.

use std::sync::Arc;

use kueue_core::duration::Duration;
use kueue_core::time::Time;

use super::rollout::limits;
use crate::kinds::{Condition, Deployment, DeploymentStatus, ReplicaSet};

/// The status, and in how many seconds to look again.
pub(super) fn status(
    deployment: &Deployment,
    current: Option<&ReplicaSet>,
    old: &[Arc<ReplicaSet>],
    now: Time,
) -> (DeploymentStatus, Option<i64>) {
    let all = || old.iter().map(|set| &**set).chain(current);
    let sum = |count: &dyn Fn(&ReplicaSet) -> i32| all().map(count).sum::<i32>();
    let replicas = sum(&|set| set.status.replicas);
    let available = sum(&|set| set.status.available_replicas);
    let mut status = DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas,
        updated_replicas: current.map_or(0, |set| set.status.replicas),
        ready_replicas: sum(&|set| set.status.ready_replicas),
        available_replicas: available,
        unavailable_replicas: (sum(&|set| set.spec.replicas.unwrap_or(0)) - available).max(0),
        terminating_replicas: Some(sum(&|set| set.status.terminating_replicas.unwrap_or(0))),
        conditions: deployment.status.conditions.clone(),
    };
    let (_, unavailable) = limits(deployment);
    let desired = deployment.spec.replicas.unwrap_or(1);
    let again = progress(deployment, current, &mut status, now);
    let (holds, reason, message) = match available >= desired - unavailable {
        true => (true, "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => (false, "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    set(&mut status.conditions, "Available", holds, reason, message, now);
    // A rollout that is over is told last.
    if let Some(at) = status.conditions.iter().position(|known| known.reason == "NewReplicaSetAvailable") {
        let over = status.conditions.remove(at);
        status.conditions.push(over);
    }
    (status, again)
}

fn progress(
    deployment: &Deployment,
    current: Option<&ReplicaSet>,
    status: &mut DeploymentStatus,
    now: Time,
) -> Option<i64> {
    let (Some(current), Some(deadline)) = (current, deployment.spec.progress_deadline_seconds) else { return None };
    let desired = deployment.spec.replicas.unwrap_or(1);
    let name = &current.metadata.name;
    let is_complete = [status.updated_replicas, status.replicas, status.available_replicas] == [desired; 3];
    let known = status.conditions.iter().find(|known| known.r#type == "Progressing").cloned();
    let before = &deployment.status;
    let moved = status.updated_replicas > before.updated_replicas
        || status.replicas - status.updated_replicas < before.replicas - before.updated_replicas
        || status.ready_replicas > before.ready_replicas
        || status.available_replicas > before.available_replicas;
    let mut tell = |holds: bool, reason: &str, message: String| {
        set(&mut status.conditions, "Progressing", holds, reason, &message, now);
    };
    match known {
        _ if is_complete => {
            tell(true, "NewReplicaSetAvailable", format!("ReplicaSet {name:?} has successfully progressed."));
            None
        }
        None => {
            tell(true, "NewReplicaSetCreated", format!("Created new replica set {name:?}"));
            Some(deadline)
        }
        // Pods that go missing after a rollout are no rollout.
        Some(known) if known.reason == "NewReplicaSetAvailable" && known.message.contains(&format!("{name:?}")) => None,
        Some(known) if moved || known.reason == "NewReplicaSetAvailable" => {
            tell(true, "ReplicaSetUpdated", format!("ReplicaSet {name:?} is progressing."));
            Some(deadline)
        }
        Some(known) => {
            let since = known.last_update_time.unwrap_or(now);
            let late = since + Duration::from_seconds(deadline) <= now;
            if late {
                tell(false, "ProgressDeadlineExceeded", format!("ReplicaSet {name:?} has timed out progressing."));
            }
            (!late).then_some(deadline)
        }
    }
}

/// Sets a condition; one that says the same stays as it is, another goes to the end.
fn set(conditions: &mut Vec<Condition>, kind: &str, holds: bool, reason: &str, message: &str, now: Time) {
    let mut new = Condition { last_update_time: Some(now), ..Condition::new(kind, holds, reason, message, now) };
    if let Some(at) = conditions.iter().position(|known| known.r#type == kind) {
        let known = &conditions[at];
        let is_same = known.status == new.status && known.reason == new.reason && known.message == new.message;
        if is_same && reason != "ReplicaSetUpdated" {
            return;
        }
        if known.status == new.status {
            new.last_transition_time = known.last_transition_time;
        }
        conditions.remove(at);
    }
    conditions.push(new);
}
