//! What controllers, their queues and the client did, under the names that dashboards of controller-runtime and client-go
//! read. Each manager has its own; counters count as things happen, gauges are read when they are asked for.

#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{
    GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry,
    exponential_buckets,
};

use crate::queue::WorkQueue;

/// How long looks take, in seconds: fine up to half a second, then up to a minute.
const LOOK_SECONDS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5,
    1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0,
];
/// A queue has the name of its controller, and says so twice.
const OF_QUEUES: [&str; 2] = ["name", "controller"];
const OF_CONTROLLERS: [&str; 1] = ["controller"];

/// Everything that is counted; copies share it.
#[derive(Clone, Debug, Default)]
pub struct Meters(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    registry: Registry,
    adds: IntCounterVec,
    retries: IntCounterVec,
    waited: HistogramVec,
    worked: HistogramVec,
    depth: IntGaugeVec,
    unfinished: GaugeVec,
    longest: GaugeVec,
    looks: IntCounterVec,
    errors: IntCounterVec,
    panics: IntCounterVec,
    look_seconds: HistogramVec,
    active: IntGaugeVec,
    at_once: IntGaugeVec,
    requests: IntCounterVec,
    hook_requests: IntCounterVec,
    hook_seconds: HistogramVec,
    leads: IntGaugeVec,
    queues: Mutex<Vec<Measured>>,
}

/// A queue whose gauges are read when they are asked for.
struct Measured {
    name: &'static str,
    read: Box<dyn Fn() -> Option<Reading> + Send>,
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// A queue at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) depth: usize,
    /// All looks under way together, and the longest of them.
    pub(crate) unfinished: Duration,
    pub(crate) longest: Duration,
}

impl Default for Inner {
    fn default() -> Self {
        let registry = Registry::new();
        let made = &registry;
        // From ten nanoseconds to a quarter of an hour, as client-go has it.
        let wide = exponential_buckets(1e-8, 10.0, 12).unwrap_or_default();
        Self {
            adds: counter(made, "workqueue_adds_total", "Keys that were added to a queue", &OF_QUEUES),
            retries: counter(made, "workqueue_retries_total", "Keys that were added again after a failure", &OF_QUEUES),
            waited: histogram(
                made,
                "workqueue_queue_duration_seconds",
                "How long keys waited in a queue",
                &OF_QUEUES,
                &wide,
            ),
            worked: histogram(
                made,
                "workqueue_work_duration_seconds",
                "How long keys of a queue were looked at",
                &OF_QUEUES,
                &wide,
            ),
            depth: registered(
                made,
                IntGaugeVec::new(
                    Opts::new("workqueue_depth", "Keys that wait in a queue"),
                    &["name", "controller", "priority"],
                ),
            ),
            unfinished: registered(
                made,
                GaugeVec::new(
                    Opts::new(
                        "workqueue_unfinished_work_seconds",
                        "How long the looks under way take so far, together",
                    ),
                    &OF_QUEUES,
                ),
            ),
            longest: registered(
                made,
                GaugeVec::new(
                    Opts::new(
                        "workqueue_longest_running_processor_seconds",
                        "How long the longest look under way takes so far",
                    ),
                    &OF_QUEUES,
                ),
            ),
            looks: counter(
                made,
                "controller_runtime_reconcile_total",
                "Looks of a controller, by how they ended",
                &["controller", "result"],
            ),
            errors: counter(
                made,
                "controller_runtime_reconcile_errors_total",
                "Looks of a controller that failed",
                &OF_CONTROLLERS,
            ),
            panics: counter(
                made,
                "controller_runtime_reconcile_panics_total",
                "Looks of a controller that ended in a panic",
                &OF_CONTROLLERS,
            ),
            look_seconds: histogram(
                made,
                "controller_runtime_reconcile_time_seconds",
                "How long looks of a controller took",
                &OF_CONTROLLERS,
                &LOOK_SECONDS,
            ),
            active: registered(
                made,
                IntGaugeVec::new(
                    Opts::new("controller_runtime_active_workers", "Looks of a controller that are under way"),
                    &OF_CONTROLLERS,
                ),
            ),
            at_once: registered(
                made,
                IntGaugeVec::new(
                    Opts::new(
                        "controller_runtime_max_concurrent_reconciles",
                        "How many looks of a controller may be under way at once",
                    ),
                    &OF_CONTROLLERS,
                ),
            ),
            requests: counter(
                made,
                "rest_client_requests_total",
                "Requests to the API server, by method and by the code of the answer",
                &["code", "method"],
            ),
            hook_requests: counter(
                made,
                "controller_runtime_webhook_requests_total",
                "Questions of the API server, by webhook and by the code of the answer",
                &["webhook", "code"],
            ),
            hook_seconds: histogram(
                made,
                "controller_runtime_webhook_latency_seconds",
                "How long answers to the API server took",
                &["webhook"],
                prometheus::DEFAULT_BUCKETS,
            ),
            leads: registered(
                made,
                IntGaugeVec::new(
                    Opts::new("leader_election_master_status", "Whether this replica holds the lease"),
                    &["name"],
                ),
            ),
            queues: Mutex::default(),
            registry,
        }
    }
}

