use kueue_api::kueue::names::annotation;
use kueue_api::pod_set_info::PodSetInfo;
use kueue_core::gates::Gates;
use serde_json::{Value, json};

use super::raycluster::RayCluster;
use super::rayjob::RayJob;
use super::rayservice::RayService;
use super::*;
use crate::webhook::tests::around;

/// A cluster with a head and these groups: `name replicas hosts`.
fn spec(groups: &[(&str, i32, i32)]) -> Value {
    let template = || json!({"spec": {"containers": [{"name": "ray", "image": "rayproject/ray:2.46.0"}]}});
    let group = |(name, replicas, hosts): &(&str, i32, i32)| json!({"groupName": name, "replicas": replicas, "numOfHosts": hosts, "minReplicas": 0, "template": template()});
    let groups: Vec<Value> = groups.iter().map(group).collect();
    json!({"rayVersion": "2.46.0", "headGroupSpec": {"template": template()}, "workerGroupSpecs": groups})
}

fn job(mut patch: Value) -> RayJob {
    let mut all = json!({"metadata": {"name": "j", "namespace": "ns", "labels": {"kueue.x-k8s.io/queue-name": "q"}},
        "spec": {"rayClusterSpec": spec(&[("Small", 2, 1), ("tpu", 3, 4)]), "shutdownAfterJobFinishes": true}});
    for (path, value) in patch.as_object_mut().unwrap() {
        let (parent, key) = path.rsplit_once('/').unwrap();
        all.pointer_mut(parent).unwrap()[key] = value.take();
    }
    serde_json::from_value(all).unwrap()
}

