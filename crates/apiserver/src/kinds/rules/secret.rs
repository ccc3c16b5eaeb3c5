//! Secrets: a type that stays, and text that becomes data.

use kueue_core::field::{Errors, Path};
use serde_json::{Map, Value};

use super::config_map::{check_immutable, check_key};
use super::{Rules, UnknownSelector, Update, immutable, set_default};

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
            data.insert(key, base64(text.as_str().unwrap_or_default().as_bytes()).into());
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

/// Bytes as text, as Secrets carry them.
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for index in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * index) & 63) as usize];
            text.push(if index > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    text
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
