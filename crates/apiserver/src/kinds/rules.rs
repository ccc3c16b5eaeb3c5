//! What is special about each built-in kind, as a table of small functions; most kinds are plain.
//!
//! A rule is named by the kind's file and called by the request pipeline at the one moment it is for. A kind that is
//! not listed has no behaviour beyond its schema.

use kueue_core::field::{Errors, Path};
use kueue_core::name;
use serde_json::Value;

mod config_map;
mod job;
mod namespace;
mod pod;
mod pod_template;
mod secret;
mod workloads;

pub use secret::base64;

/// A moment in the life of an object: what is about to be written, and what stands there.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    pub new: &'a Value,
    pub old: &'a Value,
}

/// What the pipeline asks about a kind.
#[derive(Debug)]
pub struct Rules {
    /// Whether `metadata.generation` is kept, and moves with the spec.
    pub has_generation: bool,
    /// Whether a PUT may leave out `metadata.resourceVersion`.
    pub allows_unconditional_update: bool,
    /// Whether a PUT of an object that is not there creates it.
    pub creates_on_update: bool,
    /// Whether a deletion answers with the object rather than with a Status.
    pub answers_deleted: bool,
    /// Whether dependents are orphaned when nothing is said.
    pub orphans_dependents: bool,
    /// What is wrong with a name.
    pub check_name: fn(&str) -> Vec<String>,
    /// Fields that a selector may ask for, beside name and namespace.
    pub selectable: &'static [&'static str],
    /// How an unknown field of a selector is refused.
    pub unknown_selector: UnknownSelector,
    /// Fills in what was left out, on every write.
    pub default: fn(&mut Value),
    /// Sets what only the server sets, before an object is first written.
    pub prepare_create: fn(&mut Value),
    /// Puts back what this request may not change.
    pub prepare_update: fn(&mut Value, &Value),
    /// Every mistake of a new object.
    pub validate: fn(&Value) -> Errors,
    /// Every mistake of a change.
    pub validate_update: fn(Update<'_>) -> Errors,
    /// Metadata that a write of `/status` may change.
    pub status_metadata: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownSelector {
    /// `"x" is not a known field selector: only "metadata.name", "metadata.namespace"`.
    Generic,
    /// `field label not supported: x`.
    Label,
    /// `field label "x" not supported for Job`.
    Kind,
}

impl Rules {
    /// A kind with nothing special.
    pub const PLAIN: Self = Self {
        has_generation: false,
        allows_unconditional_update: true,
        creates_on_update: false,
        answers_deleted: false,
        orphans_dependents: false,
        check_name: name::dns1123_subdomain,
        selectable: &[],
        unknown_selector: UnknownSelector::Generic,
        default: |_| {},
        prepare_create: |_| {},
        prepare_update: |_, _| {},
        validate: |_| Errors::new(),
        validate_update: |_| Errors::new(),
        status_metadata: &["annotations", "labels", "finalizers", "ownerReferences"],
    };

    const WITH_GENERATION: Self = Self { has_generation: true, ..Self::PLAIN };
    /// Optimistic locking only.
    const STRICT: Self = Self { allows_unconditional_update: false, has_generation: true, ..Self::PLAIN };
}

/// What custom resources have in common.
pub static CUSTOM: Rules = Rules { unknown_selector: UnknownSelector::Label, status_metadata: &[], ..Rules::STRICT };

static PLAIN: Rules = Rules::PLAIN;
static ANSWERS_DELETED: Rules = Rules { answers_deleted: true, ..Rules::PLAIN };
static CREATES: Rules = Rules { creates_on_update: true, ..Rules::PLAIN };
static WITH_GENERATION: Rules = Rules::WITH_GENERATION;
static STRICT: Rules = Rules::STRICT;
static ANSWERS_WITH_GENERATION: Rules = Rules { answers_deleted: true, ..Rules::WITH_GENERATION };

static EVENT: Rules = Rules {
    creates_on_update: true,
    selectable: &[
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ],
    unknown_selector: UnknownSelector::Label,
    ..Rules::PLAIN
};
static LEASE: Rules = Rules { allows_unconditional_update: false, creates_on_update: true, ..Rules::PLAIN };
static STRICT_PLAIN: Rules = Rules { allows_unconditional_update: false, ..Rules::PLAIN };
static NODE: Rules =
    Rules { selectable: &["spec.unschedulable"], unknown_selector: UnknownSelector::Kind, ..Rules::PLAIN };
static SERVICE: Rules = Rules {
    answers_deleted: true,
    creates_on_update: true,
    check_name: name::dns1035_label,
    selectable: &["spec.clusterIP", "spec.type"],
    unknown_selector: UnknownSelector::Kind,
    ..Rules::PLAIN
};

/// The rules of a built-in resource.
pub fn of(group: &str, plural: &str) -> &'static Rules {
    match (group, plural) {
        ("", "pods") => &pod::RULES,
        ("", "namespaces") => &namespace::RULES,
        ("", "configmaps") => &config_map::RULES,
        ("", "secrets") => &secret::RULES,
        ("", "nodes") => &NODE,
        ("", "services") => &SERVICE,
        ("", "events") | ("events.k8s.io", "events") => &EVENT,
        ("", "serviceaccounts" | "resourcequotas" | "persistentvolumeclaims")
        | ("resource.k8s.io", "resourceclaims" | "resourceclaimtemplates") => &ANSWERS_DELETED,
        ("", "podtemplates") | ("resource.k8s.io", "deviceclasses" | "resourceslices") => &ANSWERS_WITH_GENERATION,
        ("", "endpoints" | "limitranges") => &CREATES,
        ("batch", "jobs") => &job::RULES,
        ("apps", "deployments") => &workloads::DEPLOYMENT,
        ("apps", "replicasets") => &workloads::REPLICA_SET,
        ("apps", "statefulsets") => &workloads::STATEFUL_SET,
        ("apps", "daemonsets") => &workloads::DAEMON_SET,
        ("coordination.k8s.io", "leases") => &LEASE,
        ("node.k8s.io", "runtimeclasses") | ("apiregistration.k8s.io", _) => &STRICT_PLAIN,
        ("policy", "poddisruptionbudgets") | ("admissionregistration.k8s.io" | "apiextensions.k8s.io", _) => &STRICT,
        ("batch", "cronjobs")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("networking.k8s.io", "ingresses" | "networkpolicies")
        | ("discovery.k8s.io", "endpointslices")
        | ("scheduling.k8s.io", "priorityclasses") => &WITH_GENERATION,
        _ => &PLAIN,
    }
}

/// Sets a value where none is; the parent must be an object.
fn set_default(value: &mut Value, name: &str, default: impl Into<Value>) {
    if let Some(object) = value.as_object_mut() {
        let is_missing = object.get(name).is_none_or(Value::is_null);
        if is_missing {
            object.insert(name.to_owned(), default.into());
        }
    }
}

/// The mistakes of fields that may never change.
fn immutable(update: Update<'_>, fields: &[&[&str]]) -> Errors {
    let at = |value: &Value, path: &[&str]| path.iter().try_fold(value, |value, name| value.get(name)).cloned();
    let mut errors = Errors::new();
    for path in fields {
        let (new, old) = (at(update.new, path), at(update.old, path));
        if new != old {
            let place = path.iter().fold(Path::default(), |place, name| place.child(name));
            errors.push(kueue_core::field::Error::invalid(&place, new.unwrap_or(Value::Null), "field is immutable"));
        }
    }
    errors
}
