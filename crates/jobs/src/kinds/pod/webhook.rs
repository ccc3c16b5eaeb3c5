//! What is filled in and refused about pods.

use kueue_api::kueue::names::{
    DEFAULT_LOCAL_QUEUE, FINALIZER_POD, SCHEDULING_GATE_ADMISSION, SCHEDULING_GATE_TOPOLOGY, annotation, label,
};
use kueue_api::meta::ObjectMeta;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::name::dns1123_subdomain;

use super::group::total_count;
use super::{Pod, add_gate, group_name};
use crate::webhook::defaulting::{self, has_managed_owner, is_managed_namespace};
use crate::webhook::validation::{annotation_path, label_path, prebuilt_path, unchanged};
use crate::webhook::{Around, Unanswerable, topology, validation};
use crate::workload::{prebuilt_name, queue_name};

const TOTAL: &str = annotation::POD_GROUP_TOTAL_COUNT;

/// Puts a new pod behind our gate, if it is to wait: one that names a queue and belongs to nobody who waits for it, or
/// one whose job lets its pods wait.
pub(super) fn complete(pod: &mut Pod, around: &Around<'_>) -> Result<(), Unanswerable> {
    if !pod.metadata.annotations.contains_key(annotation::POD_SUSPENDING_PARENT) {
        if !is_to_wait(pod, around)? {
            return Ok(());
        }
        let meta = &mut pod.metadata;
        meta.labels.insert(label::MANAGED.to_owned(), label::TRUE.to_owned());
        if !meta.finalizers.iter().any(|finalizer| finalizer == FINALIZER_POD) {
            meta.finalizers.push(FINALIZER_POD.to_owned());
        }
    }
    add_gate(&mut pod.spec, SCHEDULING_GATE_ADMISSION);
    if around.settings.gates.enabled(Gate::TopologyAwareScheduling) {
        let labels = &mut pod.metadata.labels;
        if let Some(key) = pod.metadata.annotations.get(annotation::POD_GROUP_POD_INDEX_LABEL) {
            let index = labels.get(key).cloned().unwrap_or_default();
            labels.insert(label::POD_GROUP_POD_INDEX.to_owned(), index);
        }
        add_gate(&mut pod.spec, SCHEDULING_GATE_TOPOLOGY);
    }
    pod.metadata.annotations.insert(annotation::ROLE_HASH.to_owned(), pod.role());
    Ok(())
}

/// Whether a pod that stands for itself waits for quota; names the queue and the class of those that name none.
fn is_to_wait(pod: &mut Pod, around: &Around<'_>) -> Result<bool, Unanswerable> {
    let meta = &mut pod.metadata;
    if around.namespace.is_none() {
        return Err(Unanswerable::NoNamespace(meta.namespace.clone()));
    }
    if !is_managed_namespace(meta, around)? || around.ancestor.as_ref().map_err(Clone::clone)?.is_some() {
        return Ok(false);
    }
    if queue_name(meta).is_empty() && around.has_default_queue {
        meta.labels.insert(label::QUEUE_NAME.to_owned(), DEFAULT_LOCAL_QUEUE.to_owned());
    }
    defaulting::priority_class(meta, around);
    Ok(!queue_name(meta).is_empty() || around.settings.manages_without_queue)
}

pub(super) fn create(pod: &Pod, around: &Around<'_>) -> Errors {
    let gates = around.settings.gates;
    let mut errors = validation::create(pod, gates);
    errors.extend(common(pod, gates));
    errors
}

pub(super) fn update(new: &Pod, old: &Pod, around: &Around<'_>) -> Errors {
    let gates = around.settings.gates;
    let mut errors = validation::update(new, old, around.has_default_queue, gates);
    errors.extend(common(new, gates));
    let (group, before) = (group_name(&new.metadata, gates), group_name(&old.metadata, gates));
    if group.is_some() && old.is_unretriable() && !new.is_unretriable() {
        let path = annotation_path(annotation::RETRIABLE_IN_GROUP);
        errors.push(Error::forbidden(&path, "unretriable pod group can't be converted to retriable"));
    }
    if let Some(before) = before {
        errors.extend(unchanged(group.unwrap_or_default(), before, &group_path(&new.metadata, gates)));
    }
    errors
}

