//! The engine: all state, and the doors in and out.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::time::Time;
use rustc_hash::FxHashMap;

use crate::change::{Change, CheckSpec, CohortSpec};
use crate::class::Classes;
use crate::cycle::CycleSummary;
use crate::effect::{Effect, Event, Key};
use crate::id::{FlavorId, LocalQueueId, Name, NamespaceId, QueueId, Slab, WorkloadId};
use crate::names::Names;
use crate::placement::FlavorNodes;
use crate::queue::{LocalQueue, Queue, ServedBy};
use crate::quota::Quotas;
use crate::second_pass::SecondPass;
use crate::settings::{Settings, WakePolicy};
use crate::status::{Reason, SharedStatus};
use crate::text;
use crate::unadmitted::Unadmitted;
use crate::unsettled::Unsettled;
use crate::workload::Workload;

/// Everything that is known, and what follows from it.
///
/// [`apply`](Engine::apply) records a change and never decides; [`settle`](Engine::settle) lets workloads take the
/// steps of their life cycle; [`cycle`](Engine::cycle) gives quota out.
#[derive(Debug)]
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) names: Names,
    pub(crate) quotas: Quotas,
    pub(crate) namespaces: FxHashMap<NamespaceId, BTreeMap<String, String>>,
    pub(crate) flavors: FxHashMap<FlavorId, FlavorNodes>,
    /// Their levels.
    pub(crate) topologies: BTreeMap<Name, Vec<Name>>,
    pub(crate) checks: BTreeMap<Name, CheckSpec>,
    pub(crate) cohorts: BTreeMap<Name, CohortSpec>,
    pub(crate) queues: Slab<QueueId, Queue>,
    pub(crate) queue_ids: FxHashMap<Name, QueueId>,
    pub(crate) local_queues: FxHashMap<LocalQueueId, LocalQueue>,
    pub(crate) served_by: ServedBy,
    pub(crate) workloads: Slab<WorkloadId, Workload>,
    pub(crate) workload_ids: FxHashMap<Key, WorkloadId>,
    /// Variants by the uid of their parent.
    pub(crate) families: FxHashMap<Name, BTreeMap<Key, WorkloadId>>,
    pub(crate) classes: Classes,
    /// The status of workloads about which nothing was said yet.
    pub(crate) no_status: SharedStatus,
    /// Workloads that hold quota in a ClusterQueue that does not exist or counts variants instead, and its name.
    pub(crate) strays: BTreeMap<WorkloadId, Name>,
    /// ClusterQueues with somebody to look at.
    pub(crate) ready: BTreeSet<QueueId>,
    pub(crate) scopes: BTreeSet<Scope>,
    /// Workloads whose next step has to be looked at.
    pub(crate) unsettled: Unsettled,
    pub(crate) timers: BTreeSet<(Time, Key)>,
    /// When the usage of each LocalQueue is to be counted.
    pub(crate) samples: BTreeSet<(Time, LocalQueueId)>,
    /// How many claims are of workloads whose pods do not all run.
    pub(crate) unready: usize,
    /// Somebody could start, and waits until the pods of all others run.
    pub(crate) is_held_by_pods: bool,
    pub(crate) unadmitted: Unadmitted,
    pub(crate) cycles: u64,
    pub(crate) last_cycle: CycleSummary,
    /// Workloads that count as gone while an attempt is repeated within a cycle.
    pub(crate) departed: BTreeSet<WorkloadId>,
    pub(crate) second_pass: SecondPass,
    /// Placed workloads by node.
    pub(crate) on_nodes: FxHashMap<Name, BTreeSet<WorkloadId>>,
    /// Nodes on which pods of placed workloads are still at work.
    pub(crate) pods_on_nodes: FxHashMap<Key, BTreeSet<Name>>,
    /// Nodes about which something became known.
    pub(crate) nodes_to_check: BTreeSet<Name>,
    /// Nodes that are looked at again at a time.
    pub(crate) node_timers: BTreeMap<Name, Time>,
    pub(crate) effects: Vec<Effect>,
}

/// Queues whose parked workloads are to be looked at again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Scope {
    /// The whole tree of a root cohort.
    Cohort(Name),
    /// A ClusterQueue without cohort.
    Queue(Name),
}