fn shown(pod_sets: &[kueue_api::kueue::v1beta2::PodSet]) -> String {
    let one = |pods: &kueue_api::kueue::v1beta2::PodSet| {
        let containers: Vec<&str> = pods.template.spec.containers.iter().map(|one| one.name.as_str()).collect();
        format!("{} x{} [{}]", pods.name, pods.count, containers.join(" "))
    };
    pod_sets.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[test]
fn every_pod_that_kuberay_makes_is_counted() {
    for (patch, expected) in [
        (json!({}), "head x1 [ray], small x2 [ray], tpu x12 [ray]"),
        (
            json!({"/spec/submissionMode": "K8sJobMode"}),
            "head x1 [ray], small x2 [ray], tpu x12 [ray], submitter x1 [ray-job-submitter]",
        ),
        (
            json!({"/spec/submissionMode": "SidecarMode"}),
            "head x1 [ray ray-job-submitter], small x2 [ray], tpu x12 [ray]",
        ),
        (json!({"/spec/submissionMode": "HTTPMode"}), "head x1 [ray], small x2 [ray], tpu x12 [ray]"),
        (
            json!({"/spec/rayClusterSpec/enableInTreeAutoscaling": true}),
            "head x1 [ray autoscaler], small x2 [ray], tpu x12 [ray]",
        ),
    ] {
        assert_eq!(shown(&job(patch).pod_sets(Gates::default()).unwrap()), expected);
    }
}

#[test]
fn the_job_that_cleans_up_runs_on_the_heads_quota() {
    let head = |patch: Value| {
        let pod_sets = job(patch).pod_sets(Gates::default()).unwrap();
        json!(pod_sets[0].template.spec.containers[0].resources.requests)
    };
    assert_eq!(head(json!({})), json!({}));
    let cleaned_up = json!({"cpu": "200m", "memory": "256Mi"});
    assert_eq!(head(json!({"/spec/rayClusterSpec/gcsFaultToleranceOptions": {}})), cleaned_up);
    assert_eq!(head(json!({"/metadata/annotations": {"ray.io/ft-enabled": "True"}})), cleaned_up);
    let without_head = json!({"/spec/rayClusterSpec/headGroupSpec": {"template": {"spec": {"containers": []}}},
        "/spec/rayClusterSpec/gcsFaultToleranceOptions": {}});
    assert!(job(without_head).pod_sets(Gates::default()).is_err());
}

#[test]
fn restoring_undoes_running_even_for_a_submitter_that_nobody_described() {
    let before = job(json!({"/spec/submissionMode": "K8sJobMode", "/spec/suspend": true}));
    let original: Vec<PodSetInfo> =
        before.pod_sets(Gates::default()).unwrap().iter().map(PodSetInfo::from_pod_set).collect();
    let mut given = original.clone();
    for info in &mut given {
        info.node_selector.insert("pool".to_owned(), "p".to_owned());
    }
    let mut after = before.clone();
    assert!(after.run(&given[..3], Gates::default()).is_err());
    after.run(&given, Gates::default()).unwrap();
    assert!(!after.is_suspended());
    let submitter = after.spec.submitter_pod_template.as_ref().unwrap();
    assert_eq!(submitter.spec.node_selector["pool"], "p");
    assert_eq!(submitter.spec.containers[0].rest["image"], "rayproject/ray:2.46.0");
    assert!(!after.clone().restore(&original[..3]));
    assert!(after.restore(&original));
    after.suspend();
    after.spec.submitter_pod_template = None;
    assert_eq!(after, before);
}

#[test]
fn a_job_is_what_kuberay_says_about_it() {
    for (deployment, status, expected) in [
        ("", "", "waiting"),
        ("Suspended", "", "waiting"),
        ("Initializing", "", "active"),
        ("Running", "RUNNING", "active"),
        ("Complete", "SUCCEEDED", "succeeded"),
        ("Complete", "FAILED", "failed"),
        ("Failed", "RUNNING", "failed"),
        ("ValidationFailed", "", "held"),
    ] {
        let job = job(json!({"/status": {"jobDeploymentStatus": deployment, "jobStatus": status, "message": "why"}}));
        let shown = match (job.is_on_hold(), job.finished()) {
            (Some(true), _) => "held",
            (_, Some(end)) if end.is_success => "succeeded",
            (_, Some(_)) => "failed",
            _ if job.is_active() => "active",
            _ => "waiting",
        };
        assert_eq!(shown, expected, "{deployment} {status}");
    }
}

#[test]
fn an_elastic_job_has_the_size_that_the_autoscaler_of_its_cluster_chose() {
    let elastic = json!({(annotation::ELASTIC_JOB): "true"});
    let autoscaled = "/spec/rayClusterSpec/enableInTreeAutoscaling";
    let cluster = |groups: &[(&str, i32, i32)]| -> RayCluster {
        serde_json::from_value(json!({"metadata": {"name": "c", "generation": 7}, "spec": spec(groups)})).unwrap()
    };
    let sizes = |patch: Value, cluster: Option<&RayCluster>| -> Result<Vec<i32>, String> {
        let job = job(patch);
        let mut pod_sets = job.pod_sets(Gates::default()).unwrap();
        resize(&job, &mut pod_sets, cluster, Gates::default()).map_err(|error| error.to_string())?;
        Ok(pod_sets.iter().map(|pods| pods.count).collect())
    };
    let grown = cluster(&[("Small", 5, 1), ("tpu", 1, 4)]);
    let patch = || json!({"/metadata/annotations": elastic.clone(), autoscaled: true});
    assert_eq!(sizes(patch(), Some(&grown)), Ok(vec![1, 5, 4]));
    assert_eq!(sizes(patch(), None), Ok(vec![1, 2, 12]));
    assert_eq!(sizes(json!({autoscaled: true}), Some(&grown)), Ok(vec![1, 2, 12]));
    let unknown = sizes(patch(), Some(&cluster(&[("other", 1, 1)]))).unwrap_err();
    assert!(unknown.contains("worker group other which is not found in Ray object j"), "{unknown}");

    let mut noted = job(patch());
    noted.metadata.generation = 3;
    assert_eq!(noted.slice_name_extra(), "3");
    noted.metadata.annotations.extend(notes(&noted, Some(&grown), Gates::default()));
    assert_eq!(noted.slice_name_extra(), "3_7");
    assert!(notes(&grown, Some(&grown), Gates::default()).is_empty());
}

#[test]
fn what_cannot_wait_for_quota_is_refused_with_its_field() {
    let many: Vec<(String, i32, i32)> = (0..18).map(|number| (format!("g{number}"), 1, 1)).collect();
    let many: Vec<(&str, i32, i32)> =
        many.iter().map(|(name, replicas, hosts)| (name.as_str(), *replicas, *hosts)).collect();
    for (patch, expected) in [
        (json!({}), ""),
        (json!({"/spec/shutdownAfterJobFinishes": false}), "spec.shutdownAfterJobFinishes"),
        (json!({"/spec/rayClusterSpec": null}), "spec.rayClusterSpec"),
        (json!({"/spec/rayClusterSpec": null, "/spec/clusterSelector": {"ray.io/cluster": "c"}}), ""),
        (json!({"/spec/clusterSelector": {"ray.io/cluster": "c"}}), "spec.clusterSelector"),
        (json!({"/spec/rayClusterSpec/enableInTreeAutoscaling": true}), "spec.rayClusterSpec.enableInTreeAutoscaling"),
        (json!({"/spec/rayClusterSpec": spec(&[("head", 1, 1)])}), "spec.rayClusterSpec.workerGroupSpecs[0].groupName"),
        (json!({"/spec/rayClusterSpec": spec(&many)}), "spec.rayClusterSpec.workerGroupSpecs"),
    ] {
        let job = job(patch);
        let fields = around(Gates::default(), |around| job.validate_create(around));
        let fields: Vec<String> = fields.iter().map(|error| error.field.to_string()).collect();
        assert_eq!(fields.join(" "), expected);
    }
}

#[test]
fn a_job_for_a_cluster_that_is_there_needs_no_quota() {
    assert!(job(json!({})).is_ours(Gates::default()));
    assert!(!job(json!({"/spec/clusterSelector": {"ray.io/cluster": "c"}})).is_ours(Gates::default()));
    assert!(job(json!({"/spec/rayClusterSpec": null})).pod_sets(Gates::default()).is_err());
}

#[test]
fn a_service_keeps_its_quota_until_its_state_is_cleaned_up() {
    let service = |is_deleted: bool| -> RayService {
        let mut spec = spec(&[("w", 1, 1)]);
        spec["gcsFaultToleranceOptions"] = json!({});
        let deleted = if is_deleted { json!("2026-01-01T00:00:00Z") } else { Value::Null };
        serde_json::from_value(json!({"metadata": {"name": "s", "deletionTimestamp": deleted},
            "spec": {"rayClusterConfig": spec}}))
        .unwrap()
    };
    let on = Gates::default();
    let off = on.with(Gate::DeferRayServiceFinalizationForRedisCleanup, false);
    let is_ours = |is_deleted, gates| service(is_deleted).is_ours(gates);
    assert_eq!([is_ours(false, on), is_ours(true, on), is_ours(true, off)], [true, false, true]);
}

#[test]
fn the_pods_of_an_elastic_cluster_are_gated_and_have_to_be() {
    let annotations = json!({(annotation::ELASTIC_JOB): "true"});
    let labels = json!({"kueue.x-k8s.io/queue-name": "q"});
    let meta = json!({"name": "c", "namespace": "ns", "annotations": annotations, "labels": labels});
    let mut cluster: RayCluster =
        serde_json::from_value(json!({"metadata": meta, "spec": spec(&[("w", 1, 1)])})).unwrap();
    assert_eq!(around(Gates::default(), |around| cluster.validate_create(around)).len(), 2);
    around(Gates::default(), |around| cluster.complete(around)).unwrap();
    assert_eq!(around(Gates::default(), |around| cluster.validate_create(around)), []);
    assert!(cluster.is_suspended());
}
