//! The entries of `managedFields`: one per manager, operation, version and part of the object.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::set::FieldSet;
use crate::json::{Value, write_text};

/// What tells entries apart, in the order in which conflicts are told. Appliers are the same whichever version they use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    pub name: Arc<str>,
    pub is_update: bool,
    pub api_version: Arc<str>,
    pub subresource: Arc<str>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub manager: Manager,
    pub set: FieldSet,
    pub time: Option<Arc<str>>,
    /// The version in which the set was written.
    pub api_version: Arc<str>,
}

/// All entries of an object, in the order of their managers. Objects share them until they change.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Managers(Arc<Vec<Entry>>);

/// How many that write plainly are kept apart; the oldest beyond that become one.
const UPDATE_MANAGERS_MAX: usize = 10;
const ANCIENT: &str = "ancient-changes";

impl Manager {
    pub fn of(name: &str, is_update: bool, api_version: &str, subresource: &str) -> Self {
        Self {
            name: if name.is_empty() { "unknown" } else { name }.into(),
            is_update,
            api_version: if is_update { api_version } else { "" }.into(),
            subresource: subresource.into(),
        }
    }

    /// As a conflict names it.
    pub fn shown(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.is_update {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

impl Entry {
    /// Reads an entry as a client wrote it; nothing when it is none.
    fn parse(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let is_known = ["Apply", "Update"].contains(&text("operation"));
        let api_version = text("apiVersion");
        if !is_known || api_version.is_empty() || text("fieldsType") != "FieldsV1" {
            return None;
        }
        let is_update = text("operation") == "Update";
        Some(Self {
            manager: Manager {
                name: text("manager").into(),
                is_update,
                api_version: if is_update { api_version } else { "" }.into(),
                subresource: text("subresource").into(),
            },
            set: entry.get("fieldsV1").map_or_else(|| Some(FieldSet::default()), FieldSet::parse)?,
            time: entry["time"].as_str().map(Into::into),
            api_version: api_version.into(),
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let text = |out: &mut Vec<u8>, before: &str, text: &str| {
            out.extend_from_slice(before.as_bytes());
            write_text(text, out);
        };
        text(out, "{\"apiVersion\":", &self.api_version);
        out.extend_from_slice(b",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
        out.extend_from_slice(self.set.json());
        text(out, ",\"manager\":", &self.manager.name);
        text(out, ",\"operation\":", if self.manager.is_update { "Update" } else { "Apply" });
        if !self.manager.subresource.is_empty() {
            text(out, ",\"subresource\":", &self.manager.subresource);
        }
        if let Some(time) = &self.time {
            text(out, ",\"time\":", time);
        }
        out.push(b'}');
    }
}

impl Managers {
    /// Reads the entries that a client wrote; nothing when one of them is no entry.
    pub fn parse(entries: &Value) -> Option<Self> {
        let mut managers = Self::default();
        for entry in entries.as_array()? {
            managers.insert(Entry::parse(entry)?);
        }
        Some(managers)
    }

    /// The entries as a client reads them: appliers first, then by time and name.
    pub fn to_value(&self) -> Value {
        serde_json::from_slice(&self.json()).expect("what was written can be read")
    }

    /// The same as JSON.
    pub fn json(&self) -> Vec<u8> {
        let mut entries: Vec<&Entry> = self.iter().collect();
        entries.sort_by_key(|entry| (entry.manager.is_update, &entry.time, &entry.manager));
        let mut out = vec![b'['];
        for entry in entries {
            if out.len() > 1 {
                out.push(b',');
            }
            entry.write(&mut out);
        }
        out.push(b']');
        out
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        Arc::make_mut(&mut self.0).iter_mut()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn place(&self, manager: &Manager) -> Result<usize, usize> {
        self.0.binary_search_by(|entry| entry.manager.cmp(manager))
    }

    /// The entry of a manager, made if there is none.
    pub fn entry(&mut self, manager: Manager, api_version: &str) -> &mut Entry {
        let index = self.place(&manager).unwrap_or_else(|index| {
            self.insert(Entry { manager, set: FieldSet::default(), time: None, api_version: api_version.into() });
            index
        });
        &mut Arc::make_mut(&mut self.0)[index]
    }

    pub fn insert(&mut self, entry: Entry) {
        let place = self.place(&entry.manager);
        let entries = Arc::make_mut(&mut self.0);
        match place {
            Ok(index) => entries[index] = entry,
            Err(index) => {
                entries.reserve_exact(1);
                entries.insert(index, entry);
            }
        }
    }

    pub fn remove(&mut self, manager: &Manager) -> Option<Entry> {
        let index = self.place(manager).ok()?;
        Some(Arc::make_mut(&mut self.0).remove(index))
    }

    /// Who owns nothing is not told.
    pub fn drop_idle(&mut self) {
        if self.iter().any(|entry| entry.set.is_empty()) {
            Arc::make_mut(&mut self.0).retain(|entry| !entry.set.is_empty());
        }
    }

    /// Whether only the times differ.
    pub fn owns_as(&self, other: &Self) -> bool {
        let content = |entry: &Entry| (entry.manager.clone(), entry.api_version.clone(), entry.set.clone());
        self.0.len() == other.0.len() && self.iter().map(content).eq(other.iter().map(content))
    }

    /// Joins the oldest of those that write plainly, per version, when there are too many.
    pub fn cap(&mut self) {
        let mut count = self.iter().filter(|entry| entry.manager.is_update).count();
        if count <= UPDATE_MANAGERS_MAX {
            return;
        }
        let mut updaters: Vec<Entry> = self.iter().filter(|entry| entry.manager.is_update).cloned().collect();
        updaters.sort_by(|a, b| (&a.time, &a.manager).cmp(&(&b.time, &b.manager)));
        let mut first_of: BTreeMap<Arc<str>, Manager> = BTreeMap::new();
        for updater in updaters {
            if count <= UPDATE_MANAGERS_MAX {
                break;
            }
            let version = updater.api_version;
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, updater.manager);
                continue;
            };
            let bucket = Manager::of(ANCIENT, true, &version, "");
            if self.place(&bucket).is_err()
                && let Some(oldest) = self.remove(first)
            {
                self.insert(Entry { manager: bucket.clone(), ..oldest });
            }
            if let Some(joined) = self.remove(&updater.manager) {
                let ancient = self.entry(bucket, &version);
                ancient.set.unite(&joined.set);
                ancient.time = joined.time;
                count -= 1;
            }
        }
    }
}
