//! The lines about what happens to a workload outside scheduling.
//!
//! ```text
//! pods timeout=S [recovery=S] [base=S] [max=S] [most=N] [block]      (settings, before everything else)
//! keep [finished=S] [deactivated=S]                                  (settings, before everything else)
//! with GATE | without GATE                                           (settings, before everything else)
//! ready JOB | unready JOB | on JOB | off JOB | ungate JOB
//! lost JOB                                                           (what was decided about it could not be written)
//! orphan JOB | dying JOB | hold JOB | empty JOB | resume JOB | later JOB S COUNT
//! check JOB NAME Ready|Retry|Rejected [after=S] | open JOB GATE
//! stop QUEUE | drain QUEUE | restart QUEUE | end QUEUE, each with `local` for the LocalQueue (`end`: it is being deleted)
//! misselect QUEUE                                                    (its selector of namespaces makes no sense)
//! status JOB                                                         (tells its conditions and backoff)
//! ```

use std::collections::BTreeMap;

use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::gates::Gate;
use kueue_core::selector::{LabelSelector, Requirement};
use kueue_core::time::Time;

use super::Stage;
use crate::*;

/// Takes a line of settings; says whether it was one.
pub(super) fn choose(settings: &mut Settings, line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    let gate = |name: &str| Gate::named(name).unwrap_or_else(|| panic!("no such gate: {name}"));
    match words.as_slice() {
        ["with", name] => settings.gates = settings.gates.with(gate(name), true),
        ["without", name] => settings.gates = settings.gates.with(gate(name), false),
        ["keep", options @ ..] => {
            let value = |key| option(options, key).map(Duration::from_seconds);
            settings.retention = Retention { finished: value("finished"), deactivated: value("deactivated") };
        }
        ["pods", options @ ..] => settings.pods_ready = Some(pods_ready(options)),
        _ => return false,
    }
    true
}

fn pods_ready(options: &[&str]) -> PodsReady {
    let value = |key: &str| option(options, key);
    let seconds = |key: &str, default: i64| Duration::from_seconds(value(key).unwrap_or(default));
    PodsReady {
        timeout: seconds("timeout", 300),
        recovery_timeout: value("recovery").map(Duration::from_seconds),
        backoff: Backoff::new(seconds("base", 60), 2.0, seconds("max", 3600)),
        most_attempts: value("most").map(|most| i32::try_from(most).unwrap()),
        blocks_admission: options.contains(&"block"),
    }
}

fn option(options: &[&str], key: &str) -> Option<i64> {
    let found = options.iter().find_map(|option| option.split_once('=').filter(|(known, _)| *known == key));
    found.map(|(_, value)| value.parse().unwrap())
}

/// What the options of a job say about its life.
pub(super) fn dress(spec: &mut WorkloadSpec, options: &BTreeMap<&str, &str>) {
    spec.preemption_gates = options.get("closed").map(|gate| (*gate).into()).into_iter().collect();
    spec.gated_by = options.get("gated").map(|gate| (*gate).into());
    spec.job_uid = options.get("uid").map(|uid| (*uid).into());
    spec.owner = match options.get("owner") {
        Some(&"pod") => Owner::Pod,
        Some(&"nobody") => Owner::Nobody,
        _ => Owner::Job,
    };
    spec.is_guarded = options.contains_key("guarded");
    spec.max_execution_s = options.get("most").map(|most| most.parse().unwrap());
}

