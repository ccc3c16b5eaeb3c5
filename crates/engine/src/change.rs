//! What can happen to the engine, as values: the one way in.
//!
//! A change states what *is so* now, never what to do about it. It can be recorded, and replaying the same changes
//! at the same times gives the same effects.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::resource_list::ResourceList;
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::effect::Key;
use crate::id::Name;
use crate::placement::{FlavorNodes, PodPlacement};
use crate::status::Status;
use crate::topology::{NodeSpec, PlainPodSpec, TopologyRequest, TopologySpec};

/// Something that became known.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Change {
    /// A namespace exists with these labels.
    Namespace {
        /// Its name.
        name: Name,
        /// Its labels.
        labels: BTreeMap<String, String>,
    },
    /// A namespace is gone.
    NamespaceGone(Name),
    /// A ResourceFlavor is like this.
    Flavor(FlavorSpec),
    /// A ResourceFlavor is gone.
    FlavorGone(Name),
    /// A Cohort is like this.
    Cohort(CohortSpec),
    /// A Cohort object is gone; the cohort lives on while others name it.
    CohortGone(Name),
    /// A ClusterQueue is like this.
    Queue(Box<QueueSpec>),
    /// A ClusterQueue is gone.
    QueueGone(Name),
    /// A LocalQueue is like this.
    LocalQueue(LocalQueueSpec),
    /// A LocalQueue is gone.
    LocalQueueGone {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// A Topology is like this.
    Topology(TopologySpec),
    /// A Topology is gone.
    TopologyGone(Name),
    /// A node is like this.
    Node(Box<NodeSpec>),
    /// A node is gone.
    NodeGone(Name),
    /// A pod that belongs to no placed workload runs on a node.
    PlainPod(PlainPodSpec),
    /// Such a pod is over or gone.
    PlainPodGone {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// The nodes on which pods of a placed workload are at work, neither done nor on their way out.
    PodsOnNodes {
        /// The workload's namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// The nodes.
        nodes: Vec<Name>,
    },
    /// An AdmissionCheck is like this.
    Check(CheckSpec),
    /// An AdmissionCheck is gone.
    CheckGone(Name),
    /// A Workload is like this.
    Workload(Box<WorkloadSpec>),
    /// The job of a workload that was evicted has no active pods any more.
    JobStopped {
        /// The workload's namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
    /// The job of a workload wants no quota for now, or does again.
    JobHold {
        /// The workload's namespace.
        namespace: Name,
        /// Its name.
        name: Name,
        /// Why, while it does not want any.
        hold: Option<Hold>,
    },
    /// A Workload is gone.
    WorkloadGone {
        /// Its namespace.
        namespace: Name,
        /// Its name.
        name: Name,
    },
}

/// A ResourceFlavor.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlavorSpec {
    /// Its name.
    pub name: Name,
    /// The nodes it stands for.
    pub nodes: FlavorNodes,
}

/// A Cohort object.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CohortSpec {
    /// Its name.
    pub name: Name,
    /// The cohort above it.
    pub parent: Option<Name>,
    /// Quota of its own.
    pub groups: Vec<ResourceGroupSpec>,
    /// Its weight in fair sharing.
    #[serde(with = "crate::journal::weight")]
    pub weight: f64,
    /// Different whenever anything in the object's spec is, as for a ClusterQueue.
    pub revision: u64,
}

/// Resources that are always given the same flavor.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ResourceGroupSpec {
    /// The resources.
    pub resources: Vec<Name>,
    /// The flavors, in the order in which they are tried.
    pub flavors: Vec<FlavorQuotaSpec>,
}

/// Quota in one flavor.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FlavorQuotaSpec {
    /// The flavor.
    pub flavor: Name,
    /// Quota per resource.
    pub resources: Vec<QuotaSpec>,
}

/// Quota of one resource in one flavor.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct QuotaSpec {
    /// The resource.
    pub resource: Name,
    /// What is guaranteed.
    pub nominal: Amount,
    /// What may be taken beyond that from the cohort.
    pub borrowing_limit: Option<Amount>,
    /// What others may take of it.
    pub lending_limit: Option<Amount>,
}

