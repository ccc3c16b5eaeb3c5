use serde_json::Value;

use super::*;

const CREATED: &str = "2026-01-01T10:00:30Z";

fn cron(spec: &Value, status: &Value) -> CronJob {
    let mut cron: CronJob = serde_json::from_value(json!({
        "metadata": {"name": "c", "namespace": "n", "uid": "cron", "creationTimestamp": CREATED},
        "spec": {"schedule": "*/10 * * * *", "jobTemplate": {"spec": {"parallelism": 2}}}, "status": status}))
    .unwrap();
    let mut whole = serde_json::to_value(&cron.spec).unwrap();
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    cron.spec = serde_json::from_value(whole).unwrap();
    cron
}

fn ended(name: &str, end: &str, start: &str) -> Arc<Job> {
    let conditions: Vec<Value> = match end {
        "" => Vec::new(),
        end => vec![json!({"type": end, "status": "True"})],
    };
    Arc::new(
        serde_json::from_value(json!({"metadata": {"name": name, "uid": name}, "status": {
            "startTime": start, "completionTime": start, "conditions": conditions}}))
        .unwrap(),
    )
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn reasons(plan: &Plan) -> Vec<&str> {
    plan.events.iter().map(|(_, reason, _)| *reason).collect()
}

#[test]
fn a_job_is_made_when_it_is_due_and_once() {
    let cron = cron(&json!({}), &json!({}));
    let early = plan(&cron, &[], at("2026-01-01T10:09:59Z"));
    assert_eq!((early.create, early.again), (None, Some(at("2026-01-01T10:10:00Z"))));
    let due = plan(&cron, &[], at("2026-01-01T10:10:00Z"));
    assert_eq!((due.create, due.again), (Some(at("2026-01-01T10:10:00Z")), Some(at("2026-01-01T10:20:00Z"))));
    let after = CronJob { status: due.status, ..cron.clone() };
    assert_eq!(plan(&after, &[], at("2026-01-01T10:12:00Z")).create, None);
    let late = plan(&cron, &[], at("2026-01-01T12:34:00Z"));
    assert_eq!(late.create, Some(at("2026-01-01T12:30:00Z")), "of all that was missed the last one counts");
    let job = job(&cron, at("2026-01-01T10:10:00Z"));
    assert_eq!(job.metadata.name, "c-29454370");
    assert_eq!(job.metadata.annotations[SCHEDULED], "2026-01-01T10:10:00Z");
    assert_eq!((job.spec.parallelism, job.metadata.owner_references[0].name.as_str()), (Some(2), "c"));
}

#[test]
fn one_that_runs_already_is_allowed_waited_for_or_replaced() {
    let active = json!({"active": [{"name": "old", "uid": "old"}]});
    let jobs = [ended("old", "", CREATED)];
    let now = at("2026-01-01T10:10:00Z");
    let plan_of = |policy: &str| plan(&cron(&json!({"concurrencyPolicy": policy}), &active), &jobs, now);
    let allowed = plan_of("Allow");
    assert!(allowed.create.is_some() && allowed.delete.is_empty() && allowed.status.active.len() == 1);
    let forbidden = plan_of("Forbid");
    assert_eq!((forbidden.create, reasons(&forbidden)), (None, vec!["JobAlreadyActive"]));
    assert_eq!(forbidden.status.last_schedule_time, None, "it starts when the other one ends");
    let replaced = plan_of("Replace");
    assert!(replaced.create.is_some() && replaced.delete[0].metadata.name == "old");
    assert!(replaced.status.active.is_empty());
}

#[test]
fn who_is_too_late_or_suspended_or_makes_no_sense_gets_nothing() {
    let now = at("2026-01-01T10:13:00Z");
    for (spec, told) in [
        (json!({"startingDeadlineSeconds": 60}), vec!["MissSchedule"]),
        (json!({"suspend": true}), vec![]),
        (json!({"schedule": "soon"}), vec!["UnparseableSchedule"]),
        (json!({"timeZone": "Europe/Berlin"}), vec!["UnknownTimeZone"]),
    ] {
        let plan = plan(&cron(&spec, &json!({})), &[], now);
        assert_eq!((plan.create, reasons(&plan)), (None, told), "{spec}");
    }
    assert!(plan(&cron(&json!({"timeZone": "Etc/UTC"}), &json!({})), &[], now).create.is_some());
}

#[test]
fn ended_jobs_leave_the_list_and_the_oldest_are_deleted() {
    let day = |day: u8| format!("2026-01-{day:02}T00:00:00Z");
    let mut jobs: Vec<Arc<Job>> = (1..=4).map(|n| ended(&format!("good-{n}"), "Complete", &day(n))).collect();
    jobs.extend([ended("bad-1", "Failed", &day(5)), ended("bad-2", "Failed", &day(6))]);
    let active = json!({"active": [{"name": "good-4", "uid": "good-4"}, {"name": "gone", "uid": "gone"}]});
    let plan = plan(&cron(&json!({"suspend": true}), &active), &jobs, at(CREATED));
    assert_eq!(reasons(&plan), ["SawCompletedJob", "MissingJob"]);
    assert!(plan.status.active.is_empty());
    assert_eq!(plan.status.last_successful_time.unwrap().to_string(), day(4));
    let names: Vec<&str> = plan.delete.iter().map(|job| job.metadata.name.as_str()).collect();
    assert_eq!(names, ["good-1", "bad-1"]);
}
