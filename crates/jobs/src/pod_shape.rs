//! What of a pod decides where and whether it is admitted: pods of one shape have the same role in their group.
//!
//! The hash of a shape is stored in annotations and names pod sets, so it has to come out as Kueue's: the text that is
//! hashed is what Go prints, where fields of a struct have an order of their own and keys of a map are sorted.

use kueue_api::core_v1::{Container, PodSpec};
use kueue_core::field::{Error, Errors, Path};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Of the hash, so many digits are shown.
const HASH_DIGITS: usize = 8;

/// The fields of a pod that admission looks at.
pub fn spec_shape(spec: &PodSpec) -> Map<String, Value> {
    let mut shape = Map::from_iter([
        ("initContainers".to_owned(), containers_shape(&spec.init_containers)),
        ("containers".to_owned(), containers_shape(&spec.containers)),
        ("nodeSelector".to_owned(), value_of(&spec.node_selector)),
        ("affinity".to_owned(), value_of(&spec.affinity)),
        ("tolerations".to_owned(), value_of(&spec.tolerations)),
        ("runtimeClassName".to_owned(), value_of(&spec.runtime_class_name)),
        ("priority".to_owned(), value_of(&spec.priority)),
        ("topologySpreadConstraints".to_owned(), rest_of(&spec.rest, "topologySpreadConstraints")),
        ("overhead".to_owned(), value_of(&spec.overhead)),
        ("resourceClaims".to_owned(), value_of(&spec.resource_claims)),
    ]);
    // Left out where nobody gave any, so that hashes from before there were such resources stay.
    if let Some(resources) = &spec.resources {
        shape.insert("resources".to_owned(), value_of(&resources.requests));
    }
    shape
}

