//! How a Job's status may move. A rule is asked only when what it is about has changed, so that a status that was
//! wrong before can still be written.

use kueue_core::field::{Error, Errors};
use kueue_core::time::Time;

use super::super::Update;
use super::super::check::Field;
use super::{indexes, is_true, says};

const COMPLETE: &str = "Complete";
const FAILED: &str = "Failed";
const FAILURE_TARGET: &str = "FailureTarget";
const CRITERIA_MET: &str = "SuccessCriteriaMet";

/// A status before and after.
struct Move<'v> {
    new: Field<'v>,
    old: Field<'v>,
    update: Update<'v>,
}

pub fn validate(update: Update<'_>) -> Errors {
    let moved =
        Move { new: Field::root(update.new).child("status"), old: Field::root(update.old).child("status"), update };
    let mut errors = Errors::new();
    moved.check_numbers(&mut errors);
    moved.check_end(&mut errors);
    moved.check_finished(&mut errors);
    moved.check_indexes(&mut errors);
    moved.check_pods(&mut errors);
    moved.check_criteria(&mut errors);
    moved.check_transitions(&mut errors);
    errors
}

impl Move<'_> {
    fn is(&self, condition: &str) -> bool {
        is_true(self.update.new, condition)
    }

    fn was(&self, condition: &str) -> bool {
        is_true(self.update.old, condition)
    }

    fn has_flipped(&self, condition: &str) -> bool {
        self.is(condition) != self.was(condition)
    }

    fn is_finished(&self) -> bool {
        self.is(COMPLETE) || self.is(FAILED)
    }

    fn has_finished(&self) -> bool {
        self.is_finished() != (self.was(COMPLETE) || self.was(FAILED))
    }

    fn changes(&self, field: &str) -> bool {
        self.new.child(field).value != self.old.child(field).value
    }

    fn check_numbers(&self, errors: &mut Errors) {
        for number in ["active", "succeeded", "failed", "ready", "terminating"] {
            self.new.child(number).not_negative(errors);
        }
        let mut seen: Vec<&str> = Vec::new();
        for list in ["uncountedTerminatedPods.succeeded", "uncountedTerminatedPods.failed"] {
            for uid in self.new.child(list).items() {
                if uid.is_empty() {
                    errors.push(uid.invalid("must not be empty"));
                } else if seen.contains(&uid.text()) {
                    errors.push(uid.duplicate());
                } else {
                    seen.push(uid.text());
                }
            }
        }
    }

    fn check_end(&self, errors: &mut Errors) {
        let conditions = self.new.child("conditions");
        let (start, end) = (self.new.child("startTime"), self.new.child("completionTime"));
        if (self.has_flipped(COMPLETE) || self.has_flipped(FAILED)) && self.is(COMPLETE) && self.is(FAILED) {
            errors.push(conditions.invalid_unshown("cannot set Complete=True and Failed=true conditions"));
        }
        let targets = self.has_flipped(COMPLETE) || self.has_flipped(FAILURE_TARGET);
        if targets && self.is(COMPLETE) && self.is(FAILURE_TARGET) {
            errors.push(conditions.invalid_unshown("cannot set Complete=True and FailureTarget=true conditions"));
        }
        let ends = self.has_flipped(COMPLETE) || self.changes("completionTime");
        if ends && end.is_set() && !self.is(COMPLETE) {
            let why = "cannot set completionTime when there is no Complete=True condition";
            errors.push(end.invalid(why));
        }
        if ends && !end.is_set() && self.is(COMPLETE) {
            errors.push(end.required("completionTime is required for Complete jobs"));
        }
        let moves = self.changes("startTime") || self.changes("completionTime");
        let time = |field: &Field<'_>| field.text().parse::<Time>().ok();
        if let (Some(from), Some(to)) = (time(&start), time(&end))
            && moves
            && to < from
        {
            errors.push(end.invalid("must be equal to or after `startTime`"));
        }
        let fails = self.has_flipped(FAILED) || self.changes("failedIndexes");
        if fails && self.is(FAILED) && !self.is(FAILURE_TARGET) {
            let why = "cannot set Failed=True condition without the FailureTarget=true condition";
            errors.push(conditions.invalid_unshown(why));
        }
        let succeeds = self.has_flipped(COMPLETE) || self.has_flipped(CRITERIA_MET);
        if succeeds && self.is(COMPLETE) && !self.is(CRITERIA_MET) {
            let why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition";
            errors.push(conditions.invalid_unshown(why));
        }
    }

    /// Nothing of a finished Job runs, and it has begun once.
    fn check_finished(&self, errors: &mut Errors) {
        if !self.is_finished() {
            return;
        }
        let (active, start) = (self.new.child("active"), self.new.child("startTime"));
        if (self.has_finished() || self.changes("active")) && active.number() > 0 {
            errors.push(active.invalid("active>0 is invalid for finished job"));
        }
        let spec = &self.update.new["spec"];
        let had_nothing_to_do = spec["suspend"] == true && spec["completions"] == 0;
        if (self.has_finished() || self.changes("startTime")) && !had_nothing_to_do && !start.is_set() {
            errors.push(start.required("startTime is required for finished job"));
        }
        let uncounted = self.new.child("uncountedTerminatedPods");
        let waits = !uncounted.child("failed").is_empty() || !uncounted.child("succeeded").is_empty();
        if (self.has_finished() || self.changes("uncountedTerminatedPods")) && waits {
            errors.push(uncounted.invalid("must be empty for finished job"));
        }
    }

    fn check_indexes(&self, errors: &mut Errors) {
        let spec = Field::root(self.update.new).child("spec");
        let completions = spec.child("completions");
        let (done, failed) = (self.new.child("completedIndexes"), self.new.child("failedIndexes"));
        let (moves_done, moves_failed) = (self.changes("completedIndexes"), self.changes("failedIndexes"));
        if moves_done
            && completions.is_set()
            && let Err(why) = indexes::count(done.text(), completions.number())
        {
            errors.push(done.invalid(format!("error parsing completedIndexes: {why}")));
        }
        let is_limited = spec.child("backoffLimitPerIndex").is_set();
        if moves_failed
            && completions.is_set()
            && is_limited
            && failed.is_set()
            && let Err(why) = indexes::count(failed.text(), completions.number())
        {
            errors.push(failed.invalid(format!("error parsing failedIndexes: {why}")));
        }
        if moves_done && !done.is_empty() && spec.child("completionMode").text() != "Indexed" {
            errors.push(done.invalid("cannot set non-empty completedIndexes when non-indexed completion mode"));
        }
        if moves_failed && !is_limited && failed.is_set() {
            errors.push(failed.invalid("cannot set non-null failedIndexes when backoffLimitPerIndex is null"));
        }
        if (moves_done || moves_failed)
            && completions.is_set()
            && let Some(index) = indexes::overlap(done.text(), failed.text(), completions.number())
        {
            errors.push(failed.invalid(format!("failedIndexes and completedIndexes overlap at index: {index}")));
        }
    }

    fn check_pods(&self, errors: &mut Errors) {
        let (ready, active) = (self.new.child("ready"), self.new.child("active"));
        let terminating = self.new.child("terminating");
        let ends = self.has_finished() || self.changes("terminating");
        if ends && self.is_finished() && terminating.number() > 0 {
            errors.push(terminating.invalid("terminating>0 is invalid for finished job"));
        }
        let moves = self.changes("ready") || self.changes("active");
        if moves && ready.is_set() && ready.number() > active.number() {
            errors.push(ready.invalid("cannot set more ready pods than active"));
        }
    }

    fn check_criteria(&self, errors: &mut Errors) {
        let conditions = self.new.child("conditions");
        if self.is(CRITERIA_MET) && self.is(FAILED) {
            errors.push(conditions.invalid_unshown("cannot set SuccessCriteriaMet=True and Failed=true conditions"));
        }
        if self.is(CRITERIA_MET) && self.is(FAILURE_TARGET) {
            let why = "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions";
            errors.push(conditions.invalid_unshown(why));
        }
        let has_policy = !self.update.new["spec"]["successPolicy"].is_null();
        if has_policy && !self.is(CRITERIA_MET) && self.is(COMPLETE) {
            let why = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True";
            errors.push(conditions.invalid_unshown(why));
        }
    }

    /// What only goes one way.
    fn check_transitions(&self, errors: &mut Errors) {
        let conditions = self.new.child("conditions");
        for condition in [FAILED, COMPLETE, FAILURE_TARGET] {
            if self.was(condition) && !self.is(condition) {
                let why = format!("cannot disable the terminal {condition}=True condition");
                errors.push(conditions.invalid_unshown(why));
            }
        }
        let spec = &self.update.new["spec"];
        let may_shrink = spec["completionMode"] == "Indexed" && spec["completions"] == spec["parallelism"];
        for counter in ["failed", "succeeded"] {
            let (new, old) = (self.new.child(counter), self.old.child(counter));
            if new.number() < old.number() && !(counter == "succeeded" && may_shrink) {
                let why = format!("cannot decrease the {counter} counter");
                errors.push(Error::invalid(&new.path, new.number(), why));
            }
        }
        let end = self.new.child("completionTime");
        if end.is_set() && self.old.child("completionTime").is_set() && self.changes("completionTime") {
            errors.push(end.invalid("field is immutable"));
        }
        let resumes = self.was("Suspended") && says(self.update.new, "Suspended", "False");
        let runs = spec["suspend"] != true;
        if self.changes("startTime") && !resumes && self.old.child("startTime").is_set() && runs {
            let why = "field is immutable for unsuspended job once set";
            errors.push(self.new.child("startTime").invalid(why));
        }
        if self.was(CRITERIA_MET) && !self.is(CRITERIA_MET) {
            errors.push(conditions.invalid_unshown("cannot disable the SuccessCriteriaMet=True condition"));
        }
        if self.was(COMPLETE) && !self.was(CRITERIA_MET) && self.is(CRITERIA_MET) {
            let why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions";
            errors.push(conditions.invalid_unshown(why));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::json::{Value, json};

    const START: &str = "2020-01-01T00:00:00Z";
    const END: &str = "2020-01-01T00:01:00Z";

    /// A status with these conditions true, and further fields.
    fn status(conditions: &[&str], fields: Value) -> Value {
        let list: Vec<Value> = conditions.iter().map(|kind| json!({"type": kind, "status": "True"})).collect();
        let mut status = json!({"conditions": list});
        status.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        status
    }

    #[track_caller]
    fn check(old: Value, new: Value, expected: &[&str]) {
        let job = |status: Value| {
            json!({"spec": {"suspend": false, "completionMode": "Indexed", "completions": 5,
            "parallelism": 2, "backoffLimitPerIndex": 1}, "status": status})
        };
        let (old, new) = (job(old), job(new));
        assert_eq!(lines(&validate(Update { new: &new, old: &old })), expected);
    }

    #[test]
    fn a_complete_job_says_when_and_why() {
        let fine = json!({"startTime": START, "completionTime": END});
        check(json!({}), status(&["SuccessCriteriaMet", "Complete"], fine.clone()), &[]);
        check(
            json!({}),
            status(&["Complete"], json!({})),
            &[
                "status.completionTime: Required value: completionTime is required for Complete jobs",
                "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition",
                "status.startTime: Required value: startTime is required for finished job",
            ],
        );
        check(
            json!({}),
            status(&[], json!({"completionTime": END})),
            &[
                "status.completionTime: Invalid value: \"2020-01-01T00:01:00Z\": cannot set completionTime when there is no Complete=True condition",
            ],
        );
        check(
            json!({}),
            status(&["SuccessCriteriaMet", "Complete"], json!({"startTime": END, "completionTime": START})),
            &["status.completionTime: Invalid value: \"2020-01-01T00:00:00Z\": must be equal to or after `startTime`"],
        );
    }

    #[test]
    fn a_job_does_not_both_complete_and_fail() {
        let fields = json!({"startTime": START, "completionTime": END});
        check(
            json!({}),
            status(&["SuccessCriteriaMet", "Complete", "Failed", "FailureTarget"], fields),
            &[
                "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions",
                "status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions",
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions",
                "status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions",
            ],
        );
        check(
            json!({"startTime": START}),
            status(&["Failed"], json!({"startTime": START})),
            &[
                "status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition",
            ],
        );
    }

    #[test]
    fn nothing_of_a_finished_job_runs() {
        let fields =
            json!({"startTime": START, "active": 1, "terminating": 1, "uncountedTerminatedPods": {"failed": ["a"]}});
        check(
            json!({"startTime": START}),
            status(&["FailureTarget", "Failed"], fields),
            &[
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.uncountedTerminatedPods: Invalid value: {\"failed\":[\"a\"]}: must be empty for finished job",
                "status.terminating: Invalid value: 1: terminating>0 is invalid for finished job",
            ],
        );
    }

    #[test]
    fn ends_are_for_ever() {
        let ended = status(&["FailureTarget", "Failed"], json!({"startTime": START, "failed": 2}));
        check(
            ended,
            status(&[], json!({"startTime": START, "failed": 1})),
            &[
                "status.conditions: Invalid value: cannot disable the terminal Failed=True condition",
                "status.conditions: Invalid value: cannot disable the terminal FailureTarget=True condition",
                "status.failed: Invalid value: 1: cannot decrease the failed counter",
            ],
        );
        check(
            json!({"startTime": START}),
            json!({"startTime": END}),
            &[
                "status.startTime: Invalid value: \"2020-01-01T00:01:00Z\": field is immutable for unsuspended job once set",
            ],
        );
        check(
            json!({"startTime": START}),
            json!({}),
            &["status.startTime: Invalid value: null: field is immutable for unsuspended job once set"],
        );
    }

    #[test]
    fn indexes_are_read_and_disjoint() {
        check(
            json!({}),
            json!({"completedIndexes": "0-9"}),
            &[
                "status.completedIndexes: Invalid value: \"0-9\": error parsing completedIndexes: too large index: \"9\"",
            ],
        );
        check(
            json!({}),
            json!({"completedIndexes": "0-2", "failedIndexes": "2"}),
            &["status.failedIndexes: Invalid value: \"2\": failedIndexes and completedIndexes overlap at index: 2"],
        );
    }

    #[test]
    fn no_more_are_ready_than_active() {
        check(
            json!({}),
            json!({"active": 1, "ready": 2}),
            &["status.ready: Invalid value: 2: cannot set more ready pods than active"],
        );
        check(
            json!({}),
            json!({"active": -1}),
            &["status.active: Invalid value: -1: must be greater than or equal to 0"],
        );
    }
}
