//! The admission plugins that a server brings along, as a list of small functions.

use super::{Attributes, Operation};
use crate::json::Value;
use crate::rest::service::Server;
use crate::status::{About, Result, Status};

mod default_tolerations;
mod escalation;
mod limit_ranger;
mod pod_resize;
mod priority;
mod quota;
mod runtime_class;
mod service_account;

/// May change the object that is about to be written; a deletion has none.
pub type Mutate = fn(&Server, &Attributes<'_>, Option<&mut Value>, Option<&Value>) -> Result<()>;
/// May refuse the object that would be stored, given the one that stands there.
pub type Validate = fn(&Server, &Attributes<'_>, Option<&Value>, Option<&Value>) -> Result<()>;

/// One plugin.
#[derive(Debug)]
pub struct Plugin {
    /// Whether it has anything to do with such a write; cheap, because every write asks.
    pub applies: fn(&Attributes<'_>) -> bool,
    /// Before mutating webhooks.
    pub mutate: Option<Mutate>,
    /// Before policies and validating webhooks.
    pub validate: Option<Validate>,
    /// After everybody else, because it counts what is used.
    pub account: Option<Validate>,
}

impl Plugin {
    const NONE: Self = Self { applies: |_| false, mutate: None, validate: None, account: None };
}

/// All of them, in the order in which a real server asks.
pub static PLUGINS: &[Plugin] = &[
    limit_ranger::PLUGIN,
    service_account::PLUGIN,
    priority::PODS,
    priority::CLASSES,
    default_tolerations::PLUGIN,
    runtime_class::PLUGIN,
    pod_resize::PLUGIN,
    escalation::PLUGIN,
    quota::PLUGIN,
];

/// Whether pods themselves are written, and not a part of one.
fn writes_pod(attributes: &Attributes<'_>) -> bool {
    creates_pod(attributes) || attributes.operation == Operation::Update && is_whole(attributes, "pods")
}

fn creates_pod(attributes: &Attributes<'_>) -> bool {
    attributes.operation == Operation::Create && is_whole(attributes, "pods")
}

/// Whether it is about objects of a core resource, and not about a part of one.
fn is_whole(attributes: &Attributes<'_>, plural: &str) -> bool {
    attributes.subresource.is_empty() && attributes.resource.storage == plural
}

/// `pods "p" is forbidden: WHY`.
fn forbidden(attributes: &Attributes<'_>, why: &str) -> Status {
    let Attributes { resource, name, .. } = attributes;
    Status::forbidden(About { group: &resource.group, kind: &resource.plural, name }, why)
}

/// Several mistakes as one text; equal ones once.
fn aggregated(mistakes: &[String]) -> Option<String> {
    let mut once: Vec<&str> = Vec::new();
    for mistake in mistakes {
        if !once.contains(&mistake.as_str()) {
            once.push(mistake);
        }
    }
    match once.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}
