//! LimitRanges: their amounts must fit each other.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label::qualified_name;
use kueue_core::quantity::Quantity;
use kueue_core::resource_list::ResourceList;

use super::resource_names::validate_for_container;
use super::{Rules, defaults, resource_names};
use crate::json::Value;
use crate::kinds::text_at;

pub static RULES: Rules = Rules { creates_on_update: true, default: defaults::limit_range, validate, ..Rules::PLAIN };

/// The amounts of one limit, by what they say.
struct Amounts {
    min: ResourceList,
    max: ResourceList,
    default: ResourceList,
    request: ResourceList,
    ratio: ResourceList,
}

fn validate(range: &Value) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (index, limit) in range["spec"]["limits"].as_array().into_iter().flatten().enumerate() {
        let at = Path::new("spec").child("limits").index(index);
        let kind = text_at(limit, &["type"]);
        errors.extend(validate_type(kind, &at.child("type")));
        if !seen.insert(kind) {
            errors.push(Error::duplicate(&at.child("type"), kind));
        }
        errors.extend(validate_limit(limit, kind, &at));
    }
    errors
}

fn validate_type(kind: &str, at: &Path) -> Errors {
    let mistakes = qualified_name(kind);
    if !mistakes.is_empty() {
        return mistakes.into_iter().map(|why| Error::invalid(at, kind, why)).collect();
    }
    if kind.contains('/') || ["Container", "PersistentVolumeClaim", "Pod"].contains(&kind) {
        return Errors::new();
    }
    vec![Error::invalid(at, kind, "must be a standard limit type or fully qualified")]
}

fn validate_limit(limit: &Value, kind: &str, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut names = BTreeSet::new();
    let mut read = |field: &str, errors: &mut Errors| {
        let list = crate::json::read::<ResourceList>(&limit[field]).unwrap_or_default();
        for name in list.keys() {
            let at = at.child(field).key(name);
            errors.extend(match kind {
                "Pod" | "Container" => validate_for_container(name, &at),
                _ => resource_names::validate(name, &at),
            });
            names.insert(name.clone());
        }
        list
    };
    let (max, min) = (read("max", &mut errors), read("min", &mut errors));
    let (mut default, mut request) = (ResourceList::new(), ResourceList::new());
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if limit[field].as_object().is_some_and(|given| !given.is_empty()) {
                errors.push(Error::forbidden(&at.child(field), "may not be specified when `type` is 'Pod'"));
            }
        }
    } else {
        default = read("default", &mut errors);
        request = read("defaultRequest", &mut errors);
    }
    if kind == "PersistentVolumeClaim" && !min.contains_key("storage") && !max.contains_key("storage") {
        let why = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(Error::required(&at.child("limits"), why));
    }
    let ratio = read("maxLimitRequestRatio", &mut errors);
    let amounts = Amounts { min, max, default, request, ratio };
    for name in &names {
        errors.extend(amounts.compare(name, at));
    }
    errors
}

impl Amounts {
    /// What of one resource contradicts the rest.
    fn compare(&self, name: &str, at: &Path) -> Errors {
        let [min, max, default, request] =
            [&self.min, &self.max, &self.default, &self.request].map(|list| list.get(name));
        let mut errors = Errors::new();
        // Which field is blamed, the smaller and the greater one that contradict each other, and the value shown.
        type Rule<'a> = (&'a str, (Option<&'a Quantity>, &'a str), (Option<&'a Quantity>, &'a str), bool);
        let rules: [Rule<'_>; 6] = [
            ("min", (min, "min value"), (max, "max value"), true),
            ("defaultRequest", (min, "min value"), (request, "default request value"), false),
            ("defaultRequest", (request, "default request value"), (max, "max value"), true),
            ("defaultRequest", (request, "default request value"), (default, "default limit value"), true),
            ("default", (min, "min value"), (default, "default value"), true),
            ("default", (default, "default value"), (max, "max value"), false),
        ];
        for (field, (low, low_name), (high, high_name), shows_low) in rules {
            let (Some(low), Some(high)) = (low, high) else { continue };
            if low > high {
                let shown = if shows_low { low } else { high };
                let why = format!("{low_name} {low} is greater than {high_name} {high}");
                errors.push(Error::invalid(&at.child(field).key(name), shown.to_string(), why));
            }
        }
        if let Some(ratio) = self.ratio.get(name) {
            errors.extend(check_ratio(ratio, min, max, &at.child("maxLimitRequestRatio").key(name)));
        }
        let is_exact = name.contains('/') || name.starts_with("hugepages-");
        if let (true, Some(default), Some(request)) = (is_exact, default, request)
            && default != request
        {
            let why = format!("default value {default} must equal to defaultRequest value {request} in {name}");
            errors.push(Error::invalid(&at.child("defaultRequest").key(name), request.to_string(), why));
        }
        errors
    }
}

fn check_ratio(ratio: &Quantity, min: Option<&Quantity>, max: Option<&Quantity>, at: &Path) -> Errors {
    let mut errors = Errors::new();
    if *ratio < Quantity::from_units(1) {
        errors.push(Error::invalid(at, ratio.to_string(), format!("ratio {ratio} is less than 1")));
    }
    if let (Some(min), Some(max)) = (min, max) {
        let most = max.as_f64() / min.as_f64();
        if ratio.as_f64() > most {
            let why = format!("ratio {ratio} is greater than max/min = {most:.6}");
            errors.push(Error::invalid(at, ratio.to_string(), why));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn amounts_must_fit_each_other() {
        let cases = [
            (json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "default": {"cpu": "1"}}), ""),
            (
                json!({"type": "Container", "default": {"cpu": "5"}, "max": {"cpu": "2"}}),
                "default[cpu]: Invalid value: \"2\": default value 5 is greater than max value 2",
            ),
            (
                json!({"type": "Container", "min": {"cpu": "3"}, "max": {"cpu": "2"}}),
                "min[cpu]: Invalid value: \"3\": min value 3 is greater than max value 2",
            ),
            (
                json!({"type": "Container", "min": {"cpu": "3"}, "defaultRequest": {"cpu": "2"}}),
                "defaultRequest[cpu]: Invalid value: \"2\": min value 3 is greater than default request value 2",
            ),
            (
                json!({"type": "Pod", "default": {"cpu": "1"}}),
                "default: Forbidden: may not be specified when `type` is 'Pod'",
            ),
            (
                json!({"type": "PersistentVolumeClaim", "default": {"storage": "1"}}),
                "limits: Required value: either minimum or maximum storage value is required, but neither was provided",
            ),
            (
                json!({"type": "Container", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "4"}}),
                "maxLimitRequestRatio[cpu]: Invalid value: \"4\": ratio 4 is greater than max/min = 2.000000",
            ),
            (json!({"type": "Odd"}), "type: Invalid value: \"Odd\": must be a standard limit type or fully qualified"),
        ];
        for (limit, expected) in cases {
            let errors = validate(&json!({"spec": {"limits": [limit]}}));
            let said: Vec<String> =
                errors.iter().map(|error| error.to_string().replace("spec.limits[0].", "")).collect();
            assert_eq!(said.join("; "), expected, "{limit}");
        }
        let pod = json!({"type": "Pod"});
        assert_eq!(
            validate(&json!({"spec": {"limits": [pod, pod]}}))[0].to_string(),
            "spec.limits[1].type: Duplicate value: \"Pod\""
        );
    }
}
