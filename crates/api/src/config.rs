//! The configuration file: `config.kueue.x-k8s.io`, kind `Configuration`.
//!
//! text → [`document`] (lines) → [`draft`]: version, strict [`decode`], [`defaults`], [`convert`] → [`validation`].
//! Every step but reading the [`file`] is a pure function, and every problem that can be found is told at once.

pub mod blocks;
pub mod v1beta1;
pub mod v1beta2;

mod convert;
mod decode;
mod defaults;
pub mod document;
mod draft;
pub mod file;
pub mod frameworks;
pub mod gates;
mod problem;
pub mod tls;
pub mod validation;

pub use defaults::DEFAULT_NAMESPACE;
pub use problem::{Cause, Problem, Rejected};
pub use v1beta2::Configuration;
pub use validation::{CompileCel, validate};

use std::collections::BTreeSet;

use kueue_core::field::{self, ErrorKind};
use kueue_core::gates::{Gate, Gates};
use serde_json::Value;

use document::{Data, Document, Node};
use draft::{Draft, Version};

#[cfg(test)]
mod tests;

const KIND: &str = "Configuration";

/// Reads a file's text and fills in the defaults; what the values mean is not judged yet.
///
/// `operator_namespace` is where this process runs: the default of `namespace`.
pub fn load(text: &str, operator_namespace: &str) -> Result<Configuration, Rejected> {
    let draft = Draft::read(text, operator_namespace);
    match draft.problems.is_empty() {
        true => Ok(draft.configuration),
        false => Err(Rejected::new(draft.problems, draft.document.syntax)),
    }
}

/// A configuration that nothing is wrong with.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked {
    pub configuration: Configuration,
    pub gates: Gates,
    /// What is allowed but probably not what its author thinks.
    pub notes: Vec<String>,
}

/// Reads a file's text, fills in the defaults and judges it: everything that can be found wrong is found.
///
/// `flag` is the value of `--feature-gates`, empty when it was not given.
pub fn check(
    text: &str,
    flag: &str,
    operator_namespace: &str,
    compile_cel: CompileCel<'_>,
) -> Result<Checked, Rejected> {
    let Draft { document, version, mut configuration, mut problems } = Draft::read(text, operator_namespace);
    let in_file = configuration.feature_gates.as_ref();
    let (gates, mut errors) = match gates::resolve(flag, in_file) {
        Ok(gates) => (gates, field::Errors::new()),
        Err(errors) => (gates::guess(flag, in_file), errors),
    };
    errors.extend(validate(&configuration, gates, compile_cel));
    errors.retain(|error| !problems.iter().any(|problem| explains(problem, error)));
    let (repeated, errors): (field::Errors, field::Errors) = errors.into_iter().partition(names_framework_again);
    for error in errors {
        problems.push(Problem::invalid(document.line_of(&error.field), error));
    }
    match problems.is_empty() {
        true => {
            let mut notes =
                if version == Some(Version::V1Beta1) { notes_on_v1beta1(&document, gates) } else { Vec::new() };
            notes.extend(notes_on_what_has_no_effect(&configuration));
            notes.extend(repeated.iter().map(|error| format!("{error}; once is enough")));
            name_frameworks_once(&mut configuration);
            Ok(Checked { configuration, gates, notes })
        }
        false => Err(Rejected::new(problems, document.syntax)),
    }
}

/// Documents that users follow add `pod` to a list that has it by now, so a framework that is named twice is no mistake.
fn names_framework_again(error: &field::Error) -> bool {
    error.kind == ErrorKind::Duplicate && error.field.to_string().starts_with("integrations.frameworks[")
}

fn name_frameworks_once(configuration: &mut Configuration) {
    let mut named = BTreeSet::new();
    if let Some(integrations) = &mut configuration.integrations {
        integrations.frameworks.retain(|name| named.insert(name.clone()));
    }
}

/// Fields that mean something to a program in Go only. Nobody should wait for what they ask for.
fn notes_on_what_has_no_effect(configuration: &Configuration) -> Vec<String> {
    let mut notes = Vec::new();
    if !configuration.pprof_bind_address.is_empty() {
        notes.push("pprofBindAddress has no effect: there is no Go runtime to profile; use perf instead".to_owned());
    }
    let controller = configuration.controller.as_ref();
    if controller.is_some_and(|controller| controller.cache_sync_timeout.is_some()) {
        notes.push("controller.cacheSyncTimeout has no effect: what cannot be listed yet is waited for".to_owned());
    }
    notes
}

/// What changes or has no effect any more in a file of the old version.
fn notes_on_v1beta1(document: &Document, gates: Gates) -> Vec<String> {
    let has = |parent: &Node, field: &str| parent.get(field).is_some_and(|node| node.data != Data::Null);
    let mut notes = Vec::new();
    if has(&document.root, "queueVisibility") {
        notes.push("queueVisibility has no effect: ask the visibility server instead".to_owned());
    }
    if document.root.get("integrations").is_some_and(|integrations| has(integrations, "podOptions")) {
        notes.push("integrations.podOptions has no effect: use managedJobsNamespaceSelector instead".to_owned());
    }
    let enable = document.root.get("waitForPodsReady").and_then(|block| block.get("enable"));
    let waits = enable.is_some_and(|enable| enable.data == Data::Bool(true));
    if !waits && !gates.enabled(Gate::DisableWaitForPodsReady) {
        let why = "waitForPodsReady is off here, but on by default in v1beta2; there only the feature gate";
        notes.push(format!("{why} {} turns it off", Gate::DisableWaitForPodsReady));
    }
    notes
}

/// Whether an error only follows from a problem in decoding: the field it misses was misspelt or of the wrong type.
fn explains(problem: &Problem, error: &field::Error) -> bool {
    let (found, missed) = (problem.field.to_string(), error.field.to_string());
    match &problem.cause {
        Cause::Syntax(_) => true,
        Cause::Duplicate { .. } => false,
        Cause::Invalid(_) => missed.starts_with(&found) || found.starts_with(&missed),
        Cause::Unknown { .. } => error.kind == ErrorKind::Required && parent(&found) == parent(&missed),
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// The configuration as YAML, fields in alphabetical order.
pub fn encode(configuration: &Configuration) -> String {
    let mut value = serde_json::to_value(configuration).expect("every field is text, number, list or map");
    value["apiVersion"] = Value::from(v1beta2::API_VERSION);
    value["kind"] = Value::from(KIND);
    serde_saphyr::to_string(&value).expect("JSON values can be written as YAML")
}
