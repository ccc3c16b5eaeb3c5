//! The one task that owns the engine: everything that becomes known goes in, everything that is decided goes out.
//!
//! It never waits for an answer. Requests run beside it, at most one per Workload at a time, and their answers come in
//! like everything else.

mod asked;
mod counts;
mod known;
mod mend;
mod request;
mod slot;
mod status;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kueue_api::core_v1::{LimitRange, ResourceList};
use kueue_api::kueue::names::{EVENT_SOURCE_WORKLOAD, FIELD_MANAGER_ADMISSION};
use kueue_api::kueue::v1beta2::Workload;
use kueue_core::resource::Formatter;
use kueue_engine::{Change, Effect, Engine, Settings};
use kueue_jobs::report::Fact;
use kueue_metrics::Metrics;
use kueue_runtime::client::Client;
use kueue_runtime::clock::Clock;
use kueue_runtime::events::Recorder;
use kueue_runtime::key::Key;
use kueue_runtime::watch;
use kueue_translate::{MetricLabels, ResourceRules};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::debug;

use known::Known;
use request::Answer;
use slot::Slot;

pub use asked::{Asked, Handle};
use mend::Mending;
pub use mend::Source;

/// So many inputs are taken before anything is decided, so that a flood does not keep decisions back for ever.
const MOST_INPUTS: usize = 10_000;
/// After so many cycles that change nothing, the next one waits for something to happen.
const MOST_IDLE_CYCLES: u32 = 8;
/// And at the latest for so long.
const IDLE_CYCLES_EVERY: Duration = Duration::from_secs(1);

/// So many Workloads are told at once why they wait while the API server has time; else one after the other.
const MOST_TOLD_AT_ONCE: usize = 4;

/// Something that became known.
#[derive(Debug)]
pub enum Input {
    /// An object that the engine knows is like this, or gone.
    Changed(Change),
    /// A Workload is like this. It comes with the informer's key, so that there is one.
    Workload(Key, Arc<Workload>),
    /// A Workload is gone.
    WorkloadGone(Key),
    /// A LimitRange is like this, or gone.
    LimitRange(Key, Option<Arc<LimitRange>>),
    /// Pods of a RuntimeClass need this besides, or there is no such class.
    Overhead(String, Option<ResourceList>),
    /// Who can tell of all objects of a kind again, for an engine that has to learn everything.
    Source(Source),
    /// Everything that existed at the start was told.
    Synced,
    /// Whether decisions are ours to take.
    Leads(bool),
    /// The end is near: nothing more is decided or sent. Answered when nothing is under way any more.
    Drain(oneshot::Sender<()>),
    /// Somebody wants to know something.
    Asked(Asked),
}

/// What queues may have to be shown anew; told to whoever writes their statuses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Touched {
    ClusterQueue(Arc<str>),
    LocalQueue(Key),
}

/// What the owner is made with.
#[derive(Debug)]
pub struct Parts {
    pub client: Client,
    pub clock: Clock,
    pub recorder: Recorder,
    pub settings: Settings,
    pub rules: ResourceRules,
    pub metric_labels: MetricLabels,
    /// What happens to jobs.
    pub facts: UnboundedReceiver<Fact>,
    /// Who shows queues.
    pub touched: UnboundedSender<Touched>,
    /// Who can delete jobs of any kind.
    pub jobs: kueue_jobs::kinds::Deleters,
    pub metrics: Metrics,
    /// Tells job reconcilers to look at everything again.
    pub look_again: watch::Sender<u64>,
}

/// Everything the owner holds. Only its own task changes it.
#[derive(Debug)]
pub struct Owner {
    engine: Engine,
    settings: Settings,
    mending: Mending,
    clock: Clock,
    client: Client,
    scheduler_events: Recorder,
    workload_events: Recorder,
    jobs: kueue_jobs::kinds::Deleters,
    metrics: Metrics,
    formatter: Formatter,
    known: Known,
    /// Workloads with something under way or to be written.
    slots: BTreeMap<Key, Slot>,
    /// Those of them that may have something to send.
    restless: BTreeSet<Key>,
    /// Those that wait to be told why they wait, the oldest slot first.
    untold: BTreeSet<(u64, Key)>,
    /// How many are being told.
    telling: usize,
    /// When a failed request may be sent again.
    postponed: BTreeSet<(Instant, Key)>,
    requests: JoinSet<Answer>,
    serial: u64,
    inputs: UnboundedReceiver<Input>,
    facts: UnboundedReceiver<Fact>,
    touched: UnboundedSender<Touched>,
    is_synced: bool,
    leads: bool,
    /// Who waits until nothing is under way any more.
    draining: Option<oneshot::Sender<()>>,
    /// Cycles in a row that changed nothing.
    idle_cycles: u32,
    /// Writes that were left out because only texts differed.
    spared_writes: u64,
}

