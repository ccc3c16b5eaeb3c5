//! Defaults of the configuration.

use kueue_api::config::Configuration;

use super::Runners;
use crate::compare::Rules;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestSetDefaults_Configuration", defaults)];

fn defaults(case: &Case) -> Result<(), Failure> {
    let mut configuration: Configuration = case.arg("original")?;
    configuration.set_defaults("kueue-system");
    let actual = serde_json::to_value(configuration).map_err(|error| Failure(error.to_string()))?;
    Rules::default().ignoring(&["apiVersion", "kind"]).same(case.raw("want"), &actual)
}
