//! The names of a definition: which are possible, and which are still free.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name::dns1035_label;

use super::{list, text};
use crate::json::{Value, json};

/// Every mistake of names, of those that are given.
pub fn validate(names: &Value, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for key in ["plural", "singular"] {
        let given = text(names, key);
        let wrong = dns1035_label(given);
        if !given.is_empty() && !wrong.is_empty() {
            errors.push(Error::invalid(&at.child(key), given, wrong.join(",")));
        }
    }
    for key in ["kind", "listKind"] {
        let given = text(names, key);
        let wrong = dns1035_label(&given.to_lowercase());
        if !given.is_empty() && !wrong.is_empty() {
            let why = format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
            errors.push(Error::invalid(&at.child(key), given, why));
        }
    }
    errors.extend(validate_list(names, "shortNames", at));
    if !text(names, "kind").is_empty() && names["kind"] == names["listKind"] {
        let why = "kind and listKind may not be the same";
        errors.push(Error::invalid(&at.child("listKind"), text(names, "listKind"), why));
    }
    errors.extend(validate_list(names, "categories", at));
    errors
}

fn validate_list(names: &Value, key: &str, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (index, given) in list(names, key).iter().enumerate() {
        let given = given.as_str().unwrap_or_default();
        let wrong = dns1035_label(given);
        if !wrong.is_empty() {
            errors.push(Error::invalid(&at.child(key).index(index), given, wrong.join(",")));
        }
    }
    errors
}

/// The names that the other definitions of a group have taken.
#[derive(Debug, Default)]
pub struct NamesIn {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl NamesIn {
    /// Adds what a definition has been given.
    pub fn add(&mut self, accepted: &Value) {
        for key in ["plural", "singular"] {
            self.resources.insert(text(accepted, key).to_owned());
        }
        self.resources.extend(list(accepted, "shortNames").iter().filter_map(Value::as_str).map(str::to_owned));
        for key in ["kind", "listKind"] {
            self.kinds.insert(text(accepted, key).to_owned());
        }
        self.resources.remove("");
        self.kinds.remove("");
    }
}

/// What a definition gets of the names it wants, and why not all of them: the reason and the message of a condition.
pub fn accept_names(wanted: &Value, accepted: &Value, taken: &NamesIn) -> (Value, Option<(&'static str, String)>) {
    let mut names = if accepted.is_object() { accepted.clone() } else { json!({}) };
    let mut refused = None;
    let steps = [
        ("plural", "PluralConflict", &taken.resources),
        ("singular", "SingularConflict", &taken.resources),
        ("shortNames", "ShortNamesConflict", &taken.resources),
        ("kind", "KindConflict", &taken.kinds),
        ("listKind", "ListKindConflict", &taken.kinds),
    ];
    for (key, reason, taken) in steps {
        let asked: Vec<&str> = match &wanted[key] {
            Value::Array(listed) => listed.iter().filter_map(Value::as_str).collect(),
            one => one.as_str().into_iter().collect(),
        };
        let has = |name: &str| accepted[key] == name || list(accepted, key).iter().any(|known| known == name);
        let conflicts: Vec<String> = asked
            .iter()
            .filter(|name| !has(name) && taken.contains(**name))
            .map(|name| format!("{name:?} is already in use"))
            .collect();
        match conflicts.as_slice() {
            [] => {
                names[key] = wanted[key].clone();
            }
            [only] => refused = Some((reason, only.clone())),
            several => refused = Some((reason, format!("[{}]", several.join(", ")))),
        }
    }
    names["categories"] = wanted["categories"].clone();
    if let Some(fields) = names.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        for key in ["kind", "plural"] {
            fields.entry(key).or_insert_with(|| "".into());
        }
    }
    (names, refused)
}
