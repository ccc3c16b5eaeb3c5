//! ConfigMaps: once immutable, always immutable.

use kueue_core::field::{Error, Errors, Path};

use super::{Rules, Update};
use crate::json::{Map, Value};

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
    if bytes(object) > DATA_BYTES_MAX {
        // It is the whole object that is too large.
        errors.push(Error::too_long(&Path::new("[]"), DATA_BYTES_MAX));
    }
    errors
}

/// All values together.
const DATA_BYTES_MAX: usize = 1 << 20;

fn bytes(object: &Value) -> usize {
    let lengths = |field: &str| {
        let texts = object[field].as_object().into_iter().flat_map(Map::values).filter_map(Value::as_str);
        texts.map(str::len).collect::<Vec<usize>>()
    };
    // Three bytes are four letters.
    lengths("data").iter().sum::<usize>() + lengths("binaryData").iter().map(|length| length / 4 * 3).sum::<usize>()
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

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[test]
    fn keys_are_plain_and_in_one_place() {
        let say = |map: Value| lines(&validate(&map));
        assert_eq!(say(json!({"data": {"a.b": "1"}})), [""; 0]);
        assert_eq!(
            say(json!({"data": {"a": "1"}, "binaryData": {"a": ""}})),
            ["data[a]: Invalid value: \"a\": duplicate of key present in binaryData"]
        );
        assert_eq!(say(json!({"data": {"..": ""}})), ["data[..]: Invalid value: \"..\": must not be '..'"]);
        assert_eq!(
            say(json!({"data": {"a": "x".repeat(DATA_BYTES_MAX + 1)}})),
            ["[]: Too long: may not be more than 1048576 bytes"]
        );
    }

    #[test]
    fn what_is_immutable_stays_so() {
        let old = json!({"immutable": true, "data": {"a": "1"}});
        let new = json!({"data": {"a": "2"}});
        let why = "Forbidden: field is immutable when `immutable` is set";
        assert_eq!(
            lines(&validate_update(Update { new: &new, old: &old })),
            [format!("immutable: {why}"), format!("data: {why}")]
        );
    }
}
