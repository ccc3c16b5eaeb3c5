//! Loading, printing and validating the configuration file.

use std::path::Path;

use kueue_api::config::tls::TlsSettings;
use kueue_api::config::{self, Configuration, DEFAULT_NAMESPACE, file, gates, validation};
use serde_json::Value;

use super::Runners;
use super::field_errors::{Compared, same_errors};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestEncode", encode),
    ("TestLoad", load),
    ("TestLoadAndValidateFeatureGates", feature_gates),
    ("TestTLSOptions", tls_options),
    ("TestValidate", validate),
    ("TestValidateCustomLabels", custom_labels),
    ("TestValidateDeviceClassMappings", device_class_mappings),
    ("TestWaitForPodsReadyIsEnabled", waits_for_pods_ready),
];

/// Fields that the tests leave out of the comparison: those of the embedded controller manager.
const CONTROLLER_MANAGER: [&str; 7] =
    ["webhook", "leaderElection", "metrics", "health", "pprofBindAddress", "controller", "tls"];

/// Loads the file of the row: its text is recorded; a path that is none is opened.
fn load_file(case: &Case) -> Result<Configuration, String> {
    let text = match case.raw("configFile") {
        Value::Null => String::new(),
        Value::String(path) => file::read(Path::new(path)).map_err(|error| error.to_string())?,
        recorded => recorded["content"].as_str().unwrap_or_default().to_owned(),
    };
    config::load(&text, DEFAULT_NAMESPACE).map_err(|error| error.to_string())
}

fn load(case: &Case) -> Result<(), Failure> {
    match (load_file(case), case.raw("wantError.error")) {
        (Ok(configuration), Value::Null) => same(case.raw("wantConfiguration"), &configuration, &CONTROLLER_MANAGER),
        (Err(error), wanted) => equal(&wanted.as_str().unwrap_or_default(), &error.as_str()),
        (Ok(_), wanted) => Err(Failure(format!("no error, expected {wanted}"))),
    }
}

/// The error names the step that fails; here it is known by the options being refused.
fn tls_options(case: &Case) -> Result<(), Failure> {
    let configuration = load_file(case).map_err(Failure)?;
    let parsed = configuration.tls.as_ref().map(TlsSettings::parse).transpose();
    equal(&case.has("wantError"), &parsed.is_err())?;
    match parsed {
        Ok(_) => {
            let ignored: Vec<&str> = CONTROLLER_MANAGER.into_iter().chain(["visibilityServer"]).collect();
            same(case.raw("wantConfiguration"), &configuration, &ignored)
        }
        Err(_) => Ok(()),
    }
}

fn encode(case: &Case) -> Result<(), Failure> {
    let configuration: Configuration = case.arg("cfg")?;
    let text = config::encode(&configuration);
    let printed = config::document::Document::parse(&text).map_err(|problem| Failure(problem.to_string()))?;
    Rules::default().same(case.raw("wantResult"), &printed.root.to_value())
}

fn feature_gates(case: &Case) -> Result<(), Failure> {
    let (flag, file) = (case.arg::<String>("featureGatesCLI")?, case.get("featureGateMap")?);
    let errors = gates::resolve(&flag, file.as_ref()).err().unwrap_or_default();
    let ignores_detail = case.arg("ignoreDetail")? || case.raw("wantErr")[0]["detail"] == "";
    let compared = if ignores_detail { Compared::Nothing } else { Compared::Detail };
    same_errors(case.raw("wantErr"), &errors, compared)
}

fn validate(case: &Case) -> Result<(), Failure> {
    let errors = config::validate(&case.arg("cfg")?, case.gates()?, &accept);
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

fn custom_labels(case: &Case) -> Result<(), Failure> {
    same_errors(case.raw("wantErr"), &validation::validate_custom_labels(&case.arg("cfg")?), Compared::Detail)
}

fn device_class_mappings(case: &Case) -> Result<(), Failure> {
    let errors = validation::validate_device_class_mappings(&case.arg("cfg")?, case.gates()?, &accept);
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

fn waits_for_pods_ready(case: &Case) -> Result<(), Failure> {
    let configuration: Configuration = case.arg("cfg")?;
    equal(&case.arg("want")?, &configuration.waits_for_pods_ready(case.gates()?))
}

/// No case has an expression that does not compile.
fn accept(_expression: &str) -> Result<(), String> {
    Ok(())
}

/// Our type is without `apiVersion` and `kind`.
fn same(expected: &Value, configuration: &Configuration, ignored: &[&'static str]) -> Result<(), Failure> {
    let actual = serde_json::to_value(configuration).map_err(|error| Failure(error.to_string()))?;
    Rules::default().ignoring(ignored).ignoring(&["apiVersion", "kind"]).same(expected, &actual)
}
