//! `apps/v1` Deployment. Each of its pods waits for itself; nobody has to look at the Deployment.

use kueue_api::core_v1::PodTemplateSpec;
use kueue_api::kueue::names::{annotation, label};
use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use kueue_core::field::Errors;
use kueue_core::gates::Gates;

use super::serving;
use crate::webhook::{Around, Unanswerable, defaulting};
use crate::workload::{priority_class_name, queue_name};

/// Its name in the configuration's list of integrations, and to its pods.
pub const FRAMEWORK: &str = "deployment";

const GROUP: &str = "apps";
const VERSION: &str = "v1";

object! {
    /// Pods that are all alike and run until they are scaled down.
    pub struct Deployment in GROUP/VERSION/"deployments", namespaced: true {
        pub spec: DeploymentSpec,
        pub status?: DeploymentStatus,
    }
}

wire_struct! {
    pub struct DeploymentSpec {
        pub template: PodTemplateSpec,
        pub ..rest,
    }
}

wire_struct! {
    pub struct DeploymentStatus {
        pub ready_replicas?: i32,
        pub ..rest,
    }
}

impl Deployment {
    /// Lets its pods wait, and tells them their queue. Also what is updated is completed: the template may be new.
    pub fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        defaulting::queue(&mut self.metadata, around)?;
        defaulting::priority_class(&mut self.metadata, around);
        if !defaulting::should_suspend(&self.metadata, around)? {
            return Ok(());
        }
        let pods = &mut self.spec.template.metadata;
        pods.annotations.insert(annotation::POD_SUSPENDING_PARENT.to_owned(), FRAMEWORK.to_owned());
        pods.labels.insert(label::MANAGED.to_owned(), label::TRUE.to_owned());
        let told = [
            (label::QUEUE_NAME, queue_name(&self.metadata)),
            (label::PRIORITY_CLASS, priority_class_name(&self.metadata)),
        ];
        for (key, value) in told.into_iter().filter(|(_, value)| !value.is_empty()) {
            pods.labels.insert(key.to_owned(), value.to_owned());
        }
        Ok(())
    }

    pub fn validate_create(&self, gates: Gates) -> Errors {
        serving::validate_create::<Self>(&self.metadata, gates)
    }

    pub fn validate_update(&self, old: &Self, gates: Gates) -> Errors {
        serving::validate_update::<Self>(&self.metadata, &old.metadata, old.status.ready_replicas == 0, gates)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::webhook::tests::around;

    fn deployment(labels: &Value, ready: i32) -> Deployment {
        let deployment = json!({"metadata": {"name": "d", "namespace": "ns", "labels": labels},
            "spec": {"replicas": 3, "template": {"metadata": {"labels": {"app": "d"}}, "spec": {}}},
            "status": {"readyReplicas": ready}});
        serde_json::from_value(deployment).unwrap()
    }

    #[test]
    fn pods_of_a_deployment_with_a_queue_wait_in_it() {
        let mut queued = deployment(&json!({label::QUEUE_NAME: "q", label::PRIORITY_CLASS: "high"}), 0);
        around(Gates::default(), |around| queued.complete(around)).unwrap();
        let pods = json!({"annotations": {"kueue.x-k8s.io/pod-suspending-parent": "deployment"},
            "labels": {"app": "d", label::MANAGED: "true", label::QUEUE_NAME: "q", label::PRIORITY_CLASS: "high"}});
        assert_eq!(json!(queued.spec.template.metadata), pods);
        assert_eq!(queued.spec.rest["replicas"], 3);
        let mut free = deployment(&json!({}), 0);
        around(Gates::default(), |around| free.complete(around)).unwrap();
        assert_eq!(json!(free.spec.template.metadata), json!({"labels": {"app": "d"}}));
    }

    #[test]
    fn a_deployment_stays_in_its_queue_while_pods_are_ready_and_never_leaves_it_for_none() {
        let fields = |new: &Value, old: &Value, ready: i32| -> Vec<String> {
            let errors = deployment(new, ready).validate_update(&deployment(old, ready), Gates::default());
            errors.iter().map(|error| error.field.to_string()).collect()
        };
        let at = format!("metadata.labels[{}]", label::QUEUE_NAME);
        let (one, other) = (json!({label::QUEUE_NAME: "a"}), json!({label::QUEUE_NAME: "b"}));
        assert!(fields(&other, &one, 0).is_empty());
        assert_eq!(fields(&other, &one, 1), [at.as_str()]);
        assert_eq!(fields(&json!({}), &one, 0), [at.as_str()]);
        assert!(fields(&one, &json!({}), 0).is_empty());
    }

    #[test]
    fn a_queue_needs_a_name_that_can_be_one() {
        assert_eq!(deployment(&json!({label::QUEUE_NAME: "Not A Name"}), 0).validate_create(Gates::default()).len(), 1);
    }
}
