//! The table of gates: one row each, in alphabetical order.
//!
//! A row says what the gate switches, from which version on it had which stage and default, which gates it needs, and
//! `unread` as long as no code of ours asks for it. To add a gate is to add a row; a test checks the table as a whole.

use super::{Stage, Step, Version};

/// What is known of a gate.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) history: &'static [Step],
    pub(super) depends_on: &'static [Gate],
    pub(super) is_unread: bool,
}

macro_rules! gates {
    ($(
        #[doc = $doc:literal]
        $name:ident { $($since:literal : $stage:ident, $default:ident $(, $locked:ident)?);+ }
        $(needs [$($needed:ident),+])? $(, $unread:ident)?;
    )+) => {
        /// A behaviour that can be switched on or off.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Gate {
            $(#[doc = $doc] $name,)+
        }

        impl Gate {
            /// Every gate, in alphabetical order.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];
        }

        pub(super) const ROWS: &[Row] = &[$(
            Row {
                name: stringify!($name),
                doc: $doc,
                history: &[$(Step {
                    since: version($since),
                    stage: stage!($stage),
                    default: default!($default),
                    is_locked: flag!(locked $($locked)?),
                }),+],
                depends_on: &[$($(Gate::$needed),+)?],
                is_unread: flag!(unread $($unread)?),
            },
        )+];
    };
}

macro_rules! stage {
    (alpha) => {
        Stage::Alpha
    };
    (beta) => {
        Stage::Beta
    };
    (ga) => {
        Stage::Ga
    };
    (deprecated) => {
        Stage::Deprecated
    };
}

macro_rules! default {
    (on) => {
        true
    };
    (off) => {
        false
    };
}

/// Whether the optional word is there; any other word does not compile.
macro_rules! flag {
    (locked locked) => {
        true
    };
    (unread unread) => {
        true
    };
    ($word:ident) => {
        false
    };
}

/// Checked when the table is compiled.
const fn version(text: &str) -> Version {
    match Version::parse(text) {
        Some(version) => version,
        None => panic!("a version is two numbers with a dot between"),
    }
}

