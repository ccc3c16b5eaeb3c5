//! Pods: what the server sets at creation, and where the rules about changes are.

use kueue_core::field::Errors;

use super::check::Field;
use super::pod_spec::{Owner, check_annotations, check_spec};
use super::pod_template::default_spec;
use super::{Moment, PartRules, Rules, UnknownSelector, pod_warnings, set_default};
use crate::json::{Value, json};
use crate::kinds::pod_resources::{self, Side};

mod qos;
mod resize;
mod status;
mod update;

pub use qos::class as qos_class;
pub use update::put;

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
    validate,
    validate_create,
    validate_update: update::validate_update,
    prepare_status: status::prepare,
    validate_status: status::validate,
    warn: |new, old| match old {
        None => {
            let mut warnings = pod_warnings::of_name(new, old, "the Pod's hostname");
            warnings.extend(pod_warnings::of_pod(&Field::root(new)));
            warnings
        }
        Some(_) => Vec::new(),
    },
    status_metadata: &["annotations", "labels"],
    parts: &[
        PartRules {
            name: "ephemeralcontainers",
            prepare: |kept, wanted| update::put(&mut kept["spec"], "ephemeralContainers", &wanted["spec"]),
            validate: update::validate_ephemeral,
        },
        PartRules { name: "resize", prepare: resize::prepare, validate: resize::validate },
    ],
    ..Rules::PLAIN
};

fn default(object: &mut Value) {
    set_default(object, "spec", json!({}));
    let spec = &mut object["spec"];
    default_spec(spec);
    default_amounts(spec);
    set_default(spec, "enableServiceLinks", true);
    if let Some(address) = object.pointer("/status/podIP").cloned()
        && let Some(status) = object.get_mut("status")
    {
        set_default(status, "podIPs", json!([{"ip": address}]));
    }
}

/// What a pod asks for and the ports of its host, which its template leaves open.
fn default_amounts(spec: &mut Value) {
    let uses_host_network = spec["hostNetwork"] == true;
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            request_limits(&mut container["resources"]);
            let ports = container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten();
            for port in ports.filter(|_| uses_host_network) {
                let number = port["containerPort"].clone();
                set_default(port, "hostPort", number);
            }
        }
    }
    if spec.get("resources").is_some_and(Value::is_object) {
        let together = pod_resources::of_containers(spec, Side::Requests);
        if let Some(requests) = crate::schema::object_at(spec, &["resources", "requests"]) {
            for (name, amount) in together.into_iter().filter(|(name, _)| ["cpu", "memory"].contains(&name.as_str())) {
                requests.entry(name).or_insert_with(|| amount.to_string().into());
            }
        }
        request_limits(&mut spec["resources"]);
        let resources = spec["resources"].as_object_mut();
        if let Some(resources) = resources.filter(|resources| resources.get("requests") == Some(&json!({}))) {
            resources.remove("requests");
        }
    }
}

/// What is limited and not asked for is asked for up to its limit.
fn request_limits(resources: &mut Value) {
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else { return };
    if let Some(requests) = crate::schema::object_at(resources, &["requests"]) {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

fn prepare_create(object: &mut Value, moment: Moment<'_>) {
    let mut status = json!({"phase": "Pending", "qosClass": qos::class(&object["spec"])});
    let is_gated = object["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty());
    if is_gated {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "lastTransitionTime": moment.now.to_string(),
            "message": "Scheduling is blocked due to non-empty scheduling gates",
        }]);
    }
    object["status"] = status;
    merge_label_keys(object);
}

/// Keys whose values a term takes from the pod become expressions of its selector.
fn merge_label_keys(object: &mut Value) {
    let labels = object["metadata"]["labels"].clone();
    let spec = &mut object["spec"];
    for constraint in spec.pointer_mut("/topologySpreadConstraints").and_then(Value::as_array_mut).into_iter().flatten()
    {
        merge_keys(constraint, &labels);
    }
    for sort in ["podAffinity", "podAntiAffinity"] {
        let Some(affinity) = spec.pointer_mut(&format!("/affinity/{sort}")) else { continue };
        let required = affinity.get_mut("requiredDuringSchedulingIgnoredDuringExecution");
        required.and_then(Value::as_array_mut).into_iter().flatten().for_each(|term| merge_keys(term, &labels));
        let preferred = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution");
        for weighted in preferred.and_then(Value::as_array_mut).into_iter().flatten() {
            merge_keys(&mut weighted["podAffinityTerm"], &labels);
        }
    }
}

fn merge_keys(term: &mut Value, labels: &Value) {
    if term.get("labelSelector").is_none_or(Value::is_null) {
        return;
    }
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        for key in term.get(field).and_then(Value::as_array).cloned().unwrap_or_default() {
            let Some(value) = key.as_str().and_then(|key| labels.get(key)) else { continue };
            let expression = json!({"key": key, "operator": operator, "values": [value]});
            let selector = crate::schema::object_at(term, &["labelSelector"]);
            let list = selector
                .and_then(|selector| selector.entry("matchExpressions").or_insert_with(|| json!([])).as_array_mut());
            if let Some(list) = list {
                list.push(expression);
            }
        }
    }
}

/// What must hold at any time.
fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(object);
    let spec = root.child("spec");
    check_annotations(&root.child("metadata.annotations"), &spec, &mut errors);
    check_spec(&spec, Owner::Pod(&object["metadata"]), &mut errors);
    errors
}

/// What must hold only at first.
fn validate_create(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    if !spec.child("ephemeralContainers").is_empty() {
        errors.push(spec.child("ephemeralContainers").forbidden("cannot be set on create"));
    }
    if !spec.child("nodeName").is_empty() && !spec.child("schedulingGates").is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        errors.push(spec.child("nodeName").forbidden(why));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;

    #[test]
    fn limits_are_requested() {
        let mut pod = json!({"spec": {"hostNetwork": true, "containers": [{"name": "c", "image": "i",
            "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}], "resources": {"limits": {"cpu": "2"}}}});
        default(&mut pod);
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["resources"]["requests"], json!({"cpu": "1"}));
        assert_eq!(container["ports"][0]["hostPort"], 80);
        assert_eq!(pod["spec"]["resources"]["requests"], json!({"cpu": "1"}));
    }

    #[test]
    fn a_gated_pod_has_no_node() {
        let pod = json!({"spec": {"nodeName": "n", "schedulingGates": [{"name": "a"}]}});
        assert_eq!(
            lines(&validate_create(&pod)),
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"]
        );
    }

    #[test]
    fn label_keys_take_their_values_from_the_pod() {
        let mut pod = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"topologySpreadConstraints": [
            {"matchLabelKeys": ["app", "none"], "labelSelector": {"matchLabels": {"a": "b"}}}]}});
        merge_label_keys(&mut pod);
        assert_eq!(
            pod["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchExpressions"],
            json!([{"key": "app", "operator": "In", "values": ["x"]}])
        );
    }
}
