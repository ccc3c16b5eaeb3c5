//! From a text to a configuration with its defaults, and whatever is wrong on the way.

use kueue_core::field::{self, Path};

use super::document::{Data, Document, Node};
use super::problem::Problem;
use super::v1beta2::Configuration;
use super::{KIND, decode, v1beta1, v1beta2};

/// Says to which version and kind the rest belongs.
const ENVELOPE: [&str; 2] = ["apiVersion", "kind"];

/// What could be made of a text, however much is wrong with it.
pub(super) struct Draft {
    pub(super) document: Document,
    /// `None` when it is none that we know.
    pub(super) version: Option<Version>,
    pub(super) configuration: Configuration,
    /// In the order in which Kueue would find them.
    pub(super) problems: Vec<Problem>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Version {
    V1Beta1,
    V1Beta2,
}

impl Draft {
    pub(super) fn read(text: &str, operator_namespace: &str) -> Self {
        let (document, mut problems) = match Document::parse(text) {
            Ok(document) => {
                let duplicates = document.duplicates();
                (document, duplicates)
            }
            Err(problem) => (Document::empty(), vec![problem]),
        };
        let version = match version_of(&document.root) {
            Ok(version) => Some(version),
            Err(problem) => {
                problems.push(problem);
                None
            }
        };
        let configuration = match version {
            Some(Version::V1Beta2) => {
                let (mut configuration, found): (Configuration, _) = decode::decode(&document.root, &ENVELOPE);
                problems.extend(found);
                configuration.set_defaults(operator_namespace);
                configuration
            }
            // Kueue fills in the defaults of the version that the file has, so waiting for pods stays off by default.
            Some(Version::V1Beta1) => {
                let (mut old, found): (v1beta1::Configuration, _) = decode::decode(&document.root, &ENVELOPE);
                problems.extend(found);
                old.set_defaults(operator_namespace);
                old.into()
            }
            None => {
                let mut configuration = Configuration::default();
                configuration.set_defaults(operator_namespace);
                configuration
            }
        };
        Self { document, version, configuration, problems }
    }
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
