//! Who owns which field: `metadata.managedFields`, plain writes and server-side apply.
//!
//! The algorithm is that of structured merge and diff: a plain write takes what it changes away from others; an applied
//! configuration owns all it says, must not change what others own unless forced, and takes back what it no longer says.

use std::collections::BTreeMap;

use kueue_core::time::Time;
use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::rest::service::Call;
use crate::schema::{Schema, go, object_at};
use crate::status::Status;

pub mod set;
pub mod typed;

use set::{Element, FieldSet, shown};

/// Who writes, and when.
#[derive(Debug, Clone)]
pub struct Intent {
    pub manager: String,
    pub api_version: String,
    pub subresource: String,
    pub time: Time,
}

/// One entry of `managedFields` is told apart by these.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Manager {
    is_apply: bool,
    name: String,
    api_version: String,
    subresource: String,
}

#[derive(Debug, Clone)]
struct Owned {
    set: FieldSet,
    time: Option<String>,
    /// The version of an applied configuration; appliers are the same whichever version they use.
    api_version: String,
}

type Managers = BTreeMap<Manager, Owned>;

/// The name of whoever wrote before anybody kept track.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Why a configuration was not applied.
#[derive(Debug)]
pub enum ApplyError {
    /// It does not fit the kind's types.
    Typed(String),
    /// Others own what it would change: who, and which fields.
    Conflicts(Vec<(String, Vec<String>)>),
}

impl Manager {
    fn of(intent: &Intent, is_apply: bool) -> Self {
        Self {
            is_apply,
            name: intent.manager.clone(),
            api_version: if is_apply { String::new() } else { intent.api_version.clone() },
            subresource: intent.subresource.clone(),
        }
    }

    /// As a conflict names it.
    fn shown(&self) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if !self.is_apply {
            text.push_str(&format!(" using {}", self.api_version));
        }
        text
    }
}

fn read(object: &Value) -> Managers {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let mut managers = Managers::new();
    for entry in entries {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let is_apply = entry["operation"] == "Apply";
        let manager = Manager {
            is_apply,
            name: text("manager"),
            api_version: if is_apply { String::new() } else { text("apiVersion") },
            subresource: text("subresource"),
        };
        let owned = Owned {
            set: FieldSet::from_value(&entry["fieldsV1"]),
            time: entry["time"].as_str().map(str::to_owned),
            api_version: text("apiVersion"),
        };
        managers.insert(manager, owned);
    }
    managers
}

/// Writes the entries. Each has the time of the last write in which its manager changed something.
fn write(object: &mut Value, managers: &Managers) {
    let mut entries: Vec<Value> = Vec::new();
    for (manager, owned) in managers.iter().filter(|(_, owned)| !owned.set.is_empty()) {
        let mut entry = json!({
            "manager": manager.name, "operation": if manager.is_apply { "Apply" } else { "Update" },
            "apiVersion": owned.api_version, "fieldsType": "FieldsV1", "fieldsV1": owned.set.to_value(),
        });
        if let Some(time) = &owned.time {
            entry["time"] = time.clone().into();
        }
        if !manager.subresource.is_empty() {
            entry["subresource"] = manager.subresource.clone().into();
        }
        entries.push(entry);
    }
    entries.sort_by_key(|entry| {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        (text("operation"), text("time"), text("manager"))
    });
    if let Some(metadata) = object_at(object, &["metadata"]) {
        match entries.is_empty() {
            true => metadata.remove("managedFields"),
            false => metadata.insert("managedFields".into(), entries.into()),
        };
    }
}

/// Fields that nobody owns, whatever is written.
fn unowned(schema: &Schema, subresource: &str) -> FieldSet {
    let mut set = FieldSet::default();
    let field = |name: &str| Element::Field(name.to_owned());
    for name in ["apiVersion", "kind"] {
        set.insert(&[field(name)]);
    }
    for name in [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        set.insert(&[field("metadata"), field(name)]);
    }
    set.union(&reset(schema, subresource))
}

/// Fields that a write of this part of an object does not change.
fn reset(schema: &Schema, subresource: &str) -> FieldSet {
    let mut set = FieldSet::default();
    let field = |name: &str| Element::Field(name.to_owned());
    match subresource {
        "status" => set.insert(&[field("spec")]),
        "" if schema.field("status").is_some() && schema.field("spec").is_some() => set.insert(&[field("status")]),
        _ => {}
    }
    set
}

