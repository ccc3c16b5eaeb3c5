//! RuntimeClass: what running a pod in a certain way costs, and where it can.

use std::sync::Arc;

use super::{Plugin, creates_pod, forbidden};
use crate::admission::Attributes;
use crate::json::{Value, json};
use crate::kinds::pod_resources::list;
use crate::kinds::text_at;
use crate::rest::service::Server;
use crate::schema::object_at;
use crate::status::Result;
use crate::store::{Key, Object};

const DIFFERS: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const UNFOUNDED: &str = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

pub const PLUGIN: Plugin = Plugin {
    applies: creates_pod,
    mutate: Some(|server, attributes, object, _| {
        let Some(pod) = object else { return Ok(()) };
        match class_of(server, attributes, pod)? {
            Some(class) => apply(&mut pod["spec"], &class.value).map_err(|why| forbidden(attributes, &why)),
            None => Ok(()),
        }
    }),
    validate: Some(|server, attributes, object, _| {
        let Some(pod) = object else { return Ok(()) };
        let class = class_of(server, attributes, pod)?;
        let class = class.as_ref().map_or(&Value::Null, |class| &class.value);
        check(&pod["spec"], class).map_err(|why| forbidden(attributes, why))
    }),
    ..Plugin::NONE
};

fn class_of(server: &Server, attributes: &Attributes<'_>, pod: &Value) -> Result<Option<Arc<Object>>> {
    let Some(name) = pod["spec"]["runtimeClassName"].as_str() else { return Ok(None) };
    let missing = || forbidden(attributes, &format!("pod rejected: RuntimeClass \"{name}\" not found"));
    let found = server.store.get("runtimeclasses.node.k8s.io", &Key::new("", name));
    found.map(Some).ok_or_else(missing)
}

fn apply(spec: &mut Value, class: &Value) -> std::result::Result<(), String> {
    if class["overhead"].is_object() {
        let fixed = &class["overhead"]["podFixed"];
        let own = list(&spec["overhead"]);
        if !own.is_empty() && own != list(fixed) {
            return Err(DIFFERS.to_owned());
        }
        spec["overhead"] = fixed.clone();
    }
    if !class["scheduling"].is_object() {
        return Ok(());
    }
    if let Some(wanted) = class["scheduling"]["nodeSelector"].as_object()
        && let Some(own) = object_at(spec, &["nodeSelector"])
    {
        for (key, value) in wanted {
            let text = value.as_str().unwrap_or_default();
            if let Some(other) = own.get(key).and_then(Value::as_str).filter(|other| *other != text) {
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {text}; pod.spec.nodeSelector[{key}] = \
                     {other}"
                ));
            }
            own.insert(key.clone(), value.clone());
        }
    }
    let of = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let merged = merge_tolerations(of(&spec["tolerations"]), of(&class["scheduling"]["tolerations"]));
    if !merged.is_empty() {
        spec["tolerations"] = json!(merged);
    }
    Ok(())
}

/// Both lists without what another toleration says already.
fn merge_tolerations(mut all: Vec<Value>, more: Vec<Value>) -> Vec<Value> {
    all.extend(more);
    let mut merged: Vec<Value> = Vec::new();
    for (index, one) in all.iter().enumerate() {
        let is_said = merged.iter().any(|other| says(other, one));
        let is_said_later = all[index + 1..].iter().any(|other| other != one && says(other, one));
        if !is_said && !is_said_later {
            merged.push(one.clone());
        }
    }
    merged
}

/// Whether one toleration tolerates all that another does.
fn says(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let text = |of: &Value, field: &str| text_at(of, &[field]).to_owned();
    let exists = text(wide, "operator") == "Exists";
    let covers_key = text(wide, "key") == text(narrow, "key") || text(wide, "key").is_empty() && exists;
    let effect = text(wide, "effect");
    let covers_effect = effect.is_empty() || effect == text(narrow, "effect");
    let lasts = match wide["tolerationSeconds"].as_i64() {
        Some(seconds) if effect == "NoExecute" => {
            narrow["tolerationSeconds"].as_i64().is_some_and(|own| own <= seconds)
        }
        _ => true,
    };
    let covers_value = exists || text(narrow, "operator") == "Equal" && text(narrow, "value") == text(wide, "value");
    covers_key && covers_effect && lasts && covers_value
}

fn check(spec: &Value, class: &Value) -> std::result::Result<(), &'static str> {
    if class["overhead"].is_object() {
        let is_same = list(&class["overhead"]["podFixed"]) == list(&spec["overhead"]);
        return if is_same { Ok(()) } else { Err(DIFFERS) };
    }
    if spec["overhead"].is_object() { Err(UNFOUNDED) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_brings_its_cost_and_its_place() {
        let class = json!({
            "overhead": {"podFixed": {"cpu": "250m"}},
            "scheduling": {"nodeSelector": {"rc": "y"}, "tolerations": [{"key": "rc", "operator": "Exists"}]},
        });
        let cases = [
            (
                json!({"nodeSelector": {"a": "b"}, "tolerations": [{"key": "t", "operator": "Exists"}]}),
                Ok(json!({
                    "nodeSelector": {"a": "b", "rc": "y"}, "overhead": {"cpu": "250m"},
                    "tolerations": [{"key": "t", "operator": "Exists"}, {"key": "rc", "operator": "Exists"}],
                })),
            ),
            (
                json!({"nodeSelector": {"rc": "n"}}),
                Err("conflict: runtimeClass.scheduling.nodeSelector[rc] = y; pod.spec.nodeSelector[rc] = n".to_owned()),
            ),
            (json!({"overhead": {"cpu": "1"}}), Err(DIFFERS.to_owned())),
        ];
        for (mut spec, expected) in cases {
            assert_eq!(apply(&mut spec, &class).map(|()| spec), expected);
        }
        assert_eq!(check(&json!({"overhead": {"cpu": "1"}}), &json!({})), Err(UNFOUNDED));
        assert_eq!(check(&json!({"overhead": {"cpu": "0.25"}}), &class), Ok(()));
    }

    #[test]
    fn a_toleration_that_another_includes_goes() {
        let all = json!({"operator": "Exists"});
        let one = json!({"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"});
        let short = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        let long = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 50});
        let cases = [
            (vec![one.clone()], vec![all.clone()], vec![all.clone()]),
            (vec![all.clone()], vec![one.clone()], vec![all]),
            (vec![one.clone()], vec![one.clone()], vec![one.clone()]),
            (vec![short.clone()], vec![long.clone()], vec![long]),
            (vec![one.clone()], vec![short.clone()], vec![one, short]),
        ];
        for (first, second, expected) in cases {
            assert_eq!(merge_tolerations(first, second), expected);
        }
    }
}
