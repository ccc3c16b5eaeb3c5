//! Events: one object in two groups, which name its fields differently. What is stored has the form of the core group.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;
use kueue_core::name::dns1123_subdomain;

use super::check::Field;
use super::{Rules, UnknownSelector, Update, immutable};
use crate::json::{Value, json};

/// Of the core group.
pub static CORE: Rules = Rules {
    creates_on_update: true,
    selectable: &[
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ],
    unknown_selector: UnknownSelector::Label,
    validate: |object| check(object, "reportingComponent"),
    ..Rules::PLAIN
};

/// Of `events.k8s.io`, where events are written once and then only counted.
pub static GROUP: Rules = Rules {
    creates_on_update: true,
    selectable: &[
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "type",
    ],
    unknown_selector: UnknownSelector::Label,
    validate: |object| check(&to_core(object.clone()), "reportingController"),
    validate_create: |object| check_new(&to_core(object.clone())),
    validate_update,
    ..Rules::PLAIN
};

/// How the fields are called in the core group and in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];
const TEXT_BYTES_MAX: usize = 128;
const NOTE_BYTES_MAX: usize = 1024;

/// The form in which an event is stored.
pub fn to_core(mut event: Value) -> Value {
    if is_of_group(&event) {
        rename(&mut event, |core, group| (group, core));
        fill(&mut event, &["source", "involvedObject"], &["reportingComponent", "reportingInstance"]);
    }
    event
}

/// The form in which `events.k8s.io` shows it.
pub fn to_group(mut event: Value) -> Value {
    if !is_of_group(&event) {
        rename(&mut event, |core, group| (core, group));
        if let Some(fields) = event.as_object_mut() {
            // Here what is not set is left out.
            fields.retain(|name, value| !(name.starts_with("reporting") && value == ""));
        }
        fill(&mut event, &["deprecatedSource", "regarding"], &[]);
    }
    event
}

fn is_of_group(event: &Value) -> bool {
    ["regarding", "note", "reportingController", "deprecatedSource"].iter().any(|name| event.get(name).is_some())
}

fn rename(event: &mut Value, direction: fn(&'static str, &'static str) -> (&'static str, &'static str)) {
    let Some(fields) = event.as_object_mut() else { return };
    for (core, group) in NAMES {
        let (from, to) = direction(core, group);
        if let Some(value) = fields.remove(from) {
            fields.insert(to, value);
        }
    }
}

/// Objects and texts that are always there.
fn fill(event: &mut Value, objects: &[&str], texts: &[&str]) {
    let Some(fields) = event.as_object_mut() else { return };
    for name in objects {
        fields.entry(*name).or_insert_with(|| json!({}));
    }
    for name in texts {
        fields.entry(*name).or_insert_with(|| "".into());
    }
}

/// What every event must be, in the core form.
fn check(event: &Value, controller: &str) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(event);
    let namespace = root.child("metadata.namespace").text();
    let object = root.child("involvedObject.namespace");
    let refuse = || Error::invalid(&object.path, object.text(), "does not match event.namespace");
    let may_be_anywhere = |allowed: &[&str]| object.is_empty() && allowed.contains(&namespace);
    if root.child("eventTime").is_set() {
        if object.is_empty() && !may_be_anywhere(&["default", "kube-system"]) {
            errors.push(refuse());
        }
        let reporter = Field { value: root.child("reportingComponent").value, path: Path::new(controller) };
        if reporter.is_empty() {
            errors.push(reporter.required(""));
        }
        reporter.obeys(label::qualified_name, &mut errors);
        for name in ["reportingInstance", "action", "reason"] {
            let text = root.child(name);
            text.needs(&mut errors);
            check_length(&text, TEXT_BYTES_MAX, &mut errors);
        }
        check_length(&root.child("message"), NOTE_BYTES_MAX, &mut errors);
    } else if object.text() != namespace && !may_be_anywhere(&["", "default"]) {
        errors.push(refuse());
    }
    for why in dns1123_subdomain(namespace) {
        errors.push(Error::invalid(&Path::new("namespace"), namespace, why));
    }
    errors
}

fn check_length(text: &Field<'_>, max: usize, errors: &mut Errors) {
    if text.text().len() > max {
        errors.push(Error::invalid(&text.path, "", format!("can have at most {max} characters")));
    }
}

