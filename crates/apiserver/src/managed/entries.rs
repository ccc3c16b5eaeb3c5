//! The entries of `managedFields`: one per manager, operation, version and part of the object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::set::FieldSet;

/// What tells entries apart, in the order in which conflicts are told. Appliers are the same whichever version they use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Manager {
    pub name: String,
    pub is_update: bool,
    pub api_version: String,
    pub subresource: String,
}

#[derive(Debug, Clone)]
pub struct Owned {
    pub set: FieldSet,
    pub time: Option<String>,
    /// The version in which the set was written.
    pub api_version: String,
}

pub type Managers = BTreeMap<Manager, Owned>;

/// How many that write plainly are kept apart; the oldest beyond that become one.
const UPDATE_MANAGERS_MAX: usize = 10;
const ANCIENT: &str = "ancient-changes";

impl Manager {
    pub fn of(name: &str, is_update: bool, api_version: &str, subresource: &str) -> Self {
        Self {
            name: if name.is_empty() { "unknown" } else { name }.to_owned(),
            is_update,
            api_version: if is_update { api_version.to_owned() } else { String::new() },
            subresource: subresource.to_owned(),
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

/// The entries that this server wrote.
pub fn stored(entries: Option<Value>) -> Managers {
    let Some(Value::Array(entries)) = entries else { return Managers::new() };
    entries.into_iter().map(|entry| read(entry, FieldSet::stored)).collect()
}

/// The entries that a client wrote; nothing when one of them is no entry.
pub fn given(entries: Value) -> Option<Managers> {
    let Value::Array(entries) = entries else { return None };
    let mut managers = Managers::new();
    for entry in entries {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let is_known = ["Apply", "Update"].contains(&text("operation"));
        if !is_known || text("apiVersion").is_empty() || text("fieldsType") != "FieldsV1" {
            return None;
        }
        let set = entry.get("fieldsV1").map_or_else(|| Some(FieldSet::default()), FieldSet::parse)?;
        let (manager, owned) = read(entry, |_| set);
        managers.insert(manager, owned);
    }
    Some(managers)
}

fn read(mut entry: Value, set: impl FnOnce(Value) -> FieldSet) -> (Manager, Owned) {
    let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let api_version = text("apiVersion");
    let is_update = entry["operation"] != "Apply";
    let manager = Manager {
        name: text("manager"),
        is_update,
        api_version: if is_update { api_version.clone() } else { String::new() },
        subresource: text("subresource"),
    };
    let time = entry["time"].as_str().map(str::to_owned);
    (manager, Owned { set: set(entry["fieldsV1"].take()), time, api_version })
}

/// Writes the entries into an object's metadata: appliers first, then by time and name.
pub fn write(metadata: &mut Map<String, Value>, managers: Managers) {
    let mut entries: Vec<(Manager, Owned)> = managers.into_iter().filter(|(_, owned)| !owned.set.is_empty()).collect();
    entries.sort_by(|(a, first), (b, second)| {
        let key = |manager: &Manager, owned: &Owned| (manager.is_update, owned.time.clone());
        key(a, first).cmp(&key(b, second)).then_with(|| a.cmp(b))
    });
    if entries.is_empty() {
        metadata.remove("managedFields");
        return;
    }
    let entry = |(manager, owned): (Manager, Owned)| {
        let mut entry = Map::new();
        let mut set = |name: &str, value: Value| entry.insert(name.to_owned(), value);
        set("manager", manager.name.into());
        set("operation", if manager.is_update { "Update" } else { "Apply" }.into());
        set("apiVersion", owned.api_version.into());
        set("fieldsType", "FieldsV1".into());
        set("fieldsV1", owned.set.into_value());
        if let Some(time) = owned.time {
            set("time", time.into());
        }
        if !manager.subresource.is_empty() {
            set("subresource", manager.subresource.into());
        }
        Value::Object(entry)
    };
    metadata.insert("managedFields".into(), entries.into_iter().map(entry).collect());
}

/// Joins the oldest of those that write plainly, per version, when there are too many.
pub fn cap(managers: &mut Managers) {
    let mut updaters: Vec<Manager> = managers.keys().filter(|manager| manager.is_update).cloned().collect();
    let mut count = updaters.len();
    updaters.sort_by_key(|manager| (managers[manager].time.clone(), manager.clone()));
    let mut first_of: BTreeMap<String, Manager> = BTreeMap::new();
    for manager in updaters {
        if count <= UPDATE_MANAGERS_MAX {
            break;
        }
        let version = managers[&manager].api_version.clone();
        let Some(first) = first_of.get(&version) else {
            first_of.insert(version, manager);
            continue;
        };
        let bucket = Manager::of(ANCIENT, true, &version, "");
        if !managers.contains_key(&bucket)
            && let Some(oldest) = managers.remove(first)
        {
            managers.insert(bucket.clone(), oldest);
        }
        if let Some(joined) = managers.remove(&manager)
            && let Some(ancient) = managers.get_mut(&bucket)
        {
            ancient.set.unite(&joined.set);
            ancient.time = joined.time;
            count -= 1;
        }
    }
}
