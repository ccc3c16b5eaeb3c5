//! ConfigMaps: once immutable, always immutable.

use kueue_core::field::{Error, Errors, Path};
use serde_json::{Map, Value};

use super::{Rules, Update};

pub static RULES: Rules = Rules { validate, validate_update, ..Rules::PLAIN };

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let keys = |field: &str| object[field].as_object().into_iter().flat_map(Map::keys);
    for key in keys("data") {
        let at = Path::new("data").key(key);
        errors.extend(check_key(key, &at));
        if object["binaryData"].get(key).is_some() {
            errors.push(Error::invalid(&at, key.as_str(), "duplicate of key present in binaryData"));
        }
    }
    for key in keys("binaryData") {
        errors.extend(check_key(key, &Path::new("binaryData").key(key)));
    }
    errors
}

/// What is wrong with a key of a ConfigMap or Secret.
pub fn check_key(key: &str, at: &Path) -> Errors {
    let is_letter = |char: char| char.is_ascii_alphanumeric() || "-._".contains(char);
    let mut errors = Errors::new();
    if key.len() > 253 {
        errors.push(Error::invalid(at, key, "must be no more than 253 characters"));
    }
    if key.is_empty() || !key.chars().all(is_letter) {
        let why = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                   'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        errors.push(Error::invalid(at, key, why));
    }
    if key == "." || key == ".." {
        errors.push(Error::invalid(at, key, format!("must not be '{key}'")));
    } else if key.starts_with("..") {
        errors.push(Error::invalid(at, key, "must not start with '..'"));
    }
    errors
}

fn validate_update(update: Update<'_>) -> Errors {
    check_immutable(update, &["data", "binaryData"])
}

/// The mistakes of changing something whose `immutable` is set.
pub fn check_immutable(update: Update<'_>, fields: &[&str]) -> Errors {
    let mut errors = Errors::new();
    if update.old["immutable"] != true {
        return errors;
    }
    let why = "field is immutable when `immutable` is set";
    if update.new["immutable"] != true {
        errors.push(Error::forbidden(&Path::new("immutable"), why));
    }
    for field in fields {
        if update.new[*field] != update.old[*field] {
            errors.push(Error::forbidden(&Path::new(field), why));
        }
    }
    errors
}
