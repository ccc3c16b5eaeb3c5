//! What of a Job may change: how many pods run at once, when it ends, and while it is suspended where its pods run.

use kueue_core::field::{Error, Errors, Path};

use super::super::{Update, immutable};
use super::{collect, is_true, spec};
use crate::json::Value;

/// What may be told about where pods run.
const DIRECTIVES: [&str; 3] = ["nodeSelector", "tolerations", "schedulingGates"];

pub fn validate_update(update: Update<'_>) -> Errors {
    // A real server looks at the spec twice.
    let mut errors = collect(|errors| spec::check_whole_spec(update.new, errors));
    check_completions(update, &mut errors);
    errors.extend(immutable(update, &[&["spec", "selector"]]));
    check_template(update, &mut errors);
    let frozen = ["completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"];
    for field in frozen {
        errors.extend(immutable(update, &[&["spec", field]]));
    }
    errors
}

fn check_completions(update: Update<'_>, errors: &mut Errors) {
    let (new, old) = (&update.new["spec"], &update.old["spec"]);
    if new["completionMode"] != "Indexed" {
        errors.extend(immutable(update, &[&["spec", "completions"]]));
        return;
    }
    let has_moved = !new["completions"].is_null() && new["completions"] != old["completions"];
    if has_moved && new["completions"] != new["parallelism"] {
        let why = "can only be modified in tandem with spec.parallelism";
        errors.push(Error::invalid(&Path::new("spec").child("completions"), new["completions"].clone(), why));
    }
}

/// Whether nothing runs that was made from the template.
fn is_at_rest(job: &Value) -> bool {
    let is_suspended = job["spec"]["suspend"] == true;
    let was_never_started = job["status"]["startTime"].is_null();
    let active = job["status"]["active"].as_i64().unwrap_or_default();
    is_suspended && (was_never_started || is_true(job, "Suspended")) && active == 0
}

fn check_template(update: Update<'_>, errors: &mut Errors) {
    let new = &update.new["spec"]["template"];
    let mut old = update.old["spec"]["template"].clone();
    let at = Path::new("spec").child("template");
    if !is_at_rest(update.old) {
        if *new != old {
            errors.push(Error::invalid(&at, new.clone(), "field is immutable"));
        }
        return;
    }
    for name in DIRECTIVES {
        follow(&mut old["spec"], name, &new["spec"]);
    }
    follow_affinity(&mut old["spec"], &new["spec"]);
    for list in ["containers", "initContainers"] {
        follow_resources(&mut old["spec"], list, &new["spec"]);
    }
    if new["spec"] != old["spec"] {
        let why = "field is immutable";
        errors.push(Error::invalid(&at.child("spec"), new["spec"].clone(), why));
    }
}

/// Gives a field the value it has in another object.
fn follow(old: &mut Value, name: &str, new: &Value) {
    if let Some(object) = old.as_object_mut() {
        match new.get(name) {
            Some(value) => object.insert(name, value.clone()),
            None => object.remove(name),
        };
    }
}

/// Only the affinity to nodes may change.
fn follow_affinity(old: &mut Value, new: &Value) {
    match (old.get("affinity").is_some(), new.get("affinity")) {
        (_, Some(affinity)) => {
            if old.get("affinity").is_none() {
                old["affinity"] = crate::json::json!({});
            }
            follow(&mut old["affinity"], "nodeAffinity", affinity);
        }
        (true, None) => {
            let kept = old["affinity"].as_object_mut();
            let is_empty = kept.is_some_and(|affinity| {
                affinity.remove("nodeAffinity");
                affinity.is_empty()
            });
            if is_empty {
                follow(old, "affinity", new);
            }
        }
        (false, None) => {}
    }
}

fn follow_resources(old: &mut Value, list: &str, new: &Value) {
    let wanted = new[list].as_array().map(Vec::as_slice).unwrap_or_default();
    let known = old.get_mut(list).and_then(Value::as_array_mut).filter(|known| known.len() == wanted.len());
    for (old, new) in known.into_iter().flatten().zip(wanted) {
        if old["name"] == new["name"] {
            follow(old, "resources", new);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    fn job(suspend: bool, change: impl Fn(&mut Value)) -> Value {
        let mut job = json!({"metadata": {"name": "j", "uid": "u"}, "spec": {"suspend": suspend,
            "template": {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}}});
        change(&mut job);
        super::super::default(&mut job);
        super::super::tests::create(&mut job);
        job
    }

    /// The places that are refused.
    fn refused(old: &Value, new: &Value) -> Vec<String> {
        validate_update(Update { new, old }).iter().map(|error| error.field.to_string()).collect()
    }

    #[test]
    fn only_a_suspended_job_changes_where_its_pods_run() {
        let place = |job: &mut Value| job["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
        assert_eq!(refused(&job(true, |_| {}), &job(true, place)), [""; 0]);
        assert_eq!(refused(&job(false, |_| {}), &job(false, place)), ["spec.template"]);
        let affinity = |job: &mut Value| job["spec"]["template"]["spec"]["affinity"] = json!({"nodeAffinity": {}});
        assert_eq!(refused(&job(true, |_| {}), &job(true, affinity)), [""; 0]);
        assert_eq!(refused(&job(true, affinity), &job(true, |_| {})), [""; 0]);
    }

    #[test]
    fn a_suspended_job_that_started_is_free_when_it_says_so() {
        let place = |job: &mut Value| job["spec"]["template"]["spec"]["nodeSelector"] = json!({"a": "b"});
        let started = |conditions: Value| {
            let mut job = job(true, |_| {});
            job["status"] = json!({"startTime": "t", "conditions": conditions});
            job
        };
        assert_eq!(refused(&started(json!([])), &job(true, place)), ["spec.template"]);
        let says_so = json!([{"type": "Suspended", "status": "True"}]);
        assert_eq!(refused(&started(says_so), &job(true, place)), [""; 0]);
    }

    #[test]
    fn amounts_of_a_suspended_job_change_and_images_do_not() {
        let amounts = |job: &mut Value| {
            job["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1"}});
        };
        assert_eq!(refused(&job(true, |_| {}), &job(true, amounts)), [""; 0]);
        let image = |job: &mut Value| job["spec"]["template"]["spec"]["containers"][0]["image"] = "other".into();
        assert_eq!(refused(&job(true, |_| {}), &job(true, image)), ["spec.template.spec"]);
    }

    #[test]
    fn completions_move_with_parallelism() {
        let with = |completions: i64, parallelism: i64| {
            job(false, |job| {
                job["spec"]["completionMode"] = "Indexed".into();
                job["spec"]["completions"] = completions.into();
                job["spec"]["parallelism"] = parallelism.into();
            })
        };
        assert_eq!(refused(&with(3, 3), &with(4, 4)), [""; 0]);
        assert_eq!(refused(&with(3, 3), &with(4, 3)), ["spec.completions"]);
        let plain = |completions: i64| job(false, |job| job["spec"]["completions"] = completions.into());
        assert_eq!(refused(&plain(1), &plain(2)), ["spec.completions"]);
    }
}