/// A set without what nobody owns; `metadata` itself is never owned.
fn owned(set: &FieldSet, unowned: &FieldSet) -> FieldSet {
    let mut set = set.without(unowned);
    set.is_member = false;
    if let Some(metadata) = set.children.get_mut(&Element::Field("metadata".into())) {
        metadata.is_member = false;
    }
    set.children.retain(|_, node| !node.is_empty());
    set
}

/// An object with nothing in it, as Go would write one: what a new object is compared with.
fn nothing(schema: &Schema) -> Value {
    let mut value = json!({});
    if is_built_in(schema) {
        // Nothing in an empty object can be of the wrong type.
        let _ = go::canonical(schema, &mut value);
    }
    value
}

/// Custom kinds have validation keywords at their root; built-in ones have Go types.
fn is_built_in(schema: &Schema) -> bool {
    schema.keywords.is_none()
}

/// Keeps track of a plain write.
pub fn track(schema: &Schema, old: Option<&Value>, new: &mut Value, intent: &Intent) {
    let is_reset = new["metadata"]["managedFields"].as_array().is_some_and(|entries| {
        entries.is_empty() || entries.len() == 1 && entries[0].as_object().is_some_and(serde_json::Map::is_empty)
    });
    if is_reset {
        if let Some(metadata) = object_at(new, &["metadata"]) {
            metadata.remove("managedFields");
        }
        return;
    }
    let given = read(new);
    let before = old.map(read).unwrap_or_default();
    let mut managers = if given.is_empty() { before.clone() } else { given };
    let empty = nothing(schema);
    let difference = typed::compare(schema, old.unwrap_or(&empty), new);
    let unowned = unowned(schema, &intent.subresource);
    let changed = owned(&difference.added.union(&difference.modified), &unowned);
    let removed = difference.removed;
    let own = Manager::of(intent, false);
    for (_, other) in managers.iter_mut().filter(|(manager, _)| **manager != own) {
        other.set = other.set.difference(&changed).difference(&removed);
    }
    let mine = managers.get(&own).map(|mine| mine.set.difference(&removed)).unwrap_or_default();
    let mine = owned(&mine.union(&changed), &unowned);
    let before = managers.get(&own).and_then(|mine| mine.time.clone());
    let time = if changed.is_empty() { before } else { Some(intent.time.to_string()) };
    managers.insert(own, Owned { set: mine, time, api_version: intent.api_version.clone() });
    write(new, &managers);
}

/// The live object with a configuration applied, and its managed fields.
pub fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    intent: &Intent,
    is_forced: bool,
) -> Result<Value, ApplyError> {
    typed::check(schema, config).map_err(ApplyError::Typed)?;
    let empty = nothing(schema);
    let mut before = live.map(read).unwrap_or_default();
    let unowned = unowned(schema, &intent.subresource);
    if let Some(live) = live.filter(|_| before.is_empty()) {
        let everything = owned(&typed::compare(schema, &empty, live).added, &unowned);
        let first = Intent { manager: BEFORE_FIRST_APPLY.into(), subresource: String::new(), ..intent.clone() };
        let owned =
            Owned { set: everything, time: Some(intent.time.to_string()), api_version: intent.api_version.clone() };
        before.insert(Manager::of(&first, false), owned);
    }
    let base = live.unwrap_or(&empty);
    let own = Manager::of(intent, true);
    let mine = owned(&typed::fields(schema, config), &unowned);
    let last = before.get(&own).map(|last| last.set.clone()).unwrap_or_default();
    let mut managers = before.clone();
    let time = before.get(&own).and_then(|last| last.time.clone());
    managers.insert(own.clone(), Owned { set: mine, time, api_version: intent.api_version.clone() });
    // What this part of the object cannot change is as good as not said.
    let config = typed::remove(schema, config, &reset(schema, &intent.subresource)).unwrap_or_else(|| json!({}));
    let mut merged = typed::merge(schema, Some(base), &config);
    merged = take_back(schema, merged, &managers, &last);
    let difference = typed::compare(schema, base, &merged);
    let changed = difference.added.union(&difference.modified);
    let mut conflicts = Vec::new();
    for (manager, other) in managers.iter_mut().filter(|(manager, _)| **manager != own) {
        let contested = other.set.intersection(&changed);
        if !contested.is_empty() {
            let fields = contested.paths().iter().map(|path| shown(path)).collect();
            conflicts.push((manager.shown(), fields));
            other.set = other.set.difference(&contested);
        }
        other.set = other.set.difference(&difference.removed);
    }
    let is_taken_over = intent.manager == KUBECTL && follows_last_applied(schema, live, &conflicts);
    if !conflicts.is_empty() && !is_forced && !is_taken_over {
        return Err(ApplyError::Conflicts(conflicts));
    }
    if merged != *base
        && let Some(mine) = managers.get_mut(&own)
    {
        mine.time = Some(intent.time.to_string());
    }
    write(&mut merged, &managers);
    Ok(merged)
}

