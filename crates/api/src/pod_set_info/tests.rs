use std::sync::Arc;

use serde_json::{Value, json};

use super::*;

fn template(value: Value) -> PodTemplateSpec {
    serde_json::from_value(value).unwrap()
}

fn map(key: &str, value: &str) -> BTreeMap<String, String> {
    [(key.to_owned(), value.to_owned())].into()
}

fn flavor(name: &str) -> ResourceFlavor {
    let spec = json!({"nodeLabels": {"pool": name, name: "yes"}, "tolerations": [{"key": name}]});
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

fn from_assignment(assignment: Value, pod_set: Value, gates: Gates) -> Result<PodSetInfo, NotFound> {
    let flavors = [flavor("fast"), flavor("slow")];
    let (assignment, pod_set) = (serde_json::from_value(assignment).unwrap(), serde_json::from_value(pod_set).unwrap());
    PodSetInfo::from_assignment(&assignment, &pod_set, gates, |name| {
        flavors.iter().find(|flavor| flavor.metadata.name == name)
    })
}

#[test]
fn each_assigned_flavor_counts_once_and_in_the_order_of_the_resources() {
    let flavors = json!({"cpu": "slow", "gpu": "fast", "memory": "slow"});
    let info =
        from_assignment(json!({"name": "a", "flavors": flavors}), json!({"count": 4}), Gates::default()).unwrap();
    assert_eq!((info.name.as_str(), info.count), ("a", 4));
    assert_eq!(
        serde_json::to_value(&info.node_selector).unwrap(),
        json!({"pool": "fast", "slow": "yes", "fast": "yes"})
    );
    assert_eq!(serde_json::to_value(&info.tolerations).unwrap(), json!([{"key": "slow"}, {"key": "fast"}]));
    assert_eq!(info.scheduling_gates, []);
}

#[test]
fn a_flavor_that_does_not_exist_is_named() {
    let missing = from_assignment(json!({"flavors": {"cpu": "gone"}}), json!({}), Gates::default()).unwrap_err();
    assert_eq!(missing.to_string(), r#"resourceflavors.kueue.x-k8s.io "gone" not found"#);
}

#[test]
fn pods_that_get_a_domain_wait_for_it_and_say_when_they_did_not_ask() {
    let assignment = json!({"count": 2, "topologyAssignment": {"levels": ["rack"]}});
    let tas = |on| Gates::default().with(Gate::TopologyAwareScheduling, on);
    for (request, gates, annotations, gated) in [
        (json!(null), tas(true), json!({annotation::UNCONSTRAINED_TOPOLOGY: "true"}), true),
        (json!({"podSetGroupName": "g"}), tas(true), json!({annotation::UNCONSTRAINED_TOPOLOGY: "true"}), true),
        (json!({"required": "rack"}), tas(true), json!({}), true),
        (json!({"preferred": "rack"}), tas(true), json!({}), true),
        (json!({"unconstrained": false}), tas(true), json!({}), true),
        (json!(null), tas(false), json!({}), false),
    ] {
        let info = from_assignment(assignment.clone(), json!({"count": 4, "topologyRequest": request}), gates).unwrap();
        assert_eq!(info.count, 2);
        assert_eq!(serde_json::to_value(&info.annotations).unwrap(), annotations, "{request}");
        assert_eq!(info.scheduling_gates.iter().any(|gate| gate.name == SCHEDULING_GATE_TOPOLOGY), gated, "{request}");
    }
}

#[test]
fn starting_adds_and_stopping_takes_it_out_again() {
    let start = json!({"metadata": {"labels": {"a": "1"}, "annotations": {}}, "spec": {"containers": [{"image": "i"}],
        "tolerations": [{"key": "t"}], "schedulingGates": [{"name": "g"}]}});
    let mut pod_set = PodSet { template: template(start.clone()).into(), ..PodSet::default() };
    let original = PodSetInfo::from_pod_set(&pod_set);
    let update = json!({"labels": {"a": "1", "b": "2"}, "annotations": {"c": "3"}, "nodeSelector": {"d": "4"},
        "tolerations": [{"key": "t", "operator": "Equal"}, {"key": "t", "operator": "Exists"}]});
    let mut info = PodSetInfo::from_update(&serde_json::from_value(update).unwrap());
    info.scheduling_gates = original.scheduling_gates.clone();

    info.merge_into(Arc::make_mut(&mut pod_set.template), Gates::default()).unwrap();
    let merged = json!({"metadata": {"labels": {"a": "1", "b": "2"}, "annotations": {"c": "3"}}, "spec": {
        "containers": [{"image": "i"}], "nodeSelector": {"d": "4"}, "schedulingGates": [{"name": "g"}],
        "tolerations": [{"key": "t"}, {"key": "t", "operator": "Exists"}]}});
    assert_eq!(serde_json::to_value(&pod_set.template).unwrap(), merged);

    assert!(original.restore(Arc::make_mut(&mut pod_set.template)));
    assert_eq!(serde_json::to_value(&pod_set.template).unwrap(), start);
    assert!(!original.restore(Arc::make_mut(&mut pod_set.template)));
}

#[test]
fn a_conflict_is_named_and_changes_nothing() {
    let start = template(json!({"metadata": {"labels": {"k": "old"}, "annotations": {"k": "old"}},
        "spec": {"nodeSelector": {"k": "old"}}}));
    let new = map("k", "new");
    for (field, info) in [
        ("labels", PodSetInfo { labels: new.clone(), ..PodSetInfo::default() }),
        ("annotations", PodSetInfo { annotations: new.clone(), labels: map("x", "y"), ..PodSetInfo::default() }),
        ("nodeSelector", PodSetInfo { node_selector: new.clone(), ..PodSetInfo::default() }),
    ] {
        let mut pods = start.clone();
        let conflict = info.merge_into(&mut pods, Gates::default()).unwrap_err();
        assert_eq!(
            conflict.to_string(),
            format!(
                "invalid admission check PodSetUpdate: conflict for {field}: conflict for key=k, value1=old, value2=new"
            )
        );
        assert_eq!(pods, start);
    }
}

#[test]
fn the_next_slice_of_an_elastic_job_renames_its_pods() {
    let merges = |added: &[&str], elastic| {
        let old = json!({annotation::WORKLOAD: "old", annotation::WORKLOAD_SLICE_NAME: "old"});
        let mut pods = template(json!({"metadata": {"annotations": old}}));
        let annotations = added.iter().map(|key| ((*key).to_owned(), "new".to_owned())).collect();
        let gates = Gates::default().with(Gate::ElasticJobsViaWorkloadSlices, elastic);
        PodSetInfo { annotations, ..PodSetInfo::default() }.merge_into(&mut pods, gates).is_ok()
    };
    assert!(merges(&[annotation::WORKLOAD_SLICE_NAME], true));
    assert!(merges(&[annotation::WORKLOAD_SLICE_NAME, annotation::WORKLOAD], true));
    assert!(!merges(&[annotation::WORKLOAD], true));
    assert!(!merges(&[annotation::WORKLOAD_SLICE_NAME], false));
}
