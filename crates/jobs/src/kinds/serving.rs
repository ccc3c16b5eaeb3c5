//! Jobs that run until somebody ends them, and whose pods wait instead of them: what their webhooks have in common.

use kueue_api::kueue::names::label;
use kueue_api::meta::{Object, ObjectMeta};
use kueue_api::validation::admission_gates;
use kueue_core::field::Errors;
use kueue_core::gates::{Gate, Gates};

use crate::webhook::validation::{label_path, not_elastic, priority_class_change, queue, unchanged};
use crate::workload::queue_name;

/// Every mistake in what a new one may say.
pub fn validate_create<T: Object>(meta: &ObjectMeta, gates: Gates) -> Errors {
    let mut errors = queue(meta);
    errors.extend(not_elastic::<T>(meta, gates));
    if gates.enabled(Gate::AdmissionGatedBy) {
        errors.extend(admission_gates::validate(&meta.annotations));
    }
    errors
}

/// Every mistake in changing that. While none of its pods is ready it may go to another queue, but never to none: its
/// pods would run unseen.
pub fn validate_update<T: Object>(new: &ObjectMeta, old: &ObjectMeta, is_suspended: bool, gates: Gates) -> Errors {
    let mut errors = queue(new);
    errors.extend(not_elastic::<T>(new, gates));
    if !is_suspended || queue_name(new).is_empty() {
        errors.extend(unchanged(queue_name(new), queue_name(old), &label_path(label::QUEUE_NAME)));
    }
    errors.extend(priority_class_change(new, old, is_suspended));
    if gates.enabled(Gate::AdmissionGatedBy) {
        errors.extend(admission_gates::validate_change(&new.annotations, &old.annotations));
        errors.extend(admission_gates::validate(&new.annotations));
    }
    errors
}
