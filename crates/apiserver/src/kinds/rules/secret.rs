//! Secrets: a type that stays, and text that becomes data.

use kueue_core::field::{Errors, Path};
use serde_json::{Map, Value};

use super::config_map::{check_immutable, check_key};
use super::{Rules, UnknownSelector, Update, immutable, set_default};
use crate::base64;

pub static RULES: Rules = Rules {
    selectable: &["type"],
    unknown_selector: UnknownSelector::Kind,
    default,
    validate,
    validate_update,
    ..Rules::PLAIN
};

fn default(object: &mut Value) {
    set_default(object, "type", "Opaque");
    let Some(Value::Object(texts)) = object.as_object_mut().and_then(|object| object.remove("stringData")) else {
        return;
    };
    if let Some(data) = crate::schema::object_at(object, &["data"]) {
        for (key, text) in texts {
            data.insert(key, base64::STANDARD.encode(text.as_str().unwrap_or_default().as_bytes()).into());
        }
    }
}

fn validate(object: &Value) -> Errors {
    let keys = object["data"].as_object().into_iter().flat_map(Map::keys);
    keys.flat_map(|key| check_key(key, &Path::new("data").key(key))).collect()
}

fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = immutable(update, &[&["type"]]);
    errors.extend(check_immutable(update, &["data"]));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_becomes_data_and_wins() {
        let mut secret = json!({"data": {"a": "eA=="}, "stringData": {"a": "hello", "b": "ab"}});
        default(&mut secret);
        assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "aGVsbG8=", "b": "YWI="}}));
    }
}
