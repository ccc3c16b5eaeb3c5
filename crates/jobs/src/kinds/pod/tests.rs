//! What a single pod says about itself, and what becomes of it.

use serde_json::{Value, json};

use super::*;
use crate::job::Job as _;

fn pod(value: Value) -> Pod {
    serde_json::from_value(value).unwrap()
}

fn at(text: &str) -> Time {
    text.parse().unwrap()
}

#[test]
fn a_gate_is_added_once_and_foreign_ones_stay() {
    let mut spec = pod(json!({"spec": {"schedulingGates": [{"name": "example.com/other"}]}})).spec;
    assert!(add_gate(&mut spec, SCHEDULING_GATE_ADMISSION));
    assert!(!add_gate(&mut spec, SCHEDULING_GATE_ADMISSION));
    assert!(remove_gate(&mut spec, SCHEDULING_GATE_ADMISSION));
    assert!(!remove_gate(&mut spec, SCHEDULING_GATE_ADMISSION));
    assert!(has_gate(&spec, "example.com/other"));
}

#[test]
fn the_annotation_names_a_group_before_the_label_does() {
    let (on, off) = (true, false);
    for (annotations, labels, is_annotated, expected) in [
        (json!({}), json!({}), on, None),
        (json!({}), json!({"kueue.x-k8s.io/pod-group-name": "l"}), on, Some("l")),
        (json!({"kueue.x-k8s.io/pod-group-name": "a"}), json!({"kueue.x-k8s.io/pod-group-name": "l"}), on, Some("a")),
        (json!({"kueue.x-k8s.io/pod-group-name": ""}), json!({"kueue.x-k8s.io/pod-group-name": "l"}), on, Some("l")),
        (json!({"kueue.x-k8s.io/pod-group-name": "a"}), json!({}), off, None),
    ] {
        let gates = Gates::default().with(Gate::WorkloadIdentifierAnnotations, is_annotated);
        let pod = pod(json!({"metadata": {"annotations": annotations, "labels": labels}}));
        assert_eq!(group_name(&pod.metadata, gates), expected, "{pod:?}");
    }
}

#[test]
fn a_pod_that_should_have_ended_by_now_does_not_run() {
    let running = |meta: Value| pod(json!({"metadata": meta, "status": {"phase": "Running"}}));
    let leaving = json!({"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 30});
    let gates = Gates::default();
    assert!(running(json!({})).is_running(at("2026-01-01T00:00:00Z"), gates));
    assert!(running(leaving.clone()).is_running(at("2026-01-01T00:00:30Z"), gates));
    assert!(!running(leaving.clone()).is_running(at("2026-01-01T00:00:31Z"), gates));
    let fast = gates.with(Gate::FastQuotaReleaseInPodIntegration, true);
    assert!(!running(leaving).is_running(at("2026-01-01T00:00:00Z"), fast));
    assert!(running(json!({})).is_running(at("2026-01-01T00:00:00Z"), fast));
    assert!(!pod(json!({"status": {"phase": "Pending"}})).is_running(at("2026-01-01T00:00:00Z"), gates));
}

#[test]
fn a_pod_starts_with_what_it_was_given_and_keeps_foreign_gates() {
    let gated = || {
        pod(
            json!({"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "kueue.x-k8s.io/topology"},
            {"name": "example.com/other"}], "nodeSelector": {"zone": "a"}}}),
        )
    };
    let gates_of =
        |pod: &Pod| -> Vec<String> { pod.spec.scheduling_gates.iter().map(|gate| gate.name.clone()).collect() };
    let mut info = PodSetInfo { node_selector: [("pool".to_owned(), "p".to_owned())].into(), ..PodSetInfo::default() };
    let mut started = gated();
    started.run(std::slice::from_ref(&info), Gates::default()).unwrap();
    assert_eq!(json!(started.spec.node_selector), json!({"zone": "a", "pool": "p"}));
    assert_eq!(gates_of(&started), ["example.com/other"]);
    info.scheduling_gates.push(PodSchedulingGate { name: SCHEDULING_GATE_TOPOLOGY.to_owned(), ..Default::default() });
    let mut placed = gated();
    placed.run(&[info.clone()], Gates::default()).unwrap();
    assert_eq!(gates_of(&placed), ["kueue.x-k8s.io/topology", "example.com/other"]);
    let two = [info.clone(), info];
    assert_eq!(gated().run(&two, Gates::default()), Err(CannotStart::PodSets { expected: 1, given: 2 }));
}

