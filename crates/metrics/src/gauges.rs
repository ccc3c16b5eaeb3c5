//! What is so now, read from the engine when somebody asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_engine::{Engine, Name, PendingCount};

use crate::families as family;
use crate::families::{Family, Shown};
use crate::labels::Subject;
use crate::registry::Metrics;

/// The value of a gauge.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    pub(crate) family: &'static Family,
    pub(crate) labels: Vec<Name>,
    /// Whose custom labels it has.
    subject: Subject,
    /// Values of the custom labels of the Workloads that were counted.
    of_workloads: Arc<[Name]>,
    pub(crate) value: f64,
}

impl Reading {
    pub(crate) fn custom(&self, metrics: &Metrics) -> Vec<String> {
        let mut values = metrics.custom_values(&self.subject);
        values.extend(self.of_workloads.iter().map(ToString::to_string));
        values
    }
}

/// What the engine does not know about a LocalQueue.
#[derive(Clone, Debug)]
pub struct LocalQueueState {
    pub namespace: Name,
    pub name: Name,
    pub cluster_queue: Name,
    /// The status of its condition `Active`.
    pub active: Name,
    /// Finished Workloads that still exist.
    pub finished: usize,
}

impl PartialEq for Family {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Everything that can be read now, of these LocalQueues and of everything else; `finished` counts Workloads that are
/// finished and still exist, by ClusterQueue.
pub fn gauges(
    engine: &Engine,
    shown: Shown,
    local_queues: &[LocalQueueState],
    finished: &BTreeMap<Name, usize>,
) -> Vec<Reading> {
    let mut reader = Reader { engine, shown, readings: Vec::new() };
    for queue in engine.queue_names() {
        reader.queue(queue);
        reader.read(&family::FINISHED_NOW, [queue], float(finished.get(queue).copied().unwrap_or(0)));
        reader.unadmitted(queue);
    }
    for (queue, skips) in &engine.last_cycle().skipped_preemptions {
        reader.read(&family::PREEMPTION_SKIPS, [queue], f64::from(*skips));
    }
    for local_queue in local_queues.iter().filter(|_| shown.local_queues) {
        reader.local_queue(local_queue);
    }
    if shown.cohorts {
        reader.cohorts();
    }
    reader.readings
}

struct Reader<'a> {
    engine: &'a Engine,
    shown: Shown,
    readings: Vec<Reading>,
}

