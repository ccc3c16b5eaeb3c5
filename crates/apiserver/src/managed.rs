//! Who owns which field: `metadata.managedFields`, plain writes and server-side apply.
//!
//! The algorithm is that of structured merge and diff: a plain write takes what it changes away from others; an applied
//! configuration owns all it says, must not change what others own unless forced, and takes back what it no longer says.

use std::sync::LazyLock;

use kueue_core::time::Time;

use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::schema::{Schema, go, object_at};

mod check;
mod conflict;
mod entries;
mod recent;
mod reconcile;
pub mod scale;
pub mod set;
pub mod typed;

pub use conflict::{ApplyError, Conflict};
pub use entries::Managers;
use entries::{Entry, Manager};
pub use recent::Recent;
use set::FieldSet;

/// Who writes, which part, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct Intent {
    pub manager: String,
    pub api_version: String,
    pub subresource: String,
    pub time: Time,
    /// What a write of this part cannot change, whatever it says.
    pub resets: &'static FieldSet,
}

/// Where an object tells them.
pub const FIELD: &str = "managedFields";
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
        let _ = go::canonical(schema, &mut value, None);
    }
    value
}

/// Takes what an object says of its managed fields out of it.
pub fn take(object: &mut Value) -> Option<Value> {
    object.get_mut("metadata")?.as_object_mut()?.remove(FIELD)
}

/// Puts managed fields into an object for somebody outside to see.
pub fn put(object: &mut Value, managers: &Managers) {
    if !managers.is_empty()
        && let Some(metadata) = object_at(object, &["metadata"])
    {
        metadata.insert(FIELD, managers.to_value());
    }
}

/// Takes managed fields that others may have changed out of an object again. What they cannot be is not believed.
pub fn take_changed(object: &mut Value, managers: &mut Managers) {
    match take(object).map(|given| Managers::parse(&given)) {
        None => *managers = Managers::default(),
        Some(Some(given)) => *managers = given,
        Some(None) => {}
    }
}

/// Whether a client wants nobody to own anything: no entries, or an empty one.
fn is_reset(entries: &Value) -> bool {
    match entries.as_array().map(Vec::as_slice) {
        Some([]) => true,
        Some([only]) => only.as_object().is_some_and(crate::json::Map::is_empty),
        _ => false,
    }
}

/// An object and who owns what of it.
#[derive(Debug, Clone, Copy)]
pub struct Live<'a> {
    pub value: &'a Value,
    pub managers: &'a Managers,
}

/// Who owns what of a new object; what it says of that itself is taken out of it.
pub fn track_new(schema: &Schema, new: &mut Value, intent: &Intent, recent: &Recent) -> Managers {
    match new["metadata"].get(FIELD) {
        Some(_) => track(schema, None, new, intent),
        None => recent.managers(schema, new, intent),
    }
}

/// Who owns what after a plain write; what the new object itself says of that is taken out of it.
pub fn track(schema: &Schema, old: Option<Live<'_>>, new: &mut Value, intent: &Intent) -> Managers {
    let known = || old.map(|old| old.managers.clone()).unwrap_or_default();
    let managers = match take(new) {
        // Who owns what is told with the whole object only.
        Some(given) if intent.subresource.is_empty() => {
            if is_reset(&given) {
                return Managers::default();
            }
            Managers::parse(&given).filter(|managers| !managers.is_empty()).unwrap_or_else(known)
        }
        _ => known(),
    };
    if old.is_some() && managers.is_empty() {
        // Nobody keeps track of this object any more, until somebody applies.
        return managers;
    }
    update(schema, old.map(|old| old.value), new, intent, managers)
}

fn update(schema: &Schema, old: Option<&Value>, new: &Value, intent: &Intent, mut managers: Managers) -> Managers {
    let difference = match old {
        Some(old) => compare(schema, old, new, intent),
        None => compare(schema, &nothing(schema), new, intent),
    };
    reconcile::with_schema(schema, &mut managers);
    for other in managers.iter_mut() {
        other.set.subtract(&difference.changed);
        other.set.subtract(&difference.removed);
    }
    let mine = difference.changed.difference(&NOT_OWNED);
    if !mine.is_empty() {
        let own = Manager::of(&intent.manager, true, &intent.api_version, &intent.subresource);
        let owned = managers.entry(own, &intent.api_version);
        owned.set.unite(&mine);
        // What is written through a scale is dated in the scale, not in its object.
        if intent.subresource != scale::SUBRESOURCE {
            owned.time = Some(intent.time.to_string().into());
        }
    }
    managers.drop_idle();
    managers.cap();
    managers
}

/// The differences that this part of the object can have.
fn compare(schema: &Schema, old: &Value, new: &Value, intent: &Intent) -> typed::Difference {
    let mut difference = typed::compare(schema, old, new);
    difference.changed.subtract_below(intent.resets);
    difference.removed.subtract_below(intent.resets);
    difference
}

/// The live object with a configuration applied, and who owns what of it then.
pub fn apply(
    schema: &Schema,
    live: Option<Live<'_>>,
    config: &Value,
    intent: &Intent,
    is_forced: bool,
) -> Result<(Value, Managers), ApplyError> {
    check::check(schema, config).map_err(ApplyError::Typed)?;
    let empty;
    let base = match live {
        Some(live) => live.value,
        None => {
            empty = nothing(schema);
            &empty
        }
    };
    let mut managers = live.map(|live| live.managers.clone()).unwrap_or_default();
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
    typed::merge(schema, &mut merged, config);
    take_back(schema, &mut merged, &managers, &mine, &last);
    let difference = compare(schema, base, &merged, intent);
    let mut conflicts = Vec::new();
    for other in managers.iter_mut() {
        let contested = other.set.intersection(&difference.changed);
        if !contested.is_empty() {
            other.set.subtract(&contested);
            conflicts.push(Conflict { manager: other.manager.shown(), fields: contested });
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
    let time = if *base != merged { Some(intent.time.to_string().into()) } else { time };
    let set = mine.difference(&NOT_OWNED);
    managers.insert(Entry { manager: own, set, time, api_version: intent.api_version.as_str().into() });
    managers.drop_idle();
    Ok((merged, managers))
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
    let allowed = typed::fields(schema, &applied).difference(&difference.changed).difference(&difference.removed);
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
    let everybody = others.iter().fold(mine.clone(), |all, other| all.union(&other.set));
    // Back comes what somebody owns, and what was below it but was never this manager's.
    let gone = all.clone().difference(&left_after(&named(last))).difference(&named(&everybody));
    let gone = all.clone().difference(&left_after(&gone)).intersection(&named(last));
    typed::remove(schema, merged, &gone);
}

#[cfg(test)]
mod tests;
