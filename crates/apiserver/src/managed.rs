//! Who owns which field: `metadata.managedFields`, plain writes and server-side apply.
//!
//! The algorithm is that of structured merge and diff: a plain write takes what it changes away from others; an applied
//! configuration owns all it says, must not change what others own unless forced, and takes back what it no longer says.

use std::sync::LazyLock;

use kueue_core::time::Time;
use serde_json::{Value, json};

use crate::kinds::Resource;
use crate::schema::{Schema, go, object_at};

mod check;
mod conflict;
mod entries;
mod reconcile;
pub mod scale;
pub mod set;
pub mod typed;

pub use conflict::{ApplyError, Conflict};
use entries::{Manager, Managers, Owned};
use set::FieldSet;

/// Who writes, which part, and when.
#[derive(Debug, Clone)]
pub struct Intent {
    pub manager: String,
    pub api_version: String,
    pub subresource: String,
    pub time: Time,
    /// What a write of this part cannot change, whatever it says.
    pub resets: &'static FieldSet,
}

/// The name of whoever wrote before anybody kept track.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// The manager that used to keep what it applied in an annotation.
pub const KUBECTL: &str = "kubectl";
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn fixed(fields: &Value) -> FieldSet {
    FieldSet::parse(fields).expect("the constants of this file are sets of fields")
}

/// Fields that nobody owns.
static NOT_OWNED: LazyLock<FieldSet> = LazyLock::new(|| {
    fixed(&json!({"f:apiVersion": {}, "f:kind": {}, "f:metadata": {
        ".": {}, "f:name": {}, "f:namespace": {}, "f:creationTimestamp": {}, "f:selfLink": {}, "f:uid": {},
        "f:clusterName": {}, "f:generation": {}, "f:managedFields": {}, "f:resourceVersion": {}}}))
});
static NOTHING: LazyLock<FieldSet> = LazyLock::new(FieldSet::default);
static STATUS: LazyLock<FieldSet> = LazyLock::new(|| fixed(&json!({"f:status": {}})));
static SPEC: LazyLock<FieldSet> = LazyLock::new(|| fixed(&json!({"f:spec": {}})));
static SPEC_AND_METADATA: LazyLock<FieldSet> = LazyLock::new(|| fixed(&json!({"f:spec": {}, "f:metadata": {}})));
static SPEC_AND_LABELS: LazyLock<FieldSet> =
    LazyLock::new(|| fixed(&json!({"f:spec": {}, "f:metadata": {"f:labels": {}}})));
static SPEC_AND_OWNERS: LazyLock<FieldSet> =
    LazyLock::new(|| fixed(&json!({"f:spec": {}, "f:metadata": {"f:deletionTimestamp": {}, "f:ownerReferences": {}}})));

/// What a write of a part of an object leaves as it was.
pub fn resets(resource: &Resource, subresource: &str) -> &'static FieldSet {
    let whole_metadata = ["CustomResourceDefinition", "ValidatingAdmissionPolicy", "APIService"];
    match subresource {
        "" if resource.subresource("status").is_some() => &STATUS,
        "status" if resource.custom.is_some() || whole_metadata.contains(&&*resource.kind) => &SPEC_AND_METADATA,
        "status" => match &*resource.kind {
            "Deployment" => &SPEC_AND_LABELS,
            "Pod" => &SPEC_AND_OWNERS,
            _ => &SPEC,
        },
        _ => &NOTHING,
    }
}

/// An object with nothing in it, as Go would write one: what a new object is compared with.
fn nothing(schema: &Schema) -> Value {
    let mut value = json!({});
    // Custom kinds have validation keywords at their root; built-in ones have Go types.
    if schema.keywords.is_none() {
        // Nothing in an empty object can be of the wrong type.
        let _ = go::canonical(schema, &mut value);
    }
    value
}

fn take_entries(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove("managedFields")
}

fn entries_of(object: Option<&Value>) -> Managers {
    entries::stored(object.and_then(|object| object["metadata"].get("managedFields").cloned()))
}

fn write(object: &mut Value, managers: Managers) {
    if let Some(metadata) = object_at(object, &["metadata"]) {
        entries::write(metadata, managers);
    }
}

