//! The two versions of an autoscaler. It is stored as the second, which says everything with metrics; what the first has
//! no field for stands in annotations of it, in the words of its own types.

use crate::json::{List, Map, Value, json};
use crate::schema::object_at;

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Where metrics stand: what is wanted, or what is.
struct Side {
    part: &'static str,
    list: &'static str,
    /// The field of a metric, and how names begin in the first version.
    field: &'static str,
    /// The first version's own field for processors.
    percentage: &'static str,
    annotation: &'static str,
}

const SIDES: [Side; 2] = [
    Side {
        part: "spec",
        list: "metrics",
        field: "target",
        percentage: "targetCPUUtilizationPercentage",
        annotation: METRICS,
    },
    Side {
        part: "status",
        list: "currentMetrics",
        field: "current",
        percentage: "currentCPUUtilizationPercentage",
        annotation: CURRENT_METRICS,
    },
];
/// What else only the second version has: part, field, annotation.
const OTHERS: [(&str, &str, &str); 2] = [("spec", "behavior", BEHAVIOR), ("status", "conditions", CONDITIONS)];
/// Amounts of the second version, and what follows the beginning of their names in the first.
const AMOUNTS: [(&str, &str, &str); 3] = [
    ("averageUtilization", "AverageUtilization", "Utilization"),
    ("averageValue", "AverageValue", "AverageValue"),
    ("value", "Value", "Value"),
];

/// As the first version shows it.
pub fn to_first(mut object: Value) -> Value {
    let mut told = Map::new();
    for side in &SIDES {
        let Some(part) = object.get_mut(side.part).and_then(Value::as_object_mut) else { continue };
        let Some(Value::Array(metrics)) = part.remove(side.list) else { continue };
        let (own, others): (Vec<Value>, Vec<Value>) =
            metrics.into_iter().partition(|metric| is_percentage(metric, side));
        if let Some(first) = own.first() {
            part.insert(side.percentage, first["resource"][side.field]["averageUtilization"].clone());
        }
        if !others.is_empty() {
            let others: Vec<Value> = others.iter().map(|metric| metric_to_first(metric, side)).collect();
            told.insert(side.annotation, Value::from(others).to_string().into());
        }
    }
    for (part, field, annotation) in OTHERS {
        let found = object.get_mut(part).and_then(Value::as_object_mut).and_then(|part| part.remove(field));
        if let Some(found) = found.filter(|found| !found.is_null() && *found != json!([])) {
            let shown = if field == "behavior" { renamed(&found, upper) } else { found };
            told.insert(annotation, shown.to_string().into());
        }
    }
    if !told.is_empty()
        && let Some(annotations) = object_at(&mut object, &["metadata", "annotations"])
    {
        annotations.extend(told);
    }
    object
}

/// As it is stored. Annotations that cannot be read are dropped, as a real server does.
pub fn to_second(mut object: Value) -> Value {
    let mut take = |annotation: &str| -> Option<Value> {
        let text = object["metadata"].get_mut("annotations")?.as_object_mut()?.remove(annotation)?;
        serde_json::from_str(text.as_str()?).ok()
    };
    let listed = SIDES.map(|side| take(side.annotation));
    let others = OTHERS.map(|(_, _, annotation)| take(annotation));
    if object["metadata"]["annotations"] == json!({})
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("annotations");
    }
    for (side, listed) in SIDES.iter().zip(listed) {
        let Some(part) = object.get_mut(side.part).and_then(Value::as_object_mut) else { continue };
        let mut metrics = match part.remove(side.list) {
            Some(Value::Array(metrics)) => metrics,
            _ => List::default(),
        };
        if let Some(percentage) = part.remove(side.percentage).filter(|number| !number.is_null()) {
            let mut amount = json!({"averageUtilization": percentage});
            if side.field == "target" {
                amount["type"] = "Utilization".into();
            }
            metrics = vec![json!({"type": "Resource", "resource": {"name": "cpu", side.field: amount}})].into();
        }
        let more = listed.as_ref().and_then(Value::as_array).into_iter().flatten();
        metrics.extend(more.map(|metric| metric_to_second(metric, side)));
        if !metrics.is_empty() {
            part.insert(side.list, metrics.into());
        }
    }
    for ((part, field, _), found) in OTHERS.into_iter().zip(others) {
        let part = object.get_mut(part).and_then(Value::as_object_mut);
        if let (Some(part), Some(found)) = (part, found) {
            part.insert(field, if field == "behavior" { renamed(&found, lower) } else { found });
        }
    }
    // One that follows nothing follows the processors.
    super::default(&mut object);
    object
}

fn is_percentage(metric: &Value, side: &Side) -> bool {
    let resource = &metric["resource"];
    metric["type"] == "Resource" && resource["name"] == "cpu" && resource[side.field]["averageUtilization"].is_number()
}

/// The field that describes a metric of a type, and where it keeps its selector in the first version.
fn described(metric: &Value) -> (&'static str, &'static str) {
    match metric["type"].as_str().unwrap_or_default() {
        "ContainerResource" => ("containerResource", ""),
        "Pods" => ("pods", "selector"),
        "Object" => ("object", "selector"),
        "External" => ("external", "metricSelector"),
        _ => ("resource", ""),
    }
}

