//! Everything around the engine: the objects as the API server has them, and decisions on their way there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use kueue_core::duration::Duration;
use kueue_core::time::Time;
use kueue_engine::{Call, Change, CohortSpec, Effect, Engine, Journal, Key, Name, QueueSpec, Step, WorkloadSpec};

use crate::model::Model;
use crate::weather::Weather;

/// How many versions of workloads are remembered, to be told again when they are out of date.
const OLD_VERSIONS: usize = 16;

/// The world. What is told to the engine is told through here, so that it can be written down.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) weather: Weather,
    pub(crate) engine: Engine,
    pub(crate) now: Time,
    pub(crate) workloads: BTreeMap<Key, WorkloadSpec>,
    pub(crate) queues: BTreeMap<Name, QueueSpec>,
    pub(crate) cohorts: BTreeMap<Name, CohortSpec>,
    pub(crate) old_versions: VecDeque<WorkloadSpec>,
    /// Workloads that the engine heard of although they were gone.
    pub(crate) ghosts: BTreeSet<Key>,
    /// Decided and not yet written.
    pub(crate) in_flight: VecDeque<Effect>,
    /// What was done to the engine.
    pub(crate) journal: Journal,
    /// What came of each step of the journal.
    pub(crate) outcomes: Vec<Vec<Effect>>,
}

impl World {
    pub(crate) fn new(weather: &Weather) -> Self {
        Self {
            weather: weather.clone(),
            engine: Engine::new(weather.settings.clone()),
            now: "2026-01-01T00:00:00Z".parse().expect("a time"),
            workloads: BTreeMap::new(),
            queues: BTreeMap::new(),
            cohorts: BTreeMap::new(),
            old_versions: VecDeque::new(),
            ghosts: BTreeSet::new(),
            in_flight: VecDeque::new(),
            journal: Journal { settings: weather.settings.clone(), steps: Vec::new() },
            outcomes: Vec::new(),
        }
    }

    /// Does something to the engine, and writes it down before: a step that fails is the last one of the journal.
    fn call(&mut self, call: Call) -> Vec<Effect> {
        let step = Step { at: self.now, call };
        self.journal.steps.push(step.clone());
        let effects = self.engine.play(step);
        self.outcomes.push(effects.clone());
        self.engine.check_invariants();
        effects
    }

    pub(crate) fn apply(&mut self, change: Change) {
        match &change {
            Change::Queue(spec) => drop(self.queues.insert(spec.name.clone(), (**spec).clone())),
            Change::QueueGone(name) => drop(self.queues.remove(name)),
            Change::Cohort(spec) => drop(self.cohorts.insert(spec.name.clone(), spec.clone())),
            Change::CohortGone(name) => drop(self.cohorts.remove(name)),
            _ => {}
        }
        self.call(Call::Apply(change));
    }

    /// Tells the engine what the API server has.
    pub(crate) fn resync(&mut self, key: &Key) {
        if let Some(workload) = self.workloads.get(key) {
            let change = Change::Workload(Box::new(workload.clone()));
            self.apply(change);
        }
    }

    /// Changes a workload in the API server, and tells.
    pub(crate) fn edit(&mut self, key: &Key, edit: impl FnOnce(&mut WorkloadSpec)) {
        let Some(workload) = self.workloads.get_mut(key) else { return };
        self.old_versions.push_back(workload.clone());
        if self.old_versions.len() > OLD_VERSIONS {
            self.old_versions.pop_front();
        }
        edit(workload);
        self.resync(key);
    }

    pub(crate) fn delete(&mut self, key: &Key) {
        self.workloads.remove(key);
        self.apply(Change::WorkloadGone { namespace: key.namespace.clone(), name: key.name.clone() });
    }

    pub(crate) fn settle(&mut self) -> usize {
        let effects = self.call(Call::Settle);
        self.receive(effects)
    }

    pub(crate) fn cycle(&mut self) -> usize {
        let left = self.left_on_nodes();
        let effects = self.call(Call::Cycle);
        if !self.weather.has_nonsense {
            Model::new(&self.queues, &self.cohorts, &self.engine).check_reservations(&effects);
            self.check_places(&left, &effects);
        }
        self.receive(effects)
    }

    pub(crate) fn flush(&mut self) {
        self.call(Call::Flush);
    }

    pub(crate) fn sample(&mut self) {
        let effects = self.call(Call::Sample);
        self.receive(effects);
    }

    pub(crate) fn advance(&mut self, seconds: i64) {
        self.now = self.now + Duration::from_seconds(seconds);
    }

    fn receive(&mut self, effects: Vec<Effect>) -> usize {
        let known = self.in_flight.len();
        let is_written = |effect: &Effect| !matches!(effect, Effect::Event(_) | Effect::Consumed { .. });
        self.in_flight.extend(effects.into_iter().filter(is_written));
        let count = self.in_flight.len() - known;
        if self.weather.is_prompt {
            while self.write_next() {}
        }
        count
    }

    /// Writes the oldest decision, and tells; says whether there was one.
    pub(crate) fn write_next(&mut self) -> bool {
        let Some(effect) = self.in_flight.pop_front() else { return false };
        match effect {
            Effect::Status { workload, status, .. } => self.edit(&workload, |spec| spec.status = (*status).clone()),
            Effect::Deactivate(workload) => self.edit(&workload, |spec| {
                spec.is_active = false;
                spec.generation += 1;
            }),
            Effect::MarkParent(workload) => {
                self.edit(&workload, |spec| spec.variant.get_or_insert_default().is_parent = true);
            }
            // Who is being deleted was kept by nothing else.
            Effect::Unguard(workload) if self.workloads.get(&workload).is_some_and(|spec| spec.is_deleting) => {
                self.delete(&workload);
            }
            Effect::Unguard(workload) => self.edit(&workload, |spec| spec.is_guarded = false),
            Effect::Delete(workload) => self.delete(&workload),
            Effect::Event(_) | Effect::Consumed { .. } | Effect::DeleteJob(_) => {}
        }
        true
    }
}
