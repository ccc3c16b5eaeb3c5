//! An object as it was written once.

use std::sync::OnceLock;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::managed::{self, Live, Managers};

/// `apiVersion` and `kind` are not stored: they belong to the way an object is asked for. Managed fields are kept apart,
/// because the server reads and shares them in a form of its own.
#[derive(Debug)]
pub struct Object {
    /// All but the managed fields.
    pub value: Value,
    pub managed: Managers,
    /// When it was written; also in its metadata.
    pub revision: u64,
    /// Whether it has not been written since it was created.
    pub is_new: bool,
    encoded: OnceLock<Bytes>,
}

/// What is to be written. Who says nothing of managed fields leaves them as they are.
#[derive(Debug)]
pub struct Content {
    pub value: Value,
    pub managed: Option<Managers>,
}

impl From<Value> for Content {
    fn from(value: Value) -> Self {
        Self { value, managed: None }
    }
}

impl Object {
    pub(super) fn new(value: Value, managed: Managers, revision: u64) -> Self {
        Self { value, managed, revision, is_new: false, encoded: OnceLock::new() }
    }

    /// An object that is shown and not stored.
    pub fn pretended(value: Value, managed: Managers) -> Self {
        Self::new(value, managed, 0)
    }

    /// A stored object in another form.
    #[must_use]
    pub fn shown_as(&self, value: Value) -> Self {
        Self::new(value, self.managed.clone(), self.revision)
    }

    pub fn metadata(&self) -> &Map<String, Value> {
        static EMPTY: OnceLock<Map<String, Value>> = OnceLock::new();
        self.value["metadata"].as_object().unwrap_or_else(|| EMPTY.get_or_init(Map::new))
    }

    pub fn live(&self) -> Live<'_> {
        Live { value: &self.value, managers: &self.managed }
    }

    /// The object with its managed fields, for somebody outside to see.
    pub fn whole(&self) -> Value {
        let mut value = self.value.clone();
        managed::put(&mut value, &self.managed);
        value
    }

    /// The object as JSON, without apiVersion and kind; made once, however many ask.
    pub fn encoded(&self) -> Bytes {
        // Copied, so that what is kept has no room to grow.
        self.encoded.get_or_init(|| Bytes::copy_from_slice(&encode(&self.value, &self.managed))).clone()
    }
}

fn encode(value: &Value, managed: &Managers) -> Vec<u8> {
    let managed = if managed.is_empty() { Vec::new() } else { managed.json() };
    let mut out = Vec::with_capacity(managed.len() + 4096);
    match value.as_object() {
        Some(object) => write_object(&mut out, object, |out, name, inner| match inner.as_object() {
            Some(metadata) if name == "metadata" => write_metadata(out, metadata, &managed),
            _ => write(out, inner),
        }),
        None => write(&mut out, value),
    }
    out
}

fn write(out: &mut Vec<u8>, value: &Value) {
    serde_json::to_writer(out, value).expect("keys of objects are texts");
}

fn write_name(out: &mut Vec<u8>, name: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    serde_json::to_writer(&mut *out, name).expect("a text can be written");
    out.push(b':');
}

fn write_object(out: &mut Vec<u8>, object: &Map<String, Value>, mut inside: impl FnMut(&mut Vec<u8>, &str, &Value)) {
    out.push(b'{');
    for (name, inner) in object {
        write_name(out, name);
        inside(out, name, inner);
    }
    out.push(b'}');
}

/// Keys are sorted, also where managed fields come between the others.
fn write_metadata(out: &mut Vec<u8>, metadata: &Map<String, Value>, managed: &[u8]) {
    let write_managed = |out: &mut Vec<u8>| {
        write_name(out, managed::FIELD);
        out.extend_from_slice(managed);
    };
    let mut is_due = !managed.is_empty();
    out.push(b'{');
    for (name, inner) in metadata {
        if is_due && name.as_str() > managed::FIELD {
            write_managed(out);
            is_due = false;
        }
        write_name(out, name);
        write(out, inner);
    }
    if is_due {
        write_managed(out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn managed_fields_stand_where_their_name_does() {
        let entries = json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}}, "time": "2026-01-01T00:00:00Z"}]);
        let managed = Managers::parse(&entries).unwrap();
        for metadata in
            [json!({}), json!({"labels": {"a": "b"}}), json!({"name": "n"}), json!({"labels": {}, "name": "n"})]
        {
            let object = Object::pretended(json!({"data": {"a": "\"\n"}, "metadata": metadata}), managed.clone());
            assert_eq!(object.whole()["metadata"]["managedFields"], entries);
            assert_eq!(object.encoded(), object.whole().to_string());
        }
        let bare = Object::pretended(json!({"metadata": {"name": "n"}, "z": 1}), Managers::default());
        assert_eq!(bare.encoded(), bare.value.to_string());
    }
}