/// What users are told about a pod that is accepted all the same.
pub(super) fn warnings(pod: &Pod, is_update: bool, around: &Around<'_>) -> Vec<String> {
    let is_made_to_wait = is_update && pod.metadata.annotations.contains_key(annotation::POD_SUSPENDING_PARENT);
    let is_odd = pod.is_managed() && has_managed_owner(&pod.metadata, around) && !is_made_to_wait;
    let (key, value) = (label::MANAGED, label::TRUE);
    let warning = || format!("pod owner is managed by kueue, label '{key}={value}' might lead to unexpected behaviour");
    is_odd.then(warning).into_iter().collect()
}

fn common(pod: &Pod, gates: Gates) -> Errors {
    let meta = &pod.metadata;
    let mut errors = Errors::new();
    if meta.labels.get(label::MANAGED).is_some_and(|value| value != label::TRUE) {
        let detail = format!("managed label value can only be '{}'", label::TRUE);
        errors.push(Error::forbidden(&label_path(label::MANAGED), detail));
    }
    errors.extend(group(meta, gates));
    errors.extend(topology::request(&meta.annotations, &Path::new("metadata"), gates));
    if let (Some(group), Some(prebuilt)) = (group_name(meta, gates), prebuilt_name(meta, gates))
        && group != prebuilt
    {
        let detail = "prebuilt workload and pod group should be equal";
        errors.push(Error::invalid(&prebuilt_path(meta, gates), prebuilt, detail));
    }
    errors
}

/// A group has a name and a number of pods, or neither.
fn group(meta: &ObjectMeta, gates: Gates) -> Errors {
    let total = meta.annotations.get(TOTAL);
    let path = group_path(meta, gates);
    let holder = if is_annotated(meta, gates) { "annotation" } else { "label" };
    let both = || format!("both the '{TOTAL}' annotation and the '{}' {holder} should be set", label::POD_GROUP_NAME);
    let mut errors = Errors::new();
    match (group_name(meta, gates), total) {
        (None, None) => return errors,
        (None, Some(_)) => return vec![Error::required(&path, both())],
        (Some(name), _) => {
            let problems = dns1123_subdomain(name);
            if !problems.is_empty() {
                errors.push(Error::invalid(&path, name, problems.join(",")));
            }
        }
    }
    match total {
        None => errors.push(Error::required(&annotation_path(TOTAL), both())),
        Some(text) => {
            if let Err(error) = total_count(meta) {
                errors.push(Error::invalid(&annotation_path(TOTAL), text.as_str(), error.to_string()));
            }
        }
    }
    errors
}

fn is_annotated(meta: &ObjectMeta, gates: Gates) -> bool {
    gates.enabled(Gate::WorkloadIdentifierAnnotations)
        && meta.annotations.get(annotation::POD_GROUP_NAME).is_some_and(|name| !name.is_empty())
}

fn group_path(meta: &ObjectMeta, gates: Gates) -> Path {
    match is_annotated(meta, gates) {
        true => annotation_path(annotation::POD_GROUP_NAME),
        false => label_path(label::POD_GROUP_NAME),
    }
}

#[cfg(test)]
mod tests {
    use kueue_api::meta::OwnerReference;
    use serde_json::{Value, json};

    use super::*;
    use crate::ancestor::Ancestor;
    use crate::webhook::tests::around;

    fn pod(meta: &Value) -> Pod {
        let mut pod = json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c"}]}});
        for (key, value) in meta.as_object().unwrap() {
            pod["metadata"][key] = value.clone();
        }
        serde_json::from_value(pod).unwrap()
    }

