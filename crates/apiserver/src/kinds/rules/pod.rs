//! Pods: gates, the few fields that may change, and what the server itself writes into the status.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::quantity::Quantity;
use serde_json::{Map, Value, json};

use super::pod_template::default_spec;
use super::{Moment, Rules, UnknownSelector, Update, set_default};

pub static RULES: Rules = Rules {
    has_generation: true,
    answers_deleted: true,
    selectable: &[
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ],
    unknown_selector: UnknownSelector::Label,
    default,
    prepare_create,
    validate_update,
    status_metadata: &["annotations", "labels"],
    ..Rules::PLAIN
};

/// How long a pod stays on a node that is not well, unless it says otherwise.
const TOLERATED: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

fn default(object: &mut Value) {
    set_default(object, "spec", json!({}));
    let spec = &mut object["spec"];
    default_spec(spec);
    set_default(spec, "enableServiceLinks", true);
    if let Some(address) = object.pointer("/status/podIP").cloned()
        && let Some(status) = object.get_mut("status")
    {
        set_default(status, "podIPs", json!([{"ip": address}]));
    }
}

fn prepare_create(object: &mut Value, moment: Moment<'_>) {
    let mut status = json!({"phase": "Pending", "qosClass": qos_class(&object["spec"])});
    let is_gated = object["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    if is_gated {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "lastTransitionTime": moment.now.to_string(),
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    object["status"] = status;
    let spec = &mut object["spec"];
    set_default(spec, "priority", 0);
    set_default(spec, "preemptionPolicy", "PreemptLowerPriority");
    tolerate(spec);
}

/// Pods stay five minutes on a node that is not ready.
fn tolerate(spec: &mut Value) {
    set_default(spec, "tolerations", json!([]));
    let Some(tolerations) = spec["tolerations"].as_array_mut() else { return };
    for key in TOLERATED {
        let covers = |toleration: &Value| {
            let names = toleration["key"].as_str().unwrap_or_default();
            let effect = toleration["effect"].as_str().unwrap_or_default();
            (names == key || names.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        };
        if !tolerations.iter().any(covers) {
            let seconds = 300;
            tolerations
                .push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}));
        }
    }
}

/// How a pod is treated when memory runs out, from what its containers ask for.
fn qos_class(spec: &Value) -> &'static str {
    let lists = ["containers", "initContainers"];
    let containers: Vec<&Value> = lists.iter().flat_map(|list| spec[list].as_array().into_iter().flatten()).collect();
    let amounts = |container: &Value, of: &str| -> Map<String, Value> {
        let counts = |(name, amount): &(&String, &Value)| {
            let is_positive = amount.as_str().and_then(|text| text.parse::<Quantity>().ok());
            ["cpu", "memory"].contains(&name.as_str()) && is_positive.is_some_and(|quantity| quantity.sign() > 0)
        };
        let found = container["resources"][of].as_object().into_iter().flatten().filter(counts);
        found.map(|(name, amount)| (name.clone(), amount.clone())).collect()
    };
    let asks_nothing =
        |container: &&Value| amounts(container, "requests").is_empty() && amounts(container, "limits").is_empty();
    let is_guaranteed = |container: &&Value| {
        let limits = amounts(container, "limits");
        limits.len() == 2 && amounts(container, "requests") == limits
    };
    // What a pod asks for as a whole counts like a container.
    let mut containers = containers;
    if spec["resources"].is_object() {
        containers = vec![spec];
    }
    if containers.iter().all(asks_nothing) {
        "BestEffort"
    } else if containers.iter().all(is_guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// What of a pod's spec may change at all; gates only lose members.
fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let at = Path::new("spec");
    let names = |object: &Value| -> Vec<String> {
        let gates = object["spec"]["schedulingGates"].as_array().map(Vec::as_slice).unwrap_or_default();
        gates.iter().filter_map(|gate| gate["name"].as_str()).map(str::to_owned).collect()
    };
    let (old_gates, new_gates) = (names(update.old), names(update.new));
    if let Some(index) = new_gates.iter().position(|gate| !old_gates.contains(gate)) {
        let why = format!("only deletion is allowed, but found new scheduling gate '{}'", new_gates[index]);
        errors.push(Error::forbidden(&at.child("schedulingGates").index(index).child("name"), why));
        return errors;
    }
    let is_gated = !old_gates.is_empty();
    if is_gated {
        errors.extend(validate_gated(update));
        if !errors.is_empty() {
            return errors;
        }
    }
    let (old, new) = (frozen(update.old, update.old, is_gated), frozen(update.new, update.old, is_gated));
    if old != new {
        let why = "pod updates may not change fields other than `spec.containers[*].image`,\
                   `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to \
                   existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                   previously negative)";
        errors.push(Error::forbidden(&at, why));
    }
    errors
}

