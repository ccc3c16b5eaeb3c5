//! Rollouts, step by step.

use serde_json::json;

use super::rollout::limits;
use super::*;

fn deployment(replicas: i32, strategy: Value) -> Deployment {
    let mut deployment: Deployment = serde_json::from_value(json!({"metadata": {"name": "d", "generation": 1},
        "spec": {"replicas": replicas, "progressDeadlineSeconds": 600, "template": {"spec": {}}}}))
    .unwrap();
    deployment.spec.strategy = serde_json::from_value(strategy).unwrap();
    deployment
}

fn set(revision: i64, replicas: i32, available: i32) -> Arc<ReplicaSet> {
    Arc::new(
        serde_json::from_value(json!({
            "metadata": {"name": format!("d-{revision}"), "annotations": {REVISION: revision.to_string()}},
            "spec": {"replicas": replicas},
            "status": {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}}))
        .unwrap(),
    )
}

/// Lets a rollout from one replica set to another go on, every pod becoming available at once; the sizes of old and new.
fn roll(deployment: &Deployment) -> Vec<(i32, i32)> {
    let mut sizes = vec![(deployment.spec.replicas.unwrap(), 0)];
    for _ in 0..50 {
        let (old, new) = *sizes.last().unwrap();
        let (old, new) = (set(1, old, old), set(2, new, new));
        let mut next = (old.spec.replicas.unwrap(), new.spec.replicas.unwrap());
        for (changed, replicas) in plan(deployment, Some(&new), &[Arc::clone(&old)]) {
            if revision(&changed) == 1 { next.0 = replicas } else { next.1 = replicas }
        }
        if next == *sizes.last().unwrap() {
            return sizes;
        }
        sizes.push(next);
    }
    panic!("the rollout never ends: {sizes:?}");
}

#[test]
fn a_rolling_update_keeps_within_its_limits() {
    let rolling = |surge: &str, unavailable: &str| json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}});
    for (replicas, strategy, expected) in [
        (1, rolling("25%", "25%"), vec![(1, 0), (1, 1), (0, 1)]),
        (4, rolling("50%", "0%"), vec![(4, 0), (4, 2), (2, 2), (2, 4), (0, 4)]),
        (4, rolling("0%", "50%"), vec![(4, 0), (2, 0), (2, 2), (0, 2), (0, 4)]),
    ] {
        assert_eq!(roll(&deployment(replicas, strategy.clone())), expected, "{strategy}");
    }
}

#[test]
fn limits_are_numbers_or_shares() {
    let limits = |surge: Value, unavailable: Value| {
        limits(&deployment(10, json!({"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}})))
    };
    assert_eq!(limits(json!("25%"), json!("25%")), (3, 2), "one rounds up, the other down");
    assert_eq!(limits(json!(1), json!(4)), (1, 4));
    assert_eq!(limits(json!(0), json!("0%")), (0, 1), "something must move");
}

#[test]
fn recreate_waits_for_the_last_old_pod() {
    let deployment = deployment(2, json!({"type": "Recreate"}));
    let (old, new) = (set(1, 2, 2), set(2, 0, 0));
    let sizes = |old: Arc<ReplicaSet>| -> Vec<(i64, i32)> {
        plan(&deployment, Some(&new), &[old]).iter().map(|(set, size)| (revision(set), *size)).collect()
    };
    assert_eq!(sizes(old), [(1, 0)]);
    let mut going = (*set(1, 0, 0)).clone();
    going.status.terminating_replicas = Some(2);
    assert!(sizes(Arc::new(going)).is_empty());
    assert_eq!(sizes(set(1, 0, 0)), [(2, 2)]);
}

#[test]
fn pods_that_never_become_available_stop_a_rollout() {
    let deployment = deployment(1, json!({}));
    let sizes = plan(&deployment, Some(&set(2, 1, 0)), &[set(1, 1, 1)]);
    assert!(sizes.iter().all(|(set, size)| set.spec.replicas == Some(*size)), "the old one stays: {sizes:?}");
}

#[test]
fn a_template_is_known_by_its_hash_whatever_label_it_carries() {
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}});
    let mut labelled = template.clone();
    labelled["metadata"]["labels"][HASH_LABEL] = json!("other");
    assert_eq!(hash(&template), hash(&labelled));
    assert_ne!(hash(&template), hash(&json!({"spec": {}})));
}

#[test]
fn conditions_follow_the_rollout() {
    let mut deployment = deployment(1, json!({}));
    let now = kueue_core::time::Time::new(jiff::Timestamp::from_second(1_800_000_000).unwrap());
    let late = kueue_core::time::Time::new(jiff::Timestamp::from_second(1_800_000_600).unwrap());
    let mut shown = |current: &ReplicaSet, now| {
        deployment.status = status::status(&deployment, Some(current), &[], now).0;
        let conditions = deployment.status.conditions.iter();
        conditions.map(|known| format!("{}={} {}", known.r#type, known.status, known.reason)).collect::<Vec<_>>()
    };
    let waiting = ["Progressing=True NewReplicaSetCreated", "Available=False MinimumReplicasUnavailable"];
    assert_eq!(shown(&set(1, 1, 0), now), waiting);
    let timed_out = ["Available=False MinimumReplicasUnavailable", "Progressing=False ProgressDeadlineExceeded"];
    assert_eq!(shown(&set(1, 1, 0), now), waiting, "nothing moves");
    assert_eq!(shown(&set(1, 1, 0), late), timed_out);
    let done = ["Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"];
    assert_eq!(shown(&set(1, 1, 1), late), done);
    assert_eq!(shown(&set(1, 1, 0), late)[0], "Available=False MinimumReplicasUnavailable", "a pod that is lost");
}
