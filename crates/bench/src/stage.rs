//! An engine under measurement: its calls are timed, what the driver does around them is not.

use std::collections::BTreeMap;
use std::time::Duration;

use kueue_core::amount::Amount;
use kueue_core::duration::Duration as Span;
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;
use kueue_engine::{
    Change, Effect, Engine, FlavorNodes, FlavorQuotaSpec, FlavorSpec, Preemption, QueueSpec, QuotaSpec,
    ResourceGroupSpec, Settings, Status,
};

use crate::jobs::{self, Jobs, NAMESPACE};
use crate::meter::cpu_time;

/// The engine, the time it is told, and what its calls cost so far.
pub struct Stage {
    engine: Engine,
    pub now: Time,
    /// Time in cycles: heads, assignment, preemption, order, and writing down what was decided.
    pub scheduling: Duration,
    /// Time in everything else: changes, echoes of our own writes, life cycles.
    pub rest: Duration,
}

/// One ClusterQueue of a load.
pub struct QueueShape {
    pub number: u32,
    pub cohort: String,
    pub nominal: u32,
    pub borrowing_limit: Option<u32>,
    pub preemption: Preemption,
}

impl Stage {
    pub fn new(settings: Settings) -> Self {
        let mut stage = Self {
            engine: Engine::new(settings),
            now: jobs::start(),
            scheduling: Duration::ZERO,
            rest: Duration::ZERO,
        };
        stage.apply(vec![
            Change::Namespace { name: NAMESPACE.into(), labels: BTreeMap::new() },
            Change::Flavor(FlavorSpec { name: "default".into(), nodes: FlavorNodes::default() }),
        ]);
        stage
    }

    pub fn add_queue(&mut self, shape: &QueueShape) {
        let quota = QuotaSpec {
            resource: "cpu".into(),
            nominal: cpus(shape.nominal),
            borrowing_limit: shape.borrowing_limit.map(cpus),
            lending_limit: None,
        };
        let flavor = FlavorQuotaSpec { flavor: "default".into(), resources: vec![quota] };
        self.apply(vec![
            Change::Queue(Box::new(QueueSpec {
                name: jobs::queue_name(shape.number).into(),
                cohort: Some(shape.cohort.as_str().into()),
                groups: vec![ResourceGroupSpec { resources: vec!["cpu".into()], flavors: vec![flavor] }],
                namespaces: Some(LabelSelector::default()),
                preemption: shape.preemption,
                weight: 1.0,
                ..QueueSpec::default()
            })),
            Change::LocalQueue(jobs::local_queue(shape.number)),
        ]);
    }

    /// Tells the engine, and lets workloads take their steps.
    pub fn apply(&mut self, changes: Vec<Change>) -> Vec<Effect> {
        let start = cpu_time();
        let effects = tell(&mut self.engine, changes, self.now);
        self.rest += cpu_time() - start;
        effects
    }

    /// One cycle, a second after the one before.
    pub fn cycle(&mut self) -> Vec<Effect> {
        self.now = self.now + Span::from_seconds(1);
        let start = cpu_time();
        let effects = schedule(&mut self.engine, self.now);
        self.scheduling += cpu_time() - start;
        effects
    }

    /// Brings the statuses that the engine decided back to it, as the API server would; returns them.
    pub fn echo(&mut self, jobs: &Jobs, effects: Vec<Effect>) -> Vec<(usize, Status)> {
        let mut written = Vec::new();
        let mut pending = effects;
        while !pending.is_empty() {
            let mut changes = Vec::new();
            for effect in pending {
                if let Effect::Status { workload, status, .. } = effect {
                    let number = Jobs::number(&workload);
                    changes.push(jobs.change(number, (*status).clone()));
                    written.push((number, std::sync::Arc::unwrap_or_clone(status)));
                }
            }
            pending = self.apply(changes);
        }
        written
    }

    /// Forgets what was spent so far: the load is built, now it is measured.
    pub fn reset(&mut self) {
        self.scheduling = Duration::ZERO;
        self.rest = Duration::ZERO;
    }
}

/// The calls that are counted as scheduling. A function of its own so that callgrind can be told its name.
#[inline(never)]
fn schedule(engine: &mut Engine, now: Time) -> Vec<Effect> {
    engine.cycle(now)
}

/// The calls that are counted as everything else.
#[inline(never)]
fn tell(engine: &mut Engine, changes: Vec<Change>, now: Time) -> Vec<Effect> {
    for change in changes {
        engine.apply(change, now);
    }
    engine.settle(now)
}

fn cpus(count: u32) -> Amount {
    Amount::new(i64::from(count) * 1000)
}