/// In which order a ClusterQueue serves its workloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum QueueingStrategy {
    /// One that cannot start holds up those behind it.
    StrictFifo,
    /// One that cannot start steps aside.
    #[default]
    BestEffortFifo,
}

/// Whether a queue is halted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum StopPolicy {
    /// It runs.
    #[default]
    None,
    /// Nothing new starts.
    Hold,
    /// Nothing new starts, and what runs is evicted.
    HoldAndDrain,
}

/// Which running workloads may have to go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum PreemptionPolicy {
    /// None.
    #[default]
    Never,
    /// Those of lower priority.
    LowerPriority,
    /// Those of lower priority, and newer ones of the same.
    LowerOrNewerEqualPriority,
    /// All.
    Any,
}

/// Whether preemption in the cohort may go together with borrowing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BorrowWithinCohort {
    /// Only workloads up to this priority may be preempted then.
    pub max_priority: Option<i32>,
}

/// Whom the workloads of a ClusterQueue may preempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Preemption {
    /// In the same queue.
    pub within_queue: PreemptionPolicy,
    /// In queues of the cohort that borrow.
    pub reclaim_within_cohort: PreemptionPolicy,
    /// While borrowing itself; not at all when missing.
    pub borrow_within_cohort: Option<BorrowWithinCohort>,
}

/// What to do when a flavor is possible but not free of cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Fungibility {
    /// Try the next flavor rather than borrow.
    pub try_next_before_borrowing: bool,
    /// Try the next flavor rather than preempt.
    pub try_next_before_preempting: bool,
    /// Among flavors that all have a cost, prefer preemption to borrowing.
    pub prefers_preemption: bool,
}

impl Default for Fungibility {
    fn default() -> Self {
        Self { try_next_before_borrowing: false, try_next_before_preempting: true, prefers_preemption: false }
    }
}

/// An admission check of a ClusterQueue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct QueueCheckSpec {
    /// The AdmissionCheck.
    pub name: Name,
    /// The flavors it is for; all when empty.
    pub flavors: Vec<Name>,
}

/// How a ClusterQueue lets jobs wait for several flavors at once.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConcurrentAdmission {
    /// The least preferred flavor that an admitted job may still move to; any when missing.
    pub last_acceptable_flavor: Option<Name>,
}

/// A ClusterQueue.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct QueueSpec {
    /// Its name.
    pub name: Name,
    /// The cohort it belongs to.
    pub cohort: Option<Name>,
    /// Its quotas.
    pub groups: Vec<ResourceGroupSpec>,
    /// The order in which it serves.
    pub strategy: QueueingStrategy,
    /// The namespaces it serves; none when missing.
    pub namespaces: Option<LabelSelector>,
    /// Whom it may preempt.
    pub preemption: Preemption,
    /// How it chooses among flavors.
    pub fungibility: Fungibility,
    /// What must be ready before a workload starts.
    pub checks: Vec<QueueCheckSpec>,
    /// Whether it is halted.
    pub stop: StopPolicy,
    /// Whether it is being deleted: nothing new starts.
    pub is_terminating: bool,
    /// Its weight in fair sharing.
    #[serde(with = "crate::journal::weight")]
    pub weight: f64,
    /// Present where every job has variants.
    pub concurrent: Option<ConcurrentAdmission>,
    /// Whether LocalQueues that used less go first.
    pub is_usage_based: bool,
    /// Different whenever anything in the object's spec is: any edit gives parked workloads another chance.
    pub revision: u64,
}

/// A LocalQueue.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LocalQueueSpec {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// The ClusterQueue it stands for.
    pub queue: Name,
    /// Whether it is halted.
    pub stop: StopPolicy,
    /// Whether it is being deleted.
    pub is_terminating: bool,
    /// Its weight among the LocalQueues of its ClusterQueue.
    #[serde(with = "crate::journal::weight")]
    pub weight: f64,
    /// What it used, as its status says; believed once, when the engine begins to count.
    pub consumed: Option<ResourceList>,
}