#[test]
fn a_pod_that_does_not_run_is_stopped_only_with_its_workload() {
    let stop = |pod: &Pod, reason: StopReason| !pod.stop(&Stop { reason, message: "m" }, None).is_empty();
    let gated = pod(json!({"spec": {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}]}}));
    let leaving = pod(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}));
    let evicted = || StopReason::WorkloadEvicted("Preempted".to_owned());
    assert!(stop(&pod(json!({})), evicted()));
    assert!(!stop(&gated, evicted()) && stop(&gated, StopReason::WorkloadDeleted));
    assert!(!stop(&leaving, evicted()) && !stop(&leaving, StopReason::WorkloadDeleted));
    assert_eq!(evicted().to_string(), "WorkloadEvictedDueToPreempted");
}

#[test]
fn a_pod_is_told_once_why_it_is_stopped() {
    let stop = |told: &str| {
        let condition = json!({"type": "TerminationTarget", "status": "True", "reason": told, "message": "m"});
        pod(json!({"status": {"conditions": [condition]}}))
            .stop(&Stop { reason: StopReason::NotAdmitted, message: "m" }, None)
    };
    assert_eq!(stop("NotAdmitted"), [Write::Delete]);
    let words = Write::Terminate { reason: "NotAdmitted".to_owned(), message: "m".to_owned() };
    assert_eq!(stop("WorkloadDeleted"), [words]);
}

#[test]
fn a_pod_that_is_over_is_let_go() {
    let held = pod(json!({"metadata": {"finalizers": ["kueue.x-k8s.io/managed", "example.com/other"]}}));
    assert_eq!(held.released().map(|pod| pod.metadata.finalizers), Some(vec!["example.com/other".to_owned()]));
    assert_eq!(pod(json!({})).released(), None);
}

#[test]
fn of_foreign_and_finished_pods_little_is_kept() {
    let spec = json!({"containers": [{"name": "c"}]});
    let of = |labels: Value, finalizers: Value, phase: &str| {
        let pod =
            json!({"metadata": {"labels": labels, "finalizers": finalizers}, "spec": spec, "status": {"phase": phase}});
        project(serde_json::from_value(pod).unwrap()).spec.containers.len()
    };
    let ours = || json!({"kueue.x-k8s.io/managed": "true"});
    assert_eq!(of(ours(), json!([]), "Running"), 1);
    assert_eq!(of(json!({}), json!([]), "Running"), 0);
    assert_eq!(of(ours(), json!(["kueue.x-k8s.io/managed"]), "Succeeded"), 1);
    assert_eq!(of(ours(), json!([]), "Succeeded"), 0);
    let sliced = json!({"metadata": {"annotations": {"kueue.x-k8s.io/workload": "w"}}, "spec": spec});
    assert_eq!(project(serde_json::from_value(sliced).unwrap()).spec.containers.len(), 1, "it may wait for a slice");
}

#[test]
fn a_pod_that_ended_still_has_the_workload_that_is_over() {
    let meta = json!({"name": "p", "uid": "u", "labels": {"kueue.x-k8s.io/managed": "true"}});
    let pod = json!({"metadata": meta, "status": {"phase": "Succeeded"}, "spec": {"containers": [{"name": "c"}]}});
    let pod = project(serde_json::from_value(pod).unwrap());
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u", "controller": true});
    let fits = |finished: &str| {
        let condition = json!({"type": "Finished", "status": finished, "reason": "", "message": ""});
        let pods = json!({"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}});
        let workload = json!({"metadata": {"name": "w", "ownerReferences": [owner.clone()]},
            "spec": {"podSets": [pods]}, "status": {"conditions": [condition]}});
        let pod_sets = pod.pod_sets(Gates::default()).unwrap();
        let workload = serde_json::from_value(workload).unwrap();
        crate::workload::fits(&pod, &pod_sets, &workload, None, false, Gates::default())
    };
    assert_eq!([fits("True"), fits("False")], [true, false]);
}
