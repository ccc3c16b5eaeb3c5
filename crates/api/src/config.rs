//! The configuration file: `config.kueue.x-k8s.io`, kind `Configuration`.
//!
//! text → [`document`] (lines) → version → strict [`decode`] → [`defaults`] and [`convert`] → [`validation`].
//! Every step but reading the [`file`] is a pure function, and every problem that can be found is told at once.

pub mod blocks;
pub mod v1beta1;
pub mod v1beta2;

mod convert;
mod decode;
mod defaults;
pub mod document;
pub mod file;
mod problem;

pub use defaults::DEFAULT_NAMESPACE;
pub use problem::{Cause, Problem, Rejected};
pub use v1beta2::Configuration;

use kueue_core::field::{self, Path};
use serde_json::Value;

use document::{Data, Document, Node};

#[cfg(test)]
mod tests;

const KIND: &str = "Configuration";

/// Says to which version and kind the rest belongs.
const ENVELOPE: [&str; 2] = ["apiVersion", "kind"];

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

/// The configuration as YAML, fields in alphabetical order.
pub fn encode(configuration: &Configuration) -> String {
    let mut value = serde_json::to_value(configuration).expect("every field is text, number, list or map");
    value["apiVersion"] = Value::from(v1beta2::API_VERSION);
    value["kind"] = Value::from(KIND);
    serde_saphyr::to_string(&value).expect("JSON values can be written as YAML")
}

/// What could be made of a text, however much is wrong with it.
struct Draft {
    document: Document,
    configuration: Configuration,
    /// In the order in which Kueue would find them.
    problems: Vec<Problem>,
}

impl Draft {
    fn read(text: &str, operator_namespace: &str) -> Self {
        let (document, mut problems) = match Document::parse(text) {
            Ok(document) => (document, Vec::new()),
            Err(problem) => (Document::empty(), vec![problem]),
        };
        if problems.is_empty() {
            problems = document.duplicates();
        }
        let configuration = match version_of(&document.root) {
            Ok(Version::V1Beta2) => {
                let (mut configuration, found): (Configuration, _) = decode::decode(&document.root, &ENVELOPE);
                problems.extend(found);
                configuration.set_defaults(operator_namespace);
                configuration
            }
            // Kueue fills in the defaults of the version that the file has, so waiting for pods stays off by default.
            Ok(Version::V1Beta1) => {
                let (mut old, found): (v1beta1::Configuration, _) = decode::decode(&document.root, &ENVELOPE);
                problems.extend(found);
                old.set_defaults(operator_namespace);
                old.into()
            }
            Err(problem) => {
                problems.push(problem);
                Configuration::default()
            }
        };
        Self { document, configuration, problems }
    }
}

#[derive(Clone, Copy)]
enum Version {
    V1Beta1,
    V1Beta2,
}

/// Which version a file is written in; v1beta2 when it does not say.
fn version_of(root: &Node) -> Result<Version, Problem> {
    let version = envelope_text(root, "apiVersion")?.unwrap_or(v1beta2::API_VERSION);
    let kind = envelope_text(root, "kind")?.unwrap_or(KIND);
    let unsupported = |name: &str, value: &str, supported: &[&str]| {
        let line = root.get(name).map(|node| node.line);
        Err(Problem::invalid(line, field::Error::not_supported(&Path::new(name), value, supported)))
    };
    match (version, kind) {
        (_, kind) if kind != KIND => unsupported("kind", kind, &[KIND]),
        (v1beta1::API_VERSION, _) => Ok(Version::V1Beta1),
        (v1beta2::API_VERSION, _) => Ok(Version::V1Beta2),
        (version, _) => unsupported("apiVersion", version, &[v1beta2::API_VERSION, v1beta1::API_VERSION]),
    }
}

fn envelope_text<'n>(root: &'n Node, name: &str) -> Result<Option<&'n str>, Problem> {
    match root.get(name).map(|node| (node, &node.data)) {
        None | Some((_, Data::Null)) => Ok(None),
        Some((_, Data::String(text))) => Ok(Some(text.as_str()).filter(|text| !text.is_empty())),
        Some((node, _)) => {
            let error = field::Error::type_invalid(&Path::new(name), node.to_value(), "must be a string");
            Err(Problem::invalid(Some(node.line), error))
        }
    }
}
