//! The lives of jobs, played without a server: pods are made and counted as the plan says.

use serde_json::{Value, json};

use super::*;
use jiff::Timestamp;

/// A job and its pods, as a server would keep them.
struct Stage {
    job: Arc<Job>,
    pods: Vec<Pod>,
    made: usize,
    now: i64,
    events: Vec<String>,
}

impl Stage {
    fn new(spec: &Value) -> Self {
        let mut job = json!({"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": spec});
        job["spec"]["template"] = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}});
        let job = Arc::new(serde_json::from_value(job).unwrap());
        Self { job, pods: Vec::new(), made: 0, now: 0, events: Vec::new() }
    }

    fn time(&self) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + self.now).unwrap()
    }

    /// Looks until nothing is left to do.
    fn look(&mut self) {
        for _ in 0..20 {
            if self.job.finished().is_some() {
                return;
            }
            let pods: Vec<Arc<Pod>> = self.pods.iter().cloned().map(Arc::new).collect();
            let plan = plan(&self.job, &pods, self.time());
            let is_idle = plan.status == self.job.status && plan.untrack.is_empty();
            for wanted in plan.create {
                let mut new = pod(&self.job, wanted);
                new.metadata.uid = format!("{}", self.made);
                new.metadata.name = format!("{}{}", new.metadata.generate_name, self.made);
                self.made += 1;
                self.pods.push(new);
            }
            let gone: Vec<&str> = plan.delete.iter().map(|pod| pod.metadata.uid.as_str()).collect();
            self.pods.retain(|pod| !gone.contains(&pod.metadata.uid.as_str()));
            for ended in &plan.untrack {
                let pod = self.pods.iter_mut().find(|pod| pod.metadata.uid == ended.metadata.uid).unwrap();
                pod.metadata.finalizers.clear();
            }
            self.events.extend(plan.events.into_iter().map(|(_, reason, _)| reason));
            self.job = Arc::new(Job { status: plan.status, ..(*self.job).clone() });
            if is_idle {
                return;
            }
        }
        panic!("the job never comes to rest: {:?}", self.job.status);
    }

    /// Lets the pod of that number end.
    fn end(&mut self, number: usize, exit_code: i32) {
        let finished = kueue_core::time::Time::new(self.time());
        let pod = self.pods.iter_mut().find(|pod| pod.metadata.uid == number.to_string()).unwrap();
        pod.status.phase = if exit_code == 0 { "Succeeded" } else { "Failed" }.to_owned();
        pod.status.container_statuses = serde_json::from_value(json!([{"name": "c", "state": {"terminated": {
            "exitCode": exit_code, "finishedAt": finished}}}]))
        .unwrap();
        self.look();
    }

    fn change(&mut self, change: impl FnOnce(&mut Job)) {
        change(Arc::make_mut(&mut self.job));
        self.look();
    }

    /// Counts and conditions, `active/succeeded/failed Condition=reason`.
    fn shown(&self) -> String {
        let status = &self.job.status;
        let conditions = status.conditions.iter().filter(|condition| condition.holds());
        let conditions: Vec<String> =
            conditions.map(|condition| format!(" {}={}", condition.r#type, condition.reason)).collect();
        format!("{}/{}/{}{}", status.active, status.succeeded, status.failed, conditions.concat())
    }
}

#[test]
fn a_job_completes_when_enough_pods_succeed() {
    let mut stage = Stage::new(&json!({"parallelism": 2, "completions": 3}));
    stage.look();
    assert_eq!((stage.shown().as_str(), stage.made), ("2/0/0", 2));
    assert!(stage.job.status.start_time.is_some());
    stage.end(0, 0);
    assert_eq!((stage.shown().as_str(), stage.made), ("2/1/0", 3));
    stage.end(1, 0);
    assert_eq!((stage.shown().as_str(), stage.made), ("1/2/0", 3));
    stage.end(2, 0);
    assert_eq!(stage.shown(), "0/3/0 SuccessCriteriaMet=CompletionsReached Complete=CompletionsReached");
    assert_eq!(stage.job.status.uncounted_terminated_pods, Some(Default::default()));
    assert!(stage.job.status.completion_time.is_some());
    assert!(stage.pods.iter().all(|pod| !pod.is_tracked()));
    assert_eq!(stage.events, ["Completed"]);
}

#[test]
fn without_completions_one_success_means_no_replacements() {
    let mut stage = Stage::new(&json!({"parallelism": 3}));
    stage.look();
    stage.end(1, 0);
    assert_eq!((stage.shown().as_str(), stage.made), ("2/1/0", 3));
    stage.end(0, 0);
    stage.end(2, 0);
    assert_eq!(stage.shown(), "0/3/0 SuccessCriteriaMet=CompletionsReached Complete=CompletionsReached");
}

#[test]
fn failures_are_retried_later_and_later_up_to_the_limit() {
    let mut stage = Stage::new(&json!({"parallelism": 1, "completions": 1, "backoffLimit": 2}));
    stage.look();
    for (wait, expected) in [(10, "1/0/1"), (20, "1/0/2")] {
        stage.end(stage.made - 1, 1);
        assert_eq!(stage.shown(), format!("0{}", &expected[1..]));
        stage.now += wait - 1;
        stage.look();
        assert_eq!(stage.shown(), format!("0{}", &expected[1..]), "too early");
        stage.now += 1;
        stage.look();
        assert_eq!(stage.shown(), expected);
    }
    stage.end(2, 1);
    assert_eq!(stage.shown(), "0/0/3 FailureTarget=BackoffLimitExceeded Failed=BackoffLimitExceeded");
}

#[test]
fn suspension_takes_pods_away_uncounted() {
    let mut stage = Stage::new(&json!({"parallelism": 2, "suspend": true}));
    stage.look();
    assert_eq!((stage.shown().as_str(), stage.made), ("0/0/0 Suspended=JobSuspended", 0));
    assert_eq!(stage.job.status.start_time, None);
    stage.change(|job| job.spec.suspend = Some(false));
    assert_eq!((stage.shown().as_str(), stage.made), ("2/0/0", 2));
    assert!(stage.job.status.start_time.is_some());
    stage.change(|job| job.spec.suspend = Some(true));
    assert_eq!((stage.shown().as_str(), stage.pods.len()), ("0/0/0 Suspended=JobSuspended", 0));
    assert_eq!(stage.job.status.start_time, None);
    assert_eq!(stage.events, ["Suspended", "Resumed", "Suspended"]);
}

#[test]
fn no_job_ends_without_a_start() {
    let mut stage = Stage::new(&json!({"parallelism": 1, "completions": 1}));
    stage.look();
    // Whoever suspended it for a moment took the time away.
    Arc::make_mut(&mut stage.job).status.start_time = None;
    stage.end(0, 0);
    assert_eq!(stage.shown(), "0/1/0 SuccessCriteriaMet=CompletionsReached Complete=CompletionsReached");
    assert!(stage.job.status.start_time.is_some());
}

#[test]
fn indexes_are_completed_one_by_one() {
    let mut stage = Stage::new(&json!({"parallelism": 3, "completions": 5, "completionMode": "Indexed"}));
    stage.look();
    let names: Vec<&str> = stage.pods.iter().map(|pod| pod.metadata.generate_name.as_str()).collect();
    assert_eq!(names, ["j-0-", "j-1-", "j-2-"]);
    for number in 0..3 {
        stage.end(number, 0);
    }
    assert_eq!((stage.job.status.completed_indexes.as_str(), stage.shown().as_str()), ("0-2", "2/3/0"));
    stage.end(3, 0);
    stage.end(4, 0);
    assert_eq!(stage.job.status.completed_indexes, "0-4");
    assert!(stage.job.finished().is_some_and(|end| end.r#type == "Complete"));
}

#[test]
fn an_index_that_fails_too_often_fails_alone() {
    let mut stage = Stage::new(&json!({"parallelism": 2, "completions": 2, "completionMode": "Indexed",
        "backoffLimit": 100, "backoffLimitPerIndex": 1}));
    stage.look();
    stage.end(0, 1);
    stage.now += 10;
    stage.look();
    assert_eq!(stage.made, 3, "index 0 gets a second try");
    stage.end(2, 1);
    assert_eq!(stage.job.status.failed_indexes.as_deref(), Some("0"));
    stage.end(1, 0);
    assert_eq!(stage.shown(), "0/1/2 FailureTarget=FailedIndexes Failed=FailedIndexes");
}

#[test]
fn parallelism_may_change() {
    let mut stage = Stage::new(&json!({"parallelism": 3}));
    stage.look();
    stage.change(|job| job.spec.parallelism = Some(1));
    assert_eq!((stage.shown().as_str(), stage.pods.len()), ("1/0/0", 1));
    stage.change(|job| job.spec.parallelism = Some(2));
    assert_eq!((stage.shown().as_str(), stage.pods.len()), ("2/0/0", 2));
}

#[test]
fn a_deadline_ends_a_job_with_its_pods() {
    let mut stage = Stage::new(&json!({"parallelism": 1, "activeDeadlineSeconds": 60}));
    stage.look();
    stage.now = 60;
    stage.look();
    assert_eq!(stage.shown(), "0/0/0 FailureTarget=DeadlineExceeded Failed=DeadlineExceeded");
    assert!(stage.pods.is_empty());
}

#[test]
fn the_policy_says_what_a_failure_means() {
    let rules = json!({"rules": [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]},
        {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]});
    let mut stage = Stage::new(&json!({"parallelism": 2, "completions": 2, "podFailurePolicy": rules}));
    stage.look();
    stage.pods[0].status.conditions =
        serde_json::from_value(json!([{"type": "DisruptionTarget", "status": "True"}])).unwrap();
    stage.end(0, 137);
    assert_eq!(stage.shown(), "1/0/0", "not counted, and replaced after a while");
    stage.end(1, 42);
    assert_eq!(stage.shown(), "0/0/1 FailureTarget=PodFailurePolicy Failed=PodFailurePolicy");
    let message = "Container c for pod n/j-1 failed with exit code 42 matching FailJob rule at index 1";
    assert_eq!(stage.job.status.conditions[0].message, message);
}

#[test]
fn a_success_policy_ends_a_job_early() {
    let policy = json!({"rules": [{"succeededIndexes": "0"}]});
    let mut stage = Stage::new(&json!({"parallelism": 3, "completions": 3, "completionMode": "Indexed",
        "successPolicy": policy}));
    stage.look();
    stage.end(0, 0);
    assert_eq!(stage.shown(), "0/1/0 SuccessCriteriaMet=SuccessPolicy Complete=SuccessPolicy");
    assert_eq!(stage.pods.len(), 1, "the others are deleted");
}
