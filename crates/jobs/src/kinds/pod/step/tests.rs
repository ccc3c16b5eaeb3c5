//! Each case is a group of pods, its Workload and what is to be done, in words.

use std::collections::BTreeMap;

use kueue_api::kueue::v1beta2::ResourceFlavor;
use serde_json::{Value, json};

use super::*;
use crate::job::Write;
use crate::step::{Family, Settings};

/// Pods as `name words, …`: `gated`, `failed`, `done`, `running`, `leaving`, `big` for another role, `@n` for when it
/// was created, `total=n`, and annotations as `serving`, `fast`, `last` (not to be retried).
fn pods(text: &str) -> Vec<Arc<Pod>> {
    text.split(", ").map(|line| Arc::new(pod(line))).collect()
}

fn pod(line: &str) -> Pod {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap();
    let words: Vec<&str> = words.collect();
    let has = |word: &str| words.contains(&word);
    let value =
        |prefix: &str, other: &str| words.iter().find_map(|word| word.strip_prefix(prefix)).unwrap_or(other).to_owned();
    let phase = if has("failed") {
        "Failed"
    } else if has("done") {
        "Succeeded"
    } else {
        "Running"
    };
    let mut annotations = json!({"kueue.x-k8s.io/pod-group-total-count": value("total=", "2"),
        "kueue.x-k8s.io/role-hash": if has("big") { "big" } else { "small" }});
    for (word, key, said) in [
        ("serving", "kueue.x-k8s.io/pod-group-serving", "true"),
        ("fast", "kueue.x-k8s.io/pod-group-fast-admission", "true"),
        ("last", "kueue.x-k8s.io/retriable-in-group", "false"),
        ("prebuilt", "kueue.x-k8s.io/prebuilt-workload-name", "g"),
    ] {
        if has(word) {
            annotations[key] = json!(said);
        }
    }
    let mut pod = json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "annotations": annotations,
            "finalizers": ["kueue.x-k8s.io/managed"], "creationTimestamp": format!("2026-01-01T00:00:0{}Z", value("@", "0")),
            "labels": {"kueue.x-k8s.io/managed": "true", "kueue.x-k8s.io/queue-name": value("queue=", "lq"),
                "kueue.x-k8s.io/pod-group-name": "g"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}], "nodeName": "n"},
        "status": {"phase": phase},
    });
    if has("gated") {
        pod["spec"]["schedulingGates"] = json!([{"name": "kueue.x-k8s.io/admission"}]);
        pod["spec"]["nodeName"] = json!("");
        pod["status"]["phase"] = json!("Pending");
    }
    if has("leaving") {
        pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    serde_json::from_value(pod).unwrap()
}

/// The Workload of a group with one pod set of two small pods, owned by `a` and `b`, with these conditions.
fn workload(conditions: &str, patch: &Value) -> Workload {
    let made = look("a gated, b gated", None);
    let created = made.acts.iter().find_map(|act| match act {
        Act::Do(_, action) => match &**action {
            Action::CreateWorkload(workload) => Some((**workload).clone()),
            _ => None,
        },
        _ => None,
    });
    let mut workload = json!(created.unwrap());
    let conditions: Vec<Value> = conditions
        .split_whitespace()
        .map(|word| {
            let (kind, status) = word.split_once('=').unwrap_or((word, "True"));
            json!({"type": kind, "status": status, "reason": "R", "message": "because", "lastTransitionTime": null})
        })
        .collect();
    if conditions.iter().any(|condition| condition["type"] == "QuotaReserved") {
        workload["status"]["admission"] = json!({"clusterQueue": "cq",
            "podSetAssignments": [{"name": "small", "flavors": {"cpu": "f"}, "count": 2}]});
    }
    workload["status"]["conditions"] = conditions.into();
    for (path, value) in patch.as_object().unwrap() {
        *workload.pointer_mut(path).unwrap() = value.clone();
    }
    serde_json::from_value(workload).unwrap()
}

fn look(text: &str, workload: Option<Workload>) -> Outcome {
    look_when(text, workload, true)
}

fn look_when(text: &str, workload: Option<Workload>, is_settled: bool) -> Outcome {
    let flavor = |_: &str| -> Option<Arc<ResourceFlavor>> {
        let flavor = json!({"metadata": {"name": "f"}, "spec": {"nodeLabels": {"pool": "p"}}});
        Some(Arc::new(serde_json::from_value(flavor).unwrap()))
    };
    let group = Group { name: "g", pods: pods(text), now: "2026-01-01T00:10:00Z".parse().unwrap(), is_settled };
    let workload = workload.map(Arc::new);
    let around = Surroundings {
        settings: &Settings::default(),
        namespace: Some(BTreeMap::new()),
        family: Family::TopLevel,
        prebuilt: workload.clone(),
        workloads: workload.into_iter().collect(),
        flavor: &flavor,
        workload_priority_classes: Vec::new(),
        priority_classes: Vec::new(),
        ray_cluster: None,
    };
    step(&group, &around)
}