fn metric_to_first(metric: &Value, side: &Side) -> Value {
    let (field, selector) = described(metric);
    let source = &metric[field];
    let mut first = Map::new();
    let places = [
        ("name", &source["name"]),
        ("container", &source["container"]),
        ("metricName", &source["metric"]["name"]),
        (selector, &source["metric"]["selector"]),
        ("target", &source["describedObject"]),
    ];
    for (name, value) in places.into_iter().filter(|(_, value)| !value.is_null()) {
        first.insert(name, value.clone());
    }
    for (amount, ending, _) in AMOUNTS {
        if let Some(found) = source[side.field].get(amount) {
            first.insert(amount_name(field, amount, side, ending), found.clone());
        }
    }
    json!({"type": metric["type"], field: first})
}

fn metric_to_second(metric: &Value, side: &Side) -> Value {
    let (field, selector) = described(metric);
    let source = &metric[field];
    let mut second = json!({});
    for name in ["name", "container"] {
        if let Some(found) = source.get(name) {
            second[name] = found.clone();
        }
    }
    if let Some(name) = source.get("metricName") {
        second["metric"] = json!({"name": name});
        if let Some(selector) = source.get(selector) {
            second["metric"]["selector"] = selector.clone();
        }
    }
    if let Some(of) = source.get("target").filter(|_| field == "object") {
        second["describedObject"] = of.clone();
    }
    for (amount, ending, kind) in AMOUNTS {
        if let Some(found) = source.get(&amount_name(field, amount, side, ending)) {
            second[side.field][amount] = found.clone();
            if side.field == "target" && second["target"].get("type").is_none() {
                second["target"]["type"] = kind.into();
            }
        }
    }
    json!({"type": metric["type"], field: second})
}

/// `targetAverageValue`; the average of an object has no beginning.
fn amount_name(field: &str, amount: &str, side: &Side, ending: &str) -> String {
    if field == "object" && amount == "averageValue" { amount.to_owned() } else { format!("{}{ending}", side.field) }
}

/// The same with other names of fields, at every depth.
fn renamed(value: &Value, rename: fn(&str) -> String) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, inner)| (rename(name), renamed(inner, rename))).collect::<Map>().into()
        }
        Value::Array(items) => items.iter().map(|item| renamed(item, rename)).collect(),
        other => other.clone(),
    }
}

/// As Go names a field that has no name in JSON.
fn upper(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_uppercase(), chars.as_str()))
}

fn lower(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or_else(String::new, |first| format!("{}{}", first.to_ascii_lowercase(), chars.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_a_metric() {
        let first =
            json!({"metadata": {"name": "h"}, "spec": {"minReplicas": 1, "targetCPUUtilizationPercentage": 33}});
        let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 33}});
        let second = json!({"metadata": {"name": "h"}, "spec": {"minReplicas": 1, "metrics": [{"type": "Resource", "resource": cpu}]}});
        assert_eq!(to_second(first.clone()), second);
        assert_eq!(to_first(second), first);
    }

    #[test]
    fn what_the_first_version_cannot_say_is_annotated() {
        let average = |value: &str| json!({"type": "AverageValue", "averageValue": value});
        let mut second = json!({
            "metadata": {"name": "h"},
            "spec": {"maxReplicas": 3, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}}, "metrics": [
                {"type": "Resource", "resource": {"name": "memory", "target": average("1Gi")}},
                {"type": "ContainerResource", "containerResource": {
                    "name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 5}}},
                {"type": "Pods", "pods": {"metric": {"name": "m", "selector": {"matchLabels": {"a": "b"}}}, "target": average("5")}},
                {"type": "Object", "object": {
                    "describedObject": {"kind": "Service", "name": "s"}, "metric": {"name": "o"}, "target": {"type": "Value", "value": "7"}}},
                {"type": "External", "external": {"metric": {"name": "e"}, "target": average("9")}},
            ]},
            "status": {"desiredReplicas": 1, "conditions": [{"type": "AbleToScale"}], "currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 42}}},
                {"type": "Pods", "pods": {"metric": {"name": "m"}, "current": {"averageValue": "3"}}},
            ]},
        });
        super::super::default(&mut second);
        let first = to_first(second.clone());
        let told = |name: &str| -> Value {
            serde_json::from_str(first["metadata"]["annotations"][name].as_str().unwrap()).unwrap()
        };
        assert_eq!(
            told(METRICS),
            json!([
                {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
                {"type": "ContainerResource", "containerResource": {"name": "cpu", "targetAverageUtilization": 5, "container": "c"}},
                {"type": "Pods", "pods": {"metricName": "m", "targetAverageValue": "5", "selector": {"matchLabels": {"a": "b"}}}},
                {"type": "Object", "object": {"target": {"kind": "Service", "name": "s"}, "metricName": "o", "targetValue": "7"}},
                {"type": "External", "external": {"metricName": "e", "targetAverageValue": "9"}},
            ])
        );
        assert_eq!(told(BEHAVIOR)["ScaleDown"]["StabilizationWindowSeconds"], 5);
        assert_eq!(first["status"], json!({"desiredReplicas": 1, "currentCPUUtilizationPercentage": 42}));
        assert_eq!(to_second(first), second);
    }
}
