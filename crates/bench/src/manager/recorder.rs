//! What happened to Workloads and queues, as everybody sees it who watches them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::{ClusterQueue, Workload};
use kueue_api::meta::ConditionStatus;
use kueue_runtime::informer::Delta;
use kueue_runtime::key::Key;
use serde::Serialize;
use tokio::time::Instant;

use super::load::{Class, Load};

/// What a job would do now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// It was admitted, for the so manieth time, and ends after so long.
    Finish { admission: u32, after: Duration },
    /// It was evicted and stops.
    Clear,
}

/// How often Workloads changed, and why.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Seen {
    /// Every change of a Workload that exists.
    pub changes: u64,
    pub admissions: u64,
    pub evictions: u64,
    /// By the runner, as the two others here.
    pub finished: u64,
    pub cleared: u64,
    pub cluster_queue_changes: u64,
    pub local_queue_changes: u64,
}

impl Seen {
    /// Changes that told a Workload why it waits, or anything else but the above.
    pub fn others(&self) -> u64 {
        self.changes.saturating_sub(self.admissions + self.evictions + self.finished + self.cleared)
    }
}

#[derive(Debug)]
struct Life {
    class: &'static Class,
    created: Instant,
    admitted: Option<Instant>,
    /// It was evicted and has not let go yet.
    must_stop: bool,
    admissions: u32,
    /// From its creation to its last admission.
    waited: Option<Duration>,
}

/// A queue as its status shows it.
#[derive(Debug)]
struct Shown {
    cpu: f64,
    since: Instant,
    is_busy: bool,
}

/// Keeps count.
#[derive(Debug)]
pub struct Recorder {
    load: Load,
    pub seen: Seen,
    lives: HashMap<Key, Life>,
    /// When a queue's quota was freed last, and nobody has it yet.
    freed: HashMap<Arc<str>, Instant>,
    queues: HashMap<Arc<str>, Shown>,
    /// From freed quota to the next admission in the same queue.
    pub gaps: Vec<Duration>,
    /// Cpu seconds that Workloads held, and that statuses of queues showed.
    held: f64,
    shown: f64,
    first: Option<Instant>,
    pub last: Option<Instant>,
    pub first_admission: Option<Instant>,
}

#[derive(Clone, Copy, Default)]
struct Flags {
    admitted: bool,
    evicted: bool,
    finished: bool,
}

impl Flags {
    fn of(workload: Option<&Workload>) -> Self {
        let Some(workload) = workload else { return Self::default() };
        let is = |kind: &str| {
            let mut conditions = workload.status.conditions.iter();
            conditions.any(|condition| condition.r#type == kind && condition.status == ConditionStatus::True)
        };
        Self { admitted: is(condition::ADMITTED), evicted: is(condition::EVICTED), finished: is(condition::FINISHED) }
    }

    fn holds_quota(self) -> bool {
        self.admitted && !self.finished
    }

    fn must_stop(self) -> bool {
        self.holds_quota() && self.evicted
    }
}

impl Recorder {
    pub fn new(load: Load) -> Self {
        Self {
            load,
            seen: Seen::default(),
            lives: HashMap::new(),
            freed: HashMap::new(),
            queues: HashMap::new(),
            gaps: Vec::new(),
            held: 0.0,
            shown: 0.0,
            first: None,
            last: None,
            first_admission: None,
        }
    }

    /// A Workload came or changed; says what its job does about that.
    pub fn on_workload(&mut self, delta: &Delta<Workload>, now: Instant) -> Option<Act> {
        let (old, new) = delta.sides();
        let class = self.load.class_of(new?)?;
        let (was, is) = (Flags::of(old), Flags::of(new));
        self.first.get_or_insert(now);
        self.last = Some(now);
        self.seen.changes += u64::from(old.is_some());
        let new_life = || Life { class, created: now, admitted: None, must_stop: false, admissions: 0, waited: None };
        let life = self.lives.entry(delta.key.clone()).or_insert_with(new_life);
        let queue = &delta.key.namespace;
        self.seen.finished += u64::from(is.finished && !was.finished);
        life.must_stop = is.must_stop();
        if was.holds_quota() && !is.holds_quota() {
            self.seen.cleared += u64::from(!is.finished);
            let since = life.admitted.take().unwrap_or(now);
            self.held += f64::from(class.cpu) * (now - since).as_secs_f64();
            self.freed.insert(Arc::clone(queue), now);
        }
        if is.must_stop() && !was.must_stop() {
            self.seen.evictions += 1;
            return Some(Act::Clear);
        }
        if is.holds_quota() && !was.holds_quota() {
            self.seen.admissions += 1;
            life.admitted = Some(now);
            life.admissions += 1;
            life.waited = Some(now - life.created);
            self.first_admission.get_or_insert(now);
            self.gaps.extend(self.freed.remove(queue).map(|freed| now - freed));
            return Some(Act::Finish { admission: life.admissions, after: class.running() });
        }
        None
    }