/// An AdmissionCheck.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CheckSpec {
    /// Its name.
    pub name: Name,
    /// Who decides it.
    pub controller: CheckController,
    /// Whether its controller is at work.
    pub is_active: bool,
}

/// Who decides a check, as far as it matters to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum CheckController {
    /// Kueue's ProvisioningRequest controller.
    Provisioning,
    /// Kueue's MultiKueue controller.
    MultiKueue,
    /// Anybody else.
    #[default]
    Other,
}

/// The class that a priority came from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum PriorityClass {
    /// A WorkloadPriorityClass; the priority follows it.
    Workload(Name),
    /// A PriorityClass of pods; the priority is fixed.
    Pod(Name),
}

/// One pod set of a workload.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct PodSetSpec {
    /// Its name.
    pub name: Name,
    /// How many pods.
    pub count: i32,
    /// With how many it can start.
    pub min_count: Option<i32>,
    /// What one pod needs, by resource name: milli-units of cpu, units of everything else.
    pub requests: Vec<(Name, i64)>,
    /// Pod sets of the same group get the same flavors.
    pub group: Option<Name>,
    /// Where its pods may run.
    pub placement: PodPlacement,
    /// How close together they should be, where it says so.
    pub topology: Option<TopologyRequest>,
    /// What one pod takes of a node, by resource name, where that is not what it is counted for.
    pub room: Option<Vec<(Name, i64)>>,
    /// Everything else that makes one template different from another for scheduling.
    pub fingerprint: u64,
}

/// The part of a workload in concurrent admission, where a job waits for several flavors at once: its own workload is
/// the parent, and one variant per flavor waits on its behalf.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct VariantSpec {
    /// It is marked as a parent, and never queued itself.
    pub is_parent: bool,
    /// It is a variant of the workload with this uid.
    pub variant_of: Option<Name>,
    /// The flavors it may get, the first being the one it stands for; any when missing.
    pub allowed_flavors: Option<Vec<Name>>,
}

/// Who owns a Workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum Owner {
    /// Nobody (any more).
    Nobody,
    /// A job, or several objects together.
    #[default]
    Job,
    /// One single pod, with which the workload dies.
    Pod,
}

/// Why a job wants no quota for now.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Hold {
    /// It says so itself.
    Job,
    /// It was scaled down to nothing.
    ScaledToZero,
}

/// A Workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkloadSpec {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
    /// Its identity; ties in every order end here.
    pub uid: Name,
    /// The identity of the job it stands for.
    pub job_uid: Option<Name>,
    /// When it was created.
    pub created: Time,
    /// How often its spec changed.
    pub generation: i64,
    /// The LocalQueue it was submitted to.
    pub local_queue: Name,
    /// The values of the labels that metrics tell workloads apart by.
    pub metric_labels: Arc<[Name]>,
    /// Its priority.
    pub priority: i32,
    /// Added to its priority.
    pub priority_boost: i32,
    /// Where the priority comes from.
    pub priority_class: Option<PriorityClass>,
    /// Whether it may run at all.
    pub is_active: bool,
    /// Who holds back its admission.
    pub gated_by: Option<Name>,
    /// The workload whose place it takes: an elastic job grew.
    pub replaces: Option<Key>,
    /// Its part in concurrent admission, if it has one.
    pub variant: Option<Box<VariantSpec>>,
    /// How long it may run.
    pub max_execution_s: Option<i32>,
    /// Who owns it.
    pub owner: Owner,
    /// Whether it is being deleted.
    pub is_deleting: bool,
    /// Whether a finalizer keeps it from disappearing.
    pub is_guarded: bool,
    /// Whether its job may grow and shrink.
    pub is_elastic: bool,
    /// Gates that keep it from preempting others until all of them are open.
    pub preemption_gates: Vec<Name>,
    /// Its pods.
    pub pod_sets: Vec<PodSetSpec>,
    /// Why its resources are not acceptable, in a user's words.
    pub invalid: Option<Name>,
    /// Its status.
    pub status: Status,
}
