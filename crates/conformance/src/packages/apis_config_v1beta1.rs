//! Defaults of the old configuration version and its way to the new one and back.

use kueue_api::config::{v1beta1, v1beta2};
use serde::Serialize;
use serde_json::Value;

use super::Runners;
use crate::compare::Rules;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestConfigurationQueueConversion_RoundTrip", round_trip),
    ("TestConfigurationQueueConvertFrom", convert_from),
    ("TestConfigurationQueueConvertTo", convert_to),
    ("TestSetDefaults_Configuration", defaults),
];

fn defaults(case: &Case) -> Result<(), Failure> {
    let mut configuration: v1beta1::Configuration = case.arg("original")?;
    configuration.set_defaults("kueue-system");
    same(case.raw("want"), &configuration)
}

fn convert_to(case: &Case) -> Result<(), Failure> {
    let old: v1beta1::Configuration = case.arg("input")?;
    same(case.raw("expected"), &v1beta2::Configuration::from(old))
}

fn convert_from(case: &Case) -> Result<(), Failure> {
    let new: v1beta2::Configuration = case.arg("input")?;
    same(case.raw("expected"), &v1beta1::Configuration::from(new))
}

fn round_trip(case: &Case) -> Result<(), Failure> {
    let old: v1beta1::Configuration = case.arg("v1beta1Obj")?;
    same(case.raw("v1beta1Obj"), &v1beta1::Configuration::from(v1beta2::Configuration::from(old)))
}

/// Our types are without `apiVersion` and `kind`.
fn same(expected: &Value, actual: &impl Serialize) -> Result<(), Failure> {
    let actual = serde_json::to_value(actual).map_err(|error| Failure(error.to_string()))?;
    Rules::default().ignoring(&["apiVersion", "kind"]).same(expected, &actual)
}
