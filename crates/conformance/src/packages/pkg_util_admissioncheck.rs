//! Checks and the objects that hold their settings.

use std::collections::BTreeSet;

use kueue_api::kueue::names::{CONTROLLER_MULTIKUEUE, CONTROLLER_PROVISIONING_REQUEST};
use kueue_api::kueue::v1beta2::{AdmissionCheck, ProvisioningRequestConfig};
use kueue_controllers::provisioning::check::{config_of, config_values, decided_by};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestConfigHelper", config),
    ("TestFilterCheckStates", relevant),
    ("TestGetMultiKueueAdmissionCheck", of_multikueue),
    ("TestIndexerFunc", index),
];

/// Whether the settings are found, or why not.
fn config(case: &Case) -> Result<(), Failure> {
    let check = case.get::<AdmissionCheck>("admissioncheck")?;
    let name: String = case.arg("targetAdmissionCheck")?;
    let configs: Vec<ProvisioningRequestConfig> = case.get("provisioningRequestConfig")?.into_iter().collect();
    let find = |name: &str| configs.iter().find(|config| config.metadata.name == name);
    let found = check.filter(|check| check.metadata.name == name).map(|check| config_of(&check, find).map(|_| ()));
    let wanted = case.raw("wantError.error").as_str().map(str::to_owned);
    match found {
        // A check that does not exist has no settings either.
        None => equal(&true, &case.has("wantError")),
        Some(Ok(())) => equal(&false, &case.has("wantError")),
        Some(Err(why)) => {
            let wanted = wanted.unwrap_or_default();
            if why.to_string().ends_with(&wanted) { Ok(()) } else { equal(&wanted, &why.to_string()) }
        }
    }
}

/// Which checks of a workload a controller is to decide.
fn relevant(case: &Case) -> Result<(), Failure> {
    let checks: Vec<AdmissionCheck> = case.arg("admissionchecks")?;
    let find = |name: &str| checks.iter().find(|check| check.metadata.name == name);
    let found = decided_by("test-controller", &case.arg::<Vec<_>>("states")?, find);
    let names: Vec<String> = found.iter().map(|check| check.metadata.name.clone()).collect();
    equal(&case.arg::<Vec<String>>("wantResult")?, &names)
}

/// The check that sends a workload to other clusters.
fn of_multikueue(case: &Case) -> Result<(), Failure> {
    let checks: Vec<AdmissionCheck> = case.arg("admissionChecks")?;
    let find = |name: &str| checks.iter().find(|check| check.metadata.name == name);
    let found = decided_by(CONTROLLER_MULTIKUEUE, &case.arg::<Vec<_>>("workloadACS")?, find);
    let wanted = case.raw("wantResult.name").as_str().map(str::to_owned);
    equal(&wanted, &found.first().map(|check| check.metadata.name.clone()))
}

/// The settings that make a check be looked at.
fn index(case: &Case) -> Result<(), Failure> {
    // Here the controller is ours.
    let ours = |mut check: AdmissionCheck| {
        if check.spec.controller_name == "test-controller" {
            CONTROLLER_PROVISIONING_REQUEST.clone_into(&mut check.spec.controller_name);
        }
        config_values(&check)
    };
    let found: BTreeSet<String> = case.get("admissioncheck")?.map(ours).unwrap_or_default().into_iter().collect();
    equal(&case.arg::<BTreeSet<String>>("wantResult")?, &found)
}
