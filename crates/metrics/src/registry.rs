//! What was counted, and how it is shown.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use kueue_api::config::v1beta2::Metrics as Configured;
use kueue_core::gates::Gates;
use kueue_core::selector::LabelSelector;
use kueue_engine::Name;
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{CounterVec, GaugeVec, HistogramOpts, HistogramVec, Opts, Registry, TextEncoder};

use crate::families::{ALL, BUILD_INFO, Family, Kind, ROLE, Shown};
use crate::gauges::Reading;
use crate::labels::{CustomLabels, Lookup, Subject};

/// What this replica does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// Nobody is elected: it is the only one.
    #[default]
    Standalone,
    Leader,
    Follower,
}

impl Role {
    /// What a replica is that leads, or does not, where somebody is elected, or nobody.
    pub fn of(is_elected: bool, leads: bool) -> Self {
        match (is_elected, leads) {
            (false, _) => Self::Standalone,
            (true, true) => Self::Leader,
            (true, false) => Self::Follower,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Standalone => "standalone",
            Self::Leader => "leader",
            Self::Follower => "follower",
        }
    }
}

/// What was built.
#[derive(Clone, Debug, Default)]
pub struct Build {
    pub version: String,
    pub commit: String,
    pub date: String,
    pub compiler: String,
    pub platform: String,
}

/// The metrics of one manager; several can live in one process. Copies share their numbers.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    registry: Registry,
    counters: BTreeMap<&'static str, CounterVec>,
    histograms: BTreeMap<&'static str, HistogramVec>,
    shown: Shown,
    /// Which LocalQueues have metrics of their own; all when missing.
    selector: Option<LabelSelector>,
    custom: CustomLabels,
    objects: Box<dyn Lookup>,
    role: RwLock<Role>,
    build: Build,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").field("shown", &self.0.shown).finish_non_exhaustive()
    }
}

impl Metrics {
    pub fn new(
        configured: &Configured,
        shares_fairly: bool,
        gates: Gates,
        objects: Box<dyn Lookup>,
        build: Build,
    ) -> Self {
        let shown = Shown::new(configured, shares_fairly, gates);
        let custom = CustomLabels::new(&configured.custom_labels, gates);
        let (registry, mut counters, mut histograms) = (Registry::new(), BTreeMap::new(), BTreeMap::new());
        for family in ALL.iter().filter(|family| shown.has(family)) {
            let labels = label_names(family, &custom);
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            match family.kind {
                Kind::Counter => {
                    let counter = CounterVec::new(Opts::new(family.name, family.help), &labels);
                    register(&registry, &mut counters, family, counter);
                }
                Kind::Histogram(buckets) => {
                    let options = HistogramOpts::new(family.name, family.help).buckets(buckets.bounds());
                    register(&registry, &mut histograms, family, HistogramVec::new(options, &labels));
                }
                Kind::Gauge => {}
            }
        }
        let selector = configured.local_queue_metrics.as_ref().and_then(|metrics| metrics.local_queue_selector.clone());
        let role = RwLock::default();
        Self(Arc::new(Inner { registry, counters, histograms, shown, selector, custom, objects, role, build }))
    }

    pub fn set_role(&self, role: Role) {
        *self.0.role.write().unwrap_or_else(PoisonError::into_inner) = role;
    }

    pub fn role(&self) -> Role {
        *self.0.role.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn shown(&self) -> Shown {
        self.0.shown
    }

    pub(crate) fn custom(&self) -> &CustomLabels {
        &self.0.custom
    }

    pub(crate) fn custom_values(&self, subject: &Subject) -> Vec<String> {
        self.0.custom.values_of(subject, &*self.0.objects)
    }

    /// Whether a LocalQueue has metrics of its own.
    pub fn shows_local_queue(&self, namespace: &Name, name: &Name) -> bool {
        let Inner { shown, selector, objects, .. } = &*self.0;
        let is_selected = |selector: &LabelSelector| {
            let found = objects.find(&Subject::LocalQueue(Arc::clone(namespace), Arc::clone(name)));
            found.is_some_and(|meta| selector.matches(&meta.labels))
        };
        shown.local_queues && selector.as_ref().is_none_or(is_selected)
    }

    pub(crate) fn count(&self, family: &'static Family, labels: &[&str], custom: &[String], by: u32) {
        if let Some(counter) = self.0.counters.get(family.name) {
            counter.with_label_values(&self.all_labels(labels, custom)).inc_by(f64::from(by));
        }
    }

    pub(crate) fn observe(&self, family: &'static Family, labels: &[&str], custom: &[String], seconds: f64) {
        if let Some(histogram) = self.0.histograms.get(family.name) {
            histogram.with_label_values(&self.all_labels(labels, custom)).observe(seconds);
        }
    }

    fn all_labels<'a>(&self, labels: &[&'a str], custom: &'a [String]) -> Vec<&'a str> {
        let role = [self.role().as_str()];
        labels.iter().copied().chain(role).chain(custom.iter().map(String::as_str)).collect()
    }

    /// Everything in the text format of Prometheus, with gauges as they were read just now, and with what others counted.
    pub fn text(&self, readings: &[Reading], others: Vec<MetricFamily>) -> String {
        let registry = Registry::new();
        let mut gauges: BTreeMap<&'static str, GaugeVec> = BTreeMap::new();
        for family in ALL.iter().filter(|family| family.kind == Kind::Gauge && self.0.shown.has(family)) {
            let labels = label_names(family, &self.0.custom);
            let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
            let gauge = GaugeVec::new(Opts::new(family.name, family.help), &labels);
            register(&registry, &mut gauges, family, gauge);
        }
        for reading in readings {
            if let Some(gauge) = gauges.get(reading.family.name) {
                let labels: Vec<&str> = reading.labels.iter().map(|label| &**label).collect();
                let custom = reading.custom(self);
                gauge.with_label_values(&self.all_labels(&labels, &custom)).set(reading.value);
            }
        }
        if let Some(gauge) = gauges.get(BUILD_INFO.name) {
            let Build { version, commit, date, compiler, platform } = &self.0.build;
            // The label that names the version of Go stays, for dashboards that show it, and is empty.
            gauge.with_label_values(&[version.as_str(), commit, date, "", compiler, platform]).set(1.0);
        }
        let mut families = self.0.registry.gather();
        families.extend(registry.gather());
        families.extend(others);
        families.sort_by(|a, b| a.name().cmp(b.name()));
        // Infinity is spelled as Go does; only a value can end a line like that.
        TextEncoder::new().encode_to_string(&families).unwrap_or_default().replace(" inf\n", " +Inf\n")
    }
}

fn label_names(family: &Family, custom: &CustomLabels) -> Vec<String> {
    let role = (family.name != BUILD_INFO.name).then_some(ROLE);
    let fixed = family.labels.iter().copied().chain(role).map(str::to_owned);
    fixed.chain(custom.names(family.custom)).collect()
}

/// Adds a metric. Names and labels come from our table and from a checked configuration, so they are never refused;
/// if one were, it would be missing and nothing else.
fn register<M: Collector + Clone + 'static>(
    registry: &Registry,
    known: &mut BTreeMap<&'static str, M>,
    family: &'static Family,
    metric: prometheus::Result<M>,
) {
    if let Ok(metric) = metric
        && registry.register(Box::new(metric.clone())).is_ok()
    {
        known.insert(family.name, metric);
    }
}
