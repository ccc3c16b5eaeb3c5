//! The pods of a Job: how one is made, and what it says about itself.

use serde_json::{Map, Value, json};

use crate::kinds::{Job, Pod, owned_by};

pub(super) const FINALIZER: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const INDEX_FAILURES: &str = "batch.kubernetes.io/job-index-failure-count";
/// How much of a name is left when the server adds its suffix.
const PREFIX_MAX: usize = 58;

/// A pod to be made.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Wanted {
    pub(super) index: Option<i32>,
    /// How often this index failed before, where that is counted.
    pub(super) failures: Option<i32>,
}

impl Pod {
    pub(super) fn is_tracked(&self) -> bool {
        self.metadata.finalizers.iter().any(|finalizer| finalizer == FINALIZER)
    }

    pub(super) fn index(&self) -> Option<i32> {
        self.metadata.annotations.get(INDEX)?.parse().ok()
    }

    pub(super) fn index_failures(&self) -> i32 {
        self.metadata.annotations.get(INDEX_FAILURES).and_then(|text| text.parse().ok()).unwrap_or(0)
    }
}

pub(super) fn pod(job: &Job, wanted: Wanted) -> Pod {
    let empty = Value::Object(Map::new());
    let template = job.spec.template.get("metadata").unwrap_or(&empty);
    let name = &job.metadata.name;
    let mut prefix = wanted.index.map_or_else(|| format!("{name}-"), |index| format!("{name}-{index}-"));
    prefix.truncate(PREFIX_MAX);
    let mut pod = json!({
        "metadata": {
            "generateName": prefix,
            "namespace": job.metadata.namespace,
            "labels": template.get("labels").unwrap_or(&empty),
            "annotations": template.get("annotations").unwrap_or(&empty),
            "finalizers": [FINALIZER],
            "ownerReferences": [owned_by(job)],
        },
        "spec": job.spec.template.get("spec").unwrap_or(&empty),
    });
    if let Some(index) = wanted.index {
        number(&mut pod, name, index);
    }
    if let Some(failures) = wanted.failures {
        pod["metadata"]["annotations"][INDEX_FAILURES] = json!(failures.to_string());
    }
    // The template has passed the server's checks, so it is a pod.
    serde_json::from_value(pod).unwrap_or_default()
}

fn number(pod: &mut Value, job: &str, index: i32) {
    for map in ["labels", "annotations"] {
        pod["metadata"][map][INDEX] = json!(index.to_string());
    }
    if pod["spec"]["hostname"].is_null() {
        pod["spec"]["hostname"] = json!(format!("{job}-{index}"));
    }
    let name = "JOB_COMPLETION_INDEX";
    let own = json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": format!("metadata.labels['{INDEX}']")}}});
    for list in ["initContainers", "containers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            if container["env"].is_null() {
                container["env"] = json!([]);
            }
            let Some(env) = container["env"].as_array_mut() else { continue };
            if !env.iter().any(|variable| variable["name"] == name) {
                env.push(own.clone());
            }
        }
    }
}
