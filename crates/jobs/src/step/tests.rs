//! Each case is a job, its Workloads and what is to be done, in words.

use serde_json::{Value, json};

use super::*;
use crate::kinds::batch_job::Job;

/// A job with a queue, waiting, changed as the patch says.
fn job(patch: Value) -> Job {
    let mut job = json!({
        "metadata": {"name": "j", "namespace": "ns", "uid": "u", "labels": {"kueue.x-k8s.io/queue-name": "lq"}},
        "spec": {"parallelism": 2, "suspend": true, "template": {"spec": {"containers": [
            {"name": "c", "resources": {"requests": {"cpu": "1"}}}]}}},
    });
    merge(&mut job, patch);
    serde_json::from_value(job).unwrap()
}

fn merge(target: &mut Value, patch: Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                match value {
                    Value::Null => drop(target.remove(&key)),
                    value => merge(target.entry(key).or_insert(Value::Null), value),
                }
            }
        }
        (target, patch) => *target = patch,
    }
}

/// The Workload that a waiting job gets, with these conditions, changed as the patch says.
fn workload(conditions: &str, patch: Value) -> Workload {
    let made = look(&job(json!({})), Vec::new());
    let [Action::CreateWorkload(workload), _] = &made.actions[..] else { panic!("{made:?}") };
    let mut workload = json!(workload);
    let conditions: Vec<Value> = conditions
        .split_whitespace()
        .map(|word| json!({"type": word, "status": "True", "reason": "R", "message": "because", "lastTransitionTime": null}))
        .collect();
    let admission =
        json!({"clusterQueue": "cq", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "f"}, "count": 2}]});
    if conditions.iter().any(|condition| condition["type"] == "QuotaReserved") {
        workload["status"]["admission"] = admission;
    }
    workload["status"]["conditions"] = conditions.into();
    merge(&mut workload, patch);
    serde_json::from_value(workload).unwrap()
}

fn flavor(name: &str) -> Option<Arc<ResourceFlavor>> {
    let flavor = json!({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"pool": "p"}}});
    (name == "f").then(|| Arc::new(serde_json::from_value(flavor).unwrap()))
}

fn look(job: &Job, workloads: Vec<Workload>) -> Outcome<Job> {
    look_with(job, workloads, |_| {})
}

fn look_with(job: &Job, workloads: Vec<Workload>, change: impl FnOnce(&mut Settings)) -> Outcome<Job> {
    let mut settings = Settings::default();
    change(&mut settings);
    let prebuilt = prebuilt_name(&job.metadata, settings.gates);
    let prebuilt = workloads.iter().find(|workload| Some(workload.metadata.name.as_str()) == prebuilt).cloned();
    step(
        job,
        &Surroundings {
            settings: &settings,
            namespace: Some(BTreeMap::from([("team".to_owned(), "a".to_owned())])),
            workloads: workloads.into_iter().map(Arc::new).collect(),
            prebuilt: prebuilt.map(Arc::new),
            flavor: &flavor,
            workload_priority_classes: Vec::new(),
            priority_classes: Vec::new(),
        },
    )
}

/// What is to be done, in one line.
fn shown(outcome: &Outcome<Job>) -> String {
    let of = |action: &Action<Job>| match action {
        Action::Write(Write::Spec(job)) if job.spec.suspend == Some(false) => {
            format!("start {}", json!(job.spec.template.spec.node_selector))
        }
        Action::Write(Write::Spec(_)) => "stop".to_owned(),
        Action::Write(Write::Status(_)) => "reset status".to_owned(),
        Action::Write(Write::Terminate { reason, .. }) => format!("terminate {reason}"),
        Action::CreateWorkload(workload) => format!("create {}", workload.metadata.name),
        Action::UpdateWorkload { new, .. } => {
            format!("update to {} {}", new.spec.queue_name, new.spec.pod_sets[0].count)
        }
        Action::DeleteWorkload(_) => "delete workload".to_owned(),
        Action::Unguard(_) => "unguard".to_owned(),
        Action::Report(_, Report::Finished { reason, message }) => format!("finished {reason}: {message}"),
        Action::Report(_, Report::PodsReady { reason, .. }) => format!("pods {reason}"),
        Action::Report(_, Report::Stopped) => "stopped".to_owned(),
        Action::Report(_, Report::Reclaimable(pods)) => format!("reclaimable {}", pods[0].count),
        Action::Event { reason, .. } => format!("({reason})"),
    };
    let actions: Vec<String> = outcome.actions.iter().map(of).chain(outcome.failure.clone()).collect();
    actions.join(", ")
}

