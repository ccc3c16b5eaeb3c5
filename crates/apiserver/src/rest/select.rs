//! Which objects a list or watch is about: namespace, name, labels and fields.

use kueue_core::selector::{FieldSelector, Selector};

use super::query::ListOptions;
use crate::json::Value;
use crate::kinds::Resource;
use crate::kinds::rules::UnknownSelector;
use crate::meta::strings;
use crate::status::{Result, Status};
use crate::store::{Key, Object};

/// A parsed selection; nothing in it means everything.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    labels: Selector,
    fields: FieldSelector,
    /// Set when a watch names one object.
    name: String,
}

impl Selection {
    pub fn parse(options: &ListOptions, resource: &Resource, name: &str) -> Result<Self> {
        let wrong = |error: kueue_core::selector::ParseSelectorError| Status::bad_request(error.to_string());
        let labels = options.label_selector.parse().map_err(wrong)?;
        let fields: FieldSelector = options.field_selector.parse().map_err(wrong)?;
        for term in &fields.terms {
            if !is_selectable(resource, &term.field) {
                return Err(Status::bad_request(unknown(resource, &term.field)));
            }
        }
        Ok(Self { labels, fields, name: name.to_owned() })
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.terms.is_empty() && self.name.is_empty()
    }

    pub fn matches(&self, key: &Key, object: &Object) -> bool {
        if !self.name.is_empty() && key.name != self.name {
            return false;
        }
        let has_labels = self.labels.is_empty() || self.labels.matches(&strings(&object.value["metadata"]["labels"]));
        has_labels
            && self.fields.terms.iter().all(|term| {
                let found = match term.field.as_str() {
                    "metadata.name" | "name" => key.name.clone(),
                    "metadata.namespace" => key.namespace.clone(),
                    field => field_text(&object.value, field),
                };
                (found == term.value) == term.is_equal
            })
    }
}

fn is_selectable(resource: &Resource, field: &str) -> bool {
    let selectable = match &resource.custom {
        Some(custom) => custom.selectable.iter().any(|known| known == field),
        None => resource.rules.selectable.contains(&field),
    };
    selectable || ["metadata.name", "metadata.namespace"].contains(&field)
}

fn unknown(resource: &Resource, field: &str) -> String {
    match resource.rules.unknown_selector {
        UnknownSelector::Generic => {
            format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
        }
        UnknownSelector::Label => format!("field label not supported: {field}"),
        UnknownSelector::Kind => format!("field label \"{field}\" not supported for {}", resource.kind),
    }
}

/// The value of a field as a selector sees it: text, with "nothing" and "zero" being what Go prints for them.
fn field_text(object: &Value, field: &str) -> String {
    let (path, unset) = match field {
        "status.successful" => ("status.succeeded", "0"),
        "status.replicas" => (field, "0"),
        "source" => ("source.component", ""),
        "spec.unschedulable" | "spec.hostNetwork" => (field, "false"),
        _ => (field, ""),
    };
    let at = |path: &str| path.split('.').try_fold(object, |value, name| value.get(name));
    // An event may be stored in the form of the other group.
    let found = at(path).or_else(|| {
        OTHER_NAMES.iter().find_map(|(one, other)| {
            let renamed = |from: &str, to: &str| path.strip_prefix(from).map(|rest| format!("{to}{rest}"));
            at(&renamed(one, other).or_else(|| renamed(other, one))?)
        })
    });
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => unset.to_owned(),
        Some(other) => other.to_string(),
    }
}

/// How the two groups of events call what can be selected.
const OTHER_NAMES: [(&str, &str); 3] =
    [("involvedObject", "regarding"), ("reportingComponent", "reportingController"), ("source.", "deprecatedSource.")];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_field_that_is_not_set_has_its_zero_value() {
        assert_eq!(field_text(&json!({}), "spec.unschedulable"), "false");
        assert_eq!(field_text(&json!({"spec": {"unschedulable": true}}), "spec.unschedulable"), "true");
        assert_eq!(field_text(&json!({}), "status.successful"), "0");
        assert_eq!(field_text(&json!({}), "spec.nodeName"), "");
    }

    #[test]
    fn events_are_found_by_either_name() {
        let event = json!({"regarding": {"name": "p"}});
        assert_eq!(field_text(&event, "involvedObject.name"), "p");
        assert_eq!(field_text(&event, "regarding.name"), "p");
    }
}
