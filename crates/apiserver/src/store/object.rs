//! An object as it was written once.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::json::{Map, Value, write_text};
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
    encoded: OnceLock<Encoded>,
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

    /// The object as it is written at a revision.
    #[must_use]
    pub(super) fn stamped(mut self, revision: u64) -> Self {
        if let Some(metadata) = self.value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion", revision.to_string().into());
            metadata.shrink_to_fit();
        }
        self.revision = revision;
        self
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

    pub fn metadata(&self) -> &Map {
        static EMPTY: OnceLock<Map> = OnceLock::new();
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
        self.encoded.get_or_init(|| Encoded::of(self, None)).json.clone()
    }

    /// The same at once, with what it shares with the object that it follows taken from there.
    pub(super) fn encode_after(&self, before: &Self) {
        if before.encoded.get().is_some() {
            self.encoded.get_or_init(|| Encoded::of(self, Some(before)));
        }
    }

    /// Name and value of a field as JSON, if the object has that very value and is written already.
    fn part(&self, name: &str, value: &Value) -> Option<&[u8]> {
        let (encoded, fields) = (self.encoded.get()?, self.value.as_object()?);
        let (index, (_, own)) = fields.iter().enumerate().find(|(_, (own, _))| *own == name)?;
        let is_shared = own.is_same_as(value) && name != METADATA;
        is_shared.then(|| encoded.part(index)).flatten()
    }
}

/// The one field that is never what it was: it has the version, and managed fields are put into it.
const METADATA: &str = "metadata";

#[derive(Debug)]
struct Encoded {
    json: Bytes,
    /// Where each of the fields ends.
    ends: Box<[u32]>,
}

impl Encoded {
    fn of(object: &Object, before: Option<&Object>) -> Self {
        let managed = if object.managed.is_empty() { Vec::new() } else { object.managed.json() };
        let mut out = Vec::with_capacity(managed.len() + 4096);
        let mut ends = Vec::new();
        match object.value.as_object() {
            Some(fields) => {
                out.push(b'{');
                ends.reserve_exact(fields.len());
                for (name, inner) in fields {
                    match (before.and_then(|before| before.part(name, inner)), inner) {
                        (Some(part), _) => {
                            write_comma(&mut out);
                            out.extend_from_slice(part);
                        }
                        (None, Value::Object(metadata)) if *name == METADATA => {
                            write_name(&mut out, name);
                            write_metadata(&mut out, metadata, &managed);
                        }
                        _ => {
                            write_name(&mut out, name);
                            inner.write(&mut out);
                        }
                    }
                    ends.push(u32::try_from(out.len()).unwrap_or(u32::MAX));
                }
                out.push(b'}');
            }
            None => object.value.write(&mut out),
        }
        // Copied, so that what is kept has no room to grow.
        Self { json: Bytes::copy_from_slice(&out), ends: ends.into() }
    }

    fn part(&self, index: usize) -> Option<&[u8]> {
        let end = *self.ends.get(index)? as usize;
        let start = index.checked_sub(1).map_or(Some(0), |last| self.ends.get(last).map(|end| *end as usize))? + 1;
        self.json.get(start..end)
    }
}

fn write_comma(out: &mut Vec<u8>) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
}

fn write_name(out: &mut Vec<u8>, name: &str) {
    write_comma(out);
    write_text(name, out);
    out.push(b':');
}

/// Keys are sorted, also where managed fields come between the others.
fn write_metadata(out: &mut Vec<u8>, metadata: &Map, managed: &[u8]) {
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
        inner.write(out);
    }
    if is_due {
        write_managed(out);
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

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

    #[test]
    fn what_did_not_change_is_written_as_before() {
        let mut text = json!({"a": [1], "metadata": {"name": "n"}, "spec": {"x": {"y": 1}}, "status": {}, "z": "\""});
        let old = Object::pretended(text.clone(), Managers::default());
        text["status"] = json!({"b": true});
        text["more"] = json!({"c": [null]});
        text["metadata"]["name"] = "m".into();
        text.as_object_mut().unwrap().remove("a");
        for is_known in [false, true] {
            let new = Object::pretended(text.clone(), Managers::default());
            if is_known {
                assert_eq!(old.encoded(), old.value.to_string());
            }
            assert_eq!(old.part("spec", &text["spec"]).is_some(), is_known);
            new.encode_after(&old);
            assert_eq!((new.encoded.get().is_some(), new.encoded()), (is_known, text.to_string().into()));
        }
        assert_eq!(old.part("metadata", &old.value["metadata"]), None);
        assert_eq!(old.part("status", &text["status"]), None);
    }
}