impl Owner {
    /// An owner that knows nothing yet, and what it will be told.
    pub fn new(parts: Parts, inputs: UnboundedReceiver<Input>) -> Self {
        Self {
            engine: Engine::new(parts.settings.clone()),
            settings: parts.settings,
            mending: Mending::new(parts.look_again),
            clock: parts.clock,
            client: parts.client,
            scheduler_events: parts.recorder.named(FIELD_MANAGER_ADMISSION),
            workload_events: parts.recorder.named(EVENT_SOURCE_WORKLOAD),
            jobs: parts.jobs,
            metrics: parts.metrics,
            formatter: Formatter::default(),
            known: Known::new(parts.rules, parts.metric_labels),
            slots: BTreeMap::new(),
            restless: BTreeSet::new(),
            untold: BTreeSet::new(),
            telling: 0,
            postponed: BTreeSet::new(),
            requests: JoinSet::new(),
            serial: 0,
            inputs,
            facts: parts.facts,
            touched: parts.touched,
            is_synced: false,
            leads: false,
            draining: None,
            idle_cycles: 0,
            spared_writes: 0,
        }
    }

    /// Runs until everybody who could tell it anything is gone.
    pub async fn run(mut self) {
        loop {
            self.guarded(Self::take_what_is_there);
            let wait = match self.mending.wait() {
                None => self.guarded(Self::decide).unwrap_or(Some(Duration::ZERO)),
                pause => pause,
            };
            self.send_requests();
            if let Some(waiting) = self.draining.take_if(|_| self.requests.is_empty()) {
                // Nobody waits any more only when the time for that is over.
                let _ = waiting.send(());
                self.leads = false;
            }
            if !self.rest(wait).await {
                return;
            }
        }
    }

    fn take_what_is_there(&mut self) {
        for _ in 0..MOST_INPUTS {
            if let Ok(input) = self.inputs.try_recv() {
                self.on_input(input);
            } else if let Ok(fact) = self.facts.try_recv() {
                self.on_fact(fact);
            } else if let Some(Ok(answer)) = self.requests.try_join_next() {
                self.on_answer(answer);
            } else {
                return;
            }
        }
    }

    /// Lets the engine decide, and says how long it can be left alone; for ever when nothing is said.
    fn decide(&mut self) -> Option<Duration> {
        if !self.is_synced || !self.leads || self.draining.is_some() {
            return None;
        }
        let now = self.clock.time();
        let effects = self.engine.settle(now);
        self.absorb(effects, &self.workload_events.clone());
        let timer = self.engine.next_timer().map(|at| self.clock.until(at));
        if !self.engine.has_heads() {
            return timer;
        }
        let in_line = self.engine.in_line();
        let began = Instant::now();
        let effects = self.engine.cycle(now);
        self.count_cycle(&effects, began.elapsed());
        let is_decision = |effect: &Effect| !matches!(effect, Effect::Event(_));
        let made_progress = effects.iter().any(is_decision) || self.engine.in_line() != in_line;
        self.absorb(effects, &self.scheduler_events.clone());
        self.idle_cycles = if made_progress { 0 } else { self.idle_cycles + 1 };
        // Whoever waits for its victims stays in line, and another look changes nothing until something else does.
        let wait = if self.idle_cycles < MOST_IDLE_CYCLES { Duration::ZERO } else { IDLE_CYCLES_EVERY };
        timer.into_iter().chain([wait]).min()
    }

    /// Waits for something to do, and takes the first thing. Says whether anything can still come.
    async fn rest(&mut self, wait: Option<Duration>) -> bool {
        // Requests under way get on even while there is always something to decide.
        tokio::task::yield_now().await;
        let due = wait.map(|wait| Instant::now() + wait);
        let due = due.into_iter().chain(self.postponed.first().map(|(at, _)| *at)).min();
        tokio::select! {
            biased;
            input = self.inputs.recv() => match input {
                Some(input) => drop(self.guarded(|owner| owner.on_input(input))),
                None => return false,
            },
            Some(fact) = self.facts.recv() => drop(self.guarded(|owner| owner.on_fact(fact))),
            Some(answer) = self.requests.join_next(), if !self.requests.is_empty() => {
                // A request ends with an answer, whatever it is; it is aborted only when the owner is gone.
                if let Ok(answer) = answer {
                    self.guarded(|owner| owner.on_answer(answer));
                }
            }
            () = sleep_until(due), if due.is_some() => {}
        }
        let now = Instant::now();
        while let Some((at, key)) = self.postponed.first().cloned()
            && at <= now
        {
            self.postponed.pop_first();
            self.restless.insert(key);
        }
        true
    }

