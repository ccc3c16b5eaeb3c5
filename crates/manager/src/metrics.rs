//! Metrics, connected to the objects that they are about.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use kueue_api::config::Configuration;
use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::{ClusterQueue, Cohort, LocalQueue, Workload};
use kueue_api::meta::{Condition, ConditionStatus, ObjectMeta};
use kueue_controllers::owner::Handle;
use kueue_core::gates::Gates;
use kueue_engine::{Engine, Name};
use kueue_metrics::{Build, LocalQueueState, Lookup, Metrics, Subject, gauges};
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::meters::Meters;

use crate::informers::Informers;

/// Where labels of queues and cohorts are found.
struct Objects {
    cluster_queues: Arc<Store<ClusterQueue>>,
    cohorts: Arc<Store<Cohort>>,
    local_queues: Arc<Store<LocalQueue>>,
}

impl Lookup for Objects {
    fn find(&self, subject: &Subject) -> Option<ObjectMeta> {
        match subject {
            Subject::ClusterQueue(name) => self.cluster_queues.named(name).map(|queue| queue.metadata.clone()),
            Subject::Cohort(name) => self.cohorts.named(name).map(|cohort| cohort.metadata.clone()),
            Subject::LocalQueue(namespace, name) => {
                let key = Key::new(Arc::clone(namespace), Arc::clone(name));
                self.local_queues.get(&key).map(|queue| queue.object.metadata.clone())
            }
        }
    }
}

/// The metrics of this manager.
pub(crate) fn connect(config: &Configuration, gates: Gates, informers: &Informers) -> Metrics {
    let objects = Objects {
        cluster_queues: informers.cluster_queues.store(),
        cohorts: informers.cohorts.store(),
        local_queues: informers.local_queues.store(),
    };
    let build = Build {
        version: format!("v{}", env!("CARGO_PKG_VERSION")),
        compiler: "rustc".to_owned(),
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
        ..Build::default()
    };
    Metrics::new(&config.metrics, config.fair_sharing.is_some(), gates, Box::new(objects), build)
}

/// Finished Workloads that still exist, by ClusterQueue and by LocalQueue.
#[derive(Default)]
struct Finished {
    by_queue: BTreeMap<Name, usize>,
    by_local_queue: BTreeMap<Key, usize>,
}

impl Finished {
    /// A Workload became this, or of this.
    fn shift(&mut self, workload: &Workload, is_new: bool) {
        let is_finished = |condition: &Condition| {
            condition.r#type == condition::FINISHED && condition.status == ConditionStatus::True
        };
        if !workload.status.conditions.iter().any(is_finished) {
            return;
        }
        let namespace: Name = workload.metadata.namespace.as_str().into();
        shift(&mut self.by_local_queue, &Key::new(namespace, workload.spec.queue_name.as_str()), is_new);
        if let Some(admission) = &workload.status.admission {
            shift(&mut self.by_queue, &admission.cluster_queue.as_str().into(), is_new);
        }
    }
}

fn shift<K: Ord + Clone>(counts: &mut BTreeMap<K, usize>, key: &K, is_new: bool) {
    let count = counts.entry(key.clone()).or_default();
    *count = if is_new { *count + 1 } else { count.saturating_sub(1) };
    if *count == 0 {
        counts.remove(key);
    }
}

/// Reads everything that metrics show.
pub(crate) struct Scrape {
    metrics: Metrics,
    meters: Meters,
    engine: Handle,
    local_queues: Arc<Store<LocalQueue>>,
    finished: Arc<Mutex<Finished>>,
}

impl Scrape {
    pub(crate) fn new(metrics: Metrics, meters: Meters, engine: Handle, informers: &mut Informers) -> Self {
        let finished: Arc<Mutex<Finished>> = Arc::default();
        let counts = Arc::clone(&finished);
        informers.workloads.listen(move |delta| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(old) = &delta.old {
                counts.shift(&old.object, false);
            }
            if let Some(new) = &delta.new {
                counts.shift(&new.object, true);
            }
        });
        Self { metrics, meters, engine, local_queues: informers.local_queues.store(), finished }
    }

    /// The text of a scrape; none when the manager ended.
    pub(crate) async fn text(&self) -> Option<String> {
        let shown = self.metrics.shown();
        let (finished, local_queues) = {
            let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            (finished.by_queue.clone(), self.states(&finished))
        };
        let read = move |engine: &Engine| gauges(engine, shown, &local_queues, &finished);
        let readings = self.engine.ask(read).await?;
        Some(self.metrics.text(&readings, self.meters.gather()))
    }

    pub(crate) fn role(&self) -> &'static str {
        self.metrics.role().as_str()
    }

    pub(crate) async fn dump(&self) {
        crate::dump::dump(&self.engine).await;
    }

    fn states(&self, finished: &Finished) -> Vec<LocalQueueState> {
        let all = self.local_queues.all();
        let states = all.iter().map(|queue| {
            let key = Key::of(&**queue);
            let mut conditions = queue.status.conditions.iter();
            let active = conditions.find(|condition| condition.r#type == condition::ACTIVE);
            let active = active.map_or("Unknown", |active| match active.status {
                ConditionStatus::True => "True",
                ConditionStatus::False => "False",
                _ => "Unknown",
            });
            LocalQueueState {
                finished: finished.by_local_queue.get(&key).copied().unwrap_or(0),
                namespace: key.namespace,
                name: key.name,
                cluster_queue: queue.spec.cluster_queue.as_str().into(),
                active: active.into(),
            }
        });
        states.filter(|queue| self.metrics.shows_local_queue(&queue.namespace, &queue.name)).collect()
    }
}
