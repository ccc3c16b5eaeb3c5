//! `apps/v1` Deployments.

use kueue_jobs::kinds::deployment::Deployment;
use serde_json::json;

use super::Runners;
use super::field_errors::{Compared, same_errors};
use super::job_webhook::World;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners =
    &[("TestDefault", default), ("TestValidateCreate", validate_create), ("TestValidateUpdate", validate_update)];

fn default(case: &Case) -> Result<(), Failure> {
    let mut deployment: Deployment = case.arg("deployment")?;
    let meta = deployment.metadata.clone();
    let failure = World::of(case)?.ask(&meta, |around| deployment.complete(around))?.err();
    equal(&case.has("wantErr"), &failure.is_some())?;
    Rules::equate_empty().same(&json!(case.arg::<Deployment>("want")?), &json!(deployment))
}

fn validate_create(case: &Case) -> Result<(), Failure> {
    let errors = case.arg::<Deployment>("deployment")?.validate_create(case.gates()?);
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

fn validate_update(case: &Case) -> Result<(), Failure> {
    let (new, old): (Deployment, Deployment) = (case.arg("newDeployment")?, case.arg("oldDeployment")?);
    same_errors(case.raw("wantErr"), &new.validate_update(&old, case.gates()?), Compared::Nothing)
}
