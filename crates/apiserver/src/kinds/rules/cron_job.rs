//! CronJobs: a schedule, and a Job to make from time to time.

use kueue_core::field::Errors;

use super::check::Field;
use super::job::{check_job_spec, has_new_generation};
use super::pod_template::default_template_spec;
use super::{Rules, Update, defaults, pod_warnings};
use crate::json::Value;

mod schedule;

pub static RULES: Rules = Rules {
    default,
    validate: |_| Errors::new(),
    validate_create,
    validate_update,
    warn: |new, old| {
        let mut warnings = pod_warnings::of_name(new, old, "Pod names and hostnames");
        if has_new_generation(new, old) {
            warnings.extend(pod_warnings::of_job(&Field::root(new).child("spec.jobTemplate.spec")));
        }
        warnings
    },
    status_metadata: &["annotations", "labels", "finalizers", "ownerReferences"],
    ..Rules::WITH_GENERATION
};

/// Names of time zones, as every system knows them.
const TIME_ZONES: &str = include_str!("../../../data/timezones.txt");
/// A Job's name is the CronJob's with a time after it.
const NAME_BYTES_MAX: usize = 52;

fn default(object: &mut Value) {
    let table: defaults::Table = &[
        ("spec.concurrencyPolicy", "\"Allow\""),
        ("spec.suspend", "false"),
        ("spec.successfulJobsHistoryLimit", "3"),
        ("spec.failedJobsHistoryLimit", "1"),
    ];
    defaults::fill(table, object);
    if let Some(spec) = object.pointer_mut("/spec/jobTemplate/spec") {
        default_template_spec(spec);
    }
}

fn validate_create(object: &Value) -> Errors {
    let mut errors = check(object, None);
    let name = Field::root(object).child("metadata.name");
    if name.text().len() > NAME_BYTES_MAX {
        errors.push(name.invalid(format!("must be no more than {NAME_BYTES_MAX} characters")));
    }
    errors
}

fn validate_update(update: Update<'_>) -> Errors {
    check(update.new, Some(update.old))
}

fn check(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let (times, zone) = (spec.child("schedule"), spec.child("timeZone"));
    if times.needs(&mut errors) {
        if let Err(why) = schedule::parse(times.text()) {
            errors.push(times.invalid(why));
        }
        let had_zone = old.is_some_and(|old| old["spec"]["schedule"].as_str().is_some_and(|text| text.contains("TZ")));
        let has_zone = times.text().contains("TZ");
        if has_zone && had_zone && zone.is_set() {
            errors.push(times.invalid("cannot use both timeZone field and TZ or CRON_TZ in schedule"));
        } else if has_zone && !had_zone {
            errors.push(times.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead"));
        }
    }
    spec.child("startingDeadlineSeconds").not_negative(&mut errors);
    if old.is_none_or(|old| old["spec"]["timeZone"] != *zone.value) {
        check_zone(&zone, &mut errors);
    }
    spec.child("concurrencyPolicy").needs_one_of(&["Allow", "Forbid", "Replace"], &mut errors);
    check_template(&spec.child("jobTemplate.spec"), &mut errors);
    spec.child("successfulJobsHistoryLimit").not_negative(&mut errors);
    spec.child("failedJobsHistoryLimit").not_negative(&mut errors);
    errors
}

fn check_zone(zone: &Field<'_>, errors: &mut Errors) {
    if !zone.is_set() {
        return;
    }
    if zone.text().is_empty() {
        errors.push(zone.invalid("timeZone must be nil or non-empty string"));
        return;
    }
    if zone.text().eq_ignore_ascii_case("Local") {
        let why = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones";
        errors.push(zone.invalid(why));
    }
    if zone.text() != "Local" && !TIME_ZONES.lines().any(|known| known == zone.text()) {
        errors.push(zone.invalid(format!("unknown time zone {}", zone.text())));
    }
}

fn check_template(spec: &Field<'_>, errors: &mut Errors) {
    check_job_spec(spec, errors);
    let selector = spec.child("selector");
    if selector.is_set() {
        errors.push(selector.invalid("`selector` will be auto-generated"));
    }
    let manual = spec.child("manualSelector");
    if *manual.value == true {
        errors.push(kueue_core::field::Error::not_supported(&manual.path, true, &["nil", "false"]));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[track_caller]
    fn expect(fields: Value, expected: &[&str]) {
        let template = json!({"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}});
        let mut object = json!({"metadata": {"name": "c"},
            "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}});
        object["spec"].as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        default(&mut object);
        assert_eq!(lines(&validate_create(&object)), expected, "{fields}");
    }

    #[test]
    fn a_cron_job_has_a_schedule_and_a_zone() {
        expect(json!({}), &[]);
        expect(json!({"timeZone": "Europe/Berlin"}), &[]);
        expect(json!({"schedule": ""}), &["spec.schedule: Required value"]);
        expect(
            json!({"schedule": "x"}),
            &["spec.schedule: Invalid value: \"x\": expected exactly 5 fields, found 1: [x]"],
        );
        expect(
            json!({"timeZone": "Nowhere/X"}),
            &["spec.timeZone: Invalid value: \"Nowhere/X\": unknown time zone Nowhere/X"],
        );
        expect(
            json!({"schedule": "TZ=UTC * * * * *"}),
            &[
                "spec.schedule: Invalid value: \"TZ=UTC * * * * *\": cannot use TZ or CRON_TZ in schedule, use timeZone field instead",
            ],
        );
    }

    #[test]
    fn policies_are_words_and_limits_numbers() {
        expect(
            json!({"concurrencyPolicy": "X"}),
            &["spec.concurrencyPolicy: Unsupported value: \"X\": supported values: \"Allow\", \"Forbid\", \"Replace\""],
        );
        expect(
            json!({"failedJobsHistoryLimit": -1}),
            &["spec.failedJobsHistoryLimit: Invalid value: -1: must be greater than or equal to 0"],
        );
    }
}