/// What is to be done, in one line.
fn shown(outcome: &Outcome) -> String {
    let action = |pod: &Pod, action: &Action<Pod>| {
        let name = &pod.metadata.name;
        match action {
            Action::Write(Write::Restored(_)) => unreachable!("pods are deleted"),
            Action::Write(Write::Spec(pod)) => format!("start {name} {}", json!(pod.spec.node_selector)),
            Action::Write(Write::Terminate { reason, .. }) => format!("end {name} {reason}"),
            Action::Write(Write::Delete) => format!("delete {name}"),
            Action::Write(Write::Status(_)) => "status".to_owned(),
            Action::CreateWorkload(workload) => {
                let sets = workload.spec.pod_sets.iter().map(|set| format!("{}x{}", set.count, set.name));
                format!("create {} {}", workload.metadata.name, sets.collect::<Vec<_>>().join("+"))
            }
            Action::UpdateWorkload { new, .. } => {
                let owners = new.metadata.owner_references.iter().map(|owner| owner.name.clone());
                format!("update {} of {}", new.spec.queue_name, owners.collect::<Vec<_>>().join("+"))
            }
            Action::DeleteWorkload(_) => "delete workload".to_owned(),
            Action::Unguard(_) => "unguard".to_owned(),
            Action::Report(_, Report::Finished { reason, message }) => format!("finished {reason}: {message}"),
            Action::Report(_, Report::WaitingForReplacementPods { status, reason, .. }) => {
                format!("missing {status} {reason}")
            }
            Action::Report(_, Report::Reclaimable(pods)) => format!("reclaimable {}", pods[0].count),
            Action::Report(_, report) => format!("{report:?}"),
            Action::Event { reason, .. } => format!("({name} {reason})"),
        }
    };
    let act = |act: &Act| match act {
        Act::Do(pod, done) => action(pod, done),
        Act::LetGo { pod, is_excess } => {
            format!("{} {}", if *is_excess { "remove" } else { "let go" }, pod.metadata.name)
        }
        Act::Tell { reason, .. } => format!("({reason})"),
    };
    let acts: Vec<String> = outcome.acts.iter().map(act).chain(outcome.failure.clone()).collect();
    acts.join(", ")
}

fn check(text: &str, workload: Option<Workload>, expected: &str) {
    assert_eq!(shown(&look(text, workload)), expected, "{text}");
}

fn none() -> Value {
    json!({})
}

