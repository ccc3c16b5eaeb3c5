//! Nodes: new ones are not ready until somebody says so.

use kueue_core::field::{Error, Errors};
use kueue_core::label;

use super::check::{Field, cidr};
use super::pod_spec::{check_taint_effect, is_native};
use super::{Moment, Rules, UnknownSelector, Update, set_default};
use crate::json::{Value, json};

pub static RULES: Rules = Rules {
    selectable: &["spec.unschedulable"],
    unknown_selector: UnknownSelector::Kind,
    creates_with_status: true,
    default,
    prepare_create: taint,
    validate,
    validate_update,
    validate_status: validate_update,
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

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(object);
    check_taints(&root, &mut errors);
    check_resources(&root, &mut errors);
    let ranges = root.child("spec.podCIDRs");
    for range in ranges.items() {
        if cidr(range.text()).is_none() {
            errors.push(range.invalid("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"));
        }
    }
    let families: Vec<bool> = ranges.items().filter_map(|range| Some(cidr(range.text())?.0.is_ipv4())).collect();
    let is_pair = ranges.len() == 2 && families.len() == 2 && families[0] != families[1];
    if ranges.len() > 1 && !is_pair {
        errors.push(ranges.invalid("may specify no more than one CIDR for each IP family"));
    }
    errors
}

fn check_taints(root: &Field<'_>, errors: &mut Errors) {
    // A real server names this place wrongly.
    let taints = Field { value: root.child("spec.taints").value, path: root.child("metadata.taints").path };
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for taint in taints.items() {
        let (key, value, effect) = (taint.child("key"), taint.child("value"), taint.child("effect"));
        errors.extend(label::validate_key(key.text(), &key.path));
        let mistakes = label::value(value.text());
        if !mistakes.is_empty() {
            errors.push(value.invalid(mistakes.join(";")));
        }
        if effect.needs(errors) {
            check_taint_effect(&effect, errors);
        }
        let pair = (key.text(), effect.text());
        if seen.contains(&pair) {
            let detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(Error { detail, ..taint.duplicate() });
        }
        seen.push(pair);
    }
}

fn check_resources(root: &Field<'_>, errors: &mut Errors) {
    for list in ["status.capacity", "status.allocatable"] {
        for (name, amount) in root.child(list).entries() {
            let amount = Field { value: amount.value, path: root.child(list).path.child(name) };
            amount.amount(errors);
            let is_whole = amount.quantity().is_none_or(|quantity| quantity.milli_value() % 1000 == 0);
            if !is_native(name) && !is_whole {
                errors.push(amount.invalid("must be an integer"));
            }
        }
    }
}

fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let (new, old) = (Field::root(update.new), Field::root(update.old));
    check_resources(&new, &mut errors);
    let mut seen: Vec<&Value> = Vec::new();
    for address in new.child("status.addresses").items() {
        if seen.contains(&address.value) {
            errors.push(address.duplicate());
        }
        seen.push(address.value);
    }
    for (field, shown) in [("spec.podCIDRs", "podCIDR"), ("spec.providerID", "providerID")] {
        let (now, before) = (new.child(field), old.child(field));
        if !before.is_empty() && now.value != before.value {
            errors.push(now.forbidden(format!("node updates may not change {shown} except from \"\" to valid")));
        }
    }
    // Taints are looked at again in an update.
    check_taints(&new, &mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;

    #[test]
    fn taints_are_well_formed_and_there_once() {
        let say = |taints: Value| lines(&validate(&json!({"spec": {"taints": taints}})));
        assert_eq!(say(json!([{"key": "a", "effect": "NoSchedule"}])), [""; 0]);
        assert_eq!(say(json!([{"key": "a"}])), ["metadata.taints[0].effect: Required value"]);
        assert_eq!(
            say(json!([{"key": "a", "effect": "X"}])),
            [
                "metadata.taints[0].effect: Unsupported value: \"X\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\""
            ]
        );
        let twice = say(json!([{"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"}]));
        assert!(twice[0].ends_with("taints must be unique by key and effect pair"), "{twice:?}");
    }

    #[test]
    fn a_range_is_given_once() {
        let node = |range: &str| json!({"spec": {"podCIDRs": [range]}});
        assert_eq!(lines(&validate_update(Update { new: &node("10.0.0.0/24"), old: &json!({}) })), [""; 0]);
        assert_eq!(
            lines(&validate_update(Update { new: &node("10.0.1.0/24"), old: &node("10.0.0.0/24") })),
            ["spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid"]
        );
        assert_eq!(lines(&validate(&node("x"))).len(), 1);
    }

    #[test]
    fn devices_come_in_whole_numbers() {
        assert_eq!(
            lines(&validate(&json!({"status": {"capacity": {"a.b/gpu": "1500m"}}}))),
            ["status.capacity.a.b/gpu: Invalid value: \"1500m\": must be an integer"]
        );
    }
}
