use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::autoscaling::ProvisioningRequest;
use kueue_api::core_v1::PodTemplate;
use kueue_api::kueue::v1beta2::{AdmissionCheck, CheckState, ProvisioningRequestConfig, Workload};
use kueue_core::gates::Gates;
use serde_json::{Value, json};

use super::check::{NoConfig, judged};
use super::name::{attempt_of, request_name, template_name};
use super::plan::{Plan, World, plan};

fn workload(check: &Value) -> Workload {
    let containers = json!([{"name": "c", "resources": {"requests": {"cpu": "1"}}}]);
    let pods = |name: &str| json!({"name": name, "count": 2, "template": {"spec": {"containers": containers}}});
    serde_json::from_value(json!({
        "metadata": {"name": "w", "namespace": "n", "annotations": {"provreq.kueue.x-k8s.io/p": "mine"}},
        "spec": {"podSets": [pods("a"), pods("b")]},
        "status": {
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "", "message": ""}],
            "admission": {"clusterQueue": "q", "podSetAssignments": [{"name": "a"}, {"name": "b", "count": 1}]},
            "admissionChecks": [check],
        },
    }))
    .unwrap()
}

fn request(attempt: i32, said: &[(&str, &str)]) -> ProvisioningRequest {
    let conditions: Vec<Value> = said
        .iter()
        .map(|(kind, message)| json!({"type": kind, "status": "True", "reason": "", "message": message}))
        .collect();
    let asked = json!([{"podTemplateRef": {"name": format!("ppt-w-c-{attempt}-a")}, "count": 3}]);
    serde_json::from_value(json!({
        "metadata": {"name": format!("w-c-{attempt}"), "namespace": "n"},
        "spec": {"provisioningClassName": "class", "parameters": {"p": "theirs"}, "podSets": asked},
        "status": {"conditions": conditions, "provisioningClassDetails": {"zone": "z1"}},
    }))
    .unwrap()
}

fn look(check: &Value, requests: Vec<ProvisioningRequest>) -> Plan {
    plan(&world(&workload(check), requests)).unwrap()
}

fn world(workload: &Workload, requests: Vec<ProvisioningRequest>) -> World<'_> {
    let config: ProvisioningRequestConfig = serde_json::from_value(json!({
        "metadata": {"name": "config"},
        "spec": {
            "provisioningClassName": "class", "parameters": {"p": "theirs"},
            "podSetMergePolicy": "IdenticalPodTemplates",
            "podSetUpdates": {"nodeSelector": [{"key": "k", "valueFromProvisioningClassDetail": "zone"}]},
        },
    }))
    .unwrap();
    World {
        workload,
        checks: BTreeMap::from([("c".to_owned(), Some(Arc::new(config)))]),
        requests: requests.into_iter().map(Arc::new).collect(),
        request: &|_| None,
        template: &|_| None,
        flavor: &|_| None,
        gates: Gates::default(),
        now: "2026-01-01T00:00:00Z".parse().unwrap(),
    }
}

fn pending(retries: i32) -> Value {
    json!({"name": "c", "state": "Pending", "message": "", "retryCount": retries})
}

fn state(plan: &Plan) -> (CheckState, String, Option<i32>) {
    let check = &plan.workload.as_ref().unwrap().status.admission_checks[0];
    (check.state.clone(), check.message.clone(), check.requeue_after_seconds)
}

#[test]
fn names_tell_the_attempt_and_long_ones_are_cut() {
    assert_eq!(attempt_of(&request_name("w", "c", 12), "w", "c"), Some(12));
    assert_eq!(attempt_of("w-c-x", "w", "c"), None);
    assert_eq!(attempt_of("w-c2-1", "w", "c"), None);
    let long = "w".repeat(300);
    assert_eq!(request_name(&long, "c", 1).len(), 253);
    assert_ne!(template_name(&long, "a"), template_name(&long, "b"));
}

#[test]
fn pods_that_are_alike_are_asked_for_together_and_annotations_win() {
    let plan = look(&pending(0), Vec::new());
    let question = &plan.asked[0];
    assert_eq!(question.request.metadata.name, "w-c-1");
    assert_eq!(question.request.spec.parameters["p"], "mine");
    let asked = &question.request.spec.pod_sets;
    assert_eq!((asked.len(), asked[0].count, asked[0].pod_template_ref.name.as_str()), (1, 3, "ppt-w-c-1-a"));
    assert_eq!(question.templates.len(), 1);
}

