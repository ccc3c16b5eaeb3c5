//! Each case is a job, its Workloads and what is to be done, in words.

use serde_json::{Value, json};

use super::*;
use crate::kinds::batch_job::Job;
use crate::workload::{controller_reference, prebuilt_name};

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
    look_around(job, workloads, &settings, Family::TopLevel, &[])
}

fn look_around(
    job: &Job,
    workloads: Vec<Workload>,
    settings: &Settings,
    family: Family,
    classes: &[(&str, i32)],
) -> Outcome<Job> {
    let class = |(name, value): &(&str, i32)| {
        let class = json!({"metadata": {"name": name}, "value": value});
        Arc::new(serde_json::from_value(class).unwrap())
    };
    let prebuilt = prebuilt_name(&job.metadata, settings.gates);
    let prebuilt = workloads.iter().find(|workload| Some(workload.metadata.name.as_str()) == prebuilt).cloned();
    step(
        job,
        &Surroundings {
            settings,
            namespace: Some(BTreeMap::from([("team".to_owned(), "a".to_owned())])),
            workloads: workloads.into_iter().map(Arc::new).collect(),
            prebuilt: prebuilt.map(Arc::new),
            family,
            flavor: &flavor,
            workload_priority_classes: classes.iter().map(class).collect(),
            priority_classes: Vec::new(),
            ray_cluster: None,
        },
    )
}

