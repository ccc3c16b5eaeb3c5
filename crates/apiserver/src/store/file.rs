//! An image as text, so that a server can go on where another one ended: one line for the whole, one per collection and
//! one per object.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Image, ImageOfCollection, Key, Object};
use crate::json::Value;
use crate::managed::{self, Managers};

/// What one line tells.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Line {
    /// The first one: the revision of the latest write.
    Revision(u64),
    /// The objects that follow are in this collection.
    Collection { name: String, changed_at: u64 },
    /// With its managed fields, and without apiVersion and kind.
    Object(Value),
}

fn unreadable(line: usize, problem: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {problem}"))
}

impl Image {
    /// Writes everything, in the order of names.
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let mut tell = |line: &Line| -> io::Result<()> {
            serde_json::to_writer(&mut *out, line)?;
            out.write_all(b"\n")
        };
        tell(&Line::Revision(self.revision))?;
        for ImageOfCollection { name, objects, changed_at } in &self.collections {
            tell(&Line::Collection { name: name.to_string(), changed_at: *changed_at })?;
            for object in objects.values() {
                tell(&Line::Object(object.whole()))?;
            }
        }
        Ok(())
    }

    /// Reads what was written.
    pub fn read(input: impl BufRead) -> io::Result<Self> {
        let mut image: Option<Self> = None;
        for (index, text) in input.lines().enumerate() {
            let wrong = |problem: &str| unreadable(index + 1, problem);
            let told = serde_json::from_str(&text?).map_err(|error| unreadable(index + 1, error))?;
            match (told, &mut image) {
                (Line::Revision(revision), None) => image = Some(Self { revision, collections: Vec::new() }),
                (Line::Collection { name, changed_at }, Some(image)) => {
                    let (name, objects) = (name.into(), BTreeMap::new());
                    image.collections.push(ImageOfCollection { name, objects, changed_at });
                }
                (Line::Object(object), Some(image)) => {
                    let collection = image.collections.last_mut();
                    let collection = collection.ok_or_else(|| wrong("an object of no collection"))?;
                    let stored = stored(object).ok_or_else(|| wrong("an object without a name or a version"))?;
                    collection.objects.insert(stored.0, Arc::new(stored.1));
                }
                (Line::Revision(_), Some(_)) => return Err(wrong("a second beginning")),
                (_, None) => return Err(wrong("no beginning before it")),
            }
        }
        image.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "it ends before it says anything"))
    }
}

fn stored(mut value: Value) -> Option<(Key, Object)> {
    let managed = match managed::take(&mut value) {
        Some(entries) => Managers::parse(&entries)?,
        None => Managers::default(),
    };
    let text = |name: &str| value["metadata"][name].as_str();
    let key = Key::new(text("namespace").unwrap_or_default(), text("name")?);
    let revision = text("resourceVersion")?.parse().ok()?;
    Some((key, Object::new(value, managed, revision)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;
    use crate::store::Store;

    fn read(text: &str) -> io::Result<Image> {
        Image::read(text.as_bytes())
    }

    #[test]
    fn what_was_written_is_read_again() {
        let store = Store::default();
        let entries = json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {}}, "time": "2026-01-01T00:00:00Z"}]);
        let object = json!({"metadata": {"namespace": "n", "name": "a"}, "data": {"text": "two\nlines"}});
        let content = crate::store::Content { value: object, managed: Managers::parse(&entries) };
        let known = store.create("things", Key::new("n", "a"), content).unwrap();
        store.open("others");
        let mut text = Vec::new();
        store.image().write(&mut text).unwrap();
        let again = Store::default();
        again.load(&Image::read(text.as_slice()).unwrap());
        let found = again.get("things", &Key::new("n", "a")).unwrap();
        assert_eq!((found.whole(), found.revision), (known.whole(), known.revision));
        assert_eq!((again.revision(), again.changed_at("things")), (store.revision(), store.changed_at("things")));
        assert_eq!(again.image().collections.len(), 2);
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_line() {
        for (text, told) in [
            ("", "it ends before it says anything"),
            ("{\"collection\": {\"name\": \"pods\", \"changedAt\": 0}}", "line 1: no beginning before it"),
            ("{\"revision\": 3}\n{\"revision\": 3}", "line 2: a second beginning"),
            ("{\"revision\": 3}\n{\"object\": {}}", "line 2: an object of no collection"),
            (
                "{\"revision\": 3}\n{\"collection\": {\"name\": \"p\", \"changedAt\": 0}}\n{\"object\": {}}",
                "line 3: an object without a name or a version",
            ),
            ("{\"revision\": 3}\n{\"obj", "line 2: EOF"),
        ] {
            let problem = read(text).unwrap_err().to_string();
            assert!(problem.starts_with(told), "{text}: {problem}");
        }
    }
}
