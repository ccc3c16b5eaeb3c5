//! What is special about each built-in kind, as a table of small functions; most kinds are plain.
//!
//! A rule is named by the kind's file and called by the request pipeline at the one moment it is for. A kind that is
//! not listed has no behaviour beyond its schema.

use kueue_core::field::{Errors, Path};
use kueue_core::name;
use kueue_core::time::Time;

use super::Resource;
use crate::json::Value;
use crate::random::Random;
use crate::store::Store;

mod admission;
mod api_service;
mod autoscaler;
mod budget;
mod check;
mod claim;
mod config_map;
mod cron_job;
mod defaults;
mod devices;
mod endpoints;
mod event;
mod internal;
mod job;
mod lease;
mod limit_range;
mod namespace;
mod networking;
mod node;
mod pod;
mod pod_spec;
mod pod_template;
mod pod_warnings;
mod priority_class;
mod rbac;
mod resource_names;
mod resource_quota;
mod runtime_class;
mod secret;
mod service;
mod unified_diff;
mod workloads;

pub use pod::qos_class;
pub use rbac::path_segment;

/// A moment in the life of an object: what is about to be written, and what stands there.
#[derive(Debug, Clone, Copy)]
pub struct Update<'a> {
    pub new: &'a Value,
    pub old: &'a Value,
}

/// What a new object may need that is not in it.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    pub now: Time,
    pub random: &'a Random,
    pub store: &'a Store,
}

