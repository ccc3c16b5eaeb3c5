//! RuntimeClasses: a handler that never changes.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label::validate_labels;
use kueue_core::name;
use kueue_core::resource_list::ResourceList;

use super::resource_names::validate_for_container;
use super::{Rules, immutable};
use crate::json::Value;
use crate::kinds::text_at;
use crate::meta::strings;

pub static RULES: Rules = Rules {
    allows_unconditional_update: false,
    validate,
    validate_update: |update| immutable(update, &[&["handler"]]),
    ..Rules::PLAIN
};

fn validate(class: &Value) -> Errors {
    let at = Path::new("handler");
    let handler = text_at(class, &["handler"]);
    let mut errors = Errors::new();
    if handler.is_empty() {
        errors.push(Error::required(&at, ""));
    } else {
        errors.extend(name::dns1123_label(handler).into_iter().map(|why| Error::invalid(&at, handler, why)));
    }
    let at = Path::new("overhead").child("limits");
    for (name, amount) in crate::json::read::<ResourceList>(&class["overhead"]["podFixed"]).unwrap_or_default() {
        errors.extend(validate_for_container(&name, &at.key(&name)));
        if amount.sign() < 0 {
            errors.push(Error::invalid(&at.key(&name), amount.to_string(), "must be greater than or equal to 0"));
        }
    }
    let at = Path::new("scheduling");
    errors.extend(validate_labels(&strings(&class["scheduling"]["nodeSelector"]), &at.child("nodeSelector")));
    let tolerations = class["scheduling"]["tolerations"].as_array().map(Vec::as_slice).unwrap_or_default();
    let key = |toleration: &Value| ["key", "operator", "value", "effect"].map(|name| toleration[name].clone());
    for (index, toleration) in tolerations.iter().enumerate() {
        if tolerations[..index].iter().any(|earlier| key(earlier) == key(toleration)) {
            errors.push(Error::duplicate(&at.child("tolerations").index(index), toleration.clone()));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::kinds::rules::Update;

    #[test]
    fn a_handler_is_a_label_and_stays() {
        let said = |class: Value| validate(&class).iter().map(Error::to_string).collect::<Vec<_>>().join("; ");
        assert_eq!(said(json!({"handler": "runc"})), "");
        assert_eq!(said(json!({})), "handler: Required value");
        assert_eq!(
            said(json!({"handler": "a", "overhead": {"podFixed": {"cpu": "-1"}}})),
            "overhead.limits[cpu]: Invalid value: \"-1\": must be greater than or equal to 0"
        );
        assert!(said(json!({"handler": "A"})).starts_with("handler: Invalid value: \"A\": a lowercase RFC 1123 label"));
        let update = Update { new: &json!({"handler": "b"}), old: &json!({"handler": "a"}) };
        let errors = (RULES.validate_update)(update);
        assert_eq!(errors[0].to_string(), "handler: Invalid value: \"b\": field is immutable");
    }
}
