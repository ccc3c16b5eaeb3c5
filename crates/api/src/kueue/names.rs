//! Every name that others may rely on: labels, annotations, finalizers, gates, conditions and their reasons, events,
//! field managers, and what an installation is called. Nowhere else in the workspace is one of them spelled out.

pub mod annotation;
pub mod condition;
pub mod event;
pub mod install;
pub mod label;
pub mod reason;

/// Keeps an object while something uses it (Workload, ClusterQueue, ResourceFlavor, AdmissionCheck, Topology).
pub const FINALIZER_RESOURCE_IN_USE: &str = "kueue.x-k8s.io/resource-in-use";
/// Keeps a pod of the pod integration until its end was counted.
pub const FINALIZER_POD: &str = "kueue.x-k8s.io/managed";

/// Scheduling gate of pods that wait for admission.
pub const SCHEDULING_GATE_ADMISSION: &str = "kueue.x-k8s.io/admission";
/// Scheduling gate of pods that wait for their topology domain.
pub const SCHEDULING_GATE_TOPOLOGY: &str = "kueue.x-k8s.io/topology";
/// Scheduling gate of pods that an elastic job added and that wait for quota.
pub const SCHEDULING_GATE_ELASTIC_JOB: &str = "kueue.x-k8s.io/elastic-job";

/// Keeps a workload on a worker cluster from preempting until the manager says so.
pub const PREEMPTION_GATE_MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
/// Keeps a variant from preempting while a better one may still be admitted.
pub const PREEMPTION_GATE_CONCURRENT_ADMISSION: &str = "kueue.x-k8s.io/concurrent-admission";

/// Field manager of most of a Workload's status; also the scheduler's name in events.
pub const FIELD_MANAGER_ADMISSION: &str = "kueue-admission";
/// Field manager of `PodsReady` begins with this; `-` and the condition type follow.
pub const FIELD_MANAGER_JOB_CONTROLLER: &str = "kueue-job-controller";
/// Field manager of `status.reclaimablePods`.
pub const FIELD_MANAGER_RECLAIMABLE_PODS: &str = "kueue-reclaimable-pods";
/// Field manager of pod conditions.
pub const FIELD_MANAGER_KUEUE: &str = "kueue";
/// Field manager of what MultiKueue writes; also the default origin of remote objects.
pub const FIELD_MANAGER_MULTIKUEUE: &str = "multikueue";
/// How TrainJob knows the runtime patches that are ours.
pub const TRAINJOB_PATCH_MANAGER: &str = "kueue.x-k8s.io/manager";

/// The workload controller's name in events.
pub const EVENT_SOURCE_WORKLOAD: &str = "kueue-workload-controller";
/// The failure recovery controller's name in events.
pub const EVENT_SOURCE_POD_TERMINATION: &str = "kueue-pod-termination-controller";
/// The provisioning controller's name in events.
pub const EVENT_SOURCE_PROVISIONING: &str = "kueue-provisioning-request-controller";
/// The name in events of the controller that connects to worker clusters.
pub const EVENT_SOURCE_MULTIKUEUE_CLUSTER: &str = "multikueue-cluster";

/// `AdmissionCheck.spec.controllerName` of checks that run workloads on other clusters.
pub const CONTROLLER_MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
/// `AdmissionCheck.spec.controllerName` of checks that ask the autoscaler for nodes.
pub const CONTROLLER_PROVISIONING_REQUEST: &str = "kueue.x-k8s.io/provisioning-request";

/// Field manager of the states of checks that ask the autoscaler for nodes.
pub const FIELD_MANAGER_PROVISIONING_REQUEST: &str = CONTROLLER_PROVISIONING_REQUEST;

/// Dispatcher that offers a workload to all clusters at once.
pub const DISPATCHER_ALL_AT_ONCE: &str = "kueue.x-k8s.io/multikueue-dispatcher-all-at-once";
/// Dispatcher that offers a workload to a few more clusters each round.
pub const DISPATCHER_INCREMENTAL: &str = "kueue.x-k8s.io/multikueue-dispatcher-incremental";

/// The pod set of jobs that have only one.
pub const DEFAULT_POD_SET: &str = "main";
/// The LocalQueue for jobs that name none, where it exists.
pub const DEFAULT_LOCAL_QUEUE: &str = "default";
/// The WorkloadPriorityClass for jobs that name none, where it exists.
pub const DEFAULT_WORKLOAD_PRIORITY_CLASS: &str = "default";
/// The node label of the level below which nothing can be split.
pub const HOSTNAME_LABEL: &str = "kubernetes.io/hostname";
