//! What is sent to make a Workload's status what was decided: server-side apply, field manager by field manager.

use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::{Workload, WorkloadStatus};
use kueue_api::meta::{Condition, Object as _};
use serde_json::{Map, Value, json};

/// The conditions that belong to `kueue-admission`, in the order in which they are written.
const ADMISSION_CONDITIONS: [&str; 9] = [
    condition::QUOTA_RESERVED,
    condition::BLOCKED_ON_PREEMPTION_GATES,
    condition::EVICTED,
    condition::ADMITTED,
    condition::PREEMPTED,
    condition::REQUEUED,
    condition::DEACTIVATION_TARGET,
    condition::FINISHED,
    condition::PODS_READY,
];

/// What names the object, and the version that the decision was based on.
fn base(object: &Workload) -> Map<String, Value> {
    let meta = &object.metadata;
    let mut metadata = json!({"name": meta.name, "namespace": meta.namespace, "uid": meta.uid});
    if !meta.resource_version.is_empty() {
        metadata["resourceVersion"] = json!(meta.resource_version);
    }
    if meta.generation != 0 {
        metadata["generation"] = json!(meta.generation);
    }
    for (key, values) in [("labels", &meta.labels), ("annotations", &meta.annotations)] {
        if !values.is_empty() {
            metadata[key] = json!(values);
        }
    }
    let named = json!({"apiVersion": Workload::api_version(), "kind": Workload::KIND, "metadata": metadata});
    let Value::Object(named) = named else { unreachable!("an object was written") };
    named
}

fn with_status(object: &Workload, status: &Value) -> Value {
    let mut patch = base(object);
    patch.insert("status".to_owned(), status.clone());
    patch.into()
}

/// All that the manager `kueue-admission` has to say about the object, whose status is what it is to be.
pub fn admission_patch(object: &Workload) -> Value {
    let status = &object.status;
    let find = |kind: &&str| status.conditions.iter().find(|condition| condition.r#type == **kind).cloned();
    let said = WorkloadStatus {
        conditions: ADMISSION_CONDITIONS.iter().filter_map(find).collect(),
        requeue_state: status.requeue_state.clone().filter(|state| state.count.is_some() || state.requeue_at.is_some()),
        reclaimable_pods: Vec::new(),
        ..status.clone()
    };
    let mut said = json!(said);
    if status.admission.is_some() {
        // What the assignment says takes its place; the empty list takes it away from whoever wrote it.
        said["resourceRequests"] = json!([]);
    }
    with_status(object, &said)
}

/// One condition, said by a manager of its own.
pub fn condition_patch(object: &Workload, condition: &Condition) -> Value {
    with_status(object, &json!({"conditions": [condition]}))
}

/// The pods that are done, said by a manager of their own.
pub fn reclaimable_patch(object: &Workload) -> Value {
    with_status(object, &json!({"reclaimablePods": object.status.reclaimable_pods}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(status: &Value) -> Workload {
        let metadata = json!({"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}});
        serde_json::from_value(json!({"metadata": metadata, "spec": {}, "status": status})).unwrap()
    }

    #[test]
    fn admission_says_what_is_its_own_and_names_the_version() {
        let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "R", "message": ""});
        let patch = admission_patch(&workload(&json!({
            "conditions": [condition("Admitted"), condition("Custom"), condition("QuotaReserved")],
            "requeueState": {},
            "reclaimablePods": [{"name": "main", "count": 1}],
            "resourceRequests": [{"name": "main"}],
            "admission": {"clusterQueue": "q", "podSetAssignments": []},
        })));
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        let kinds: Vec<&Value> =
            patch["status"]["conditions"].as_array().unwrap().iter().map(|condition| &condition["type"]).collect();
        assert_eq!(kinds, ["QuotaReserved", "Admitted"]);
        assert_eq!(patch["status"]["resourceRequests"], json!([]));
        assert_eq!(
            (&patch["status"]["requeueState"], &patch["status"]["reclaimablePods"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(patch["status"]["admission"]["clusterQueue"], "q");
    }

    #[test]
    fn without_an_admission_the_requests_are_kept() {
        let patch =
            admission_patch(&workload(&json!({"resourceRequests": [{"name": "main", "resources": {"cpu": "1"}}]})));
        assert_eq!(patch["status"], json!({"resourceRequests": [{"name": "main", "resources": {"cpu": "1"}}]}));
    }
}