fn counter(registry: &Registry, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
    registered(registry, IntCounterVec::new(Opts::new(name, help), labels))
}

fn histogram(registry: &Registry, name: &str, help: &str, labels: &[&str], bounds: &[f64]) -> HistogramVec {
    registered(registry, HistogramVec::new(HistogramOpts::new(name, help).buckets(bounds.to_vec()), labels))
}

fn registered<M: Collector + Clone + 'static>(registry: &Registry, metric: prometheus::Result<M>) -> M {
    let metric = metric.expect("names and labels are written above, which a test reads");
    registry.register(Box::new(metric.clone())).expect("every name is written once");
    metric
}

impl Meters {
    /// Everything as it is now.
    pub fn gather(&self) -> Vec<MetricFamily> {
        let inner = &*self.0;
        let mut queues = inner.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| {
            let reading = (queue.read)();
            let Reading { depth, unfinished, longest } = reading.unwrap_or_default();
            let depth = i64::try_from(depth).unwrap_or(i64::MAX);
            inner.depth.with_label_values(&[queue.name, queue.name, ""]).set(depth);
            inner.unfinished.with_label_values(&[queue.name; 2]).set(unfinished.as_secs_f64());
            inner.longest.with_label_values(&[queue.name; 2]).set(longest.as_secs_f64());
            reading.is_some()
        });
        inner.registry.gather()
    }

    /// Counts what happens to a queue and to whoever looks at its keys, so many at once.
    pub fn follow<K>(&self, queue: &Arc<WorkQueue<K>>, name: &'static str, at_once: usize)
    where
        K: Clone + Eq + Hash + Send + Sync + 'static,
    {
        let inner = &*self.0;
        inner.at_once.with_label_values(&[name]).set(i64::try_from(at_once).unwrap_or(i64::MAX));
        let look = |result: &str| inner.looks.with_label_values(&[name, result]);
        queue.set_meter(Meter {
            adds: inner.adds.with_label_values(&[name; 2]),
            retries: inner.retries.with_label_values(&[name; 2]),
            waited: inner.waited.with_label_values(&[name; 2]),
            worked: inner.worked.with_label_values(&[name; 2]),
            succeeded: look("success"),
            to_look_again: look("requeue_after"),
            failed: look("error"),
            errors: inner.errors.with_label_values(&[name]),
            panics: inner.panics.with_label_values(&[name]),
            look_seconds: inner.look_seconds.with_label_values(&[name]),
            active: inner.active.with_label_values(&[name]),
        });
        let queue: Weak<WorkQueue<K>> = Arc::downgrade(queue);
        let measured = Measured { name, read: Box::new(move || queue.upgrade().map(|queue| queue.reading())) };
        inner.queues.lock().unwrap_or_else(PoisonError::into_inner).push(measured);
    }

    /// A request to the API server was answered with a code, or not at all.
    pub(crate) fn request(&self, method: &str, code: Option<u16>) {
        let code = code.map_or_else(|| "<error>".to_owned(), |code| code.to_string());
        self.0.requests.with_label_values(&[code.as_str(), method]).inc();
    }

    /// A question of the API server was answered.
    pub fn webhook(&self, path: &str, code: u16, took: Duration) {
        self.0.hook_requests.with_label_values(&[path, &code.to_string()]).inc();
        self.0.hook_seconds.with_label_values(&[path]).observe(took.as_secs_f64());
    }

    /// Whether the lease of that name is ours.
    pub fn set_leads(&self, lease: &str, leads: bool) {
        self.0.leads.with_label_values(&[lease]).set(i64::from(leads));
    }
}

/// The counters of one controller and its queue.
#[derive(Debug)]
pub(crate) struct Meter {
    adds: IntCounter,
    retries: IntCounter,
    waited: Histogram,
    worked: Histogram,
    succeeded: IntCounter,
    to_look_again: IntCounter,
    failed: IntCounter,
    errors: IntCounter,
    panics: IntCounter,
    look_seconds: Histogram,
    active: IntGauge,
}

/// How a look ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ended {
    Well,
    ToLookAgain,
    Badly,
    InPanic,
}

impl Meter {
    pub(crate) fn added(&self, count: usize) {
        self.adds.inc_by(count as u64);
    }

    pub(crate) fn retried(&self) {
        self.retries.inc();
    }

    pub(crate) fn handed_out(&self, waited: Duration) {
        self.waited.observe(waited.as_secs_f64());
        self.active.inc();
    }

    pub(crate) fn done(&self, worked: Duration) {
        self.worked.observe(worked.as_secs_f64());
        self.look_seconds.observe(worked.as_secs_f64());
        self.active.dec();
    }

    /// Whoever looked is gone without having said how it ended.
    pub(crate) fn taken_back(&self) {
        self.active.dec();
    }

    pub(crate) fn ended(&self, how: Ended) {
        match how {
            Ended::Well => self.succeeded.inc(),
            Ended::ToLookAgain => self.to_look_again.inc(),
            Ended::Badly | Ended::InPanic => {
                self.failed.inc();
                self.errors.inc();
            }
        }
        if how == Ended::InPanic {
            self.panics.inc();
        }
    }
}
