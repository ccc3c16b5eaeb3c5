//! Nodes: new ones are not ready until somebody says so.

use serde_json::{Value, json};

use super::{Moment, Rules, UnknownSelector, set_default};

pub static RULES: Rules = Rules {
    selectable: &["spec.unschedulable"],
    unknown_selector: UnknownSelector::Kind,
    creates_with_status: true,
    default,
    prepare_create: taint,
    ..Rules::PLAIN
};

/// All of a node can be given away unless it says otherwise; the first address range is one of all.
fn default(object: &mut Value) {
    if let Some(capacity) = object.pointer("/status/capacity").cloned()
        && let Some(status) = object.get_mut("status")
    {
        set_default(status, "allocatable", capacity);
    }
    if let Some(range) = object.pointer("/spec/podCIDR").cloned()
        && let Some(spec) = object.get_mut("spec")
    {
        set_default(spec, "podCIDRs", json!([range]));
    }
}

/// Nothing is scheduled onto a node before its first report.
fn taint(object: &mut Value, _: Moment<'_>) {
    let Some(spec) = crate::schema::object_at(object, &["spec"]) else { return };
    let taints = spec.entry("taints").or_insert_with(|| json!([]));
    let wanted = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    let is_it = |taint: &Value| taint["key"] == wanted["key"] && taint["effect"] == wanted["effect"];
    if let Some(list) = taints.as_array_mut().filter(|list| !list.iter().any(is_it)) {
        list.push(wanted);
    }
}
