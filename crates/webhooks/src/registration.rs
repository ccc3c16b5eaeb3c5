//! What the API server has to know about us: whom to trust, and which jobs to ask about.

#[cfg(test)]
mod tests;

use kueue_api::meta::object;
use kueue_api::webhook_filter;
use kueue_core::base64;
use serde_json::{Map, Value, json};

const ADMISSION: &str = "admissionregistration.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const V1: &str = "v1";
/// What the names of hooks begin with that nobody installed.
const ADDED: &str = "nameless.";
/// The name of their condition.
const NAMELESS: &str = "waits-without-a-queue";

object! {
    pub struct MutatingWebhookConfiguration in ADMISSION/V1/"mutatingwebhookconfigurations", namespaced: false {
        pub webhooks?: Vec<Value>,
    }
}

object! {
    pub struct ValidatingWebhookConfiguration in ADMISSION/V1/"validatingwebhookconfigurations", namespaced: false {
        pub webhooks?: Vec<Value>,
    }
}

object! {
    pub struct CustomResourceDefinition in EXTENSIONS/V1/"customresourcedefinitions", namespaced: false {
        pub spec?: CrdSpec,
    }
}

kueue_api::wire::wire_struct! {
    /// What is said about conversion; the rest, which is long, is not kept.
    pub struct CrdSpec {
        pub conversion?: Value,
    }
}

/// What is said about us. It changes with the certificate, and with queues for everybody.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Facts {
    /// The authorities to trust, as PEM; nothing is said about them when empty.
    pub(crate) authorities: String,
    /// Namespaces with a LocalQueue for jobs that name none; missing when all jobs wait, queue or not.
    pub(crate) default_namespaces: Option<Vec<String>>,
}

/// An object that says something about us.
pub(crate) trait Register {
    /// Makes it say what is so.
    fn register(&mut self, facts: &Facts);
}

impl Register for MutatingWebhookConfiguration {
    fn register(&mut self, facts: &Facts) {
        register_hooks(&mut self.webhooks, facts);
    }
}

impl Register for ValidatingWebhookConfiguration {
    fn register(&mut self, facts: &Facts) {
        register_hooks(&mut self.webhooks, facts);
    }
}

impl Register for CustomResourceDefinition {
    fn register(&mut self, facts: &Facts) {
        // A definition that converts nothing needs to trust nobody.
        let client = self.spec.conversion.pointer_mut("/webhook/clientConfig").and_then(Value::as_object_mut);
        if let Some(client) = client {
            trust(client, facts);
        }
    }
}

fn trust(client: &mut Map<String, Value>, facts: &Facts) {
    if !facts.authorities.is_empty() {
        client.insert("caBundle".to_owned(), base64::STANDARD.encode(facts.authorities.as_bytes()).into());
    }
}

/// Says whom to trust, and adds hooks of our own for jobs that wait although they name no queue. Those that were
/// installed stay as they are: whoever installed them may do so again at any time, and nobody should have to quarrel.
fn register_hooks(hooks: &mut Vec<Value>, facts: &Facts) {
    hooks.retain(|hook| !name(hook).starts_with(ADDED));
    for client in hooks.iter_mut().filter_map(|hook| hook.pointer_mut("/clientConfig")?.as_object_mut()) {
        trust(client, facts);
    }
    let Some(nameless) = nameless(facts) else { return };
    let added: Vec<Value> = hooks.iter().filter_map(|hook| added(hook, &nameless)).collect();
    hooks.extend(added);
}

fn name(hook: &Value) -> &str {
    hook["name"].as_str().unwrap_or_default()
}

/// Which jobs wait although they name no queue, in CEL; none when there are none.
fn nameless(facts: &Facts) -> Option<String> {
    let names_one = webhook_filter::expression();
    match &facts.default_namespaces {
        None => Some(format!("!({names_one})")),
        Some(namespaces) if namespaces.is_empty() => None,
        Some(namespaces) => {
            let namespaces: Vec<String> = namespaces.iter().map(|namespace| format!("'{namespace}'")).collect();
            Some(format!("!({names_one}) && request.namespace in [{}]", namespaces.join(", ")))
        }
    }
}

/// The same hook for these jobs; none if it asks about all of them already.
fn added(hook: &Value, which: &str) -> Option<Value> {
    let mut added = hook.clone();
    let conditions = added["matchConditions"].as_array_mut()?;
    let condition = conditions.iter_mut().find(|condition| condition["name"] == webhook_filter::NAME)?;
    *condition = json!({"name": NAMELESS, "expression": which});
    added["name"] = format!("{ADDED}{}", name(hook)).into();
    Some(added)
}

/// What the names of our configurations begin with, given that of the Service.
pub fn base_name(service: &str) -> &str {
    service.strip_suffix("-webhook-service").unwrap_or(service)
}

/// The name of a configuration; `kind` is `mutating` or `validating`.
pub fn configuration_name(base: &str, kind: &str) -> String {
    format!("{base}-{kind}-webhook-configuration")
}
