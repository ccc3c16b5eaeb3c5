//! What is refused about labels and annotations of any job.

use kueue_api::kueue::names::{annotation, label};
use kueue_api::meta::{Object, ObjectMeta};
use kueue_api::slices::is_elastic;
use kueue_api::validation::admission_gates;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::name::dns1123_subdomain;
use serde_json::Value;

use crate::job::Job;
use crate::workload::{is_annotation_prebuilt, prebuilt_name, priority_class_name, queue_name};

/// What the API server says about a field that may not change.
pub const IMMUTABLE: &str = "field is immutable";

pub fn label_path(key: &str) -> Path {
    Path::new("metadata").child("labels").key(key)
}

pub fn annotation_path(key: &str) -> Path {
    Path::new("metadata").child("annotations").key(key)
}

/// Every mistake in what all new jobs may say.
pub fn create<J: Job>(job: &J, gates: Gates) -> Errors {
    let meta = job.metadata();
    let mut errors = queue(meta);
    errors.extend(prebuilt::<J>(meta, gates));
    errors.extend(max_execution_time(meta));
    errors.extend(elastic::<J>(meta, gates));
    if gates.enabled(Gate::AdmissionGatedBy) {
        errors.extend(admission_gates::validate(&meta.annotations));
    }
    errors
}

/// Every mistake in changing what all jobs may say.
pub fn update<J: Job>(new: &J, old: &J, has_default_queue: bool, gates: Gates) -> Errors {
    let mut errors = queue_change(new, old, has_default_queue);
    errors.extend(prebuilt_change(new, old, gates));
    let (meta, before) = (new.metadata(), old.metadata());
    if !new.is_suspended() || !old.is_suspended() {
        let value = |meta: &ObjectMeta| meta.labels.get(label::MAX_EXEC_TIME_SECONDS).cloned().unwrap_or_default();
        errors.extend(unchanged(value(meta), &value(before), &label_path(label::MAX_EXEC_TIME_SECONDS)));
    }
    errors.extend(priority_class_change(meta, before, new.is_suspended()));
    let (is_now, was) = (is_elastic(meta, gates), is_elastic(before, gates));
    if is_now != was {
        errors.push(Error::invalid(&annotation_path(annotation::ELASTIC_JOB), is_now, IMMUTABLE));
    }
    if gates.enabled(Gate::AdmissionGatedBy) {
        errors.extend(admission_gates::validate_change(&meta.annotations, &before.annotations));
        errors.extend(admission_gates::validate(&meta.annotations));
    }
    errors
}

/// A queue is an object, so its name is one.
pub fn queue(meta: &ObjectMeta) -> Errors {
    name_in_label(meta, label::QUEUE_NAME)
}

fn name_in_label(meta: &ObjectMeta, key: &str) -> Errors {
    object_name(meta.labels.get(key), &label_path(key))
}

fn object_name(value: Option<&String>, at: &Path) -> Errors {
    let Some(value) = value else { return Errors::new() };
    let problems = dns1123_subdomain(value);
    if problems.is_empty() {
        return Errors::new();
    }
    vec![Error::invalid(at, value.as_str(), problems.join(","))]
}

/// The field may not change.
pub fn unchanged(new: impl Into<Value>, old: &str, at: &Path) -> Option<Error> {
    let new = new.into();
    (new != *old).then(|| Error::invalid(at, new, IMMUTABLE))
}

/// A job stays in its queue while it runs, and does not leave it for none where there is one for all.
fn queue_change<J: Job>(new: &J, old: &J, has_default_queue: bool) -> Errors {
    let (now, before) = (queue_name(new.metadata()), queue_name(old.metadata()));
    let path = label_path(label::QUEUE_NAME);
    let mut errors = Errors::new();
    if !new.is_suspended() {
        errors.extend(unchanged(now, before, &path));
    }
    if now.is_empty() && !before.is_empty() && has_default_queue {
        errors.push(Error::invalid(&path, "", "queue-name must not be empty in namespace with default queue"));
    }
    errors
}