    fn completed(meta: &Value, change: impl FnOnce(&mut Around<'_>)) -> Pod {
        let mut pod = pod(meta);
        around(Gates::default(), |given| {
            let mut given = Around { namespace: given.namespace.clone(), ancestor: Ok(None), ..*given };
            change(&mut given);
            complete(&mut pod, &given).unwrap();
        });
        pod
    }

    #[test]
    fn a_pod_with_a_queue_waits_behind_our_gate() {
        let pod = completed(&json!({"labels": {label::QUEUE_NAME: "q"}}), |_| {});
        assert!(pod.is_managed() && pod.is_gated() && pod.has_finalizer());
        assert!(pod.metadata.annotations.contains_key(annotation::ROLE_HASH));
        assert!(!completed(&json!({}), |_| {}).is_gated());
        assert!(completed(&json!({}), |around| around.has_default_queue = true).is_gated());
    }

    #[test]
    fn a_pod_of_a_job_that_waits_is_left_alone() {
        let ancestor = Ancestor { owner: OwnerReference::default(), metadata: ObjectMeta::default() };
        let queued = json!({"labels": {label::QUEUE_NAME: "q"}});
        assert!(!completed(&queued, |around| around.ancestor = Ok(Some(ancestor))).is_gated());
    }

    #[test]
    fn pods_that_wait_for_their_job_have_no_finalizer() {
        let held = json!({"annotations": {annotation::POD_SUSPENDING_PARENT: "deployment",
            annotation::POD_GROUP_POD_INDEX_LABEL: "i"}, "labels": {"i": "3"}});
        let pod = completed(&held, |_| {});
        assert!(pod.is_gated() && !pod.has_finalizer() && !pod.is_managed());
        assert_eq!(pod.metadata.labels.get(label::POD_GROUP_POD_INDEX).map(String::as_str), Some("3"));
    }

    fn check(meta: &Value, expected: &str) {
        let errors = around(Gates::default(), |around| create(&pod(meta), around));
        let shown: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(shown.join("; "), expected);
    }

    #[test]
    fn a_group_needs_a_name_and_a_number() {
        let group = json!({"annotations": {annotation::POD_GROUP_NAME: "g", TOTAL: "2"}});
        check(&group, "");
        check(
            &json!({"annotations": {TOTAL: "2"}}),
            "metadata.labels[kueue.x-k8s.io/pod-group-name]: Required value: both the 'kueue.x-k8s.io/pod-group-total-count' annotation and the 'kueue.x-k8s.io/pod-group-name' label should be set",
        );
        check(
            &json!({"annotations": {annotation::POD_GROUP_NAME: "g", TOTAL: "0"}}),
            "metadata.annotations[kueue.x-k8s.io/pod-group-total-count]: Invalid value: \"0\": incorrect annotation value 'kueue.x-k8s.io/pod-group-total-count=0': group total count should be greater than zero",
        );
        check(
            &json!({"labels": {label::MANAGED: "yes"}}),
            "metadata.labels[kueue.x-k8s.io/managed]: Forbidden: managed label value can only be 'true'",
        );
        let other = json!({"annotations": {annotation::POD_GROUP_NAME: "g", TOTAL: "2",
            annotation::PREBUILT_WORKLOAD_NAME: "other"}});
        check(
            &other,
            "metadata.annotations[kueue.x-k8s.io/prebuilt-workload-name]: Invalid value: \"other\": prebuilt workload and pod group should be equal",
        );
    }

    #[test]
    fn a_pod_stays_in_its_group_and_does_not_become_retriable() {
        let meta = |name: &str, retriable: &str| {
            pod(&json!({"annotations": {annotation::POD_GROUP_NAME: name, TOTAL: "2",
                annotation::RETRIABLE_IN_GROUP: retriable}}))
        };
        let fields = |new: &Pod, old: &Pod| -> Vec<String> {
            let errors = around(Gates::default(), |around| update(new, old, around));
            errors.iter().map(|error| error.field.to_string()).collect()
        };
        let (group, retriable) = ("pod-group-name", "retriable-in-group");
        let at = |key: &str| format!("metadata.annotations[kueue.x-k8s.io/{key}]");
        assert_eq!(fields(&meta("g", "true"), &meta("g", "false")), [at(retriable)]);
        assert_eq!(fields(&meta("h", ""), &meta("g", "")), [at(group)]);
        assert!(fields(&meta("g", "false"), &meta("g", "true")).is_empty());
    }

    #[test]
    fn a_managed_label_beside_a_managed_owner_is_warned_of() {
        let owned = json!({"labels": {label::MANAGED: "true"}, "ownerReferences": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": true}]});
        let count = |pod: &Pod| around(Gates::default(), |around| warnings(pod, true, around).len());
        assert_eq!(count(&pod(&owned)), 1);
        let mut held = pod(&owned);
        held.metadata.annotations.insert(annotation::POD_SUSPENDING_PARENT.to_owned(), "statefulset".to_owned());
        assert_eq!(count(&held), 0);
    }
}
