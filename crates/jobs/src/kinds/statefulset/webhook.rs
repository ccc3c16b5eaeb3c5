//! What is filled in and refused about StatefulSets.

use kueue_api::kueue::names::{annotation, condition, reason};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::ConditionStatus;
use kueue_core::field::{Error, Errors, Path};
use serde_json::json;

use super::{FRAMEWORK, StatefulSet};
use crate::kinds::serving;
use crate::pod_shape::immutable_shape;
use crate::webhook::validation::IMMUTABLE;
use crate::webhook::{Around, Unanswerable, defaulting};

impl StatefulSet {
    /// Lets its pods wait. Also what is updated is completed: the template may be new.
    pub fn complete(&mut self, around: &Around<'_>) -> Result<(), Unanswerable> {
        if self.is_managed_elsewhere() {
            return Ok(());
        }
        defaulting::queue(&mut self.metadata, around)?;
        defaulting::priority_class(&mut self.metadata, around);
        if defaulting::should_suspend(&self.metadata, around)? {
            let annotations = &mut self.spec.template.metadata.annotations;
            annotations.insert(annotation::POD_SUSPENDING_PARENT.to_owned(), FRAMEWORK.to_owned());
        }
        Ok(())
    }

    pub fn validate_create(&self, around: &Around<'_>) -> Errors {
        if self.is_managed_elsewhere() {
            return Errors::new();
        }
        serving::validate_create::<Self>(&self.metadata, around.settings.gates)
    }

    /// What is refused about a change: a group of pods is admitted as a whole, so it may end and begin, but neither grow
    /// nor change what it needs.
    pub fn validate_update(&self, old: &Self, around: &Around<'_>) -> Result<Errors, Unanswerable> {
        if self.is_managed_elsewhere() {
            return Ok(Errors::new());
        }
        let is_suspended = old.status.ready_replicas == 0;
        let mut errors =
            serving::validate_update::<Self>(&self.metadata, &old.metadata, is_suspended, around.settings.gates);
        if !defaulting::should_suspend(&self.metadata, around)? {
            return Ok(errors);
        }
        let spec = Path::new("spec");
        let template = spec.child("template").child("spec");
        errors.extend(immutable_shape(&self.spec.template.spec, &old.spec.template.spec, &template));
        let at = spec.child("replicas");
        let workload = || self.find_workload(around.settings.gates, around.workload);
        match (old.replicas(), self.replicas()) {
            (0, 1..) if self.status.replicas > 0 => {
                errors.push(Error::forbidden(&at, "scaling down is still in progress"));
            }
            (0, 1..) if workload().is_some_and(|workload| !is_on_hold(&workload)) => {
                errors.push(Error::forbidden(&at, "workload from previous scale-down is still being deleted"));
            }
            (0, _) | (_, 0) => {}
            (before, now) if before != now => errors.push(Error::invalid(&at, json!(self.spec.replicas), IMMUTABLE)),
            _ => {}
        }
        Ok(errors)
    }
}

/// Whether the Workload waits for its job to want something again.
pub(super) fn is_on_hold(workload: &Workload) -> bool {
    let conditions = &workload.status.conditions;
    let reserved = conditions.iter().find(|condition| condition.r#type == condition::QUOTA_RESERVED);
    reserved
        .is_some_and(|reserved| reserved.status == ConditionStatus::False && reserved.reason == reason::quota::ON_HOLD)
}