/// The name of a Workload that was made beforehand, wherever it stands.
pub fn prebuilt_workload_name(meta: &ObjectMeta, gates: Gates) -> Errors {
    match is_annotation_prebuilt(meta, gates) {
        true => object_name(
            meta.annotations.get(annotation::PREBUILT_WORKLOAD_NAME),
            &annotation_path(annotation::PREBUILT_WORKLOAD_NAME),
        ),
        false => name_in_label(meta, label::PREBUILT_WORKLOAD_NAME),
    }
}

pub fn prebuilt_path(meta: &ObjectMeta, gates: Gates) -> Path {
    match is_annotation_prebuilt(meta, gates) {
        true => annotation_path(annotation::PREBUILT_WORKLOAD_NAME),
        false => label_path(label::PREBUILT_WORKLOAD_NAME),
    }
}

fn prebuilt<J: Job>(meta: &ObjectMeta, gates: Gates) -> Errors {
    let mut errors = prebuilt_workload_name(meta, gates);
    if !J::TAKES_PREBUILT && prebuilt_name(meta, gates).is_some() {
        let detail = format!("Is not supported for {:?}", group_version_kind::<J>());
        errors.push(Error::forbidden(&prebuilt_path(meta, gates), detail));
    }
    errors
}

fn prebuilt_change<J: Job>(new: &J, old: &J, gates: Gates) -> Errors {
    let (meta, before) = (new.metadata(), old.metadata());
    if new.is_suspended() || is_elastic(before, gates) {
        return prebuilt::<J>(meta, gates);
    }
    let name = |meta| prebuilt_name(meta, gates).unwrap_or_default();
    unchanged(name(meta), name(before), &prebuilt_path(meta, gates)).into_iter().collect()
}

/// As Go prints it.
pub fn group_version_kind<J: Object>() -> String {
    format!("{}, Kind={}", J::api_version(), J::KIND)
}

fn max_execution_time(meta: &ObjectMeta) -> Option<Error> {
    let text = meta.labels.get(label::MAX_EXEC_TIME_SECONDS)?;
    let path = label_path(label::MAX_EXEC_TIME_SECONDS);
    match text.parse::<i64>() {
        Err(error) => Some(Error::invalid(&path, text.as_str(), not_an_integer(text, &error))),
        Ok(seconds) if seconds <= 0 => Some(Error::invalid(&path, seconds, "should be greater than 0")),
        Ok(_) => None,
    }
}

/// What Go says about a text that is no integer.
pub fn not_an_integer(text: &str, error: &std::num::ParseIntError) -> String {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let reason = match error.kind() {
        PosOverflow | NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.Atoi: parsing {text:?}: {reason}")
}

fn elastic<J: Job>(meta: &ObjectMeta, gates: Gates) -> Option<Error> {
    if J::MAY_BE_ELASTIC { None } else { not_elastic::<J>(meta, gates) }
}

/// Objects of the kind cannot follow their size by slices.
pub fn not_elastic<J: Object>(meta: &ObjectMeta, gates: Gates) -> Option<Error> {
    let is_wrong = is_elastic(meta, gates);
    let detail = || format!("elastic job is not supported for {:?}", group_version_kind::<J>());
    is_wrong.then(|| Error::forbidden(&annotation_path(annotation::ELASTIC_JOB), detail()))
}

/// A class may be exchanged. It cannot be added to what runs, nor be taken away.
pub fn priority_class_change(new: &ObjectMeta, old: &ObjectMeta, is_suspended: bool) -> Option<Error> {
    let (now, before) = (priority_class_name(new), priority_class_name(old));
    let detail = match (before.is_empty(), now.is_empty()) {
        (true, false) if !is_suspended => "WorkloadPriorityClass cannot be added to a non-suspended workload",
        (false, true) => "WorkloadPriorityClass cannot be removed from a workload",
        _ => return None,
    };
    Some(Error::invalid(&label_path(label::PRIORITY_CLASS), now, detail))
}
