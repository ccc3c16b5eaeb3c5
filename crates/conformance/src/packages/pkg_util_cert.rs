//! What the configurations of webhooks are called.

use kueue_webhooks::{base_name, configuration_name};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners =
    &[("TestBuildWebhookConfigurationName", configuration), ("TestDeriveWebhookBaseName", base)];

fn configuration(case: &Case) -> Result<(), Failure> {
    let (base, kind): (String, String) = (case.arg("baseName")?, case.arg("webhookType")?);
    equal(&case.arg("expectedName")?, &configuration_name(&base, &kind))
}

fn base(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("expectedBaseName")?, &base_name(&case.arg::<String>("webhookServiceName")?).to_owned())
}