/// Whether a client wants nobody to own anything: no entries, or an empty one.
fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(serde_json::Map::is_empty),
        _ => false,
    }
}

/// Keeps track of a plain write.
pub fn track(schema: &Schema, old: Option<&Value>, new: &mut Value, intent: &Intent) {
    let given = take_entries(new);
    let before = old.and_then(|old| old["metadata"].get("managedFields"));
    let managers = match given {
        // Most clients send back what they have read, and that need not be read again.
        Some(given) if before == Some(&given) => entries::stored(Some(given)),
        // Who owns what is told with the whole object only.
        Some(given) if intent.subresource.is_empty() => {
            if is_reset(&given) {
                return;
            }
            let managers = entries::given(given).unwrap_or_default();
            if managers.is_empty() { entries_of(old) } else { managers }
        }
        _ => entries_of(old),
    };
    if old.is_some() && managers.is_empty() {
        // Nobody keeps track of this object any more, until somebody applies.
        return;
    }
    let managers = update(schema, old, new, intent, managers);
    write(new, managers);
}

fn update(schema: &Schema, old: Option<&Value>, new: &Value, intent: &Intent, mut managers: Managers) -> Managers {
    let difference = match old {
        Some(old) => compare(schema, old, new, intent),
        None => compare(schema, &nothing(schema), new, intent),
    };
    reconcile::with_schema(schema, &mut managers);
    let changed = difference.added.union(&difference.modified);
    for other in managers.values_mut() {
        other.set.subtract(&changed);
        other.set.subtract(&difference.removed);
    }
    let mine = changed.difference(&NOT_OWNED);
    if !mine.is_empty() {
        let own = Manager::of(&intent.manager, true, &intent.api_version, &intent.subresource);
        let owned = managers.entry(own).or_insert_with(|| Owned {
            set: FieldSet::default(),
            time: None,
            api_version: intent.api_version.clone(),
        });
        owned.set.unite(&mine);
        // What is written through a scale is dated in the scale, not in its object.
        if intent.subresource != scale::SUBRESOURCE {
            owned.time = Some(intent.time.to_string());
        }
    }
    managers.retain(|_, owned| !owned.set.is_empty());
    entries::cap(&mut managers);
    managers
}

/// The differences that this part of the object can have. Managed fields are not part of them.
fn compare(schema: &Schema, old: &Value, new: &Value, intent: &Intent) -> typed::Difference {
    let mut difference = typed::compare(schema, old, new);
    for set in [&mut difference.added, &mut difference.modified, &mut difference.removed] {
        set.subtract_below(&MANAGED_FIELDS);
        set.subtract_below(intent.resets);
    }
    difference
}

static MANAGED_FIELDS: LazyLock<FieldSet> = LazyLock::new(|| fixed(&json!({"f:metadata": {"f:managedFields": {}}})));

/// The live object with a configuration applied, and its managed fields.
pub fn apply(
    schema: &Schema,
    live: Option<&Value>,
    config: &Value,
    intent: &Intent,
    is_forced: bool,
) -> Result<Value, ApplyError> {
    check::check(schema, config).map_err(ApplyError::Typed)?;
    let empty;
    let base = match live {
        Some(live) => live,
        None => {
            empty = nothing(schema);
            &empty
        }
    };
    let mut managers = entries_of(live);
    if live.is_some() && managers.is_empty() {
        let first = Intent { manager: BEFORE_FIRST_APPLY.into(), ..intent.clone() };
        managers = update(schema, None, base, &first, managers);
    }
    reconcile::with_schema(schema, &mut managers);
    let own = Manager::of(&intent.manager, false, &intent.api_version, &intent.subresource);
    let mut mine = typed::fields(schema, config);
    mine.subtract_below(intent.resets);
    let (last, time) = managers.remove(&own).map(|last| (last.set, last.time)).unwrap_or_default();
    let mut merged = base.clone();
    take_entries(&mut merged);
    typed::merge(schema, &mut merged, config);
    take_back(schema, &mut merged, &managers, &mine, &last);
    let difference = compare(schema, base, &merged, intent);
    let changed = difference.added.union(&difference.modified);
    let mut conflicts = Vec::new();
    for (manager, other) in &mut managers {
        let contested = other.set.intersection(&changed);
        if !contested.is_empty() {
            other.set.subtract(&contested);
            conflicts.push(Conflict { manager: manager.shown(), fields: contested });
        }
        other.set.subtract(&difference.removed);
    }
    if !is_forced && !conflicts.is_empty() {
        let left =
            if intent.manager == KUBECTL { not_last_applied(schema, base, intent, conflicts) } else { conflicts };
        if !left.is_empty() {
            return Err(ApplyError::Conflicts(left));
        }
    }
    let is_changed = !is_same_content(base, &merged);
    let mine = mine.difference(&NOT_OWNED);
    let time = if is_changed { Some(intent.time.to_string()) } else { time };
    managers.insert(own, Owned { set: mine, time, api_version: intent.api_version.clone() });
    write(&mut merged, managers);
    Ok(merged)
}

