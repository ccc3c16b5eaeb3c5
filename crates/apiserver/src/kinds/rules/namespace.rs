//! Namespaces: they end slowly, when nothing is left in them.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name;

use super::{Moment, Rules, UnknownSelector, Update};
use crate::json::{Value, json};

pub static RULES: Rules = Rules {
    check_name: name::dns1123_label,
    answers_deleted: true,
    selectable: &["status.phase", "name"],
    unknown_selector: UnknownSelector::Kind,
    default,
    prepare_create,
    prepare_update,
    validate_status,
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
        labels.insert("kubernetes.io/metadata.name", name.into());
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

/// The phase says nothing but whether the namespace is being deleted.
fn validate_status(update: Update<'_>) -> Errors {
    let is_ending = update.new["metadata"].get("deletionTimestamp").is_some();
    let (phase, when) = if is_ending { ("Terminating", "not empty") } else { ("Active", "empty") };
    let found = update.new["status"]["phase"].as_str().unwrap_or_default();
    if found == phase {
        return Errors::new();
    }
    let why = format!("may only be '{phase}' if `deletionTimestamp` is {when}");
    vec![Error::invalid(&Path::new("status").child("Phase"), found, why)]
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;

    #[test]
    fn the_phase_follows_from_the_deletion() {
        let say = |object: Value| lines(&validate_status(Update { new: &object, old: &object }));
        assert_eq!(say(json!({"metadata": {}, "status": {"phase": "Active"}})), [""; 0]);
        assert_eq!(
            say(json!({"metadata": {}, "status": {"phase": "Terminating"}})),
            ["status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty"]
        );
    }
}