fn check(job: &Job, workloads: Vec<Workload>, expected: &str) {
    assert_eq!(shown(&look(job, workloads)), expected);
}

#[test]
fn a_job_with_a_queue_gets_a_workload() {
    check(&job(json!({})), vec![], "create job-j-5cf3c, (CreatedWorkload)");
    check(&job(json!({"status": {"active": 1}})), vec![], "");
    check(&job(json!({"status": {"conditions": [{"type": "Complete", "status": "True"}]}})), vec![], "");
    check(&job(json!({"spec": {"suspend": false}})), vec![], "stop, stop, (Stopped)");
}

#[test]
fn jobs_that_are_none_of_our_business_are_left_alone() {
    let without = job(json!({"metadata": {"labels": null}}));
    check(&without, vec![], "");
    assert_eq!(
        shown(&look_with(&without, vec![], |all| all.manages_without_queue = true)),
        "create job-j-5cf3c, (CreatedWorkload)"
    );
    let selector: LabelSelector = serde_json::from_value(json!({"matchLabels": {"team": "b"}})).unwrap();
    assert_eq!(shown(&look_with(&job(json!({})), vec![], |set| set.namespaces = Some(selector))), "");
}

#[test]
fn an_admitted_job_starts_with_what_its_flavor_says() {
    let admitted = workload("QuotaReserved Admitted", json!({}));
    check(&job(json!({})), vec![admitted.clone()], r#"start {"pool":"p"}, (Started)"#);
    check(&job(json!({})), vec![workload("QuotaReserved", json!({}))], "");
    let unknown = json!({"status": {"admission": {"podSetAssignments": [{"name": "main", "flavors": {"cpu": "x"}, "count": 2}]}}});
    check(
        &job(json!({})),
        vec![workload("QuotaReserved Admitted", unknown)],
        r#"resourceflavors.kueue.x-k8s.io "x" not found"#,
    );
    let contrary = job(json!({"spec": {"template": {"spec": {"nodeSelector": {"pool": "other"}}}}}));
    let outcome = shown(&look(&contrary, vec![admitted]));
    assert!(outcome.starts_with("finished FailedToStart: invalid admission check PodSetUpdate: conflict"), "{outcome}");
}

#[test]
fn a_running_job_without_admission_stops() {
    let running = job(json!({"spec": {"suspend": false}}));
    check(&running, vec![workload("", json!({}))], "stop, stop, (Stopped)");
    check(&running, vec![workload("QuotaReserved Admitted", json!({}))], "");
}

#[test]
fn an_evicted_job_stops_and_then_says_so() {
    let evicted = || vec![workload("QuotaReserved Admitted Evicted", json!({}))];
    let running =
        job(json!({"spec": {"suspend": false}, "status": {"active": 2, "startTime": "2026-01-01T00:00:00Z"}}));
    check(&running, evicted(), "stop, reset status, stop, (Stopped)");
    check(&job(json!({"status": {"active": 2}})), evicted(), "");
    check(&job(json!({})), evicted(), "stopped");
}

#[test]
fn the_end_of_a_job_is_reported_once() {
    let done = job(
        json!({"spec": {"suspend": false}, "status": {"conditions": [{"type": "Failed", "status": "True", "message": "too bad"}]}}),
    );
    check(&done, vec![workload("QuotaReserved Admitted", json!({}))], "finished Failed: too bad");
    check(&done, vec![workload("QuotaReserved Admitted Finished", json!({}))], "(FinishedWorkload), unguard");
    check(&done, vec![workload("Finished", json!({"metadata": {"finalizers": null}}))], "");
}

#[test]
fn a_workload_that_is_deleted_stops_its_job() {
    let deleted =
        || vec![workload("QuotaReserved Admitted", json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}))];
    check(&job(json!({"spec": {"suspend": false}})), deleted(), "stop, stop, (Stopped), unguard");
    check(&job(json!({})), deleted(), "unguard");
}