/// What is to be done, in one line.
fn shown(outcome: &Outcome<Job>) -> String {
    let of = |action: &Action<Job>| match action {
        Action::Write(Write::Spec(job)) if job.spec.suspend == Some(false) => {
            format!("start {}", json!(job.spec.template.spec.node_selector))
        }
        Action::Write(Write::Spec(_) | Write::Restored(_)) => "stop".to_owned(),
        Action::Write(Write::Status(_)) => "reset status".to_owned(),
        Action::Write(Write::Terminate { reason, .. }) => format!("terminate {reason}"),
        Action::Write(Write::Delete) => "delete".to_owned(),
        Action::CreateWorkload(workload) => format!("create {}", workload.metadata.name),
        Action::UpdateWorkload { new, .. } => {
            format!("update to {} {}", new.spec.queue_name, new.spec.pod_sets[0].count)
        }
        Action::DeleteWorkload(_) => "delete workload".to_owned(),
        Action::Unguard(_) => "unguard".to_owned(),
        Action::Report(_, Report::Finished { reason, message }) => format!("finished {reason}: {message}"),
        Action::Report(_, Report::PodsReady { reason, .. }) => format!("pods {reason}"),
        Action::Report(_, Report::WaitingForReplacementPods { reason, .. }) => format!("replacements {reason}"),
        Action::Report(_, Report::Stopped) => "stopped".to_owned(),
        Action::Report(_, Report::OnHold(hold)) => format!("on hold {}", hold.is_some()),
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
    check(
        &job(json!({"spec": {"suspend": false}})),
        vec![],
        "stop, stop, (Stopped), create job-j-5cf3c, (CreatedWorkload)",
    );
    check(&job(json!({"spec": {"suspend": false}, "status": {"active": 1}})), vec![], "stop, stop, (Stopped)");
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
    check(&done, vec![workload("QuotaReserved Admitted", json!({}))], "finished Failed: too bad, (FinishedWorkload)");
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
    check(&job(name.clone()), vec![], "prebuilt workload not found");
    check(&job(name.clone()), mine(json!({"metadata": {"ownerReferences": []}})), "update to lq 2");
    // Pods of a group own their Workload together, so nobody controls it; it is theirs all the same.
    let group = json!({"ownerReferences": [], "annotations": {"kueue.x-k8s.io/is-group-workload": "true"}});
    check(&job(name.clone()), mine(json!({"metadata": group})), "prebuilt workload not found");
    check(&job(name.clone()), mine(json!({})), "");
    check(
        &job(name),
        mine(json!({"spec": {"podSets": []}})),
        "finished OutOfSync: The prebuilt workload is out of sync with its user job, prebuilt workload not found",
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
    let gone = |workload: Workload| shown(&step_gone(&[Arc::new(workload)], Gates::default()));
    assert_eq!(gone(workload("", json!({}))), "finished OwnerNotFound: The workload's owner no longer exists, unguard");
    assert_eq!(gone(workload("Finished", json!({}))), "unguard");
}

#[test]
fn without_its_gate_an_orphan_is_only_let_go() {
    let gates = Gates::default().with(Gate::FinishOrphanedWorkloads, false);
    assert_eq!(shown(&step_gone(&[Arc::new(workload("", json!({})))], gates)), "unguard");
}

#[test]
fn a_job_of_a_job_runs_while_the_workload_above_is_admitted() {
    let unnamed = |suspend: bool| job(json!({"metadata": {"labels": null}, "spec": {"suspend": suspend}}));
    let check = |job: &Job, above: Vec<Workload>, is_queued: bool, expected: &str| {
        let metadata = if is_queued { json!({"labels": {"kueue.x-k8s.io/queue-name": "lq"}}) } else { json!({}) };
        let ancestor = Ancestor {
            owner: kueue_api::meta::OwnerReference::default(),
            metadata: serde_json::from_value(metadata).unwrap(),
        };
        let workloads = above.into_iter().map(Arc::new).collect();
        let family = Family::Child(Box::new(Parent { ancestor, workloads }));
        let outcome = look_around(job, vec![], &Settings::default(), family, &[]);
        assert_eq!(shown(&outcome), expected);
    };
    let admitted = || vec![workload("QuotaReserved Admitted", json!({}))];
    check(&unnamed(false), vec![], true, "stop, (Suspended)");
    check(&unnamed(false), vec![], false, "");
    check(&unnamed(false), admitted(), true, "");
    check(&unnamed(false), vec![workload("QuotaReserved", json!({}))], true, "stop, (Suspended)");
    check(&unnamed(false), vec![workload("QuotaReserved Admitted Finished", json!({}))], true, "stop, (Suspended)");
    check(&unnamed(true), vec![], true, "");
}

#[test]
fn a_job_whose_owners_cannot_be_followed_is_looked_at_again() {
    let look = |lost: Lost| shown(&look_around(&job(json!({})), vec![], &Settings::default(), Family::Lost(lost), &[]));
    assert_eq!(look(Lost::Cyclic), "cyclic ownership");
    assert_eq!(look(Lost::TooDeep), "(JobNestingTooDeep), managed owner chain limit reached");
}

#[test]
fn all_workloads_of_a_job_get_the_class_that_it_names() {
    let named = job(json!({"metadata": {"labels": {"kueue.x-k8s.io/priority-class": "high"}}}));
    let class = |name: &str| json!({"spec": {"priority": 1, "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": name}}});
    let look = |workload: Workload| {
        let classes = [("high", 9)];
        let outcome = look_around(&named, vec![workload], &Settings::default(), Family::TopLevel, &classes);
        let written = outcome.actions.iter().find_map(|action| match action {
            Action::UpdateWorkload { new, .. } => new.spec.priority,
            _ => None,
        });
        (written, shown(&outcome))
    };
    assert_eq!(look(workload("", json!({}))), (Some(9), "update to lq 2, (UpdatedWorkload)".to_owned()));
    assert_eq!(look(workload("QuotaReserved", json!({}))), (None, String::new()));
    assert_eq!(look(workload("QuotaReserved", class("low"))).0, Some(9));
    assert_eq!(look(workload("", class("high"))), (None, String::new()), "the value may be changed by hand");
}

fn elastic(patch: Value) -> Job {
    let mut all = json!({"metadata": {"generation": 2, "annotations": {"kueue.x-k8s.io/elastic-job": "true"}}});
    merge(&mut all, patch);
    job(all)
}

fn look_elastic(job: &Job, workloads: Vec<Workload>) -> Outcome<Job> {
    look_with(job, workloads, |set| set.gates = set.gates.with(Gate::ElasticJobsViaWorkloadSlices, true))
}

#[test]
fn an_elastic_job_grows_with_a_second_slice_and_shrinks_with_the_first() {
    let running = |parallelism: i32| elastic(json!({"spec": {"parallelism": parallelism, "suspend": false}}));
    let admitted = || vec![workload("QuotaReserved Admitted", json!({}))];
    assert_eq!(shown(&look_elastic(&running(2), admitted())), "");
    assert_eq!(shown(&look_elastic(&running(1), admitted())), "update to lq 1");
    let grown = look_elastic(&running(5), admitted());
    let [Action::CreateWorkload(second), _] = &grown.actions[..] else { panic!("{grown:?}") };
    let annotations = &second.metadata.annotations;
    assert_eq!(annotations["kueue.x-k8s.io/workload-slice-replacement-for"], "ns/job-j-5cf3c");
    assert_eq!(annotations["kueue.x-k8s.io/workload-slice-name"], "job-j-5cf3c");
    assert_ne!(second.metadata.name, "job-j-5cf3c");
    let waiting =
        || workload("", json!({"spec": {"podSets": [{"name": "main", "count": 9, "template": {"spec": {}}}]}}));
    assert_eq!(shown(&look_elastic(&running(5), vec![waiting()])), "update to lq 5");
}

#[test]
fn the_first_slice_of_an_elastic_job_is_named_after_itself() {
    let made = look_elastic(&elastic(json!({})), vec![]);
    let [Action::CreateWorkload(first), _] = &made.actions[..] else { panic!("{made:?}") };
    assert_eq!(first.metadata.annotations["kueue.x-k8s.io/workload-slice-name"], first.metadata.name);
}

#[test]
fn slices_that_the_job_has_outgrown_are_finished() {
    let slice = |name: &str, conditions: &str, of: &str, second: u32| {
        let created = format!("2026-01-01T00:00:0{second}Z");
        let meta = json!({"name": name, "creationTimestamp": created,
            "annotations": {"kueue.x-k8s.io/workload-slice-replacement-for": of}});
        workload(conditions, json!({"metadata": meta}))
    };
    let slices = vec![
        slice("a", "QuotaReserved Admitted", "", 1),
        slice("b", "QuotaReserved Admitted", "ns/a", 2),
        slice("c", "", "ns/x", 3),
    ];
    assert_eq!(
        shown(&look_elastic(&elastic(json!({"spec": {"suspend": false}})), slices)),
        "finished WorkloadSliceReplaced: Replaced to accommodate a new workload slice, \
         finished OutOfSync: The workload slice is out of sync with its parent job"
    );
}

#[test]
fn a_job_that_is_mended_while_it_runs_waits_for_quota_again() {
    use crate::kinds::ray::rayjob::RayJob;

    let job = json!({"metadata": {"name": "j", "uid": "u", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"rayClusterSpec": {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}},
        "status": {"jobDeploymentStatus": "Initializing"}});
    let job: RayJob = serde_json::from_value(job).unwrap();
    let held = json!({"type": "QuotaReserved", "status": "False", "reason": "OnHold", "message": ""});
    let head = json!({"name": "head", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}});
    let workload = json!({"metadata": {"name": "w", "namespace": "ns", "ownerReferences": [controller_reference(&job)]},
        "spec": {"podSets": [head], "queueName": "q"}, "status": {"conditions": [held]}});
    let workload: Arc<Workload> = Arc::new(serde_json::from_value(workload).unwrap());
    let around = Surroundings {
        settings: &Settings::default(),
        namespace: Some(BTreeMap::new()),
        workloads: vec![workload],
        prebuilt: None,
        family: Family::TopLevel,
        flavor: &|_| None,
        workload_priority_classes: Vec::new(),
        priority_classes: Vec::new(),
        ray_cluster: None,
    };
    let actions = step(&job, &around).actions;
    assert!(matches!(&actions[0], Action::Write(Write::Spec(stopped)) if stopped.spec.suspend), "{actions:?}");
    assert!(matches!(&actions[2], Action::Report(_, Report::OnHold(None))), "{actions:?}");
}
