//! Deployments, ReplicaSets, StatefulSets and DaemonSets: a template, a selector that stays, defaults.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::selector::LabelSelector;
use serde_json::{Value, json};

use super::pod_template::default_spec;
use super::{Rules, Update, immutable, set_default};

pub static DEPLOYMENT: Rules = Rules {
    default: default_deployment,
    validate,
    validate_update: keep_selector,
    status_metadata: &["annotations"],
    ..Rules::WITH_GENERATION
};
pub static REPLICA_SET: Rules =
    Rules { default: default_replica_set, status_metadata: &["annotations", "labels"], ..DEPLOYMENT };
pub static STATEFUL_SET: Rules =
    Rules { default: default_stateful_set, status_metadata: &["annotations", "labels"], ..DEPLOYMENT };
pub static DAEMON_SET: Rules =
    Rules { default: default_daemon_set, status_metadata: &["annotations", "labels"], ..DEPLOYMENT };

fn keep_selector(update: Update<'_>) -> Errors {
    immutable(update, &[&["spec", "selector"]])
}

/// The selector must find the pods of the template.
fn validate(object: &Value) -> Errors {
    let selector: LabelSelector = serde_json::from_value(object["spec"]["selector"].clone()).unwrap_or_default();
    let labels = &object["spec"]["template"]["metadata"]["labels"];
    if selector.matches(&crate::meta::strings(labels)) {
        return Errors::new();
    }
    let at = Path::new("spec").child("template").child("metadata").child("labels");
    vec![Error::invalid(&at, labels.clone(), "`selector` does not match template `labels`")]
}

fn default_template(object: &mut Value) {
    if object.pointer("/spec/template").is_some_and(Value::is_object) {
        set_default(&mut object["spec"]["template"], "spec", json!({}));
        default_spec(&mut object["spec"]["template"]["spec"]);
    }
}

fn default_deployment(object: &mut Value) {
    default_template(object);
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "progressDeadlineSeconds", 600);
    set_default(spec, "strategy", json!({}));
    let strategy = &mut spec["strategy"];
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        set_default(strategy, "rollingUpdate", json!({}));
        set_default(&mut strategy["rollingUpdate"], "maxUnavailable", "25%");
        set_default(&mut strategy["rollingUpdate"], "maxSurge", "25%");
    }
}

fn default_replica_set(object: &mut Value) {
    default_template(object);
    if let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) {
        set_default(spec, "replicas", 1);
    }
}

fn default_stateful_set(object: &mut Value) {
    default_template(object);
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    set_default(spec, "replicas", 1);
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "podManagementPolicy", "OrderedReady");
    set_default(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        set_default(strategy, "rollingUpdate", json!({}));
        set_default(&mut strategy["rollingUpdate"], "partition", 0);
    }
    set_default(spec, "persistentVolumeClaimRetentionPolicy", json!({"whenDeleted": "Retain", "whenScaled": "Retain"}));
}

fn default_daemon_set(object: &mut Value) {
    default_template(object);
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    set_default(spec, "revisionHistoryLimit", 10);
    set_default(spec, "updateStrategy", json!({}));
    let strategy = &mut spec["updateStrategy"];
    set_default(strategy, "type", "RollingUpdate");
    if strategy["type"] == "RollingUpdate" {
        set_default(strategy, "rollingUpdate", json!({}));
        set_default(&mut strategy["rollingUpdate"], "maxUnavailable", 1);
        set_default(&mut strategy["rollingUpdate"], "maxSurge", 0);
    }
}