impl Reader<'_> {
    /// Notes a value about the ClusterQueue that the labels begin with.
    fn read<const N: usize>(&mut self, family: &'static Family, labels: [&Name; N], value: f64) {
        let subject = Subject::ClusterQueue(labels[0].clone());
        self.note(family, &labels, subject, Arc::default(), value);
    }

    fn note(
        &mut self,
        family: &'static Family,
        labels: &[&Name],
        subject: Subject,
        of_workloads: Arc<[Name]>,
        value: f64,
    ) {
        let labels = labels.iter().map(|label| (*label).clone()).collect();
        self.readings.push(Reading { family, labels, subject, of_workloads, value });
    }

    fn queue(&mut self, queue: &Name) {
        let subject = || Subject::ClusterQueue(queue.clone());
        let pending = self.engine.pending_by_labels(queue);
        // A queue that nobody waits in shows so, as long as that does not depend on labels of Workloads.
        let pending = if pending.is_empty() { vec![(Arc::default(), PendingCount::default())] } else { pending };
        let statuses: [Name; 2] = ["active".into(), "inadmissible".into()];
        for (labels, count) in pending {
            for (status, count) in statuses.iter().zip([count.active, count.inadmissible]) {
                self.note(&family::PENDING, &[queue, status], subject(), Arc::clone(&labels), float(count));
            }
        }
        if let Some(shapes) = self.engine.pending_shapes(queue) {
            for (status, count) in statuses.iter().zip([shapes.active, shapes.inadmissible]) {
                self.read(&family::PENDING_SHAPES, [queue, status], float(count));
            }
        }
        let usage = self.engine.queue_usage(queue).unwrap_or_default();
        self.read(&family::RESERVING, [queue], float(usage.reserving));
        self.read(&family::ADMITTED_NOW, [queue], float(usage.admitted));
        self.queue_status(queue);
        if self.shown.resources {
            self.queue_resources(queue);
        }
    }

    fn queue_status(&mut self, queue: &Name) {
        let readiness = self.engine.readiness(queue);
        let status = match (readiness.is_active, readiness.reason) {
            (true, _) => "active",
            (false, "Terminating") => "terminating",
            _ => "pending",
        };
        for name in ["pending", "active", "terminating"] {
            self.read(&family::QUEUE_STATUS, [queue, &name.into()], f64::from(u8::from(name == status)));
        }
    }

    fn unadmitted(&mut self, queue: &Name) {
        if !self.shown.unadmitted {
            return;
        }
        let mut sums: BTreeMap<(Name, Name), usize> = BTreeMap::new();
        for count in self.engine.unadmitted(queue) {
            let (reason, cause): (Name, Name) = (count.reason.as_ref().into(), count.cause.as_ref().into());
            let labels = [&count.local_queue, &count.namespace, queue, &reason, &cause];
            let subject = Subject::LocalQueue(count.namespace.clone(), count.local_queue.clone());
            self.note(&family::LQ_UNADMITTED, &labels, subject, Arc::default(), float(count.count));
            *sums.entry((reason, cause)).or_default() += count.count;
        }
        for ((reason, cause), count) in sums {
            self.read(&family::UNADMITTED, [queue, &reason, &cause], float(count));
        }
    }

    fn queue_resources(&mut self, queue: &Name) {
        let cohort = self.engine.cohort_of(queue).unwrap_or_default();
        let subject = || Subject::ClusterQueue(queue.clone());
        for pool in self.engine.queue_pools(queue).unwrap_or_default() {
            let labels = [&cohort, queue, &pool.flavor, &pool.resource];
            let Some((nominal, borrowing, lending)) = pool.quota else { continue };
            let amount = |amount: Amount| amount.as_f64(&pool.resource);
            let limit = |limit: Option<Amount>| limit.map_or(f64::INFINITY, amount);
            for (family, value) in [
                (&family::NOMINAL, amount(nominal)),
                (&family::BORROWING_LIMIT, limit(borrowing)),
                (&family::LENDING_LIMIT, limit(lending)),
                (&family::RESERVATION, amount(pool.usage)),
                (&family::USAGE, amount(pool.admitted)),
            ] {
                self.note(family, &labels, subject(), Arc::default(), value);
            }
        }
        for (resource, amount) in self.engine.pending_requests(queue) {
            let amount = Amount::new(amount).as_f64(&resource);
            self.read(&family::RESOURCES_PENDING, [queue, &resource], amount);
        }
        let share = self.engine.queue_share(queue, &[]).filter(|_| self.shown.fair_sharing);
        if let Some(share) = share {
            let share = if share.precise.is_infinite() { f64::NAN } else { share.precise };
            self.read(&family::WEIGHTED_SHARE, [queue, &cohort], share);
        }
    }

    fn local_queue(&mut self, state: &LocalQueueState) {
        let LocalQueueState { namespace, name, cluster_queue, active, finished } = state;
        let pending = self.engine.pending_in_local_queue(namespace, name).unwrap_or_default();
        let usage = self.engine.local_queue_usage(namespace, name).unwrap_or_default();
        let fair_usage = self.engine.fair_usage(namespace, name);
        let mut note = |family: &'static Family, labels: &[&Name], value: f64| {
            let labels: Vec<&Name> = [name, namespace].into_iter().chain(labels.iter().copied()).collect();
            let subject = Subject::LocalQueue(namespace.clone(), name.clone());
            self.note(family, &labels, subject, Arc::default(), value);
        };
        note(&family::LQ_PENDING, &[&"active".into()], float(pending.active));
        note(&family::LQ_PENDING, &[&"inadmissible".into()], float(pending.inadmissible));
        note(&family::LQ_FINISHED_NOW, &[], float(*finished));
        for status in ["True", "False", "Unknown"] {
            note(&family::LQ_STATUS, &[&status.into()], f64::from(u8::from(**active == *status)));
        }
        note(&family::LQ_RESERVING, &[], float(usage.reserving));
        note(&family::LQ_ADMITTED_NOW, &[], float(usage.admitted));
        for flavor in &usage.flavors {
            for used in &flavor.resources {
                let labels = [&flavor.flavor, &used.resource];
                note(&family::LQ_RESERVATION, &labels, used.reserved.as_f64(&used.resource));
                note(&family::LQ_USAGE, &labels, used.admitted.as_f64(&used.resource));
            }
        }
        if let Some(usage) = fair_usage {
            note(&family::LQ_FAIR_USAGE, &[cluster_queue], usage);
        }
    }

    fn cohorts(&mut self) {
        let mut below: BTreeMap<Name, Below> = BTreeMap::new();
        for queue in self.engine.queue_names() {
            let parent = self.engine.cohort_of(queue).unwrap_or_default();
            let path = self.engine.cohort_path(&parent).unwrap_or_default();
            let root = path.last().cloned().unwrap_or_default();
            self.read(&family::QUEUE_INFO, [queue, &parent, &root], 1.0);
            let admitted = self.engine.queue_usage(queue).unwrap_or_default().admitted;
            let pools = self.engine.queue_pools(queue).unwrap_or_default();
            for cohort in path {
                let below = below.entry(cohort).or_default();
                below.admitted += admitted;
                for pool in &pools {
                    let sum = below.reserved.entry((pool.flavor.clone(), pool.resource.clone())).or_default();
                    *sum = sum.plus(pool.usage);
                }
            }
        }
        for (cohort, parent) in self.engine.cohorts() {
            let below = below.remove(&cohort).unwrap_or_default();
            self.cohort(&cohort, &parent.unwrap_or_default(), &below);
        }
    }

    fn cohort(&mut self, cohort: &Name, parent: &Name, below: &Below) {
        // A cohort that is above itself has no root and no quota.
        let Ok(path) = self.engine.cohort_path(cohort) else { return };
        let Some(root) = path.last() else { return };
        let (engine, shares_fairly) = (self.engine, self.shown.fair_sharing);
        let mut note = |family: &'static Family, labels: &[&Name], value: f64| {
            self.note(family, labels, Subject::Cohort(cohort.clone()), Arc::default(), value);
        };
        note(&family::COHORT_INFO, &[cohort, parent, root], 1.0);
        note(&family::COHORT_ADMITTED_NOW, &[cohort], float(below.admitted));
        for pool in engine.cohort_pools(cohort).unwrap_or_default() {
            note(&family::COHORT_QUOTA, &[cohort, &pool.flavor, &pool.resource], pool.subtree.as_f64(&pool.resource));
        }
        for ((flavor, resource), amount) in &below.reserved {
            note(&family::COHORT_RESERVATIONS, &[cohort, flavor, resource], amount.as_f64(resource));
        }
        let share = engine.cohort_share(cohort, &[]).filter(|_| shares_fairly);
        if let Some(share) = share {
            note(&family::COHORT_SHARE, &[cohort], share.precise);
        }
    }
}

/// What is going on in all ClusterQueues below a cohort.
#[derive(Default)]
struct Below {
    admitted: usize,
    /// By flavor and resource.
    reserved: BTreeMap<(Name, Name), Amount>,
}

#[expect(clippy::cast_precision_loss, reason = "no queue has 2^53 workloads")]
fn float(count: usize) -> f64 {
    count as f64
}