    fn on_input(&mut self, input: Input) {
        match input {
            Input::Changed(change) => {
                self.touch_queues_of(&change);
                self.apply(change);
            }
            Input::Workload(key, object) => self.on_workload(&key, object),
            Input::WorkloadGone(key) => self.on_workload_gone(&key),
            Input::LimitRange(key, range) => {
                let namespace = Arc::clone(&key.namespace);
                self.known.set_limit_range(key, range);
                self.tell_again(|object| *object.metadata.namespace == *namespace);
            }
            Input::Overhead(class, overhead) => {
                self.known.set_overhead(class.clone(), overhead);
                self.tell_again(|object| kueue_translate::runtime_classes(object).contains(&class));
            }
            Input::Source(source) => self.mending.add(source),
            Input::Synced => self.is_synced = true,
            Input::Leads(leads) => {
                if self.leads && !leads {
                    self.step_down();
                }
                self.leads = leads;
            }
            Input::Drain(waiting) => self.draining = Some(waiting),
            Input::Asked(asked) => asked.answer(&self.engine),
        }
    }

    /// Notes what was decided; it is written as soon as the object is free.
    fn absorb(&mut self, effects: Vec<Effect>, events: &Recorder) {
        for effect in effects {
            let (workload, note): (_, &dyn Fn(&mut Slot)) = match &effect {
                Effect::Status { workload, decision, .. } => {
                    debug!(v = 2, %workload, ?decision, "decided");
                    (workload, &|slot| slot.is_dirty = true)
                }
                Effect::Event(event) => (&event.workload, &|slot| slot.events.push((event.clone(), events.clone()))),
                Effect::Unguard(workload) => (workload, &|slot| slot.errands.push_back(slot::Errand::Unguard)),
                Effect::Delete(workload) => (workload, &|slot| slot.errands.push_back(slot::Errand::Delete)),
                Effect::DeleteJob(workload) => (workload, &|slot| slot.errands.push_back(slot::Errand::DeleteJob)),
                Effect::Deactivate(workload) => (workload, &|slot| slot.errands.push_back(slot::Errand::Deactivate)),
                Effect::MarkParent(workload) => (workload, &|slot| slot.errands.push_back(slot::Errand::MarkParent)),
                Effect::Consumed { local_queue, .. } => {
                    self.touch(Touched::LocalQueue(key_of(local_queue)));
                    continue;
                }
            };
            let key = key_of(workload);
            note(self.slot(&key));
            self.touch_queues_around(&key);
        }
    }

    fn slot(&mut self, key: &Key) -> &mut Slot {
        self.restless.insert(key.clone());
        let serial = &mut self.serial;
        self.slots.entry(key.clone()).or_insert_with(|| {
            *serial += 1;
            Slot::new(*serial)
        })
    }

    fn touch(&self, touched: Touched) {
        // Nobody shows queues any more only while everything ends.
        drop(self.touched.send(touched));
    }

    /// The queues that a Workload waits in, or holds quota of.
    fn touch_queues_around(&self, key: &Key) {
        let Some(object) = self.known.get(key) else { return };
        let local_queue: Arc<str> = object.spec.queue_name.as_str().into();
        if let Some(queue) = self.engine.queue_behind(&key.namespace, &local_queue) {
            self.touch(Touched::ClusterQueue(queue));
        }
        let status = self.engine.status(&engine_key(key));
        if let Some(admission) = status.and_then(|status| status.admission.as_ref()) {
            self.touch(Touched::ClusterQueue(Arc::clone(&admission.queue)));
        }
        self.touch(Touched::LocalQueue(Key::new(Arc::clone(&key.namespace), local_queue)));
    }

    fn touch_queues_of(&self, change: &Change) {
        let queues = match change {
            Change::Queue(spec) => vec![Arc::clone(&spec.name)],
            Change::LocalQueue(spec) => {
                self.touch(Touched::LocalQueue(Key::new(Arc::clone(&spec.namespace), Arc::clone(&spec.name))));
                vec![Arc::clone(&spec.queue)]
            }
            Change::Flavor(spec) => self.engine.queues_with_flavor(&spec.name),
            Change::FlavorGone(name) => self.engine.queues_with_flavor(name),
            Change::Check(spec) => self.engine.queues_with_check(&spec.name),
            Change::CheckGone(name) => self.engine.queues_with_check(name),
            Change::Topology(_) | Change::TopologyGone(_) | Change::Cohort(_) | Change::CohortGone(_) => {
                self.engine.queue_names().cloned().collect()
            }
            _ => Vec::new(),
        };
        for queue in queues {
            self.touch(Touched::ClusterQueue(queue));
        }
    }
}

async fn sleep_until(due: Option<Instant>) {
    if let Some(due) = due {
        tokio::time::sleep_until(due).await;
    }
}

pub(crate) fn engine_key(key: &Key) -> kueue_engine::Key {
    kueue_engine::Key { namespace: Arc::clone(&key.namespace), name: Arc::clone(&key.name) }
}

fn key_of(key: &kueue_engine::Key) -> Key {
    Key::new(Arc::clone(&key.namespace), Arc::clone(&key.name))
}
