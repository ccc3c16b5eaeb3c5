//! What becomes of a StatefulSet, its pods and its Workload.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::step::{Act, step};
use super::*;
use crate::report::Report;
use crate::step::{Action, Family, Settings, Surroundings};
use crate::webhook::Around;
use crate::webhook::tests::around;

fn set(replicas: i32, patch: &Value) -> StatefulSet {
    let mut set = json!({"metadata": {"name": "s", "namespace": "ns", "uid": "u",
            "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "c"}]}}},
        "status": {"replicas": 0}});
    for (path, value) in patch.as_object().unwrap() {
        let (parent, key) = path.rsplit_once('/').unwrap();
        set.pointer_mut(parent).unwrap()[key] = value.clone();
    }
    serde_json::from_value(set).unwrap()
}

fn look(set: &StatefulSet, pods: &[Pod], workload: Option<&Workload>) -> Vec<String> {
    let surroundings = Surroundings {
        settings: &Settings::default(),
        namespace: Some(BTreeMap::new()),
        family: Family::TopLevel,
        prebuilt: None,
        workloads: workload.map(|workload| Arc::new(workload.clone())).into_iter().collect(),
        flavor: &|_| None,
        workload_priority_classes: Vec::new(),
        priority_classes: Vec::new(),
        ray_cluster: None,
    };
    let pods: Vec<Arc<Pod>> = pods.iter().cloned().map(Arc::new).collect();
    let outcome = step(set, &pods, &surroundings);
    let shown = |act: &Act| match act {
        Act::Pod { new, .. } => format!("pod {} gates {}", json!(new.metadata.labels), new.spec.scheduling_gates.len()),
        Act::Tell { reason, .. } => format!("({reason})"),
        Act::Do(action) => match &**action {
            Action::CreateWorkload(made) => format!("create {} x{}", made.metadata.name, made.spec.pod_sets[0].count),
            Action::UpdateWorkload { new, .. } => {
                format!("update {} of {}", new.spec.queue_name, json!(new.metadata.owner_references[0].uid))
            }
            Action::Report(_, Report::OnHold(hold)) => format!("hold {hold:?}"),
            other => format!("{other:?}"),
        },
    };
    outcome.acts.iter().map(shown).chain(outcome.failure).collect()
}

fn workload(conditions: &Value) -> Workload {
    let name = &set(2, &json!({})).workload_names(Gates::default())[0];
    let workload = json!({"metadata": {"name": name, "namespace": "ns", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "uid": "u"}]},
        "spec": {"queueName": "lq"}, "status": {"conditions": conditions}});
    serde_json::from_value(workload).unwrap()
}

fn reserved(status: &str, reason: &str) -> Value {
    json!([{"type": "QuotaReserved", "status": status, "reason": reason, "message": "", "lastTransitionTime": null}])
}

#[test]
fn a_workload_is_made_for_as_many_pods_as_there_will_be() {
    let made = look(&set(3, &json!({})), &[], None);
    assert!(made[0].starts_with("create statefulset-s-") && made[0].ends_with("x3"), "{made:?}");
    assert_eq!(made[1], "(CreatedWorkload)");
    assert!(look(&set(0, &json!({})), &[], None).is_empty());
    assert!(look(&set(3, &json!({"/metadata/labels": {}})), &[], None).is_empty());
}

#[test]
fn without_replicas_quota_is_given_back_and_with_some_asked_for_again() {
    let held = workload(&reserved("True", "QuotaReserved"));
    assert_eq!(look(&set(0, &json!({})), &[], Some(&held)), ["hold Some(ScaledToZero)"]);
    assert!(look(&set(2, &json!({})), &[], Some(&held)).is_empty());
    let on_hold = workload(&reserved("False", "OnHold"));
    assert_eq!(look(&set(2, &json!({})), &[], Some(&on_hold)), ["hold None"]);
    assert!(look(&set(0, &json!({})), &[], Some(&on_hold)).is_empty());
}

