//! Jobs: the server names their pods' selector, and freezes most of the spec.

use kueue_core::field::Errors;
use kueue_core::name;

use super::check::Field;
use super::pod_template::default_template_spec;
use super::{Moment, Rules, UnknownSelector, set_default};
use crate::json::Value;

mod indexes;
mod spec;
mod status;
mod update;

pub use spec::check_job_spec;

pub static RULES: Rules = Rules {
    has_generation: true,
    orphans_dependents: true,
    check_name: name::dns1123_subdomain,
    selectable: &["status.successful"],
    unknown_selector: UnknownSelector::Kind,
    default,
    prepare_create,
    orphan_warning: Some(
        "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or \
         set propagationPolicy=Orphan to suppress this warning",
    ),
    validate: spec::validate,
    validate_update: update::validate_update,
    validate_status: status::validate,
    warn: |new, old| {
        let mut warnings = super::pod_warnings::of_name(new, old, "Pod names and hostnames");
        if has_new_generation(new, old) {
            warnings.extend(super::pod_warnings::of_job(&Field::root(new).child("spec")));
        }
        warnings
    },
    allocate: |object, _, _| {
        default_labels(object);
        Errors::new()
    },
    is_rewritten_once: has_labels_of_template,
    status_metadata: &["annotations", "labels"],
    ..Rules::PLAIN
};

/// Labels that tell a Job's pods apart: the present names and the old ones.
const UID_LABELS: [&str; 2] = ["batch.kubernetes.io/controller-uid", "controller-uid"];
const NAME_LABELS: [&str; 2] = ["batch.kubernetes.io/job-name", "job-name"];

fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    default_template_spec(spec);
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
    for rule in spec.pointer_mut("/podFailurePolicy/rules").and_then(Value::as_array_mut).into_iter().flatten() {
        for pattern in rule.get_mut("onPodConditions").and_then(Value::as_array_mut).into_iter().flatten() {
            if pattern.get("status").is_none_or(|status| status == "") {
                pattern["status"] = "True".into();
            }
        }
    }
    // Labels that the server makes come later, so that their mistakes are told once.
    if object["spec"]["template"]["metadata"]["labels"].get(UID_LABELS[0]).is_none() {
        default_labels(object);
    }
}

/// A Job without labels has those of its template.
fn default_labels(object: &mut Value) {
    let labels = object["spec"]["template"]["metadata"]["labels"].clone();
    let has_own = object["metadata"]["labels"].as_object().is_some_and(|labels| !labels.is_empty());
    if !has_own && labels.as_object().is_some_and(|labels| !labels.is_empty()) {
        object["metadata"]["labels"] = labels;
    }
}

/// Labels that are given already stay, and are refused later when they are wrong.
fn prepare_create(object: &mut Value, _: Moment<'_>) {
    if object["spec"]["manualSelector"] == true {
        return;
    }
    let uid = object["metadata"]["uid"].clone();
    let name = object["metadata"]["name"].clone();
    let given = &object["spec"]["template"]["metadata"]["labels"];
    let shares_labels = given.is_object() && object["metadata"]["labels"] == *given;
    if let Some(labels) = crate::schema::object_at(object, &["spec", "template", "metadata", "labels"]) {
        for (keys, value) in [(UID_LABELS, &uid), (NAME_LABELS, &name)] {
            for key in keys {
                labels.entry(key).or_insert_with(|| value.clone());
            }
        }
    }
    if let Some(labels) = crate::schema::object_at(object, &["spec", "selector", "matchLabels"]) {
        labels.entry(UID_LABELS[0]).or_insert(uid);
    }
    // Labels that came from the template are the same ones, in Go's memory too.
    if shares_labels {
        object["metadata"]["labels"] = object["spec"]["template"]["metadata"]["labels"].clone();
    }
}

/// A real server gives a Job the labels it has made for its template whenever it reads it, but does not store them
/// until the next write: the first write after the creation always changes something.
fn has_labels_of_template(object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    let only_made = labels.as_object().is_some_and(|labels| labels.len() == UID_LABELS.len() + NAME_LABELS.len());
    only_made && *labels == object["spec"]["template"]["metadata"]["labels"]
}

/// Whether the spec has changed, or is new.
pub fn has_new_generation(new: &Value, old: Option<&Value>) -> bool {
    old.is_none_or(|old| old["metadata"]["generation"] != new["metadata"]["generation"])
}

/// Whether a condition of the status is true.
fn is_true(object: &Value, kind: &str) -> bool {
    says(object, kind, "True")
}

fn says(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == kind && condition["status"] == status)
}

/// Errors of one check.
fn collect(check: impl FnOnce(&mut Errors)) -> Errors {
    let mut errors = Errors::new();
    check(&mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    /// Sets what the server sets.
    pub fn create(job: &mut Value) {
        let random = crate::random::Random::from_seed([0; 32]);
        let store = crate::store::Store::default();
        prepare_create(job, Moment { now: "2020-01-01T00:00:00Z".parse().unwrap(), random: &random, store: &store });
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

    #[test]
    fn labels_of_the_template_become_the_jobs() {
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {"metadata": {"labels": {"job-name": "x"}}}}});
        default(&mut job);
        create(&mut job);
        assert_eq!(job["metadata"]["labels"]["job-name"], "x");
        assert_eq!(job["metadata"]["labels"], job["spec"]["template"]["metadata"]["labels"]);
        assert_eq!(job["spec"]["selector"]["matchLabels"], json!({"batch.kubernetes.io/controller-uid": "u"}));
        let mut bare = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"template": {}}});
        create(&mut bare);
        default(&mut bare);
        assert!(bare["metadata"].get("labels").is_none(), "not before it is judged");
        default_labels(&mut bare);
        assert!(has_labels_of_template(&bare));
    }
}