/// Whether two objects are equal but for their managed fields.
fn is_same_content(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return old == new };
    old.len() == new.len()
        && old.iter().zip(new).all(|((name, before), (other, after))| {
            name == other && (before == after || name == "metadata" && is_same_metadata(before, after))
        })
}

fn is_same_metadata(old: &Value, new: &Value) -> bool {
    let (Some(old), Some(new)) = (old.as_object(), new.as_object()) else { return false };
    let is_content = |(name, _): &(&String, &Value)| *name != "managedFields";
    old.iter().filter(is_content).eq(new.iter().filter(is_content))
}

/// A write that changes nothing but the times of managed fields changes nothing.
pub fn keep_times(old: &Value, new: &mut Value) {
    let timeless = |object: &Value| -> Vec<Value> {
        let mut entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
        entries.iter_mut().filter_map(Value::as_object_mut).for_each(|entry| drop(entry.remove("time")));
        // They are sorted by time.
        entries.sort_by_key(ToString::to_string);
        entries
    };
    let (before, after) = (&old["metadata"]["managedFields"], &new["metadata"]["managedFields"]);
    if before != after && is_same_content(old, new) && timeless(old) == timeless(new) {
        new["metadata"]["managedFields"] = before.clone();
    }
}

/// The conflicts that remain when kubectl takes over what it applied before, on the client's side.
fn not_last_applied(schema: &Schema, live: &Value, intent: &Intent, conflicts: Vec<Conflict>) -> Vec<Conflict> {
    let annotation = live["metadata"]["annotations"][LAST_APPLIED].as_str();
    let Some(mut applied) = annotation.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return conflicts;
    };
    if applied["apiVersion"] != intent.api_version.as_str() {
        return conflicts;
    }
    if let Some(object) = applied.as_object_mut() {
        object.remove("apiVersion");
        object.remove("kind");
    }
    let difference = typed::compare(schema, &applied, live);
    let mut allowed = typed::fields(schema, &applied);
    for changed in [&difference.modified, &difference.added, &difference.removed] {
        allowed.subtract(changed);
    }
    let left =
        conflicts.into_iter().map(|conflict| Conflict { fields: conflict.fields.difference(&allowed), ..conflict });
    left.filter(|conflict| !conflict.fields.is_empty()).collect()
}

/// Removes what this manager owned before, no longer says, and nobody else owns.
fn take_back(schema: &Schema, merged: &mut Value, others: &Managers, mine: &FieldSet, last: &FieldSet) {
    if last.clone().difference(mine).is_empty() {
        return;
    }
    let named = |set: &FieldSet| set.with_named_fields(schema);
    let all = named(&typed::fields(schema, merged));
    let left_after = |gone: &FieldSet| {
        let mut kept = merged.clone();
        typed::remove(schema, &mut kept, gone);
        named(&typed::fields(schema, &kept))
    };
    let everybody = others.values().fold(mine.clone(), |all, owned| all.union(&owned.set));
    // Back comes what somebody owns, and what was below it but was never this manager's.
    let gone = all.clone().difference(&left_after(&named(last))).difference(&named(&everybody));
    let gone = all.clone().difference(&left_after(&gone)).intersection(&named(last));
    typed::remove(schema, merged, &gone);
}

#[cfg(test)]
mod tests;