#[test]
fn a_changed_job_changes_its_workload_while_it_waits() {
    let grown = job(json!({"spec": {"parallelism": 5}}));
    check(&grown, vec![workload("", json!({}))], "update to lq 5, (UpdatedWorkload)");
    check(&grown, vec![workload("QuotaReserved", json!({}))], "delete workload, (DeletedWorkload)");
    let running = job(json!({"spec": {"parallelism": 5, "suspend": false}}));
    let admitted = workload("QuotaReserved Admitted", json!({}));
    check(&running, vec![admitted], "stop, stop, (Stopped), delete workload, (DeletedWorkload)");
    let moved = job(json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "other"}}}));
    check(&moved, vec![workload("", json!({}))], "update to other 2");
}

#[test]
fn of_several_workloads_one_stays() {
    let second = workload("", json!({"metadata": {"name": "z"}}));
    check(&job(json!({})), vec![workload("", json!({})), second], "delete workload, (DeletedWorkload)");
}

#[test]
fn a_prebuilt_workload_is_adopted_or_waited_for() {
    let name = json!({"metadata": {"annotations": {"kueue.x-k8s.io/prebuilt-workload-name": "mine"}}});
    let mine = |patch: Value| {
        let mut all = json!({"metadata": {"name": "mine"}});
        merge(&mut all, patch);
        vec![workload("", all)]
    };
    check(&job(name.clone()), vec![], "the prebuilt workload does not exist");
    check(&job(name.clone()), mine(json!({"metadata": {"ownerReferences": []}})), "update to lq 2");
    check(&job(name.clone()), mine(json!({})), "");
    check(
        &job(name),
        mine(json!({"spec": {"podSets": []}})),
        "finished OutOfSync: The prebuilt workload is out of sync with its user job",
    );
}

#[test]
fn pods_that_are_ready_are_reported_when_anybody_waits_for_them() {
    let admitted = |patch: Value| vec![workload("QuotaReserved Admitted", patch)];
    let ready = job(json!({"spec": {"suspend": false}, "status": {"ready": 2}}));
    let running = job(json!({"spec": {"suspend": false}}));
    let look = |job: &Job, workloads: Vec<Workload>| shown(&look_with(job, workloads, |set| set.waits_for_pods = true));
    assert_eq!(look(&ready, admitted(json!({}))), "pods Started");
    assert_eq!(look(&running, admitted(json!({}))), "pods WaitForStart");
    let ready_workload = workload("QuotaReserved Admitted PodsReady", json!({}));
    assert_eq!(look(&running, vec![ready_workload]), "pods WaitForRecovery");
    check(&ready, admitted(json!({})), "");
}

#[test]
fn a_missing_priority_class_is_said_and_waited_for() {
    let named = job(json!({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}));
    check(
        &named,
        vec![],
        r#"(WorkloadPriorityClassNotFound), workloadpriorityclasses.kueue.x-k8s.io "high" not found"#,
    );
}

#[test]
fn workloads_of_a_job_that_is_gone_finish_and_are_let_go() {
    let gone = |workload: Workload| shown(&step_gone(&[Arc::new(workload)]));
    assert_eq!(gone(workload("", json!({}))), "finished OwnerNotFound: The workload's owner no longer exists, unguard");
    assert_eq!(gone(workload("Finished", json!({}))), "unguard");
}
