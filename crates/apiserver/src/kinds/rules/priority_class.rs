//! PriorityClasses: a value that never changes, and names that the system keeps for itself.

use kueue_core::field::{Error, Errors, Path};

use super::{Rules, Update, defaults, immutable};
use crate::json::Value;
use crate::kinds::text_at;

/// The highest value that a user may give.
const VALUE_MAX: i64 = 1_000_000_000;
/// Classes of the system, with their values.
const OF_SYSTEM: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

pub static RULES: Rules = Rules {
    keeps_generation: true,
    default: |object| defaults::fill(defaults::PRIORITY_CLASS, object),
    validate,
    validate_update,
    ..Rules::WITH_GENERATION
};

fn validate(class: &Value) -> Errors {
    let mut errors = Errors::new();
    let (name, value) = (text_at(class, &["metadata", "name"]), class["value"].as_i64().unwrap_or_default());
    if name.starts_with("system-") {
        if let Err(why) = check_system_class(name, value, class["globalDefault"] == true) {
            let why =
                format!("priority class names with 'system-' prefix are reserved for system use only. error: {why}");
            errors.push(Error::forbidden(&Path::new("metadata").child("name"), why));
        }
    } else if value > VALUE_MAX {
        let why = format!("maximum allowed value of a user defined priority is {VALUE_MAX}");
        errors.push(Error::forbidden(&Path::new("value"), why));
    }
    let policy = class["preemptionPolicy"].as_str();
    if let Some(odd) = policy.filter(|policy| !["PreemptLowerPriority", "Never"].contains(policy)) {
        let known = ["PreemptLowerPriority", "Never"];
        errors.push(Error::not_supported(&Path::new("preemptionPolicy"), odd, &known));
    }
    errors
}

fn check_system_class(name: &str, value: i64, is_default: bool) -> Result<(), String> {
    let known = OF_SYSTEM.iter().find(|(known, _)| *known == name);
    match known {
        None => Err(format!("{name} is not a known system priority class")),
        Some((_, own)) if *own != value => Err(format!("value of {name} PriorityClass must be {own}")),
        Some(_) if is_default => Err(format!("globalDefault of {name} PriorityClass must be false")),
        Some(_) => Ok(()),
    }
}

fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    if update.new["value"] != update.old["value"] {
        errors.push(Error::forbidden(&Path::new("value"), "may not be changed in an update."));
    }
    errors.extend(immutable(update, &[&["preemptionPolicy"]]));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn shown(errors: &Errors) -> String {
        errors.iter().map(Error::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn high_values_and_names_belong_to_the_system() {
        let reserved = "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use \
                        only. error: ";
        let cases = [
            (json!({"metadata": {"name": "a"}, "value": 1_000_000_000}), String::new()),
            (
                json!({"metadata": {"name": "a"}, "value": 1_000_000_001}),
                "value: Forbidden: maximum allowed value of a user defined priority is 1000000000".to_owned(),
            ),
            (
                json!({"metadata": {"name": "system-mine"}, "value": 1}),
                format!("{reserved}system-mine is not a known system priority class"),
            ),
            (
                json!({"metadata": {"name": "system-node-critical"}, "value": 1}),
                format!("{reserved}value of system-node-critical PriorityClass must be 2000001000"),
            ),
            (json!({"metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}), String::new()),
            (
                json!({"metadata": {"name": "a"}, "preemptionPolicy": "X"}),
                "preemptionPolicy: Unsupported value: \"X\": supported values: \"PreemptLowerPriority\", \"Never\""
                    .to_owned(),
            ),
        ];
        for (class, expected) in cases {
            assert_eq!(shown(&validate(&class)), expected, "{class}");
        }
    }

    #[test]
    fn a_value_stays() {
        let update = Update { new: &json!({"value": 2}), old: &json!({"value": 1}) };
        assert_eq!(shown(&validate_update(update)), "value: Forbidden: may not be changed in an update.");
    }
}
