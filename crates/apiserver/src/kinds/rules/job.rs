//! Jobs: the server names their pods' selector, and freezes most of the spec.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::name;
use serde_json::Value;

use super::pod_template::default_spec;
use super::{Moment, Rules, UnknownSelector, Update, immutable, set_default};

pub static RULES: Rules = Rules {
    has_generation: true,
    orphans_dependents: true,
    check_name: name::dns1123_label,
    selectable: &["status.successful"],
    unknown_selector: UnknownSelector::Kind,
    default,
    prepare_create,
    orphan_warning: Some(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or \
         set propagationPolicy=Orphan to suppress this warning",
    ),
    validate,
    validate_update,
    status_metadata: &["annotations", "labels"],
    ..Rules::PLAIN
};

/// Labels that tell a Job's pods apart: the present names and the old ones.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    if spec.pointer("/template/spec").is_some() {
        default_spec(&mut spec["template"]["spec"]);
    }
    let is_set = |spec: &Value, name: &str| spec.get(name).is_some_and(|value| !value.is_null());
    if !is_set(spec, "parallelism") && !is_set(spec, "completions") {
        set_default(spec, "completions", 1);
    }
    set_default(spec, "parallelism", 1);
    set_default(spec, "completionMode", "NonIndexed");
    set_default(spec, "suspend", false);
    set_default(spec, "manualSelector", false);
    let has_failure_policy = is_set(spec, "podFailurePolicy");
    let is_limited_by_index = is_set(spec, "backoffLimitPerIndex");
    set_default(spec, "backoffLimit", if is_limited_by_index { i64::from(i32::MAX) } else { 6 });
    let replaced = if has_failure_policy { "Failed" } else { "TerminatingOrFailed" };
    set_default(spec, "podReplacementPolicy", replaced);
}

fn prepare_create(object: &mut Value, _: Moment<'_>) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let uid = object["metadata"]["uid"].clone();
    let name = object["metadata"]["name"].clone();
    if let Some(labels) = crate::schema::object_at(object, &["spec", "template", "metadata", "labels"]) {
        for (keys, value) in [(UID_LABELS, &uid), (NAME_LABELS, &name)] {
            for key in keys {
                labels.insert(key.to_owned(), value.clone());
            }
        }
    }
    if let Some(labels) = crate::schema::object_at(object, &["spec", "selector", "matchLabels"]) {
        labels.insert(UID_LABELS[0].to_owned(), uid);
    }
    let shown = object["spec"]["template"]["metadata"]["labels"].clone();
    set_default(&mut object["metadata"], "labels", shown);
}

fn validate(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Path::new("spec");
    let policy = object["spec"]["template"]["spec"]["restartPolicy"].as_str().unwrap_or_default();
    let at = spec.child("template").child("spec").child("restartPolicy");
    if policy == "Always" {
        errors.push(Error::required(&at, "valid values: \"OnFailure\", \"Never\""));
    }
    for field in ["parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"] {
        if let Some(number) = object["spec"][field].as_i64().filter(|number| *number < 0) {
            errors.push(Error::invalid(&spec.child(field), number, "must be greater than or equal to 0"));
        }
    }
    if object["spec"]["completionMode"] == "Indexed" && object["spec"]["completions"].is_null() {
        let why = "when completion mode is Indexed";
        errors.push(Error::required(&spec.child("completions"), why));
    }
    errors
}

fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let at = |value: &Value, name: &str| value["spec"][name].clone();
    let is_elastic =
        at(update.old, "completionMode") == "Indexed" && at(update.new, "completions") == at(update.new, "parallelism");
    let has_moved = at(update.new, "completions") != at(update.old, "completions");
    if has_moved && at(update.old, "completionMode") == "Indexed" && !is_elastic {
        let place = Path::new("spec").child("completions");
        let why = "can only be modified in tandem with spec.parallelism";
        errors.push(Error::invalid(&place, at(update.new, "completions"), why));
    } else if !is_elastic {
        errors.extend(immutable(update, &[&["spec", "completions"]]));
    }
    errors.extend(immutable(update, &[&["spec", "selector"]]));
    if template(update.new, update.old) != template(update.old, update.old) {
        let shown = update.new["spec"]["template"].clone();
        errors.push(Error::invalid(&Path::new("spec").child("template"), shown, "field is immutable"));
    }
    errors.extend(immutable(
        update,
        &[
            &["spec", "completionMode"],
            &["spec", "podFailurePolicy"],
            &["spec", "backoffLimitPerIndex"],
            &["spec", "managedBy"],
            &["spec", "successPolicy"],
        ],
    ));
    errors
}

/// The template without what may change while the Job is suspended and has not started.
fn template(object: &Value, old: &Value) -> Value {
    let mut template = object["spec"]["template"].clone();
    let was_suspended = old["spec"]["suspend"] == true && old["status"]["startTime"].is_null();
    if was_suspended {
        for name in ["labels", "annotations"] {
            template["metadata"][name] = Value::Null;
        }
        for name in ["nodeSelector", "affinity", "tolerations", "schedulingGates"] {
            template["spec"][name] = Value::Null;
        }
    }
    let conditions = old["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let says_so = |condition: &Value| condition["type"] == "Suspended" && condition["status"] == "True";
    if old["spec"]["suspend"] == true && conditions.iter().any(says_so) {
        for list in ["containers", "initContainers"] {
            for container in template["spec"][list].as_array_mut().into_iter().flatten() {
                container["resources"] = Value::Null;
            }
        }
    }
    template
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(suspend: bool, selector: &str) -> Value {
        json!({"spec": {"suspend": suspend, "template": {"spec": {"nodeSelector": {"a": selector}}}}})
    }

    #[test]
    fn only_a_suspended_job_changes_where_its_pods_run() {
        let check = |old: Value| validate_update(Update { new: &job(false, "2"), old: &old }).len();
        assert_eq!((check(job(true, "1")), check(job(false, "1"))), (0, 1));
    }

    #[test]
    fn completions_stay_open_when_only_parallelism_is_given() {
        let mut given = json!({"spec": {"parallelism": 3}});
        default(&mut given);
        assert!(given["spec"].get("completions").is_none());
        let mut nothing = json!({"spec": {}});
        default(&mut nothing);
        assert_eq!((&nothing["spec"]["completions"], &nothing["spec"]["backoffLimit"]), (&json!(1), &json!(6)));
    }
}
