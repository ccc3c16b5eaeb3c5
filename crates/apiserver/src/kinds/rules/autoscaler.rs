//! HorizontalPodAutoscalers: bounds, a target, and metrics to follow.

use kueue_core::field::{Error, Errors};

use super::check::Field;
use super::{Rules, Update, set_default};
use crate::json::{Value, json};

mod versions;

pub use versions::{to_first, to_second};

pub static RULES: Rules = Rules { default, validate, validate_status, ..Rules::PLAIN };

const WINDOW_SECONDS_MAX: i64 = 3600;
const PERIOD_SECONDS_MAX: i64 = 1800;
/// Each type of metric and the field that describes it.
const METRICS: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    set_default(spec, "minReplicas", 1);
    // The first version has a number instead of a list.
    if spec.get("targetCPUUtilizationPercentage").is_none() && spec.get("metrics").is_none_or(|list| *list == json!([]))
    {
        let cpu = json!({"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}});
        spec["metrics"] = json!([{"type": "Resource", "resource": cpu}]);
    }
    if let Some(behavior) = spec.get_mut("behavior").filter(|behavior| behavior.is_object()) {
        default_behavior(behavior);
    }
}

/// Who says something of one direction gets the rest of both.
fn default_behavior(behavior: &mut Value) {
    let policy = |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
    let directions = [
        ("scaleUp", json!([policy("Pods", 4), policy("Percent", 100)])),
        ("scaleDown", json!([policy("Percent", 100)])),
    ];
    for (direction, policies) in directions {
        set_default(behavior, direction, json!({}));
        let rules = &mut behavior[direction];
        set_default(rules, "selectPolicy", "Max");
        set_default(rules, "policies", policies);
        if direction == "scaleUp" {
            set_default(rules, "stabilizationWindowSeconds", 0);
        }
    }
}

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let (least, most) = (spec.child("minReplicas"), spec.child("maxReplicas"));
    if least.is_set() && least.number() < 1 {
        errors.push(least.invalid("must be greater than or equal to 1"));
    }
    match most.number() {
        0 => errors.push(most.required("must be set and greater than 0")),
        number if number < 0 => errors.push(most.invalid("must be greater than or equal to 1")),
        _ => {}
    }
    if least.is_set() && most.number() < least.number() {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push(Error::invalid(&most.path, most.number(), why));
    }
    let target = spec.child("scaleTargetRef");
    target.child("kind").needs(&mut errors);
    target.child("name").needs(&mut errors);
    for metric in spec.child("metrics").items() {
        check_metric(&metric, &mut errors);
    }
    for direction in ["scaleUp", "scaleDown"] {
        check_behavior(&spec.child("behavior").child(direction), &mut errors);
    }
    errors
}

fn check_metric(metric: &Field<'_>, errors: &mut Errors) {
    let kind = metric.child("type");
    if kind.is_empty() {
        errors.push(kind.required("must specify a metric source type"));
    }
    let names = METRICS.map(|(name, _)| name);
    if !names.contains(&kind.text()) {
        errors.push(Error::not_supported(&kind.path, kind.text(), &names));
        return;
    }
    for (name, field) in METRICS {
        let source = metric.child(field);
        if name == kind.text() && !source.is_set() {
            errors.push(source.required("must populate information for the given metric source"));
        } else if name != kind.text() && source.is_set() {
            errors.push(source.forbidden("must populate the given metric source only"));
        }
    }
}

fn check_behavior(rules: &Field<'_>, errors: &mut Errors) {
    if !rules.is_set() {
        return;
    }
    let window = rules.child("stabilizationWindowSeconds");
    if window.number() < 0 {
        errors.push(window.invalid("must be greater than or equal to zero"));
    }
    if window.number() > WINDOW_SECONDS_MAX {
        errors.push(window.invalid(format!("must be less than or equal to {WINDOW_SECONDS_MAX}")));
    }
    rules.child("selectPolicy").one_of(&["Disabled", "Max", "Min"], errors);
    for policy in rules.child("policies").items() {
        let (kind, period) = (policy.child("type"), policy.child("periodSeconds"));
        if !["Percent", "Pods"].contains(&kind.text()) {
            errors.push(Error::not_supported(&kind.path, kind.text(), &["Percent", "Pods"]));
        }
        policy.child("value").positive(errors);
        period.positive(errors);
        if period.number() > PERIOD_SECONDS_MAX {
            errors.push(period.invalid(format!("must be less than or equal to {PERIOD_SECONDS_MAX}")));
        }
    }
}

fn validate_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    for number in ["currentReplicas", "desiredReplicas"] {
        Field::root(update.new).child("status").child(number).not_negative(&mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;

    #[test]
    fn one_direction_brings_the_other() {
        let mut object = json!({"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}}}});
        default(&mut object);
        let policy = |kind: &str, value: i64| json!({"type": kind, "value": value, "periodSeconds": 15});
        let (up, down) = (json!([policy("Pods", 4), policy("Percent", 100)]), json!([policy("Percent", 100)]));
        let expected = json!({
            "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": up},
            "scaleDown": {"stabilizationWindowSeconds": 5, "selectPolicy": "Max", "policies": down},
        });
        assert_eq!(object["spec"]["behavior"], expected);
    }

    #[test]
    fn an_autoscaler_has_bounds_and_a_target() {
        let say = |fields: Value| {
            let mut spec = json!({"maxReplicas": 3, "scaleTargetRef": {"kind": "Deployment", "name": "d"}});
            spec.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let mut object = json!({"spec": spec});
            default(&mut object);
            lines(&validate(&object))
        };
        assert_eq!(say(json!({})), [""; 0]);
        assert_eq!(
            say(json!({"minReplicas": 5})),
            ["spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`"]
        );
        assert_eq!(
            say(json!({"scaleTargetRef": {"kind": "Deployment"}})),
            ["spec.scaleTargetRef.name: Required value"]
        );
        assert_eq!(
            say(json!({"metrics": [{"type": "Pods"}]})),
            ["spec.metrics[0].pods: Required value: must populate information for the given metric source"]
        );
    }
}