gates! {
    /// Orders the LocalQueues of one ClusterQueue by what they used lately, least first.
    AdmissionFairSharing { "0.12": alpha, off; "0.15": beta, on };
    /// Keeps a workload out of its queue while the annotation `kueue.x-k8s.io/admission-gated-by` names a gate.
    AdmissionGatedBy { "0.17": alpha, off; "0.19": beta, on };
    /// Labels the pods of admitted jobs with their LocalQueue and ClusterQueue.
    AssignQueueLabelsForPods { "0.17": beta, on };
    /// Deletes the ProvisioningRequests of a workload that is evicted.
    CleanupProvisioningRequestsOnEviction { "0.19": beta, on };
    /// Tries several flavors for one job at the same time, each as a workload of its own.
    ConcurrentAdmission { "0.18": alpha, off };
    /// Adds labels of the administrator's choice to the metrics.
    CustomMetricLabels { "0.17": alpha, off };
    /// Keeps the workload of a deleted fault-tolerant RayService until its Redis has been cleaned.
    DeferRayServiceFinalizationForRedisCleanup { "0.19": beta, on };
    /// Lets the configuration switch waiting for ready pods off, which is otherwise always on.
    DisableWaitForPodsReady { "0.19": alpha, off };
    /// Lets a running job grow and shrink: a larger workload takes over from the one before.
    ElasticJobsViaWorkloadSlices { "0.13": alpha, off; "0.18": beta, on };
    /// Lets jobs that are placed by topology grow and shrink too.
    ElasticJobsViaWorkloadSlicesWithTAS { "0.17": alpha, off }
        needs [ElasticJobsViaWorkloadSlices, TopologyAwareScheduling];
    /// Removes pods that hang in termination on nodes that cannot be reached.
    FailureRecoveryPolicy { "0.15": alpha, off };
    /// Lets a queue within its nominal quota preempt without comparing fair shares.
    FairSharingPreemptWithinNominal { "0.17": beta, on };
    /// Under fair sharing, looks first at workloads whose part of the hierarchy does not borrow.
    FairSharingPrioritizeNonBorrowing { "0.17": beta, on };
    /// Frees the quota of a plain pod as soon as its deletion starts instead of when it is gone.
    FastQuotaReleaseInPodIntegration { "0.17": alpha, off };
    /// Finishes workloads whose job no longer exists.
    FinishOrphanedWorkloads { "0.18": beta, on };
    /// Honours `flavorFungibility`: whether to borrow or preempt in this flavor before trying the next.
    FlavorFungibility { "0.5": beta, on };
    /// Resumes the scan over flavors where it stopped even when usage changed in between.
    FlavorFungibilityPreserveScanProgress { "0.20": beta, on } needs [FlavorFungibility];
    /// Charges devices that pods claim through Dynamic Resource Allocation to quota.
    KueueDRAIntegration { "0.18": beta, on }, unread;
    /// Charges the consumed capacity of devices that several pods share.
    KueueDRAIntegrationConsumableCapacity { "0.19": alpha, off } needs [KueueDRAIntegration];
    /// Charges devices that pods ask for as extended resources.
    KueueDRAIntegrationExtendedResource { "0.18": alpha, off; "0.19": beta, on } needs [KueueDRAIntegration], unread;
    /// Charges the counters that a partition of a device consumes.
    KueueDRAIntegrationPartitionableDevices { "0.18": alpha, off; "0.19": beta, on }
        needs [KueueDRAIntegration];
    /// Refuses workloads with device claims while their integration is off.
    KueueDRARejectWorkloadsWhenDRADisabled { "0.18": beta, on }, unread;
    /// Forbids changing the group size of a managed LeaderWorkerSet.
    LWSImmutableGroupSize { "0.20": beta, on }, unread;
    /// Reports metrics per LocalQueue.
    LocalQueueMetrics { "0.10": alpha, off; "0.17": beta, on };
    /// Leaves jobs outside the selected namespaces alone even when they name a queue.
    ManagedJobsNamespaceSelectorAlwaysRespected { "0.13": alpha, off; "0.15": beta, on; "0.19": ga, on, locked }, unread;
    /// Reports how long after a job its workload was created.
    MetricForWorkloadCreationLatency { "0.18": beta, on };
    /// Reports metrics per Cohort and the info metrics of queues.
    MetricsForCohorts { "0.18": beta, on };
    /// Dispatches jobs to other clusters.
    MultiKueue { "0.6": alpha, off; "0.9": beta, on };
    /// Dispatches job kinds that only the configuration knows.
    MultiKueueAdaptersForCustomJobs { "0.14": alpha, off; "0.15": beta, on }, unread;
    /// Takes the credentials of a worker cluster from a ClusterProfile.
    MultiKueueClusterProfile { "0.15": alpha, off }, unread;
    /// Makes the step of the incremental dispatcher configurable.
    MultiKueueIncrementalDispatcherConfig { "0.19": beta, on }, unread;
    /// Nominates worker clusters in the order of the configuration instead of the alphabet.
    MultiKueueIncrementalDispatcherRespectConfigOrder { "0.19": beta, on }, unread;
    /// Accepts kubeconfig files only below the folder meant for them.
    MultiKueueKubeConfigPathValidation { "0.19": alpha, off; "0.20": beta, on }, unread;
    /// Computes the quota of the manager cluster from that of its workers.
    MultiKueueManagerQuotaAutomation { "0.18": alpha, off }, unread;
    /// Lets one worker cluster at a time preempt for a dispatched workload.
    MultiKueueOrchestratedPreemption { "0.17": alpha, off };
    /// Carries edits of a dispatched job over to the worker cluster.
    MultiKueueRemoteSpecSync { "0.20": beta, on }, unread;
    /// Admits part of a parallel job when all of it does not fit.
    PartialAdmission { "0.4": alpha, off; "0.5": beta, on };
    /// Does not adopt a workload for a pod group unless one made it.
    PodIntegrationValidateGroupOwner { "0.18": beta, on };
    /// Looks first at workloads that wait for their own victims to leave.
    PrioritizePreemptorWorkloads { "0.20": alpha, off };
    /// Adds the annotation `kueue.x-k8s.io/priority-boost` to the priority of a workload.
    PriorityBoost { "0.17": alpha, off };
    /// Orders the heads of a cycle by priority before age.
    PrioritySortingWithinCohort { "0.6": beta, on };
    /// Lets the configuration choose what is done with resources that no quota covers.
    QuotaCheckStrategy { "0.18": alpha, off; "0.19": beta, on };
    /// Frees the quota of pods that are done while the rest of their job runs on.
    ReclaimablePods { "0.15": beta, on };
    /// Looks for other victims when an earlier workload of the cycle has taken the first choice.
    RecomputeAssignmentUponPreemptionTargetsOverlap { "0.20": beta, on };
    /// Refuses a ClusterQueue whose check strategy names flavors that it does not have.
    RejectUpdatesToCQWithInvalidOnFlavors { "0.18": alpha, off };
    /// Removes finalizers only from the version of the object that was looked at.
    RemoveFinalizersWithStrictPatch { "0.17": beta, on }, unread;
    /// Asks plugins of the kube-scheduler whether a pod fits on a node.
    SchedulerLibraryIntegration { "0.19": alpha, off }, unread;
    /// Parks workloads that look the same together after one of them did not fit.
    SchedulingEquivalenceHashing { "0.17": beta, off; "0.18": beta, on };
    /// Keeps generated workload names within 63 characters, so that they can be label values.
    ShortWorkloadNames { "0.17": alpha, off };
    /// Tolerates a missing owner of an object that is being deleted.
    SkipAncestorCheckForDeletedWorkloads { "0.20": beta, on };
    /// Computes no new placement for a workload of one pod, which could not move anyway.
    SkipReassignmentForPodOwnedWorkloads { "0.19": beta, on };
    /// Manages SparkApplications.
    SparkApplicationIntegration { "0.17": alpha, off }, unread;
    /// Writes placements shorter by what host names have in common.
    TASAssignmentsEncodingByHostnamePrefix { "0.19": beta, on };
    /// Spreads the pods evenly over as few domains as possible.
    TASBalancedPlacement { "0.15": alpha, off } needs [TopologyAwareScheduling];
    /// Remembers within a cycle which nodes a pod template matches.
    TASCacheNodeMatchResults { "0.19": beta, on }, unread;
    /// Shares the tree of domains between cycles while no node changes.
    TASCacheTopologyTree { "0.20": beta, on }, unread;
    /// Remembers what is free in each domain.
    TASCachingRemainingResources { "0.19": beta, on }, unread;
    /// Finds another node for the pods of a failed one.
    TASFailedNodeReplacement { "0.12": alpha, off; "0.14": beta, on } needs [TopologyAwareScheduling];
    /// Evicts a workload when the first search for another node finds none.
    TASFailedNodeReplacementFailFast { "0.13": alpha, off; "0.14": beta, on }
        needs [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Counts what other flavors use on a node that belongs to several.
    TASHandleOverlappingFlavors { "0.18": beta, on } needs [TopologyAwareScheduling];
    /// Allows up to three nested levels of slices below the placement of a pod set.
    TASMultiLayerTopology { "0.17": alpha, off; "0.19": beta, on } needs [TopologyAwareScheduling];
    /// Fills small gaps first where a job does not ask for closeness, and packs tightly where it does.
    TASProfileMixed { "0.10": alpha, off; "0.15": beta, on } needs [TopologyAwareScheduling];
    /// Looks for another placement when an earlier workload of the cycle has taken the first.
    TASRecomputeAssignmentWithinSchedulingCycle { "0.19": beta, on } needs [TopologyAwareScheduling];
    /// Takes a node for failed after a fixed time of not being ready, whatever its pods do.
    TASReplaceNodeDueToNotReadyOverFixedTime { "0.17": beta, on; "0.19": deprecated, off }
        needs [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Takes a node for failed when it gets a taint that the workload does not tolerate.
    TASReplaceNodeOnNodeTaints { "0.17": beta, on } needs [TopologyAwareScheduling];
    /// Takes a node that is not ready for failed once the pods on it end.
    TASReplaceNodeOnPodTermination { "0.13": alpha, off; "0.14": beta, on }
        needs [TASFailedNodeReplacement, TopologyAwareScheduling];
    /// Lets preferred node affinity choose among the domains that fit.
    TASRespectNodeAffinityPreferred { "0.18": alpha, off } needs [TopologyAwareScheduling];
    /// Refuses workloads with a slice size below one.
    TASValidateWorkloadSliceSize { "0.20": beta, on };
    /// Honours the TLS settings of the configuration.
    TLSOptions { "0.16": beta, on; "0.20": ga, on, locked }, unread;
    /// Places the pods of a job close together: on the same rack, block or whatever the levels are.
    TopologyAwareScheduling { "0.9": alpha, off; "0.14": beta, on };
    /// Writes down that a new workload is neither reserved nor admitted at the first look.
    UnadmittedWorkloadsExplicitStatus { "0.19": beta, off } needs [UnadmittedWorkloadsObservability];
    /// Says more precisely why a workload is not admitted, in conditions and metrics.
    UnadmittedWorkloadsObservability { "0.19": beta, on };
    /// Checks updates of Ray and Spark jobs also when they drop the queue name.
    ValidateRayAndSparkJobUpdates { "0.18": beta, on };
    /// Keeps resource requests as vectors instead of maps while placing by topology.
    VectorizedResourceRequests { "0.19": beta, on }, unread;
    /// Serves the pending workloads of a queue on demand.
    VisibilityOnDemand { "0.6": alpha, off; "0.9": beta, on };
    /// Reads and writes pod group and prebuilt workload names as annotations instead of labels.
    WorkloadIdentifierAnnotations { "0.18": beta, on };
    /// Gives workloads without a priority class the one called `default`.
    WorkloadPriorityClassDefaulting { "0.18": alpha, off; "0.20": beta, on };
    /// Writes workload status with merge patches instead of server-side apply.
    WorkloadRequestUseMergePatch { "0.14": alpha, off }, unread;
    /// Refuses workloads with negative requests or limits.
    WorkloadValidateResourcesAreNonNegative { "0.20": beta, on };
    /// Refuses workloads with malformed labels or annotations in their pod templates.
    WorkloadValidationForPodSetMetadata { "0.20": beta, on };
}