/// What the pipeline asks about a kind.
#[derive(Debug)]
pub struct Rules {
    /// Whether `metadata.generation` is kept, and moves with the spec.
    pub has_generation: bool,
    /// Whether it never moves.
    pub keeps_generation: bool,
    /// Whether it moves with the labels too.
    pub labels_count_as_spec: bool,
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
    pub prepare_create: fn(&mut Value, Moment<'_>),
    /// Puts back what an update may not change; status has a path of its own and is kept anyway.
    pub prepare_update: fn(&mut Value, &Value),
    /// Whether a new object may bring its status along.
    pub creates_with_status: bool,
    /// Told with every answer about the kind.
    pub deprecation: Option<&'static str>,
    /// Told when a deletion does not say what becomes of dependents.
    pub orphan_warning: Option<&'static str>,
    /// Puts back what a write of the status may not change of it.
    pub prepare_status: fn(&mut Value, &Value),
    /// Every mistake of an object, new or changed.
    pub validate: fn(&Value) -> Errors,
    /// Further mistakes of a new one.
    pub validate_create: fn(&Value) -> Errors,
    /// Every mistake of a change.
    pub validate_update: fn(Update<'_>) -> Errors,
    /// Every mistake of a change of the status.
    pub validate_status: fn(Update<'_>) -> Errors,
    /// Gives an object that is right what only one may have, such as an address; tells what it cannot have.
    pub allocate: fn(&mut Value, Option<&Value>, Moment<'_>) -> Errors,
    /// What is told about an object that is accepted, new or changed.
    pub warn: fn(&Value, Option<&Value>) -> Vec<String>,
    /// Whether the first write of a new object counts even when nothing changes.
    pub is_rewritten_once: fn(&Value) -> bool,
    /// Metadata that a write of `/status` may change.
    pub status_metadata: &'static [&'static str],
    /// Further parts that are written like the object, with a path of their own.
    pub parts: &'static [PartRules],
}

/// A part of an object that has a path of its own.
#[derive(Debug)]
pub struct PartRules {
    pub name: &'static str,
    /// Takes over the part from what a client wants.
    pub prepare: fn(&mut Value, &Value),
    /// Every mistake of the change.
    pub validate: fn(Update<'_>) -> Errors,
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
        keeps_generation: false,
        labels_count_as_spec: false,
        allows_unconditional_update: true,
        creates_on_update: false,
        answers_deleted: false,
        orphans_dependents: false,
        check_name: name::dns1123_subdomain,
        selectable: &[],
        unknown_selector: UnknownSelector::Generic,
        default: |_| {},
        prepare_create: |_, _| {},
        prepare_update: |_, _| {},
        creates_with_status: false,
        deprecation: None,
        orphan_warning: None,
        prepare_status: |_, _| {},
        validate: |_| Errors::new(),
        validate_create: |_| Errors::new(),
        validate_update: |_| Errors::new(),
        validate_status: |_| Errors::new(),
        allocate: |_, _, _| Errors::new(),
        warn: |_, _| Vec::new(),
        is_rewritten_once: |_| false,
        status_metadata: &["annotations", "labels", "finalizers", "ownerReferences"],
        parts: &[],
    };

    const WITH_GENERATION: Self = Self { has_generation: true, ..Self::PLAIN };
    /// Optimistic locking only.
    const STRICT: Self = Self { allows_unconditional_update: false, has_generation: true, ..Self::PLAIN };
}

/// What custom resources have in common.
pub static CUSTOM: Rules = Rules { unknown_selector: UnknownSelector::Label, status_metadata: &[], ..Rules::STRICT };

static PLAIN: Rules = Rules::PLAIN;
static ANSWERS_DELETED: Rules = Rules { answers_deleted: true, ..Rules::PLAIN };
static DEFINITION: Rules = Rules { default: |object| defaults::fill(defaults::DEFINITION, object), ..Rules::STRICT };
static WITH_GENERATION: Rules = Rules::WITH_GENERATION;

/// The rules of a built-in resource.
pub fn of(group: &str, plural: &str) -> &'static Rules {
    match (group, plural) {
        ("", "pods") => &pod::RULES,
        ("", "namespaces") => &namespace::RULES,
        ("", "configmaps") => &config_map::RULES,
        ("", "secrets") => &secret::RULES,
        ("", "nodes") => &node::RULES,
        ("", "services") => &service::RULES,
        ("", "events") => &event::CORE,
        ("events.k8s.io", "events") => &event::GROUP,
        ("", "serviceaccounts") => &ANSWERS_DELETED,
        ("", "resourcequotas") => &resource_quota::RULES,
        ("resource.k8s.io", "resourceclaims") => &devices::CLAIM,
        ("resource.k8s.io", "resourceclaimtemplates") => &devices::CLAIM_TEMPLATE,
        ("resource.k8s.io", "deviceclasses") => &devices::CLASS,
        ("resource.k8s.io", "resourceslices") => &devices::SLICE,
        ("", "podtemplates") => &workloads::POD_TEMPLATE,
        ("", "persistentvolumeclaims") => &claim::RULES,
        ("", "endpoints") => &endpoints::ENDPOINTS,
        ("", "limitranges") => &limit_range::RULES,
        ("batch", "jobs") => &job::RULES,
        ("apps", "deployments") => &workloads::DEPLOYMENT,
        ("apps", "replicasets") => &workloads::REPLICA_SET,
        ("apps", "statefulsets") => &workloads::STATEFUL_SET,
        ("apps", "daemonsets") => &workloads::DAEMON_SET,
        ("apps", "controllerrevisions") => &workloads::CONTROLLER_REVISION,
        ("coordination.k8s.io", "leases") => &lease::RULES,
        ("node.k8s.io", "runtimeclasses") => &runtime_class::RULES,
        ("apiregistration.k8s.io", _) => &api_service::RULES,
        ("apiextensions.k8s.io", _) => &DEFINITION,
        ("policy", "poddisruptionbudgets") => &budget::RULES,
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => &admission::MUTATING_WEBHOOKS,
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => &admission::VALIDATING_WEBHOOKS,
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => &admission::POLICY,
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => &admission::BINDING,
        ("admissionregistration.k8s.io", _) => &admission::OTHER,
        ("rbac.authorization.k8s.io", "roles") => &rbac::ROLE,
        ("rbac.authorization.k8s.io", "clusterroles") => &rbac::CLUSTER_ROLE,
        ("rbac.authorization.k8s.io", "rolebindings") => &rbac::BINDING,
        ("rbac.authorization.k8s.io", "clusterrolebindings") => &rbac::CLUSTER_BINDING,
        ("scheduling.k8s.io", "priorityclasses") => &priority_class::RULES,
        ("batch", "cronjobs") => &cron_job::RULES,
        ("networking.k8s.io", "networkpolicies") => &networking::NETWORK_POLICY,
        ("networking.k8s.io", "ingresses") => &networking::INGRESS,
        ("networking.k8s.io", "ingressclasses") => &networking::INGRESS_CLASS,
        ("autoscaling", "horizontalpodautoscalers") => &autoscaler::RULES,
        ("discovery.k8s.io", "endpointslices") => &endpoints::ENDPOINT_SLICE,
        ("flowcontrol.apiserver.k8s.io", _) => &WITH_GENERATION,
        _ => &PLAIN,
    }
}

const AUTOSCALERS: &str = "horizontalpodautoscalers.autoscaling";

/// A stored object of a built-in kind in the form in which its group or version shows it; nothing when it has that form.
pub fn shown_form(resource: &Resource, value: &Value) -> Option<Value> {
    let shown = match (resource.storage.as_str(), resource.group.as_str(), resource.version.as_str()) {
        ("events", "", _) => event_in_core(value),
        ("events", ..) => event::to_group(value.clone()),
        (AUTOSCALERS, _, "v1") => autoscaler::to_first(value.clone()),
        _ => return None,
    };
    (shown != *value).then_some(shown)
}

/// An object of a built-in kind in the form in which it is stored.
pub fn stored_form(resource: &Resource, value: Value) -> Value {
    match (resource.storage.as_str(), resource.version.as_str()) {
        (AUTOSCALERS, "v1") => autoscaler::to_second(value),
        _ => value,
    }
}

/// An event in the form of the core group.
pub fn event_in_core(value: &Value) -> Value {
    event::to_core(value.clone())
}

/// Where two structures differ, as Go prints them.
fn internal_diff(shape: &str, old: &Value, new: &Value) -> String {
    unified_diff::diff(&internal::lines(shape, old), &internal::lines(shape, new))
}

/// Sets a value where none is; the parent must be an object.
fn set_default(value: &mut Value, name: &str, default: impl Into<Value>) {
    if let Some(object) = value.as_object_mut() {
        let is_missing = object.get(name).is_none_or(Value::is_null);
        if is_missing {
            object.insert(name, default.into());
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