/// The manager that used to keep what it applied in an annotation.
pub const KUBECTL: &str = "kubectl";
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Whether everything in conflict was applied before, on the client's side: then kubectl takes over from itself.
fn follows_last_applied(schema: &Schema, live: Option<&Value>, conflicts: &[(String, Vec<String>)]) -> bool {
    let annotation = live.and_then(|live| live["metadata"]["annotations"][LAST_APPLIED].as_str());
    let Some(applied) = annotation.and_then(|text| serde_json::from_str::<Value>(text).ok()) else { return false };
    let known: Vec<String> = typed::fields(schema, &applied).paths().iter().map(|path| shown(path)).collect();
    let mut contested = conflicts.iter().flat_map(|(_, fields)| fields);
    contested.all(|field| known.contains(field) || field.contains("annotations"))
}

/// Removes what this manager owned before, no longer says, and nobody else owns.
fn take_back(schema: &Schema, merged: Value, managers: &Managers, last: &FieldSet) -> Value {
    if last.is_empty() {
        return merged;
    }
    let named = |set: &FieldSet| set.with_named_fields(schema);
    let pruned = typed::remove(schema, &merged, &named(last)).unwrap_or_else(|| json!({}));
    let everybody = managers.values().fold(FieldSet::default(), |all, owned| all.union(&owned.set));
    let (all, left) = (named(&typed::fields(schema, &merged)), named(&typed::fields(schema, &pruned)));
    // Back comes what somebody owns, and what was below it but was never this manager's.
    let gone = all.difference(&left).difference(&named(&everybody));
    let kept = typed::remove(schema, &merged, &gone).unwrap_or_else(|| json!({}));
    let left = named(&typed::fields(schema, &kept));
    let gone = all.difference(&left).intersection(&named(last));
    typed::remove(schema, &merged, &gone).unwrap_or_else(|| json!({}))
}

impl ApplyError {
    pub fn to_status(&self, resource: &Resource, call: &Call) -> Status {
        match self {
            ApplyError::Typed(why) => {
                let (version, kind, name) = (resource.api_version(), &resource.kind, &call.path.name);
                let given: Value = serde_json::from_slice(&call.body).unwrap_or(Value::Null);
                let namespace = given["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
                Status::internal(format!(
                    "failed to create typed patch object ({namespace}/{name}; {version}, Kind={kind}): {why}"
                ))
            }
            ApplyError::Conflicts(conflicts) => conflict_status(conflicts),
        }
    }
}

fn conflict_status(conflicts: &[(String, Vec<String>)]) -> Status {
    let count: usize = conflicts.iter().map(|(_, fields)| fields.len()).sum();
    let mut causes = Vec::new();
    for (manager, fields) in conflicts {
        for field in fields {
            let message = format!("conflict with {manager}");
            causes.push(json!({"reason": "FieldManagerConflict", "message": message, "field": field}));
        }
    }
    let text = match (conflicts, count) {
        ([(manager, fields)], 1) => format!("conflict with {manager}: {}", fields[0]),
        _ => {
            let part = |(manager, fields): &(String, Vec<String>)| {
                let lines: Vec<String> = fields.iter().map(|field| format!("- {field}")).collect();
                format!("conflicts with {manager}:\n{}", lines.join("\n"))
            };
            conflicts.iter().map(part).collect::<Vec<_>>().join("\n")
        }
    };
    let plural = if count == 1 { "conflict" } else { "conflicts" };
    let message = format!("Apply failed with {count} {plural}: {text}");
    Status::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}

#[cfg(test)]
mod tests;