    /// Whether a Workload still runs as it did when it was admitted for the so manieth time.
    pub fn still_runs(&self, key: &Key, admission: u32) -> bool {
        self.lives
            .get(key)
            .is_some_and(|life| life.admitted.is_some() && !life.must_stop && life.admissions == admission)
    }

    pub fn on_cluster_queue(&mut self, delta: &Delta<ClusterQueue>, now: Instant) {
        let (old, new) = delta.sides();
        let Some(status) = new.map(|queue| &queue.status) else { return };
        self.seen.cluster_queue_changes += u64::from(old.is_some());
        let mut usage = status.flavors_usage.iter().flat_map(|flavor| &flavor.resources);
        let cpu = usage.next().map_or(0.0, |resource| resource.total.as_f64());
        let is_busy = status.pending_workloads > 0 || status.reserving_workloads > 0;
        let before = self.queues.insert(Arc::clone(&delta.key.name), Shown { cpu, since: now, is_busy });
        if let Some(before) = before {
            self.shown += before.cpu * (now - before.since).as_secs_f64();
        }
    }

    /// Everything has ended, and every queue says so.
    pub fn is_over(&self) -> bool {
        self.seen.finished >= self.load.total() as u64 && self.queues.values().all(|queue| !queue.is_busy)
    }

    /// Which part of the quota Workloads held, and which part statuses of queues showed, in percent.
    pub fn quota_used(&self) -> (f64, f64) {
        let elapsed = self.first.zip(self.last).map_or(0.0, |(first, last)| (last - first).as_secs_f64());
        let all = self.load.quota() * elapsed.max(0.001);
        (100.0 * self.held / all, 100.0 * self.shown / all)
    }

    /// How long Workloads of each class waited for their last admission, in order.
    pub fn waits(&self) -> BTreeMap<&'static str, Vec<Duration>> {
        let mut waits: BTreeMap<&'static str, Vec<Duration>> = BTreeMap::new();
        for life in self.lives.values() {
            waits.entry(life.class.name).or_default().extend(life.waited);
        }
        waits.values_mut().for_each(|waits| waits.sort());
        waits
    }
}

#[cfg(test)]
mod tests {
    use kueue_runtime::informer::Stored;
    use serde_json::json;

    use super::*;
    use crate::manager::load::WAKE;

    fn workload(conditions: &[(&str, &str)]) -> Option<Stored<Workload>> {
        let mut workload = WAKE.workload("q", &WAKE.classes[0], 1).unwrap();
        let conditions = conditions
            .iter()
            .map(|(kind, status)| json!({"type": kind, "status": status, "reason": "R", "message": ""}));
        workload.status = serde_json::from_value(json!({"conditions": conditions.collect::<Vec<_>>()})).unwrap();
        Some(Stored { uid: "u".into(), version: "1".into(), object: Arc::new(workload) })
    }

    #[test]
    fn a_life_is_told_from_its_conditions() {
        let begin = Instant::now();
        let mut recorder = Recorder::new(WAKE);
        let story = [
            workload(&[]),
            workload(&[("Admitted", "True")]),
            workload(&[("Admitted", "True"), ("Evicted", "True")]),
            workload(&[("Admitted", "False"), ("Evicted", "True")]),
            workload(&[("QuotaReserved", "False"), ("Evicted", "True")]),
            workload(&[("Admitted", "True"), ("Evicted", "False")]),
            workload(&[("Admitted", "True"), ("Finished", "True")]),
        ];
        let mut acts = Vec::new();
        let (mut old, mut second) = (None, 0);
        for new in story {
            let delta = Delta { key: Key::new("q", "a"), old, new: new.clone() };
            acts.extend(recorder.on_workload(&delta, begin + Duration::from_secs(second)));
            (old, second) = (new, second + 1);
        }
        let finish = |admission| Act::Finish { admission, after: Duration::from_millis(150) };
        assert_eq!(acts, [finish(1), Act::Clear, finish(2)]);
        let Seen { changes, admissions, evictions, finished, cleared, .. } = recorder.seen;
        assert_eq!((changes, admissions, evictions, finished, cleared), (6, 2, 1, 1, 1));
        assert_eq!(recorder.seen.others(), 1);
        assert_eq!(recorder.gaps, [Duration::from_secs(2)]);
        assert_eq!(recorder.waits()["one"], [Duration::from_secs(5)]);
        // It held 1 cpu from 1 to 3 and from 5 to 6, of 6 seconds.
        assert!((recorder.quota_used().0 - 50.0).abs() < 0.1, "{:?}", recorder.quota_used());
    }
}