#[test]
fn a_failure_is_tried_again_later_and_later_until_there_were_enough() {
    let failed = |attempt| request(attempt, &[("Failed", "no room")]);
    let first = look(&pending(0), vec![failed(1)]);
    assert_eq!(state(&first), (CheckState::Retry, "Retrying after failure: no room".to_owned(), Some(60)));
    assert!(first.asked.is_empty(), "not before its turn has come again");
    let third = look(&pending(2), vec![failed(3)]);
    assert_eq!(state(&third).2, Some(240));
    let last = look(&pending(3), vec![failed(4)]);
    assert_eq!((state(&last).0, state(&last).1.as_str()), (CheckState::Rejected, "no room"));
    // The backoff is over: the failure was counted, so the next attempt is made.
    let again = look(&pending(1), vec![failed(1)]);
    assert_eq!(again.asked[0].request.metadata.name, "w-c-2");
}

#[test]
fn nodes_that_are_there_are_passed_on_to_the_pods() {
    let plan = look(&pending(0), vec![request(1, &[("Accepted", ""), ("Provisioned", "done")])]);
    assert_eq!(state(&plan), (CheckState::Ready, "done".to_owned(), None));
    let check = &plan.workload.as_ref().unwrap().status.admission_checks[0];
    let update = &check.pod_set_updates[0];
    assert_eq!((update.name.as_str(), update.node_selector["k"].as_str()), ("a", "z1"));
    assert_eq!(update.annotations["autoscaling.x-k8s.io/consume-provisioning-request"], "w-c-1");
    assert_eq!(plan.events[0].1, "Admission check c updated state from Pending to Ready with message: done");
}

#[test]
fn whoever_else_decides_a_check_is_told_that_it_is_ours() {
    let waiting = request(1, &[("Accepted", ""), ("Provisioned", "soon")]);
    let mut waiting = waiting;
    waiting.status.conditions[1].status = kueue_api::meta::ConditionStatus::False;
    let ready = |updates: Value| json!({"name": "c", "state": "Ready", "message": "so", "podSetUpdates": updates});
    let strange = look(&ready(json!([])), vec![waiting.clone()]);
    assert_eq!(state(&strange), (CheckState::Pending, "soon".to_owned(), None));
    let (reason, note) = &strange.contested[0];
    assert_eq!(*reason, "AdmissionCheckContested");
    assert!(note.starts_with("Somebody else made admission check c Ready, which kueue.x-k8s.io/provisioning-request decides; it is Pending again."), "{note}");
    // An autoscaler that takes its word back is no stranger.
    let ours = json!([{"name": "a", "annotations": {"autoscaling.x-k8s.io/consume-provisioning-request": "w-c-1"}}]);
    let flapping = look(&ready(ours), vec![waiting]);
    assert_eq!((state(&flapping).0, flapping.contested.len()), (CheckState::Pending, 0));
}

#[test]
fn templates_that_a_deleted_request_left_are_taken_back_before_they_go_after_it() {
    let workload = workload(&pending(0));
    let owners = json!([{"apiVersion": "autoscaling.x-k8s.io/v1", "kind": "ProvisioningRequest", "name": "w-c-1",
        "uid": "gone", "controller": true}]);
    let left = json!({"metadata": {"name": "ppt-w-c-1-a", "namespace": "n", "ownerReferences": owners}});
    let left: Arc<PodTemplate> = Arc::new(serde_json::from_value(left).unwrap());
    let template = |name: &str| (name == "ppt-w-c-1-a").then(|| Arc::clone(&left));
    let plan = plan(&World { template: &template, ..world(&workload, Vec::new()) }).unwrap();
    let question = &plan.asked[0];
    assert!(question.templates.is_empty());
    let (_, own) = &question.kept[0];
    assert_eq!((own.metadata.owner_references.len(), own.metadata.owner_references[0].kind.as_str()), (1, "Workload"));
}

#[test]
fn what_was_asked_with_other_settings_is_asked_anew() {
    let mut other = request(1, &[]);
    other.spec.provisioning_class_name = "other".to_owned();
    let plan = look(&pending(0), vec![other]);
    assert_eq!((plan.deleted.len(), plan.asked.len()), (1, 1));
}

#[test]
fn a_request_that_nobody_answers_says_so_after_a_while() {
    let made = |time: &str| {
        let mut request = request(1, &[]);
        request.metadata.creation_timestamp = time.parse().unwrap();
        look(&json!({"name": "c", "state": "Pending", "message": "old"}), vec![request])
    };
    let young = made("2025-12-31T23:59:30Z");
    assert_eq!((state(&young).1.as_str(), young.again), ("", Some("2026-01-01T00:00:30Z".parse().unwrap())));
    let old = made("2025-12-31T23:59:00Z");
    assert!(state(&old).1.contains("is there one that knows the class \"class\"?"), "{:?}", state(&old));
    assert_eq!((old.again, old.asked.len(), old.deleted.len()), (None, 0, 0));
}