/// The role of pods with this spec.
pub fn role_hash(spec: &PodSpec) -> String {
    let mut text = String::from(r#"{"spec":"#);
    print(&Value::Object(spec_shape(spec)), &SPEC, &mut text);
    text.push('}');
    // Go prints these so that JSON can stand in HTML; they only ever occur inside of texts.
    for (plain, escaped) in
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        text = text.replace(plain, escaped);
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digits: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    digits[..HASH_DIGITS].to_owned()
}

/// An error for every part of the shape that an update changes.
pub fn immutable_shape(new: &PodSpec, old: &PodSpec, path: &Path) -> Errors {
    let mut errors = Errors::new();
    compare(&Value::Object(spec_shape(new)), &Value::Object(spec_shape(old)), path, &mut errors);
    errors
}

fn compare(new: &Value, old: &Value, path: &Path, errors: &mut Errors) {
    // Only the levels that the shape itself has are looked into; what stands in them is one value.
    let Value::Object(fields) = new else { return };
    let missing = &Value::Null;
    let mut names: Vec<&String> = fields.keys().chain(old.as_object().into_iter().flat_map(Map::keys)).collect();
    names.sort();
    names.dedup();
    for name in names {
        let (new, old) = (new.get(name).unwrap_or(missing), old.get(name).unwrap_or(missing));
        let path = path.child(name);
        match (name.as_str(), new, old) {
            ("containers" | "initContainers", Value::Array(new), Value::Array(old)) if new.len() == old.len() => {
                for (index, (new, old)) in new.iter().zip(old).enumerate() {
                    compare(new, old, &path.index(index), errors);
                }
            }
            ("resources", Value::Object(inner), _) if inner.contains_key("requests") => {
                compare(new, old, &path, errors);
            }
            _ if new == old => {}
            _ => errors.push(Error::invalid(&path, new.clone(), "field is immutable")),
        }
    }
}

fn containers_shape(containers: &[Container]) -> Value {
    let shape = |container: &Container| {
        json!({
            "resources": {"requests": value_of(&container.resources.requests)},
            "ports": rest_of(&container.rest, "ports"),
        })
    };
    match containers {
        [] => Value::Null,
        containers => containers.iter().map(shape).collect(),
    }
}

/// A value as Go holds it after reading an object: what is empty was not given.
fn value_of<T: Serialize>(value: &T) -> Value {
    match serde_json::to_value(value).unwrap_or_default() {
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Object(fields) if fields.is_empty() => Value::Null,
        value => value,
    }
}

fn rest_of(rest: &Map<String, Value>, key: &str) -> Value {
    rest.get(key).map_or(Value::Null, value_of)
}

/// In which order the fields of an object are printed; those that are not named are keys of a map, and sorted.
struct Order(&'static [(&'static str, &'static Order)]);

static ANY: Order = Order(&[]);
static SPEC: Order = Order(&[
    ("affinity", &AFFINITY),
    ("containers", &CONTAINER),
    ("initContainers", &CONTAINER),
    ("nodeSelector", &ANY),
    ("overhead", &ANY),
    ("priority", &ANY),
    ("resourceClaims", &CLAIM),
    ("resources", &ANY),
    ("runtimeClassName", &ANY),
    ("tolerations", &TOLERATION),
    ("topologySpreadConstraints", &SPREAD),
]);
static CONTAINER: Order = Order(&[("ports", &PORT), ("resources", &ANY)]);
static PORT: Order =
    Order(&[("name", &ANY), ("hostPort", &ANY), ("containerPort", &ANY), ("protocol", &ANY), ("hostIP", &ANY)]);
static CLAIM: Order = Order(&[
    ("name", &ANY),
    ("resourceClaimName", &ANY),
    ("resourceClaimTemplateName", &ANY),
    ("podGroupResourceClaim", &ANY),
]);
static TOLERATION: Order =
    Order(&[("key", &ANY), ("operator", &ANY), ("value", &ANY), ("effect", &ANY), ("tolerationSeconds", &ANY)]);
static SPREAD: Order = Order(&[
    ("maxSkew", &ANY),
    ("topologyKey", &ANY),
    ("whenUnsatisfiable", &ANY),
    ("labelSelector", &SELECTOR),
    ("minDomains", &ANY),
    ("nodeAffinityPolicy", &ANY),
    ("nodeTaintsPolicy", &ANY),
    ("matchLabelKeys", &ANY),
]);
static SELECTOR: Order = Order(&[("matchLabels", &ANY), ("matchExpressions", &REQUIREMENT)]);
static REQUIREMENT: Order = Order(&[("key", &ANY), ("operator", &ANY), ("values", &ANY)]);
static AFFINITY: Order =
    Order(&[("nodeAffinity", &NODE_AFFINITY), ("podAffinity", &POD_AFFINITY), ("podAntiAffinity", &POD_AFFINITY)]);
static NODE_AFFINITY: Order = Order(&[
    ("requiredDuringSchedulingIgnoredDuringExecution", &NODE_SELECTOR),
    ("preferredDuringSchedulingIgnoredDuringExecution", &PREFERRED_TERM),
]);
static NODE_SELECTOR: Order = Order(&[("nodeSelectorTerms", &NODE_TERM)]);
static NODE_TERM: Order = Order(&[("matchExpressions", &REQUIREMENT), ("matchFields", &REQUIREMENT)]);
static PREFERRED_TERM: Order = Order(&[("weight", &ANY), ("preference", &NODE_TERM)]);
static POD_AFFINITY: Order = Order(&[
    ("requiredDuringSchedulingIgnoredDuringExecution", &POD_TERM),
    ("preferredDuringSchedulingIgnoredDuringExecution", &WEIGHTED_TERM),
]);
static POD_TERM: Order = Order(&[
    ("labelSelector", &SELECTOR),
    ("namespaces", &ANY),
    ("topologyKey", &ANY),
    ("namespaceSelector", &SELECTOR),
    ("matchLabelKeys", &ANY),
    ("mismatchLabelKeys", &ANY),
]);
static WEIGHTED_TERM: Order = Order(&[("weight", &ANY), ("podAffinityTerm", &POD_TERM)]);

fn print(value: &Value, order: &Order, text: &mut String) {
    match value {
        Value::Object(fields) => {
            let place = |name: &str| order.0.iter().position(|(known, _)| *known == name).unwrap_or(usize::MAX);
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(|name| (place(name), *name));
            for (index, name) in names.into_iter().enumerate() {
                text.push(if index == 0 { '{' } else { ',' });
                text.push_str(&Value::from(name.as_str()).to_string());
                text.push(':');
                let inner = order.0.iter().find(|(known, _)| known == name).map_or(&ANY, |(_, inner)| *inner);
                print(&fields[name], inner, text);
            }
            text.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                text.push(if index == 0 { '[' } else { ',' });
                print(item, order, text);
            }
            text.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        plain => text.push_str(&plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(value: Value) -> PodSpec {
        serde_json::from_value(value).unwrap()
    }

    fn printed(value: Value) -> String {
        let mut text = String::new();
        print(&Value::Object(spec_shape(&spec(value))), &SPEC, &mut text);
        text
    }

    #[test]
    fn the_hash_is_that_of_kueue() {
        for (value, hash) in [
            (json!({"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]}), "dc85db45"),
            (json!({"containers": [{"name": "c", "resources": {}}]}), "7aa6c7b8"),
        ] {
            assert_eq!(role_hash(&spec(value)), hash);
        }
    }

    #[test]
    fn only_what_admission_looks_at_changes_the_role() {
        let base = json!({"containers": [{"name": "c", "image": "a"}], "restartPolicy": "Never"});
        let other = json!({"containers": [{"name": "d", "image": "b", "env": [{"name": "X"}]}]});
        assert_eq!(role_hash(&spec(base.clone())), role_hash(&spec(other)));
        for change in [
            json!({"containers": [{"ports": [{"containerPort": 80}]}]}),
            json!({"containers": [{}, {}]}),
            json!({"containers": [{}], "priority": 7}),
            json!({"containers": [{}], "resources": {}}),
        ] {
            assert_ne!(role_hash(&spec(base.clone())), role_hash(&spec(change.clone())), "{change}");
        }
    }

    #[test]
    fn fields_are_printed_in_the_order_of_go_and_keys_of_maps_are_sorted() {
        let text = printed(json!({
            "containers": [{"ports": [{"containerPort": 80, "name": "web", "protocol": "TCP"}]}],
            "nodeSelector": {"b": "1", "a": "2"},
            "tolerations": [{"effect": "NoSchedule", "key": "k", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": "zone", "labelSelector": {"matchLabels": {"y": "1", "x": "2"}}}]}},
            "topologySpreadConstraints": [{"labelSelector": {}, "topologyKey": "zone", "maxSkew": 1}],
        }));
        for part in [
            r#""ports":[{"name":"web","containerPort":80,"protocol":"TCP"}]"#,
            r#""nodeSelector":{"a":"2","b":"1"}"#,
            r#"{"key":"k","operator":"Exists","effect":"NoSchedule"}"#,
            r#"[{"labelSelector":{"matchLabels":{"x":"2","y":"1"}},"topologyKey":"zone"}]"#,
            r#"[{"maxSkew":1,"topologyKey":"zone","labelSelector":{}}]"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn every_changed_part_of_a_shape_is_an_error_at_its_place() {
        let old = spec(json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}, {}]}));
        let new = spec(json!({"containers": [{"resources": {"requests": {"cpu": "2"}}}, {}], "priority": 1,
            "initContainers": [{}]}));
        let errors = immutable_shape(&new, &old, &Path::new("spec"));
        let fields: Vec<String> = errors.iter().map(|error| error.field.to_string()).collect();
        assert_eq!(fields, ["spec.containers[0].resources.requests", "spec.initContainers", "spec.priority"]);
        assert!(immutable_shape(&old, &old, &Path::new("spec")).is_empty());
    }
}