/// What a new one must be that is written in the new way.
fn check_new(event: &Value) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(event);
    check_series(&root, &mut errors);
    if !root.child("eventTime").is_set() {
        errors.push(root.child("eventTime").required(""));
    }
    let kind = root.child("type");
    if !["Normal", "Warning"].contains(&kind.text()) {
        errors.push(Error::invalid(&kind.path, "", format!("has invalid value: {}", kind.text())));
    }
    let has_source = root.child("source").entries().any(|(_, text)| !text.is_empty());
    let given = [
        ("firstTimestamp", root.child("firstTimestamp").is_set()),
        ("lastTimestamp", root.child("lastTimestamp").is_set()),
        ("count", root.child("count").number() != 0),
        ("source", has_source),
    ];
    for (name, _) in given.iter().filter(|(_, is_given)| *is_given) {
        errors.push(Error::invalid(&Path::new(name), "", "needs to be unset"));
    }
    errors
}

fn check_series(root: &Field<'_>, errors: &mut Errors) {
    let series = root.child("series");
    if !series.is_set() {
        return;
    }
    if series.child("count").number() < 2 {
        errors.push(Error::invalid(&series.child("count").path, "", "should be at least 2"));
    }
    if !series.child("lastObservedTime").is_set() {
        errors.push(series.child("lastObservedTime").required(""));
    }
}

fn validate_update(update: Update<'_>) -> Errors {
    let (new, old) = (to_core(update.new.clone()), to_core(update.old.clone()));
    let mut errors = Errors::new();
    if new["series"] != old["series"] {
        check_series(&Field::root(&new), &mut errors);
    }
    let update = Update { new: &new, old: &old };
    // The order is that of a real server, which looks at the reason twice.
    let frozen = [
        "involvedObject",
        "reason",
        "message",
        "source",
        "firstTimestamp",
        "lastTimestamp",
        "count",
        "reason",
        "type",
        "eventTime",
        "action",
        "related",
    ];
    for field in frozen {
        errors.extend(immutable(update, &[&[field]]));
    }
    let reporter = immutable(update, &[&["reportingComponent"]]);
    errors.extend(reporter.into_iter().map(|error| Error { field: Path::new("reportingController"), ..error }));
    errors.extend(immutable(update, &[&["reportingInstance"]]));
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;

    fn event() -> Value {
        json!({"metadata": {"namespace": "n"}, "regarding": {"namespace": "n"}, "reason": "R", "note": "m", "type": "Normal",
            "action": "A", "eventTime": "t", "reportingController": "e.com/c", "reportingInstance": "i"})
    }

    #[test]
    fn both_groups_show_the_same_event() {
        let core = to_core(event());
        assert_eq!((&core["message"], &core["reportingComponent"]), (&json!("m"), &json!("e.com/c")));
        assert_eq!(to_core(core.clone()), core);
        let back = to_group(core);
        assert_eq!(back["regarding"], json!({"namespace": "n"}));
        assert_eq!(to_group(back.clone()), back);
    }

    #[test]
    fn an_event_lives_where_its_object_does() {
        let old = json!({"metadata": {"namespace": "n"}, "involvedObject": {"namespace": "m"}});
        assert_eq!(
            lines(&check(&old, "reportingComponent")),
            ["involvedObject.namespace: Invalid value: \"m\": does not match event.namespace"]
        );
        let of_node = json!({"metadata": {"namespace": "default"}, "involvedObject": {}});
        assert_eq!(lines(&check(&of_node, "reportingComponent")), [""; 0]);
    }

    #[test]
    fn a_new_event_says_who_and_when() {
        assert_eq!(lines(&(GROUP.validate)(&event())), [""; 0]);
        assert_eq!(lines(&(GROUP.validate_create)(&event())), [""; 0]);
        let mut bare = event();
        for name in ["action", "reportingInstance"] {
            bare[name] = "".into();
        }
        assert_eq!(lines(&(GROUP.validate)(&bare)), ["reportingInstance: Required value", "action: Required value"]);
        let mut odd = event();
        odd["type"] = "Odd".into();
        odd["deprecatedCount"] = 3.into();
        assert_eq!(
            lines(&(GROUP.validate_create)(&odd)),
            ["type: Invalid value: \"\": has invalid value: Odd", "count: Invalid value: \"\": needs to be unset"]
        );
    }

    #[test]
    fn an_event_does_not_change() {
        let mut new = event();
        new["note"] = "other".into();
        assert_eq!(
            lines(&validate_update(Update { new: &new, old: &event() })),
            ["message: Invalid value: \"other\": field is immutable"]
        );
    }
}
