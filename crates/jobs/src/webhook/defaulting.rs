//! What is filled in where a job does not say it.

use kueue_api::kueue::names::{CONTROLLER_MULTIKUEUE, DEFAULT_LOCAL_QUEUE, DEFAULT_WORKLOAD_PRIORITY_CLASS, label};
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::Gate;

use super::{Around, Unanswerable};
use crate::job::Job;
use crate::workload::{priority_class_name, queue_name};

/// Names the queue of those that name none, where there is one.
pub fn queue(meta: &mut ObjectMeta, around: &Around<'_>) -> Result<(), Unanswerable> {
    let applies = around.has_default_queue && queue_name(meta).is_empty() && !has_managed_owner(meta, around);
    if applies && is_managed_namespace(meta, around)? {
        meta.labels.insert(label::QUEUE_NAME.to_owned(), DEFAULT_LOCAL_QUEUE.to_owned());
    }
    Ok(())
}

/// Names the WorkloadPriorityClass of those that name none, if there is one.
pub fn priority_class(meta: &mut ObjectMeta, around: &Around<'_>) {
    let applies = around.settings.gates.enabled(Gate::WorkloadPriorityClassDefaulting)
        && around.has_default_priority_class
        && priority_class_name(meta).is_empty()
        && !has_managed_owner(meta, around);
    if applies {
        meta.labels.insert(label::PRIORITY_CLASS.to_owned(), DEFAULT_WORKLOAD_PRIORITY_CLASS.to_owned());
    }
}

/// Whether an object has to wait from the start. What is being deleted is let through: its owners may be gone already.
pub fn should_suspend(meta: &ObjectMeta, around: &Around<'_>) -> Result<bool, Unanswerable> {
    let is_let_through = around.settings.gates.enabled(Gate::SkipAncestorCheckForDeletedWorkloads);
    if is_let_through && meta.deletion_timestamp.is_some() {
        return Ok(false);
    }
    is_managed(meta, around)
}

/// Whether the object waits for quota by itself: it belongs to nobody that does, and names a queue or needs none.
pub fn is_managed(meta: &ObjectMeta, around: &Around<'_>) -> Result<bool, Unanswerable> {
    if around.ancestor.as_ref().map_err(Clone::clone)?.is_some() {
        return Ok(false);
    }
    if !queue_name(meta).is_empty() {
        return Ok(true);
    }
    Ok(around.settings.manages_without_queue && is_managed_namespace(meta, around)?)
}

/// Lets nobody here run a job that is sent to another cluster.
pub fn managed_by<J: Job>(job: &mut J, around: &Around<'_>) {
    let Some(native) = J::NATIVE_MANAGER.filter(|_| around.settings.gates.enabled(Gate::MultiKueue)) else { return };
    let is_free = job.managed_by().is_none_or(|manager| manager == native);
    let Some(queue) = job.metadata().labels.get(label::QUEUE_NAME) else { return };
    if is_free && (around.is_dispatched)(queue) {
        job.set_managed_by(CONTROLLER_MULTIKUEUE);
    }
}

/// Whether who controls the object is of a kind that is managed.
pub fn has_managed_owner(meta: &ObjectMeta, around: &Around<'_>) -> bool {
    let controller = meta.owner_references.iter().find(|owner| owner.controller == Some(true));
    controller.is_some_and(|owner| around.settings.integrations.manages(owner))
}

/// Whether objects of the namespace are any business of ours.
pub fn is_managed_namespace(meta: &ObjectMeta, around: &Around<'_>) -> Result<bool, Unanswerable> {
    let Some(selector) = &around.settings.namespaces else { return Ok(true) };
    let labels = around.namespace.as_ref().ok_or_else(|| Unanswerable::NoNamespace(meta.namespace.clone()))?;
    Ok(selector.matches(labels))
}