/// The spec without what may differ.
fn frozen(object: &Value, old: &Value, is_gated: bool) -> Value {
    let mut spec = object["spec"].clone();
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            container["image"] = Value::Null;
        }
    }
    let mut free = vec!["activeDeadlineSeconds", "schedulingGates"];
    let keeps = |list: &str| {
        let kept = old["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        let present = object["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        kept.iter().all(|item| present.contains(item))
    };
    if keeps("tolerations") {
        free.push("tolerations");
    }
    if is_gated && gains_keys(&old["spec"]["nodeSelector"], &object["spec"]["nodeSelector"]) {
        free.push("nodeSelector");
    }
    if is_gated && narrows(&old["spec"]["affinity"], &object["spec"]["affinity"]) {
        free.push("affinity");
    }
    if old["spec"]["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0) {
        free.push("terminationGracePeriodSeconds");
    }
    for name in free {
        spec[name] = Value::Null;
    }
    spec
}

/// A gated pod may be told more about where it runs, and nothing may be taken back.
fn validate_gated(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let (old, new) = (&update.old["spec"], &update.new["spec"]);
    if !gains_keys(&old["nodeSelector"], &new["nodeSelector"]) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(Error::invalid(&Path::new("spec").child("nodeSelector"), new["nodeSelector"].clone(), why));
    }
    errors
}

fn gains_keys(old: &Value, new: &Value) -> bool {
    old.as_object().into_iter().flatten().all(|(key, value)| new.get(key) == Some(value))
}

/// Whether a node affinity admits no node that the old one did not.
fn narrows(old: &Value, new: &Value) -> bool {
    let required = |affinity: &Value| {
        affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"].clone()
    };
    let (Value::Array(old), Value::Array(new)) = (required(old), required(new)) else {
        return required(old).is_null();
    };
    let holds = |(old, new): (&Value, &Value)| {
        ["matchExpressions", "matchFields"].iter().all(|list| {
            let present = new[*list].as_array().map(Vec::as_slice).unwrap_or_default();
            old[*list].as_array().into_iter().flatten().all(|item| present.contains(item))
        })
    };
    old.len() == new.len() && old.iter().zip(&new).all(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(spec: Value) -> Value {
        let mut pod = json!({"metadata": {"name": "p"}});
        pod["spec"] = spec;
        pod
    }

    fn say(old: Value, new: Value) -> Vec<String> {
        let (old, new) = (pod(old), pod(new));
        validate_update(Update { new: &new, old: &old }).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn gates_only_go_away() {
        let [none, one] = [json!({}), json!({"schedulingGates": [{"name": "a"}]})];
        assert!(say(one.clone(), none.clone()).is_empty());
        assert_eq!(
            say(none, one),
            ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"]
        );
    }

    #[test]
    fn a_gated_pod_may_gain_a_node_selector() {
        let gates = json!([{"name": "a"}]);
        let with = |selector: Value| json!({"schedulingGates": gates, "nodeSelector": selector});
        assert!(say(with(json!({"a": "1"})), with(json!({"a": "1", "b": "2"}))).is_empty());
        assert_eq!(say(with(json!({"a": "1"})), with(json!({"b": "2"}))).len(), 1);
        assert_eq!(say(json!({}), json!({"nodeSelector": {"a": "1"}})).len(), 1);
    }

    #[test]
    fn quality_of_service_follows_from_requests_and_limits() {
        let spec = |resources: Value| json!({"containers": [{"resources": resources}]});
        assert_eq!(qos_class(&spec(json!({}))), "BestEffort");
        assert_eq!(qos_class(&spec(json!({"requests": {"cpu": "1"}}))), "Burstable");
        let both = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(qos_class(&spec(json!({"requests": both, "limits": both}))), "Guaranteed");
    }
}
