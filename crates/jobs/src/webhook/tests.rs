use kueue_api::kueue::names::{annotation, label};
use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::OwnerReference;
use kueue_core::field::{Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::selector::LabelSelector;
use serde_json::{Value, json};

use super::*;
use crate::integrations::Integrations;
use crate::kinds::batch_job;

/// Runs something in a world where batch Jobs are enabled and nothing exists.
pub(crate) fn around<T>(gates: Gates, act: impl FnOnce(&Around<'_>) -> T) -> T {
    let integrations = Integrations::configured(["batch/job"], []);
    let settings = Settings { gates, integrations, ..Settings::default() };
    act(&Around {
        settings: &settings,
        namespace: Some(BTreeMap::from([("team".to_owned(), "a".to_owned())])),
        has_default_queue: false,
        has_default_priority_class: false,
        ancestor: Ok(None),
        is_dispatched: &|_| false,
        workload: &|_| None,
    })
}

fn job(patch: &Value) -> batch_job::Job {
    let mut job = json!({"metadata": {"name": "j", "namespace": "ns"}, "spec": {"template": {"spec": {}}}});
    for (at, value) in patch.as_object().unwrap() {
        job["metadata"][at] = value.clone();
    }
    serde_json::from_value(job).unwrap()
}

fn labelled(labels: &Value) -> batch_job::Job {
    job(&json!({"labels": labels}))
}

fn owner(is_managed: bool) -> OwnerReference {
    let kind = if is_managed { "Job" } else { "CronJob" };
    let api_version = "batch/v1".to_owned();
    OwnerReference { api_version, kind: kind.to_owned(), controller: Some(true), ..OwnerReference::default() }
}

#[test]
fn a_default_queue_is_for_jobs_that_name_none_and_belong_to_nobody_managed() {
    let queue_of = |mut job: batch_job::Job, has_default_queue: bool, team: &str| {
        around(Gates::default(), |around| {
            let match_labels = BTreeMap::from([("team".to_owned(), team.to_owned())]);
            let selector = LabelSelector { match_labels, ..LabelSelector::default() };
            let settings = Settings { namespaces: Some(selector), ..around.settings.clone() };
            let around = Around {
                settings: &settings,
                namespace: around.namespace.clone(),
                ancestor: Ok(None),
                has_default_queue,
                ..*around
            };
            job.complete(&around).unwrap();
        });
        (job.metadata.labels.get(label::QUEUE_NAME).cloned().unwrap_or_default(), job.spec.suspend == Some(true))
    };
    assert_eq!(queue_of(job(&json!({})), true, "a"), ("default".to_owned(), true));
    assert_eq!(queue_of(job(&json!({})), false, "a"), (String::new(), false));
    assert_eq!(queue_of(job(&json!({})), true, "b"), (String::new(), false));
    assert_eq!(queue_of(labelled(&json!({label::QUEUE_NAME: "q"})), true, "a"), ("q".to_owned(), true));
    assert_eq!(queue_of(job(&json!({"ownerReferences": [owner(true)]})), true, "a"), (String::new(), false));
    assert_eq!(queue_of(job(&json!({"ownerReferences": [owner(false)]})), true, "a").0, "default");
}

#[test]
fn a_namespace_that_is_gone_is_said() {
    around(Gates::default(), |around| {
        let settings = Settings { namespaces: Some(LabelSelector::default()), ..around.settings.clone() };
        let has_default_queue = true;
        let around = Around { settings: &settings, namespace: None, has_default_queue, ancestor: Ok(None), ..*around };
        let failure = job(&json!({})).complete(&around).unwrap_err();
        assert_eq!(failure.to_string(), r#"failed to get namespace: namespace "ns" not found"#);
    });
}

#[test]
fn a_default_priority_class_needs_its_gate() {
    for (is_on, expected) in [(true, "default"), (false, "")] {
        around(Gates::default().with(Gate::WorkloadPriorityClassDefaulting, is_on), |around| {
            let has_default_priority_class = true;
            let around = Around { has_default_priority_class, namespace: None, ancestor: Ok(None), ..*around };
            let mut job = job(&json!({}));
            job.complete(&around).unwrap();
            assert_eq!(crate::workload::priority_class_name(&job.metadata), expected);
        });
    }
}

#[test]
fn a_job_that_waits_for_its_ancestor_is_not_suspended_by_itself() {
    let queued = || labelled(&json!({label::QUEUE_NAME: "q"}));
    let ask = |job: batch_job::Job, ancestor: Result<Option<Ancestor>, Lost>, is_gate_on: bool| {
        let gates = Gates::default().with(Gate::SkipAncestorCheckForDeletedWorkloads, is_gate_on);
        around(gates, |around| {
            let around = Around { ancestor, namespace: None, ..*around };
            defaulting::should_suspend(&job.metadata, &around)
        })
    };
    let ancestor = Ancestor { owner: owner(true), metadata: kueue_api::meta::ObjectMeta::default() };
    assert_eq!(ask(queued(), Ok(None), true), Ok(true));
    assert_eq!(ask(queued(), Ok(Some(ancestor)), true), Ok(false));
    assert_eq!(ask(queued(), Err(Lost::Cyclic), true), Err(Unanswerable::Lost(Lost::Cyclic)));
    let deleted = || job(&json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}));
    assert_eq!(ask(deleted(), Err(Lost::Cyclic), true), Ok(false));
    assert_eq!(ask(deleted(), Err(Lost::Cyclic), false), Err(Unanswerable::Lost(Lost::Cyclic)));
}

#[test]
fn jobs_of_a_queue_that_sends_them_away_are_run_by_nobody_here() {
    let manager_of = |before: Option<&str>| {
        around(Gates::default().with(Gate::MultiKueue, true), |around| {
            let around =
                Around { is_dispatched: &|queue| queue == "far", ancestor: Ok(None), namespace: None, ..*around };
            let mut job = labelled(&json!({label::QUEUE_NAME: "far"}));
            job.spec.managed_by = before.map(str::to_owned);
            job.complete(&around).unwrap();
            job.spec.managed_by
        })
    };
    assert_eq!(manager_of(None).as_deref(), Some("kueue.x-k8s.io/multikueue"));
    assert_eq!(manager_of(Some("kubernetes.io/job-controller")).as_deref(), Some("kueue.x-k8s.io/multikueue"));
    assert_eq!(manager_of(Some("mine")).as_deref(), Some("mine"));
}

fn shown(errors: &Errors) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

#[test]
fn labels_of_a_new_job_are_checked() {
    for (labels, expected) in [
        (json!({label::QUEUE_NAME: "q"}), ""),
        (
            json!({label::QUEUE_NAME: "Q!"}),
            "metadata.labels[kueue.x-k8s.io/queue-name]: Invalid value: \"Q!\": a lower",
        ),
        (
            json!({label::PREBUILT_WORKLOAD_NAME: "W"}),
            "metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]: Invalid",
        ),
        (
            json!({label::MAX_EXEC_TIME_SECONDS: "0"}),
            "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: 0: should",
        ),
        (
            json!({label::MAX_EXEC_TIME_SECONDS: "1s"}),
            "metadata.labels[kueue.x-k8s.io/max-exec-time-seconds]: Invalid value: \"1s\": strconv.Atoi",
        ),
    ] {
        let errors = shown(&around(Gates::default(), |around| labelled(&labels).validate_create(around)));
        assert!(errors.starts_with(expected) && errors.is_empty() == expected.is_empty(), "{errors}");
    }
}

#[test]
fn what_may_change_depends_on_whether_the_job_runs() {
    let change = |old: &Value, new: &Value, is_suspended: bool, has_default_queue: bool| {
        let with = |labels: &Value| {
            let mut job = labelled(labels);
            job.spec.suspend = Some(is_suspended);
            job
        };
        around(Gates::default(), |around| {
            let around = Around { has_default_queue, ancestor: Ok(None), namespace: None, ..*around };
            shown(&validation::update(&with(new), &with(old), has_default_queue, around.settings.gates))
        })
    };
    let queue = |name: &str| json!({label::QUEUE_NAME: name});
    assert_eq!(change(&queue("a"), &queue("b"), true, false), "");
    assert!(change(&queue("a"), &queue("b"), false, false).ends_with("Invalid value: \"b\": field is immutable"));
    assert_eq!(change(&queue("a"), &json!({}), true, false), "");
    assert!(change(&queue("a"), &json!({}), true, true).contains("must not be empty in namespace with default queue"));
    let class = |name: &str| json!({label::PRIORITY_CLASS: name});
    assert_eq!(change(&json!({}), &class("a"), true, false), "");
    assert!(change(&json!({}), &class("a"), false, false).ends_with("cannot be added to a non-suspended workload"));
    assert_eq!(change(&class("a"), &class("b"), false, false), "");
    assert!(change(&class("a"), &json!({}), true, false).ends_with("cannot be removed from a workload"));
    let limit = |seconds: &str| json!({label::MAX_EXEC_TIME_SECONDS: seconds});
    assert_eq!(change(&limit("1"), &limit("2"), true, false), "");
    assert!(change(&limit("1"), &limit("2"), false, false).ends_with("field is immutable"));
    let prebuilt = |name: &str| json!({label::PREBUILT_WORKLOAD_NAME: name});
    assert!(change(&prebuilt("a"), &prebuilt("b"), false, false).ends_with("field is immutable"));
}

fn request(annotations: &[(&str, &str)]) -> String {
    let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let gates = Gates::default().with(Gate::TASMultiLayerTopology, true);
    shown(&topology::request(&annotations, &Path::new("m"), gates)).replace("kueue.x-k8s.io/", "")
}

#[test]
fn a_request_for_a_topology_says_one_thing() {
    use annotation::{
        POD_SET_GROUP_NAME, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY, SLICE_REQUIRED_TOPOLOGY,
        SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS, SLICE_SIZE, UNCONSTRAINED_TOPOLOGY,
    };
    let layers = |text: &'static str| [(SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS, text)];
    for (annotations, expected) in [
        (&[(REQUIRED_TOPOLOGY, "rack")][..], ""),
        (
            &[(REQUIRED_TOPOLOGY, "rack"), (PREFERRED_TOPOLOGY, "host")],
            "m.annotations: Invalid value: must not contain more",
        ),
        (&[(REQUIRED_TOPOLOGY, "a b")], "m.annotations[podset-required-topology]: Invalid value: \"a b\": name part"),
        (
            &[(UNCONSTRAINED_TOPOLOGY, "maybe")],
            "m.annotations[podset-unconstrained-topology]: Invalid value: \"maybe\": must be a b",
        ),
        (&[(SLICE_SIZE, "2"), (SLICE_REQUIRED_TOPOLOGY, "host")], ""),
        (&[(SLICE_SIZE, "2")], "m.annotations[podset-slice-size]: Forbidden: may not be set"),
        (&[(SLICE_REQUIRED_TOPOLOGY, "host")], "m.annotations[podset-slice-size]: Required value: must be set"),
        (
            &[(SLICE_SIZE, "0"), (SLICE_REQUIRED_TOPOLOGY, "host")],
            "m.annotations[podset-slice-size]: Invalid value: \"0\": must be gr",
        ),
        (&[(POD_SET_GROUP_NAME, "g"), (REQUIRED_TOPOLOGY, "rack")], ""),
        (
            &[(POD_SET_GROUP_NAME, "7"), (REQUIRED_TOPOLOGY, "rack")],
            "m.annotations[podset-group-name]: Invalid value: \"7\": must not be a n",
        ),
        (&[(POD_SET_GROUP_NAME, "g")], "m.annotations[podset-group-name]: Forbidden: may not be set when neither"),
        (&layers(r#"[{"topology":"a","size":4},{"topology":"b","size":2}]"#), ""),
        (
            &layers(r#"[{"topology":"a","size":4},{"topology":"a","size":3}]"#),
            "m.annotations[podset-slice-required-topology-constraints][1].topology: Duplicate value: \"a (also at index 0)\"; m.annotations[podset-slice-required-topology-constraints][1].size: Invalid value: 3: must evenly",
        ),
        (
            &layers("[]"),
            "m.annotations[podset-slice-required-topology-constraints]: Invalid value: \"[]\": topology constraints must",
        ),
        (
            &layers("{"),
            "m.annotations[podset-slice-required-topology-constraints]: Invalid value: \"{\": must be a valid JSON",
        ),
    ] {
        let errors = request(annotations);
        assert!(errors.starts_with(expected) && errors.is_empty() == expected.is_empty(), "{annotations:?}: {errors}");
    }
}

#[test]
fn a_slice_is_no_larger_than_its_pod_set() {
    let check = |key: &str, value: &str| {
        let annotations = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let pod_set = PodSet { count: 4, ..PodSet::default() };
        topology::slices_in_count(&annotations, &Path::new("m"), &pod_set).len()
    };
    assert_eq!([check(annotation::SLICE_SIZE, "4"), check(annotation::SLICE_SIZE, "5")], [0, 1]);
    let layers = |size: u32| format!(r#"[{{"topology":"a","size":{size}}}]"#);
    let key = annotation::SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS;
    assert_eq!([check(key, &layers(4)), check(key, &layers(5))], [0, 1]);
}

#[test]
fn groups_of_pod_sets_are_pairs_that_ask_for_the_same() {
    let pod_set = |name: &str, count: i32, required: &str| -> PodSet {
        let topology = json!({"podSetGroupName": "g", "required": required});
        let template = json!({"spec": {}});
        serde_json::from_value(json!({"name": name, "count": count, "topologyRequest": topology, "template": template}))
            .unwrap()
    };
    let check = |pod_sets: &[PodSet]| {
        let paths = pod_sets.iter().map(|pod_set| (pod_set.name.as_str(), Path::new(&pod_set.name))).collect();
        shown(&topology::groups(pod_sets, &paths))
    };
    assert_eq!(check(&[pod_set("a", 1, "rack"), pod_set("b", 4, "rack")]), "");
    assert!(check(&[pod_set("a", 1, "rack")]).contains("exactly 2 pod sets, got: 1 pod set(s)"));
    assert!(check(&[pod_set("a", 2, "rack"), pod_set("b", 4, "rack")]).contains("got: 2 replica(s) and 4 replica(s)"));
    let other = check(&[pod_set("a", 1, "rack"), pod_set("b", 4, "host")]);
    assert!(other.starts_with("a: Invalid value: must specify") && other.contains("consistent with 'b' in group 'g'"));
}
