//! The check itself: whether it works, and with which settings.

use std::ops::Deref;

use kueue_api::kueue::GROUP;
use kueue_api::kueue::names::{CONTROLLER_PROVISIONING_REQUEST, condition};
use kueue_api::kueue::v1beta2::{
    AdmissionCheck, AdmissionCheckParametersReference, AdmissionCheckState, ProvisioningRequestConfig, Workload,
};
use kueue_api::lookup::NotFound;
use kueue_api::meta::{Condition, ConditionStatus, Object as _};
use kueue_core::time::Time;

use crate::conditions;

const BAD: &str = "bad parameters reference";
const KIND: &str = ProvisioningRequestConfig::KIND;

/// Why a check has no settings.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoConfig {
    #[error("missing parameters reference")]
    NoReference,
    #[error("empty name: {BAD}")]
    NoName,
    #[error("wrong group {0:?}, expecting {GROUP:?}: {BAD}")]
    Group(String),
    #[error("wrong kind {0:?}, expecting {KIND:?}: {BAD}")]
    Kind(String),
    #[error(transparent)]
    NotFound(#[from] NotFound),
    #[error("nobody serves ProvisioningRequests of autoscaling.x-k8s.io/v1: install a cluster autoscaler that does")]
    NotServed,
}

impl NoConfig {
    fn reason(&self) -> &'static str {
        match self {
            Self::NotServed => "ProvisioningRequestsNotServed",
            _ => "BadParametersRef",
        }
    }
}

/// Whether nodes are asked for by this check.
pub fn is_ours(check: &AdmissionCheck) -> bool {
    check.spec.controller_name == CONTROLLER_PROVISIONING_REQUEST
}

/// Which checks of a Workload a controller is to decide; `find` looks them up.
pub fn decided_by<C: Deref<Target = AdmissionCheck>>(
    controller: &str,
    states: &[AdmissionCheckState],
    find: impl Fn(&str) -> Option<C>,
) -> Vec<C> {
    let checks = states.iter().filter_map(|state| find(&state.name));
    checks.filter(|check| check.spec.controller_name == controller).collect()
}

/// The name of the settings that a check refers to.
pub fn config_name(parameters: Option<&AdmissionCheckParametersReference>) -> Result<&str, NoConfig> {
    let reference = parameters.ok_or(NoConfig::NoReference)?;
    match (reference.name.as_str(), reference.api_group.as_str(), reference.kind.as_str()) {
        ("", _, _) => Err(NoConfig::NoName),
        (_, group, _) if group != GROUP => Err(NoConfig::Group(group.to_owned())),
        (_, _, kind) if kind != ProvisioningRequestConfig::KIND => Err(NoConfig::Kind(kind.to_owned())),
        (name, _, _) => Ok(name),
    }
}

/// The settings of a check; `find` looks them up.
pub fn config_of<C>(check: &AdmissionCheck, find: impl FnOnce(&str) -> Option<C>) -> Result<C, NoConfig> {
    let name = config_name(check.spec.parameters.as_ref())?;
    find(name).ok_or_else(|| NotFound::of::<ProvisioningRequestConfig>(name).into())
}

/// By what checks are found: the settings they use.
pub fn config_values(check: &AdmissionCheck) -> Vec<String> {
    let name =
        Some(check).filter(|check| is_ours(check)).and_then(|check| config_name(check.spec.parameters.as_ref()).ok());
    name.into_iter().map(str::to_owned).collect()
}

/// By what Workloads are found: the checks they wait for.
pub fn check_values(workload: &Workload) -> Vec<String> {
    workload.status.admission_checks.iter().map(|check| check.name.clone()).collect()
}

/// The check with its word on whether it works; none if that was said before.
pub fn judged(check: &AdmissionCheck, config: &Result<(), NoConfig>, now: Time) -> Option<AdmissionCheck> {
    if !is_ours(check) {
        return None;
    }
    let (status, reason, message) = match config {
        Ok(()) => (ConditionStatus::True, "Active", "The admission check is active".to_owned()),
        Err(why) => (ConditionStatus::False, why.reason(), why.to_string()),
    };
    let mut conditions = check.status.conditions.iter();
    // While it does not work, why it does not is worth a write too.
    let is_said = |known: &Condition| status == ConditionStatus::True || known.message == message;
    if conditions.any(|known| known.r#type == condition::ACTIVE && known.status == status && is_said(known)) {
        return None;
    }
    let mut judged = check.clone();
    let active = Condition {
        r#type: condition::ACTIVE.to_owned(),
        status,
        reason: reason.to_owned(),
        message,
        observed_generation: check.metadata.generation,
        ..Condition::default()
    };
    conditions::set(&mut judged.status.conditions, active, now);
    Some(judged)
}
