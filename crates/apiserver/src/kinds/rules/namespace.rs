//! Namespaces: they end slowly, when nothing is left in them.

use kueue_core::name;
use serde_json::{Value, json};

use super::{Moment, Rules, UnknownSelector};

pub static RULES: Rules = Rules {
    check_name: name::dns1123_label,
    answers_deleted: true,
    selectable: &["status.phase", "name"],
    unknown_selector: UnknownSelector::Kind,
    default,
    prepare_create,
    prepare_update,
    ..Rules::PLAIN
};

/// The finalizer in `spec` that the namespace controller removes.
pub const FINALIZER: &str = "kubernetes";

/// Every namespace can be selected by its name.
fn default(object: &mut Value) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !name.is_empty()
        && let Some(labels) = crate::schema::object_at(object, &["metadata", "labels"])
    {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

fn prepare_create(object: &mut Value, _: Moment<'_>) {
    object["status"] = json!({"phase": "Active"});
    let finalizers = crate::schema::object_at(object, &["spec"])
        .and_then(|spec| spec.entry("finalizers").or_insert_with(|| json!([])).as_array_mut());
    if let Some(finalizers) = finalizers
        && !finalizers.contains(&json!(FINALIZER))
    {
        finalizers.push(FINALIZER.into());
    }
}

/// `spec.finalizers` change through `/finalize` alone.
fn prepare_update(new: &mut Value, old: &Value) {
    new["spec"] = old["spec"].clone();
}