impl Engine {
    /// An engine that knows nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            names: Names::default(),
            quotas: Quotas::default(),
            namespaces: FxHashMap::default(),
            flavors: FxHashMap::default(),
            topologies: BTreeMap::new(),
            checks: BTreeMap::new(),
            cohorts: BTreeMap::new(),
            queues: Slab::default(),
            queue_ids: FxHashMap::default(),
            local_queues: FxHashMap::default(),
            served_by: BTreeMap::new(),
            workloads: Slab::default(),
            workload_ids: FxHashMap::default(),
            families: FxHashMap::default(),
            classes: Classes::default(),
            no_status: SharedStatus::default(),
            strays: BTreeMap::new(),
            ready: BTreeSet::new(),
            scopes: BTreeSet::new(),
            unsettled: Unsettled::default(),
            timers: BTreeSet::new(),
            samples: BTreeSet::new(),
            unready: 0,
            is_held_by_pods: false,
            unadmitted: Unadmitted::default(),
            cycles: 0,
            last_cycle: CycleSummary::default(),
            departed: BTreeSet::new(),
            second_pass: SecondPass::default(),
            on_nodes: FxHashMap::default(),
            pods_on_nodes: FxHashMap::default(),
            nodes_to_check: BTreeSet::new(),
            node_timers: BTreeMap::new(),
            effects: Vec::new(),
        }
    }

    /// What the operator chose.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Records what is so now.
    pub fn apply(&mut self, change: Change, now: Time) {
        match change {
            Change::Namespace { name, labels } => self.on_namespace(&name, labels),
            Change::NamespaceGone(name) => self.on_namespace_gone(&name),
            Change::Flavor(spec) => self.on_flavor(spec),
            Change::FlavorGone(name) => self.on_flavor_gone(&name),
            Change::Cohort(spec) => self.on_cohort(spec),
            Change::CohortGone(name) => self.on_cohort_gone(&name),
            Change::Queue(spec) => self.on_queue(*spec),
            Change::QueueGone(name) => self.on_queue_gone(&name),
            Change::LocalQueue(spec) => self.on_local_queue(&spec, now),
            Change::LocalQueueGone { namespace, name } => self.on_local_queue_gone(&namespace, &name),
            Change::Topology(spec) => self.on_topology(spec),
            Change::TopologyGone(name) => self.on_topology_gone(&name),
            Change::Node(spec) => self.on_node(*spec),
            Change::NodeGone(name) => self.on_node_gone(&name),
            Change::PlainPod(spec) => self.on_plain_pod(&spec),
            Change::PlainPodGone { namespace, name } => self.on_plain_pod_gone(&Key { namespace, name }),
            Change::PodsOnNodes { namespace, name, nodes } => self.on_pods_moved(Key { namespace, name }, nodes),
            Change::Check(spec) => self.on_check(spec),
            Change::CheckGone(name) => self.on_check_gone(&name),
            Change::Workload(spec) => self.on_workload(*spec, now),
            Change::JobStopped { namespace, name } => self.on_job_stopped(&Key { namespace, name }),
            Change::JobHold { namespace, name, hold } => self.on_job_hold(&Key { namespace, name }, hold),
            Change::WorkloadGone { namespace, name } => self.on_workload_gone(&Key { namespace, name }),
        }
    }

    /// The effects since the last call.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// Lets every workload that something happened to, or whose time has come, take its steps.
    pub fn settle(&mut self, now: Time) -> Vec<Effect> {
        self.run_life_cycles(now);
        self.sample_in_time(now);
        self.take_effects()
    }

    /// One round of scheduling: looks at the first workload of each queue that may admit.
    pub fn cycle(&mut self, now: Time) -> Vec<Effect> {
        self.run_cycle(now);
        self.take_effects()
    }

    /// Whether a cycle would find anything to look at.
    pub fn has_heads(&self) -> bool {
        let may_wake_some = self.settings.wake == WakePolicy::Targeted && !self.scopes.is_empty();
        let is_any_ready = || self.ready.iter().any(|queue| self.queues[*queue].is_active);
        self.second_pass.has_ready() || !self.waits_for_pods() && (may_wake_some || is_any_ready())
    }

    /// When the next workload or LocalQueue wants to be looked at by [`settle`](Engine::settle).
    pub fn next_timer(&self) -> Option<Time> {
        let workload = self.timers.first().map(|(at, _)| *at);
        // Where the owner calls `sample`, nothing of it is left to `settle`.
        let counts_in_time = self.settings.wake == WakePolicy::Targeted;
        let sample = self.samples.first().filter(|_| counts_in_time).map(|(at, _)| *at);
        let node = self.node_timers.values().min().copied();
        workload.into_iter().chain(sample).chain(node).chain(self.second_pass.next_timer()).min()
    }

    pub(crate) fn emit_event(
        &mut self,
        workload: WorkloadId,
        is_warning: bool,
        reason: impl Into<Reason>,
        message: String,
    ) {
        let event = self.event(workload, is_warning, reason, message);
        self.effects.push(Effect::Event(event));
    }

    pub(crate) fn event(
        &self,
        workload: WorkloadId,
        is_warning: bool,
        reason: impl Into<Reason>,
        message: String,
    ) -> Event {
        let workload = self.workloads[workload].key.clone();
        let message = text::event_message(message);
        Event { workload, is_warning, reason: reason.into(), message, otherwise: None }
    }
}
