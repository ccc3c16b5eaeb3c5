//! What the API server has to know about us: whom to trust, and which jobs to ask about.

#[cfg(test)]
mod tests;

use kueue_api::meta::object;
use kueue_api::webhook_filter;
use kueue_core::base64;
use serde_json::{Map, Value, json};

const OWN_GROUP: &str = "kueue.x-k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";
const EXTENSIONS: &str = "apiextensions.k8s.io";
const V1: &str = "v1";

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
        self.webhooks.iter_mut().for_each(|hook| register_hook(hook, facts));
    }
}

impl Register for ValidatingWebhookConfiguration {
    fn register(&mut self, facts: &Facts) {
        self.webhooks.iter_mut().for_each(|hook| register_hook(hook, facts));
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

fn register_hook(hook: &mut Value, facts: &Facts) {
    if let Some(client) = hook.pointer_mut("/clientConfig").and_then(Value::as_object_mut) {
        trust(client, facts);
    }
    let is_own = |hook: &Value| hook.pointer("/rules/0/apiGroups/0").is_none_or(|group| group == OWN_GROUP);
    if is_own(hook) {
        return;
    }
    let others = hook["matchConditions"].as_array().into_iter().flatten();
    let mut conditions: Vec<Value> =
        others.filter(|condition| condition["name"] != webhook_filter::NAME).cloned().collect();
    if let Some(namespaces) = &facts.default_namespaces {
        let expression = webhook_filter::expression(namespaces.iter().map(String::as_str));
        conditions.push(json!({"name": webhook_filter::NAME, "expression": expression}));
    }
    let Some(hook) = hook.as_object_mut() else { return };
    match conditions.is_empty() {
        true => drop(hook.remove("matchConditions")),
        false => drop(hook.insert("matchConditions".to_owned(), conditions.into())),
    }
}

/// What the names of our configurations begin with, given that of the Service.
pub fn base_name(service: &str) -> &str {
    service.strip_suffix("-webhook-service").unwrap_or(service)
}

/// The name of a configuration; `kind` is `mutating` or `validating`.
pub fn configuration_name(base: &str, kind: &str) -> String {
    format!("{base}-{kind}-webhook-configuration")
}