#[test]
fn a_request_that_lost_its_owner_gets_it_back_and_no_stranger_is_claimed() {
    let workload = workload(&json!({"name": "c", "state": "Ready", "message": ""}));
    let claims = |request: ProvisioningRequest| {
        let request = Arc::new(request);
        let find = |name: &str| (name == "w-c-1").then(|| Arc::clone(&request));
        plan(&World { request: &find, ..world(&workload, Vec::new()) }).unwrap().claimed.len()
    };
    let mut lost = request(1, &[]);
    assert_eq!(claims(lost.clone()), 0, "whoever made it, we did not");
    lost.metadata.labels.insert("kueue.x-k8s.io/managed".to_owned(), "true".to_owned());
    assert_eq!(claims(lost.clone()), 1);
    lost.metadata
        .owner_references
        .push(serde_json::from_value(json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"})).unwrap());
    assert_eq!(claims(lost), 0, "it has another owner");
}

#[test]
fn a_request_of_a_workload_that_had_the_name_before_is_waited_out() {
    let workload = workload(&pending(0));
    let asked = |uid: &str| {
        let mut old = request(1, &[("Provisioned", "for another")]);
        let owner = json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": uid});
        old.metadata.owner_references.push(serde_json::from_value(owner).unwrap());
        let old = Arc::new(old);
        let find = |_: &str| Some(Arc::clone(&old));
        plan(&World { request: &find, ..world(&workload, Vec::new()) }).unwrap().asked.len()
    };
    assert_eq!(asked("gone"), 0);
}

#[test]
fn pods_that_contradict_their_flavor_are_told() {
    let mut workload = workload(&pending(0));
    let pods = Arc::make_mut(&mut workload.spec.pod_sets[0].template);
    pods.spec.node_selector.insert("pool".to_owned(), "green".to_owned());
    let admission = Arc::make_mut(workload.status.admission.as_mut().unwrap());
    admission.pod_set_assignments[0].flavors.insert("cpu".to_owned(), "blue".to_owned());
    let blue = json!({"metadata": {"name": "blue"}, "spec": {"nodeLabels": {"pool": "blue"}}});
    let blue = Arc::new(serde_json::from_value(blue).unwrap());
    let plan = plan(&World { flavor: &|_| Some(Arc::clone(&blue)), ..world(&workload, Vec::new()) }).unwrap();
    assert_eq!((plan.asked.len(), plan.unaskable.len()), (0, 1));
    assert_eq!(plan.unaskable[0].template, "ppt-w-c-1-a");
}

#[test]
fn a_check_says_each_reason_why_it_does_not_work() {
    let check = json!({"metadata": {"name": "c"}, "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request"}});
    let mut check: AdmissionCheck = serde_json::from_value(check).unwrap();
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    for why in [NoConfig::NotServed, NoConfig::NoReference] {
        check = judged(&check, &Err(why.clone()), now).unwrap();
        assert_eq!(check.status.conditions[0].message, why.to_string());
        assert!(judged(&check, &Err(why), now).is_none(), "once is enough");
    }
    check = judged(&check, &Ok(()), now).unwrap();
    assert!(judged(&check, &Ok(()), now).is_none());
}

#[test]
fn a_template_goes_with_its_request_whatever_that_says_and_never_outlives_it() {
    let owned = |uid: &str| {
        let owners = json!([{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "name": "w", "uid": uid, "controller": true}]);
        let template = json!({"metadata": {"name": "ppt-w-c-1-a", "namespace": "n", "ownerReferences": owners}});
        Arc::new(serde_json::from_value::<PodTemplate>(template).unwrap())
    };
    let mut workload = workload(&json!({"name": "c", "state": "Ready", "message": ""}));
    workload.metadata.uid = "u".to_owned();
    let look = |workload: &Workload, template: &Arc<PodTemplate>| {
        let find = |_: &str| Some(Arc::clone(template));
        plan(&World { template: &find, ..world(workload, vec![request(1, &[("Provisioned", "done")])]) }).unwrap()
    };
    let ready = look(&workload, &owned("u"));
    assert_eq!((ready.adopted.len(), ready.dropped.len()), (1, 0));
    let finished = json!({"type": "Finished", "status": "True", "reason": "", "message": ""});
    workload.status.conditions.push(serde_json::from_value(finished).unwrap());
    let over = look(&workload, &owned("u"));
    assert_eq!((over.deleted.len(), over.dropped.len()), (1, 1));
    assert_eq!(look(&workload, &owned("of another")).dropped.len(), 0);
}
