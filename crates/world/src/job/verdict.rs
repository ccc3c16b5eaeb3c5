//! Whether a Job has ended, and how.

use jiff::{SignedDuration, Timestamp};

use super::indexes::Indexes;
use super::plan::Count;
use crate::kinds::{Job, OnExitCodes, Pod, PodFailureRule};

/// How a job ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// What is said until all pods are gone.
    pub(super) interim: &'static str,
    /// What is said then.
    pub(super) last: &'static str,
    pub(super) reason: String,
    pub(super) message: String,
}

impl Verdict {
    pub(super) fn new(last: &'static str, reason: &str, message: &str) -> Self {
        let interim = if last == "Complete" { "SuccessCriteriaMet" } else { "FailureTarget" };
        Self { interim, last, reason: reason.to_owned(), message: message.to_owned() }
    }
}

pub(super) fn verdict(job: &Job, count: &Count, now: Timestamp) -> Option<Verdict> {
    let told = |interim: &str| job.status.conditions.iter().find(|known| known.r#type == interim && known.holds());
    if let Some(known) = told("FailureTarget") {
        return Some(Verdict::new("Failed", &known.reason, &known.message));
    }
    if let Some(known) = told("SuccessCriteriaMet") {
        return Some(Verdict::new("Complete", &known.reason, &known.message));
    }
    failure(job, count, now).or_else(|| success(job, count))
}

fn failure(job: &Job, count: &Count, now: Timestamp) -> Option<Verdict> {
    let failed = |reason: &str, message: &str| Some(Verdict::new("Failed", reason, message));
    if let Some(sentence) = &count.fails_job {
        return failed("PodFailurePolicy", sentence);
    }
    let limit = job.spec.backoff_limit.unwrap_or(6);
    let restarts: i32 = count.active.iter().map(|pod| restarts(pod)).sum();
    let restarts_too_often = restarts > 0 && restarts >= limit;
    if count.all_failed() > limit || restarts_too_often {
        return failed("BackoffLimitExceeded", "Job has reached the specified backoff limit");
    }
    let deadline = job.spec.active_deadline_seconds.zip(job.status.start_time);
    let deadline =
        deadline.and_then(|(seconds, start)| start.timestamp().saturating_add(SignedDuration::from_secs(seconds)).ok());
    if !job.is_suspended() && deadline.is_some_and(|deadline| now >= deadline) {
        return failed("DeadlineExceeded", "Job was active longer than specified deadline");
    }
    if job.is_indexed() && job.spec.backoff_limit_per_index.is_some() {
        let lost = count.failed_indexes.len();
        if job.spec.max_failed_indexes.is_some_and(|most| lost > most) {
            let message = "Job has exceeded the specified maximal number of failed indexes";
            return failed("MaxFailedIndexesExceeded", message);
        }
        if lost > 0 && lost + count.completed.len() >= job.spec.completions.unwrap_or(0) {
            return failed("FailedIndexes", "Job has failed indexes");
        }
    }
    None
}

fn success(job: &Job, count: &Count) -> Option<Verdict> {
    let completions = job.spec.completions;
    let rules = job.spec.success_policy.iter().flat_map(|policy| &policy.rules);
    for (at, rule) in rules.enumerate().filter(|_| job.is_indexed()) {
        let completions = completions.unwrap_or(0);
        let among = rule.succeeded_indexes.as_deref().map(|text| Indexes::read(text, completions));
        let reached = among.as_ref().map_or_else(|| count.completed.len(), |among| count.completed.common(among));
        let needed = rule.succeeded_count.or_else(|| among.as_ref().map(Indexes::len));
        if needed.is_some_and(|needed| reached >= needed) {
            return Some(Verdict::new("Complete", "SuccessPolicy", &format!("Matched rules at index {at}")));
        }
    }
    let succeeded = if job.is_indexed() { count.completed.len() } else { count.all_succeeded() };
    let is_complete = match completions {
        Some(completions) => succeeded >= completions,
        None => succeeded > 0,
    };
    let done = || Verdict::new("Complete", "CompletionsReached", "Reached expected number of succeeded pods");
    (is_complete && count.active.is_empty()).then(done)
}

/// How often the containers of a pod were started again; that counts only where the pod itself stays.
fn restarts(pod: &Pod) -> i32 {
    match pod.spec.restart_policy.as_str() {
        "OnFailure" => pod.status.container_statuses.iter().map(|container| container.restart_count).sum(),
        _ => 0,
    }
}

/// What the job's policy says about a pod that failed, and in which words.
pub(super) fn policy_action<'a>(job: &'a Job, pod: &Pod) -> (&'a str, String) {
    let rules = job.spec.pod_failure_policy.iter().flat_map(|policy| &policy.rules);
    if pod.status.phase == "Failed" {
        for (at, rule) in rules.enumerate() {
            if let Some(what) = matched(rule, pod) {
                let key = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
                let what = what.replace("{pod}", &key);
                return (&rule.action, format!("{what} matching {} rule at index {at}", rule.action));
            }
        }
    }
    ("Count", String::new())
}

fn matched(rule: &PodFailureRule, pod: &Pod) -> Option<String> {
    if let Some(codes) = &rule.on_exit_codes {
        let ends = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
        let ends = ends.filter(|status| codes.container_name.as_ref().is_none_or(|name| *name == status.name));
        let mut ends = ends.filter_map(|status| Some((&status.name, status.state.terminated.as_ref()?.exit_code)));
        let (name, code) = ends.find(|(_, code)| *code != 0 && is_meant(codes, *code))?;
        return Some(format!("Container {name} for pod {{pod}} failed with exit code {code}"));
    }
    let is_met = |kind: &str, status: &str| {
        let status = if status.is_empty() { "True" } else { status };
        pod.status.conditions.iter().any(|condition| condition.r#type == kind && condition.status == status)
    };
    let pattern = rule.on_pod_conditions.iter().find(|pattern| is_met(&pattern.r#type, &pattern.status))?;
    Some(format!("Pod {{pod}} has condition {}", pattern.r#type))
}

fn is_meant(codes: &OnExitCodes, code: i32) -> bool {
    codes.values.contains(&code) == (codes.operator != "NotIn")
}