#[test]
fn the_workload_follows_the_queue_and_the_identity_of_its_owner() {
    let moved = set(2, &json!({"/metadata/labels": {"kueue.x-k8s.io/queue-name": "other"}}));
    assert_eq!(look(&moved, &[], Some(&workload(&json!([])))), ["update other of \"u\""]);
    let reborn = set(2, &json!({"/metadata/uid": "new"}));
    assert_eq!(look(&reborn, &[], Some(&workload(&json!([])))), ["update lq of \"new\""]);
}

#[test]
fn pods_that_are_being_replaced_do_not_wait() {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"labels": {"controller-revision-hash": "a", "kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"}]},
    }))
    .unwrap();
    let with = |current: &str, update: &str| {
        let set = set(2, &json!({"/status": {"currentRevision": current, "updateRevision": update}}));
        look(&set, std::slice::from_ref(&pod), Some(&workload(&json!([])))).len()
    };
    assert_eq!((with("a", "b"), with("a", "a"), with("b", "a")), (1, 0, 0));
    let mut orphan = pod.clone();
    assert!(ungate(None, &mut orphan) && orphan.spec.scheduling_gates.is_empty());
}

#[test]
fn a_new_pod_joins_the_group_of_its_owner() {
    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "s-0"}})).unwrap();
    let gates = Gates::default();
    let member = join_group(&pod, &set(3, &json!({})), "w", false, gates).unwrap();
    assert!(member.is_managed() && member.is_serving() && member.is_fast());
    assert_eq!((group_name(&member.metadata, gates), member.role().as_str()), (Some("w"), "main"));
    assert_eq!(crate::workload::prebuilt_name(&member.metadata, gates), Some("w"));
    assert!(join_group(&member, &set(3, &json!({})), "w", false, gates).is_none(), "it is a member");
    assert!(join_group(&pod, &set(3, &json!({"/metadata/labels": {}})), "w", false, gates).is_none());
    let moved = set(3, &json!({"/metadata/labels": {"kueue.x-k8s.io/queue-name": "other"}}));
    let moved = join_group(&member, &moved, "w", false, gates).unwrap();
    assert_eq!(queue_name(&moved.metadata), "other");
}

#[test]
fn a_group_may_end_and_begin_but_not_grow_or_change() {
    let check = |new: &StatefulSet, old: &StatefulSet, workload: Option<&Workload>| -> Vec<String> {
        let errors = around(Gates::default(), |given| {
            let [name, _] = new.workload_names(Gates::default());
            let named = |asked: &str| workload.filter(|_| asked == name).cloned().map(Arc::new);
            let given = Around { workload: &named, ancestor: Ok(None), namespace: given.namespace.clone(), ..*given };
            new.validate_update(old, &given)
        })
        .unwrap();
        errors.iter().map(ToString::to_string).collect()
    };
    let plain = |replicas| set(replicas, &json!({}));
    assert!(check(&plain(0), &plain(3), None).is_empty() && check(&plain(3), &plain(0), None).is_empty());
    assert_eq!(check(&plain(4), &plain(3), None), ["spec.replicas: Invalid value: 4: field is immutable"]);
    let ending = set(3, &json!({"/status/replicas": 1}));
    assert_eq!(check(&ending, &plain(0), None), ["spec.replicas: Forbidden: scaling down is still in progress"]);
    let left = workload(&reserved("True", "QuotaReserved"));
    let refused = ["spec.replicas: Forbidden: workload from previous scale-down is still being deleted"];
    assert_eq!(check(&plain(3), &plain(0), Some(&left)), refused);
    assert!(check(&plain(3), &plain(0), Some(&workload(&reserved("False", "OnHold")))).is_empty());
    let other = set(3, &json!({"/spec/template/spec/priority": 7}));
    assert_eq!(check(&other, &plain(3), None), ["spec.template.spec.priority: Invalid value: 7: field is immutable"]);
    let elsewhere = json!({"/spec/template/metadata": {"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "x"}}});
    assert!(check(&set(4, &elsewhere), &plain(3), None).is_empty());
}

#[test]
fn pods_of_a_statefulset_with_a_queue_wait() {
    let mut queued = set(2, &json!({}));
    around(Gates::default(), |around| queued.complete(around)).unwrap();
    let parent = queued.spec.template.metadata.annotations.get("kueue.x-k8s.io/pod-suspending-parent");
    assert_eq!(parent.map(String::as_str), Some("statefulset"));
}