impl Stage {
    /// Plays a line; panics if there is no such line.
    pub(super) fn play_life(&mut self, verb: &str, name: &str, words: &[&str]) {
        let now = self.now;
        let options: BTreeMap<&str, &str> = words.iter().filter_map(|word| word.split_once('=')).collect();
        match verb {
            "ready" => self.edit(name, |job| set_ready(job, Verdict::True, "Started", now)),
            "unready" => self.edit(name, |job| set_ready(job, Verdict::False, "WaitForRecovery", now)),
            "on" => self.edit(name, |job| job.is_active = true),
            "off" => self.edit(name, |job| job.is_active = false),
            "open" => self.edit(name, |job| {
                let gate = job.status.preemption_gates.iter_mut().find(|gate| &*gate.name == words[1]).unwrap();
                gate.is_open = true;
            }),
            "orphan" => self.edit(name, |job| job.owner = Owner::Nobody),
            "dying" => self.edit(name, |job| job.is_deleting = true),
            "lost" => self.edit(name, |job| job.status = Status::default()),
            "hold" => self.hold(name, Some(Hold::Job)),
            "empty" => self.hold(name, Some(Hold::ScaledToZero)),
            "resume" => self.hold(name, None),
            "later" => self.edit(name, |job| {
                let at = now + Duration::from_seconds(words[1].parse().unwrap());
                job.status.requeue = Some(Requeue { count: Some(words[2].parse().unwrap()), at: Some(at) });
            }),
            "ungate" => self.edit(name, |job| job.gated_by = None),
            "check" => self.edit(name, |job| {
                let check = job.status.checks.iter_mut().find(|check| &*check.name == words[1]).unwrap();
                check.progress = match words[2] {
                    "Ready" => CheckProgress::Ready,
                    "Retry" => CheckProgress::Retry,
                    "Rejected" => CheckProgress::Rejected,
                    other => panic!("no such state: {other}"),
                };
                check.since = now;
                check.requeue_after_s = options.get("after").map(|after| after.parse().unwrap());
                check.pod_set_updates = options
                    .get("select")
                    .map(|label| {
                        let (key, value) = label.split_once(':').unwrap();
                        let node_selector = BTreeMap::from([(key.into(), value.into())]);
                        PodSetUpdate { name: "main".into(), node_selector, tolerations: Vec::new() }
                    })
                    .into_iter()
                    .collect();
            }),
            "end" => self.change_queue(name, words, |lq| lq.is_terminating = true, |queue| queue.is_terminating = true),
            "misselect" => {
                let mistake = Requirement { key: "a".to_owned(), operator: "Near".into(), values: Vec::new() };
                let selector = LabelSelector { match_expressions: vec![mistake], ..LabelSelector::default() };
                self.change_queue(name, words, |_| {}, |queue| queue.namespaces = Some(selector));
            }
            "stop" => self.stop(name, words, StopPolicy::Hold),
            "drain" => self.stop(name, words, StopPolicy::HoldAndDrain),
            "restart" => self.stop(name, words, StopPolicy::None),
            "status" => {
                let text = describe(&self.jobs[name].status, now);
                self.told += &format!("  {name}: {text}\n");
            }
            other => panic!("no such line: {other}"),
        }
    }

    fn hold(&mut self, name: &str, hold: Option<Hold>) {
        self.apply(Change::JobHold { namespace: "ns".into(), name: name.into(), hold });
    }

    /// Somebody else writes to the workload.
    pub(super) fn edit(&mut self, name: &str, edit: impl FnOnce(&mut WorkloadSpec)) {
        let job = self.jobs.get_mut(name).unwrap();
        edit(job);
        let spec = job.clone();
        self.apply(Change::Workload(Box::new(spec)));
    }

    fn stop(&mut self, name: &str, words: &[&str], stop: StopPolicy) {
        self.change_queue(name, words, |lq| lq.stop = stop, |queue| queue.stop = stop);
    }

    /// Changes the ClusterQueue, or the LocalQueue of the same name where the line says so.
    fn change_queue(
        &mut self,
        name: &str,
        words: &[&str],
        of_local: impl FnOnce(&mut LocalQueueSpec),
        of_cluster: impl FnOnce(&mut QueueSpec),
    ) {
        if words.contains(&"local") {
            let (namespace, queue) = ("ns".into(), name.into());
            let (name, weight) = (name.into(), 1.0);
            let mut spec = LocalQueueSpec { namespace, name, queue, weight, ..LocalQueueSpec::default() };
            of_local(&mut spec);
            self.apply(Change::LocalQueue(spec));
        } else {
            let queue = self.queues.get_mut(name).unwrap();
            of_cluster(queue);
            queue.revision += 1;
            let spec = queue.clone();
            self.apply(Change::Queue(Box::new(spec)));
        }
    }
}

fn set_ready(job: &mut WorkloadSpec, verdict: Verdict, reason: &'static str, since: Time) {
    job.status.conditions.retain(|condition| condition.kind != ConditionKind::PodsReady);
    job.status.conditions.push(Condition {
        kind: ConditionKind::PodsReady,
        verdict,
        reason: reason.into(),
        message: "".into(),
        since,
        generation: 1,
    });
}

fn describe(status: &Status, now: Time) -> String {
    let mut parts: Vec<String> = status
        .conditions
        .iter()
        .map(|condition| {
            let sign = if condition.verdict == Verdict::True { "+" } else { "-" };
            format!("{sign}{:?}({})", condition.kind, condition.reason)
        })
        .collect();
    parts.extend(status.checks.iter().map(|check| format!("{}={:?}", check.name, check.progress)));
    if let Some(requeue) = &status.requeue {
        let wait = requeue.at.map_or(String::new(), |at| format!(" in {}s", crate::text::seconds_between(now, at)));
        parts.push(format!("backoff {}{wait}", requeue.count.unwrap_or(0)));
    }
    parts.join(" ")
}
