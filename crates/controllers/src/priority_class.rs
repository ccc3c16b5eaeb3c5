//! Workloads follow the value of their WorkloadPriorityClass.

use std::sync::Arc;

use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_api::kueue::v1beta2::{PriorityClassGroup, PriorityClassKind, Workload, WorkloadPriorityClass};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::informer::{Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};

/// Lets priorities follow their class.
#[derive(Debug)]
pub struct PriorityClasses {
    pub client: Client,
    pub classes: Arc<Store<WorkloadPriorityClass>>,
    pub workloads: Arc<Store<Workload>>,
    /// Finds Workloads by [`class_values`].
    pub by_class: Index,
}

/// By what Workloads are found: the name of their WorkloadPriorityClass.
pub fn class_values(workload: &Workload) -> Vec<String> {
    let class = workload.spec.priority_class_ref.iter();
    let class = class.filter(|class| {
        class.group == PriorityClassGroup::Workload && class.kind == PriorityClassKind::WorkloadPriorityClass
    });
    class.map(|class| class.name.clone()).collect()
}

/// Whether a change of a class concerns anybody: its value is new.
pub fn has_new_value(old: Option<&WorkloadPriorityClass>, new: Option<&WorkloadPriorityClass>) -> bool {
    new.is_some_and(|new| old.is_none_or(|old| old.value != new.value))
}

/// The Workload as it follows the class.
pub fn ranked(workload: &Workload, class: &WorkloadPriorityClass) -> Workload {
    let mut ranked = workload.clone();
    ranked.spec.priority = Some(class.value);
    ranked
}

impl Reconciler<Key> for PriorityClasses {
    fn name(&self) -> &'static str {
        "workloadpriorityclass_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(class) = self.classes.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        for (workload_key, stored) in self.workloads.find(self.by_class, &key.name) {
            let ranked = ranked(&stored.object, &class);
            if let Some(patch) = Patch::between(&*stored.object, &ranked, FIELD_MANAGER_KUEUE) {
                let written = self.client.patch::<Workload>(&workload_key, &patch).await;
                written.map(drop).or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })?;
            }
        }
        Ok(Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn workloads_are_found_by_a_class_of_ours_alone() {
        let workload = |group: &str, kind: &str| -> Workload {
            let class = json!({"group": group, "kind": kind, "name": "c"});
            serde_json::from_value(json!({"spec": {"priorityClassRef": class, "podSets": []}})).unwrap()
        };
        assert_eq!(class_values(&workload("kueue.x-k8s.io", "WorkloadPriorityClass")), ["c"]);
        assert!(class_values(&workload("other.io", "WorkloadPriorityClass")).is_empty());
        assert!(class_values(&workload("scheduling.k8s.io", "PriorityClass")).is_empty());
    }

    #[test]
    fn only_a_new_value_concerns_anybody() {
        let class = |value: i32| WorkloadPriorityClass { value, ..WorkloadPriorityClass::default() };
        assert!(has_new_value(None, Some(&class(1))) && has_new_value(Some(&class(1)), Some(&class(2))));
        assert!(!has_new_value(Some(&class(1)), Some(&class(1))) && !has_new_value(Some(&class(1)), None));
    }
}