#[test]
fn a_group_gets_a_workload_when_it_is_complete() {
    check("a gated", None, "(a ErrWorkloadCompose)");
    check("a gated, b gated", None, "create g 2xsmall, (a CreatedWorkload)");
    check("a gated, b gated big", None, "create g 1xbig+1xsmall, (a CreatedWorkload)");
    check("a gated fast", None, "create g 2xsmall, (a CreatedWorkload)");
    check("a gated, b gated queue=other", None, "");
    check("a gated, b gated total=3", None, "");
    check("a gated total=x", None, r#"strconv.Atoi: parsing "x": invalid syntax"#);
    check("a gated @1, b gated @2, c gated @3", None, "remove c, create g 2xsmall, (a CreatedWorkload)");
    check("a, b", None, "");
}

#[test]
fn an_admitted_group_starts_as_a_whole() {
    let admitted = || Some(workload("QuotaReserved Admitted", &none()));
    let both = r#"start a {"pool":"p"}, (a Started), start b {"pool":"p"}, (b Started)"#;
    check("a gated, b gated", admitted(), both);
    check("a gated, b gated", Some(workload("QuotaReserved", &none())), "");
    check("a, b", admitted(), "");
    check("a, b", Some(workload("", &none())), "end a NotAdmitted, (a Stopped), end b NotAdmitted, (b Stopped)");
}

#[test]
fn a_lost_pod_is_waited_for_and_replaced() {
    let admitted = |conditions: &str| Some(workload(conditions, &none()));
    check("a, b failed", admitted("QuotaReserved Admitted"), "missing True PodsFailed");
    check("a, b failed", admitted("QuotaReserved Admitted WaitingForReplacementPods"), "");
    let replaced = "update lq of a+b+c, (OwnerReferencesAdded), let go b, missing False PodsReady";
    check("a, b failed, c gated", admitted("QuotaReserved Admitted WaitingForReplacementPods"), replaced);
    let started = r#"update lq of a+b+c, (OwnerReferencesAdded), let go b, start c {"pool":"p"}, (c Started)"#;
    check("a, b failed, c gated", admitted("QuotaReserved Admitted WaitingForReplacementPods=False"), started);
}

#[test]
fn one_pod_too_many_is_removed_once() {
    let admitted = || Some(workload("QuotaReserved Admitted", &none()));
    let removed = "remove c";
    let outcome = shown(&look("a @1, b @2, c gated @3", admitted()));
    assert!(outcome.ends_with(removed), "{outcome}");
    assert_eq!(shown(&look_when("a @1, b @2, c gated @3", admitted(), false)), "");
}

#[test]
fn a_group_ends_when_all_succeeded_or_nobody_tries_again() {
    let admitted = || Some(workload("QuotaReserved Admitted", &none()));
    let end = |count: i32| {
        format!("finished Succeeded: Pods succeeded: {count}/2., (a FinishedWorkload), let go a, let go b")
    };
    check("a done, b done", admitted(), &end(2));
    check("a done, b failed", admitted(), "missing True PodsFailed");
    check("a done, b", admitted(), "reclaimable 1");
    check("a done serving, b done serving", admitted(), "");
    let waiting = || Some(workload("QuotaReserved Admitted WaitingForReplacementPods", &none()));
    check("a done, b failed last", waiting(), &end(1));
    check("a done, b done", Some(workload("Finished", &none())), "let go a, let go b, (a FinishedWorkload), unguard");
}

#[test]
fn an_evicted_group_ends_and_says_so_when_nothing_runs() {
    let evicted = || Some(workload("QuotaReserved Admitted Evicted", &none()));
    check("a, b", evicted(), "end a WorkloadEvictedDueToR, (a Stopped), end b WorkloadEvictedDueToR, (b Stopped)");
    check("a gated, b gated", evicted(), "Stopped");
    check("a failed, b failed", evicted(), "missing True R");
}

#[test]
fn a_deleted_workload_takes_its_pods_with_it() {
    let mut deleted = workload("QuotaReserved Admitted", &none());
    deleted.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".parse().unwrap());
    let expected =
        "end a WorkloadDeleted, (a Stopped), end b WorkloadDeleted, (b Stopped), let go a, let go b, unguard";
    check("a, b gated", Some(deleted), expected);
}

#[test]
fn the_workload_of_another_job_is_not_adopted() {
    let mut foreign = workload("QuotaReserved Admitted", &none());
    foreign.metadata.annotations.clear();
    check("a gated, b gated", Some(foreign.clone()), "(a WorkloadNameConflict)");
    check("a gated, b gated leaving", Some(foreign.clone()), "(a WorkloadNameConflict), let go b");
    let gone = |workload: &Workload| step_gone(Some(Arc::new(workload.clone())), Gates::default()).actions.len();
    foreign.metadata.owner_references[0].controller = Some(true);
    assert_eq!(gone(&foreign), 0);
    let mut served = workload("", &none());
    assert_eq!(gone(&served), 1, "let go");
    "StatefulSet".clone_into(&mut served.metadata.owner_references[0].kind);
    assert_eq!(gone(&served), 0, "its pods will be made again");
    served.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".parse().unwrap());
    assert_eq!(gone(&served), 1);
}

#[test]
fn a_group_that_changed_changes_its_workload_while_it_waits() {
    let waiting = |conditions: &str| Some(workload(conditions, &none()));
    let changed = "update lq of a+b, (a UpdatedWorkload)";
    check("a gated big, b gated big", waiting(""), changed);
    let reserved = "delete workload, (a DeletedWorkload)";
    check("a gated big, b gated big", waiting("QuotaReserved"), reserved);
    let running = "end a NoMatchingWorkload, (a Stopped), end b NoMatchingWorkload, (b Stopped), delete workload, (a DeletedWorkload)";
    check("a big, b big", waiting("QuotaReserved Admitted"), running);
    check("a gated queue=other, b gated queue=other", waiting(""), "update other of a+b");
    check("a gated queue=other serving, b gated queue=other serving", waiting(""), "");
}

#[test]
fn a_prebuilt_workload_is_owned_by_all_or_finished() {
    let prebuilt = |patch: &Value| Some(workload("", patch));
    let owned = "update lq of a+b, (OwnerReferencesAdded)";
    check("a gated prebuilt, b gated prebuilt", prebuilt(&json!({"/metadata/ownerReferences": []})), owned);
    check("a gated prebuilt, b gated prebuilt", None, "the prebuilt workload does not exist");
    let out_of_sync = "finished OutOfSync: The prebuilt workload is out of sync with its user job, end a NoMatchingWorkload, (a Stopped)";
    let outcome = shown(&look("a prebuilt big, b gated prebuilt big", prebuilt(&none())));
    assert!(outcome.starts_with(out_of_sync), "{outcome}");
}

#[test]
fn an_owner_of_the_same_name_is_another_pod_now() {
    let mut old = workload("QuotaReserved Admitted", &none());
    "gone".clone_into(&mut old.metadata.owner_references[0].uid);
    check("a, b", Some(old), "update lq of a+b");
}
