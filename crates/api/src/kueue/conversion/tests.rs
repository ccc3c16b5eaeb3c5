use expect_test::{Expect, expect};
use proptest::prelude::any;
use proptest::test_runner::{Config, TestRunner};

use super::*;
use crate::kueue::kinds::KindInfo;

const V1ALPHA1: &str = "kueue.x-k8s.io/v1alpha1";
const V1BETA1: &str = "kueue.x-k8s.io/v1beta1";
const V1BETA2: &str = "kueue.x-k8s.io/v1beta2";

/// Converts `kind` with the given fields and shows the fields of the result.
#[track_caller]
fn check(kind: &str, from: &str, to: &str, fields: Value, expected: &Expect) {
    let Value::Object(mut object) = fields else { panic!("fields are an object") };
    object.extend([("apiVersion".to_owned(), from.into()), ("kind".to_owned(), kind.into())]);
    let shown = match convert(Value::Object(object), to, Gates::default()) {
        Err(error) => format!("error: {error}"),
        Ok(mut converted) => {
            let converted = converted.as_object_mut().unwrap();
            assert_eq!(converted.remove("apiVersion").unwrap(), to);
            assert_eq!(converted.remove("kind").unwrap(), kind);
            Value::Object(converted.clone()).to_string()
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn the_source_of_a_priority_class_becomes_group_and_kind() {
    let up = |spec: Value, expected| check("Workload", V1BETA1, V1BETA2, json!({"spec": spec}), expected);
    up(
        json!({"priorityClassName": "a", "priorityClassSource": "kueue.x-k8s.io/workloadpriorityclass"}),
        &expect![[
            r#"{"spec":{"priorityClassRef":{"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"a"}}}"#
        ]],
    );
    up(
        json!({"priorityClassName": "a", "priorityClassSource": "scheduling.k8s.io/priorityclass"}),
        &expect![[r#"{"spec":{"priorityClassRef":{"group":"scheduling.k8s.io","kind":"PriorityClass","name":"a"}}}"#]],
    );
    up(json!({"priorityClassName": "a", "priorityClassSource": ""}), &expect![[r#"{"spec":{}}"#]]);
    up(json!({"priorityClassName": "a"}), &expect![[r#"{"spec":{}}"#]]);
    up(
        json!({"priorityClassName": 5}),
        &expect!["error: spec.priorityClassName: Invalid value: 5: invalid type: integer `5`, expected a string"],
    );
}

#[test]
fn a_class_reference_that_v1beta1_cannot_say_is_dropped() {
    let down = |reference: Value, expected| {
        check("Workload", V1BETA2, V1BETA1, json!({"spec": {"priorityClassRef": reference}}), expected);
    };
    down(
        json!({"group": "scheduling.k8s.io", "kind": "PriorityClass", "name": "a"}),
        &expect![[r#"{"spec":{"priorityClassName":"a","priorityClassSource":"scheduling.k8s.io/priorityclass"}}"#]],
    );
    down(
        json!({"group": "scheduling.k8s.io", "kind": "WorkloadPriorityClass", "name": "a"}),
        &expect![[r#"{"spec":{}}"#]],
    );
    down(Value::Null, &expect![[r#"{"spec":{}}"#]]);
}

#[test]
fn topology_domains_are_packed_and_unpacked() {
    let admission = |assignment: Value| json!({"status": {"admission": {"podSetAssignments": [{"name": "a"}, {"topologyAssignment": assignment}]}}});
    let plain =
        json!({"levels": ["rack"], "domains": [{"values": ["r1"], "count": 2}, {"values": ["r2"], "count": 2}]});
    check(
        "Workload",
        V1BETA1,
        V1BETA2,
        admission(plain),
        &expect![[
            r#"{"status":{"admission":{"podSetAssignments":[{"name":"a"},{"topologyAssignment":{"levels":["rack"],"slices":[{"domainCount":2,"podCounts":{"universal":2},"valuesPerLevel":[{"individual":{"prefix":"r","roots":["1","2"]}}]}]}}]}}}"#
        ]],
    );
    check(
        "Workload",
        V1BETA2,
        V1BETA1,
        admission(json!({"levels": ["rack"]})),
        &expect![[
            r#"{"status":{"admission":{"podSetAssignments":[{"name":"a"},{"topologyAssignment":{"domains":[],"levels":["rack"]}}]}}}"#
        ]],
    );
    check(
        "Workload",
        V1BETA2,
        V1BETA1,
        admission(json!({"levels": ["rack"], "slices": [{"domainCount": 2, "podCounts": {"universal": 1}}]})),
        &expect![
            "error: status.admission.podSetAssignments[1].topologyAssignment.slices[0].valuesPerLevel: Invalid value: 0: must have 1 entries, one per level"
        ],
    );
    check(
        "Workload",
        V1BETA1,
        V1BETA2,
        admission(json!({"levels": ["rack"], "domains": [{"values": [], "count": 2}]})),
        &expect![
            "error: status.admission.podSetAssignments[1].topologyAssignment.domains[0].values: Invalid value: []: must have 1 values, one per level"
        ],
    );
}

#[test]
fn what_v1beta1_does_not_have_is_dropped() {
    check(
        "Workload",
        V1BETA2,
        V1BETA1,
        json!({
            "spec": {
                "preemptionGates": [{"name": "g"}],
                "podSets": [{"topologyRequest": {
                    "required": "rack",
                    "podsetSliceRequiredTopologyConstraints": [{"topology": "rack", "size": 2}],
                }}],
            },
            "status": {"preemptionGates": [{"name": "g"}], "accumulatedPastExecutionTimeSeconds": 7},
        }),
        &expect![[
            r#"{"spec":{"podSets":[{"topologyRequest":{"required":"rack"}}]},"status":{"accumulatedPastExexcutionTimeSeconds":7}}"#
        ]],
    );
    check(
        "ClusterQueue",
        V1BETA2,
        V1BETA1,
        json!({"spec": {"cohortName": "a", "concurrentAdmissionPolicy": {"migration": {}}}}),
        &expect![[r#"{"spec":{"cohort":"a"}}"#]],
    );
    check(
        "MultiKueueConfig",
        V1BETA2,
        V1BETA1,
        json!({"spec": {"clusters": ["a"], "quotaManagement": "Manual"}}),
        &expect![[r#"{"spec":{"clusters":["a"]}}"#]],
    );
}

#[test]
fn older_spellings_of_a_cluster_queue_are_read() {
    let up = |object: Value, expected| check("ClusterQueue", V1BETA1, V1BETA2, object, expected);
    up(
        json!({"spec": {"flavorFungibility": {"whenCanBorrow": "Borrow", "whenCanPreempt": "Preempt"}}}),
        &expect![[
            r#"{"spec":{"flavorFungibility":{"whenCanBorrow":"MayStopSearch","whenCanPreempt":"MayStopSearch"}}}"#
        ]],
    );
    // Each of the two words is an older spelling in its own place only.
    up(
        json!({"spec": {"flavorFungibility": {"whenCanBorrow": "Preempt", "whenCanPreempt": "TryNextFlavor"}}}),
        &expect![[r#"{"spec":{"flavorFungibility":{"whenCanBorrow":"Preempt","whenCanPreempt":"TryNextFlavor"}}}"#]],
    );
    let strategy = json!({"admissionChecks": [{"name": "s", "onFlavors": ["f"]}]});
    up(
        json!({"spec": {"admissionChecks": ["a", "b"], "admissionChecksStrategy": strategy}}),
        &expect![[r#"{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"a"},{"name":"b"}]}}}"#]],
    );
    up(
        json!({"spec": {"admissionChecks": [], "admissionChecksStrategy": strategy}}),
        &expect![[r#"{"spec":{"admissionChecksStrategy":{"admissionChecks":[{"name":"s","onFlavors":["f"]}]}}}"#]],
    );
    up(
        json!({"status": {"pendingWorkloadsStatus": {}, "fairSharing": {"weightedShare": 1, "admissionFairSharingStatus": {}}}}),
        &expect![[r#"{"status":{"fairSharing":{"weightedShare":1}}}"#]],
    );
}

#[test]
fn a_local_queue_keeps_its_faded_usage() {
    let faded = json!({"weightedShare": 1, "admissionFairSharingStatus": {"consumedResources": {}}});
    check(
        "LocalQueue",
        V1BETA1,
        V1BETA2,
        json!({"status": {"flavorUsage": [], "flavors": [], "fairSharing": faded}}),
        &expect![[
            r#"{"status":{"fairSharing":{"admissionFairSharingStatus":{"consumedResources":{}},"weightedShare":1},"flavorsUsage":[]}}"#
        ]],
    );
}

#[test]
fn credentials_of_a_cluster_move_into_a_source() {
    let up = |spec: Value, expected| check("MultiKueueCluster", V1BETA1, V1BETA2, json!({"spec": spec}), expected);
    up(
        json!({"kubeConfig": {"location": "a", "locationType": "Path"}, "clusterProfileRef": {"name": "p"}}),
        &expect![[
            r#"{"spec":{"clusterSource":{"clusterProfileRef":{"name":"p"},"kubeConfig":{"location":"a","locationType":"Path"}}}}"#
        ]],
    );
    up(json!({"kubeConfig": {"location": "", "locationType": "Path"}}), &expect![[r#"{"spec":{}}"#]]);
    check(
        "MultiKueueCluster",
        V1BETA2,
        V1BETA1,
        json!({}),
        &expect![[r#"{"spec":{"kubeConfig":{"location":"","locationType":""}}}"#]],
    );
}

#[test]
fn the_parent_of_a_cohort_has_an_older_name() {
    let spec = |key: &str| json!({"spec": {key: "a"}});
    check("Cohort", V1ALPHA1, V1BETA2, spec("parent"), &expect![[r#"{"spec":{"parentName":"a"}}"#]]);
    check("Cohort", V1ALPHA1, V1BETA1, spec("parent"), &expect![[r#"{"spec":{"parentName":"a"}}"#]]);
    check("Cohort", V1BETA1, V1ALPHA1, spec("parentName"), &expect![[r#"{"spec":{"parent":"a"}}"#]]);
}

#[test]
fn metadata_and_unknown_fields_pass_through() {
    let object = json!({
        "metadata": {"name": "a", "managedFields": [{"x": null}]},
        "spec": {"future": {"a": [1]}},
        "extra": true,
    });
    for kind in ["Workload", "ClusterQueue", "LocalQueue", "AdmissionCheck", "ResourceFlavor"] {
        check(
            kind,
            V1BETA1,
            V1BETA2,
            object.clone(),
            &expect![[
                r#"{"extra":true,"metadata":{"managedFields":[{"x":null}],"name":"a"},"spec":{"future":{"a":[1]}}}"#
            ]],
        );
    }
}

#[test]
fn typed_objects_convert_to_typed_objects() {
    let mut old = v1alpha1::Cohort::default();
    old.spec.parent = "company".to_owned();
    let new: v1beta2::Cohort = convert_object(&old, Gates::default()).unwrap();
    assert_eq!(new.spec.parent_name, "company");
    assert_eq!(convert_object::<v1alpha1::Cohort>(&new, Gates::default()).unwrap(), old);
    let refused = convert_object::<v1beta2::LocalQueue>(&old, Gates::default()).unwrap_err().to_string();
    assert_eq!(refused, r#"cannot decode: kind is "Cohort", not "LocalQueue""#);
}

#[test]
fn unknown_versions_and_kinds_are_refused() {
    let none = || json!({});
    check(
        "Workload",
        V1BETA1,
        "kueue.x-k8s.io/v1",
        none(),
        &expect!["error: there is no Workload in kueue.x-k8s.io/v1"],
    );
    check("Workload", V1ALPHA1, V1BETA2, none(), &expect!["error: there is no Workload in kueue.x-k8s.io/v1alpha1"]);
    check("Job", V1BETA1, V1BETA2, none(), &expect!["error: there is no Job in kueue.x-k8s.io/v1beta1"]);
    check("Workload", "v1", V1BETA2, none(), &expect!["error: there is no Workload in v1"]);
    let error = |object: Value| convert(object, V1BETA2, Gates::default()).unwrap_err().to_string();
    assert_eq!(error(json!([])), "not a Kubernetes object: it is not a JSON object");
    assert_eq!(error(json!({"kind": "Workload"})), "not a Kubernetes object: apiVersion or kind is missing");
}

/// Where the only things stand that a round trip may lose, as paths with `*` for any index.
const DROPPED: &[(&str, &str, &[&str])] = &[
    (
        "Workload",
        V1BETA2,
        &[
            "/spec/preemptionGates",
            "/status/preemptionGates",
            "/spec/podSets/*/topologyRequest/podsetSliceRequiredTopologyConstraints",
        ],
    ),
    ("ClusterQueue", V1BETA2, &["/spec/concurrentAdmissionPolicy"]),
    ("MultiKueueConfig", V1BETA2, &["/spec/quotaManagement"]),
    (
        "ClusterQueue",
        V1BETA1,
        &[
            "/status/pendingWorkloadsStatus",
            "/status/fairSharing/admissionFairSharingStatus",
            "/spec/admissionChecks",
            "/spec/admissionChecksStrategy",
            "/spec/flavorFungibility",
        ],
    ),
    ("Cohort", V1BETA1, &["/status/fairSharing/admissionFairSharingStatus"]),
    ("LocalQueue", V1BETA1, &["/status/flavors"]),
    ("AdmissionCheck", V1BETA1, &["/spec/retryDelayMinutes"]),
];

fn without_dropped(kind: &str, version: &str, mut object: Value) -> Value {
    let paths = DROPPED.iter().filter(|row| (row.0, row.1) == (kind, version)).flat_map(|row| row.2);
    for path in paths {
        remove(&mut object, path);
    }
    object
}

fn remove(value: &mut Value, path: &str) {
    let path = path.strip_prefix('/').unwrap();
    match path.split_once('/') {
        None => drop(value.as_object_mut().map(|fields| fields.remove(path))),
        Some(("*", rest)) => {
            value.as_array_mut().into_iter().flatten().for_each(|item| remove(item, &format!("/{rest}")));
        }
        Some((key, rest)) => {
            if let Some(inner) = value.get_mut(key) {
                remove(inner, &format!("/{rest}"));
            }
        }
    }
}

/// Removes fields at random; those that mean something only together go together.
fn prune(value: &mut Value, coin: &mut impl FnMut() -> bool) {
    const WHOLE: [&str; 3] = ["topologyAssignment", "kubeConfig", "priorityClassRef"];
    const ALWAYS: [&str; 4] = ["apiVersion", "kind", "metadata", "priorityClassSource"];
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| ALWAYS.contains(&key.as_str()) || coin());
            for (_, value) in fields.iter_mut().filter(|(key, _)| !WHOLE.contains(&key.as_str())) {
                prune(value, coin);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune(item, coin)),
        _ => {}
    }
}

fn samples(kind: &str, version: &str) -> Vec<Value> {
    let name = format!("{}/samples/{}.{version}.yaml", env!("CARGO_MANIFEST_DIR"), kind.to_lowercase());
    serde_saphyr::from_multiple(&std::fs::read_to_string(name).unwrap()).unwrap()
}

/// There and back, compared as types so that empty and missing are the same.
fn check_round_trip(info: &KindInfo, through: &KindInfo, object: &Value) {
    let own = format!("{GROUP}/{}", info.version);
    let there = convert(object.clone(), &format!("{GROUP}/{}", through.version), Gates::default()).unwrap();
    let back = convert(there, &own, Gates::default()).unwrap();
    let typed = |object: Value| (info.recode)(without_dropped(info.kind, &own, object)).unwrap();
    assert_eq!(typed(back), typed(object.clone()), "{own} {}", info.kind);
}

#[test]
fn there_and_back_loses_only_what_the_other_version_does_not_have() {
    let samples: Vec<(&KindInfo, Value)> = KINDS
        .iter()
        .flat_map(|info| samples(info.kind, info.version).into_iter().map(move |sample| (info, sample)))
        .collect();
    let config = Config { failure_persistence: None, ..Config::with_cases(100) };
    let run = TestRunner::new(config).run(&(any::<u64>(), 0_u64..=16), |(seed, keep)| {
        let mut state = seed | 1;
        let mut coin = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % 16 < keep
        };
        for (info, sample) in &samples {
            let mut object = sample.clone();
            prune(&mut object, &mut coin);
            for other in KINDS.iter().filter(|other| other.kind == info.kind && other.version != info.version) {
                check_round_trip(info, other, &object);
            }
        }
        Ok(())
    });
    run.unwrap();
}
