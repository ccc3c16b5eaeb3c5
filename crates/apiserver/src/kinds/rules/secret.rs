//! Secrets: a type that stays, and text that becomes data.

use kueue_core::field::{Error, Errors};

use super::check::Field;
use super::config_map::{check_immutable, check_key};
use super::{Rules, UnknownSelector, Update, immutable, set_default};
use crate::base64;
use crate::json::Value;

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

/// All values together.
const DATA_BYTES_MAX: usize = 1 << 20;
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(object);
    let data = root.child("data");
    let mut bytes = 0;
    for (key, value) in data.entries() {
        errors.extend(check_key(key, &value.path));
        bytes += base64::STANDARD.decode(value.text()).map_or(0, |decoded| decoded.len());
    }
    if bytes > DATA_BYTES_MAX {
        errors.push(Error::too_long(&data.path, DATA_BYTES_MAX));
    }
    check_type(&root, &data, &mut errors);
    errors
}

/// Types that are known have keys that must be there.
fn check_type(root: &Field<'_>, data: &Field<'_>, errors: &mut Errors) {
    let mut needs = |keys: &[&str]| {
        let missing = keys.iter().map(|key| data.child_key(key)).filter(|key| !key.is_set());
        errors.extend(missing.map(|key| key.required("")));
    };
    match root.child("type").text() {
        "kubernetes.io/service-account-token" => {
            let name = root.child("metadata.annotations").child_key(ACCOUNT_NAME);
            if name.is_empty() {
                errors.push(name.required(""));
            }
        }
        "kubernetes.io/tls" => needs(&["tls.crt", "tls.key"]),
        "kubernetes.io/ssh-auth" => needs(&["ssh-privatekey"]),
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            if keys.iter().all(|key| !data.child_key(key).is_set()) {
                needs(&keys);
            }
        }
        "kubernetes.io/dockercfg" => check_json(&data.child_key(".dockercfg"), errors),
        "kubernetes.io/dockerconfigjson" => check_json(&data.child_key(".dockerconfigjson"), errors),
        _ => {}
    }
}

fn check_json(value: &Field<'_>, errors: &mut Errors) {
    if !value.is_set() {
        errors.push(value.required(""));
        return;
    }
    let bytes = base64::STANDARD.decode(value.text()).unwrap_or_default();
    if let Err(error) = serde_json::from_slice::<crate::json::Map>(&bytes) {
        let shown = if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() };
        errors.push(Error::invalid(&value.path, "<secret contents redacted>", shown));
    }
}

fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = immutable(update, &[&["type"]]);
    errors.extend(check_immutable(update, &["data"]));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn text_becomes_data_and_wins() {
        let mut secret = json!({"data": {"a": "eA=="}, "stringData": {"a": "hello", "b": "ab"}});
        default(&mut secret);
        assert_eq!(secret, json!({"type": "Opaque", "data": {"a": "aGVsbG8=", "b": "YWI="}}));
    }

    #[test]
    fn known_types_have_known_keys() {
        let say = |secret: Value| super::super::check::lines(&validate(&secret));
        assert_eq!(
            say(json!({"type": "kubernetes.io/tls", "data": {"tls.crt": ""}})),
            ["data[tls.key]: Required value"]
        );
        assert_eq!(
            say(json!({"type": "kubernetes.io/basic-auth"})),
            ["data[username]: Required value", "data[password]: Required value"]
        );
        assert_eq!(
            say(json!({"type": "kubernetes.io/dockerconfigjson", "data": {".dockerconfigjson": ""}})),
            ["data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": unexpected end of JSON input"]
        );
        assert_eq!(
            say(json!({"type": "kubernetes.io/service-account-token"})),
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"]
        );
    }
}
