//! Annotation keys.

/// On a pod template: all pods within one domain of this level.
pub const REQUIRED_TOPOLOGY: &str = "kueue.x-k8s.io/podset-required-topology";
/// On a pod template: all pods within one domain of this level if possible.
pub const PREFERRED_TOPOLOGY: &str = "kueue.x-k8s.io/podset-preferred-topology";
/// On a pod template: topology is looked at, any free capacity will do.
pub const UNCONSTRAINED_TOPOLOGY: &str = "kueue.x-k8s.io/podset-unconstrained-topology";
/// On a pod template: every slice of pods within one domain of this level.
pub const SLICE_REQUIRED_TOPOLOGY: &str = "kueue.x-k8s.io/podset-slice-required-topology";
/// On a pod template: pods per slice.
pub const SLICE_SIZE: &str = "kueue.x-k8s.io/podset-slice-size";
/// On a pod template: several layers of slices, as a JSON list.
pub const SLICE_REQUIRED_TOPOLOGY_CONSTRAINTS: &str = "kueue.x-k8s.io/podset-slice-required-topology-constraints";
/// On a pod template: pod sets with the same name get the same flavor and domain.
pub const POD_SET_GROUP_NAME: &str = "kueue.x-k8s.io/podset-group-name";
/// On pods: the admitted Workload.
pub const WORKLOAD: &str = "kueue.x-k8s.io/workload";
/// On Workloads and pods: the first Workload of a chain of slices.
pub const WORKLOAD_SLICE_NAME: &str = "kueue.x-k8s.io/workload-slice-name";
/// On a Workload: the slice it replaces, as `namespace/name`.
pub const WORKLOAD_SLICE_REPLACEMENT_FOR: &str = "kueue.x-k8s.io/workload-slice-replacement-for";
/// On jobs and Workloads: the job may change its size while it runs.
pub const ELASTIC_JOB: &str = "kueue.x-k8s.io/elastic-job";
/// On a RayJob or RayService: the generation of its RayCluster that its newest slice was made for.
pub const RAY_CLUSTER_GENERATION: &str = "kueue.x-k8s.io/raycluster-generation";
/// On pods: where indices start inside a replica.
pub const POD_INDEX_OFFSET: &str = "kueue.x-k8s.io/pod-index-offset";
/// On pods: the label that holds the index in the group.
pub const POD_GROUP_POD_INDEX_LABEL: &str = "kueue.x-k8s.io/pod-group-pod-index-label";
/// On pods: the group they belong to.
pub const POD_GROUP_NAME: &str = "kueue.x-k8s.io/pod-group-name";
/// On pods: how many pods the group has.
pub const POD_GROUP_TOTAL_COUNT: &str = "kueue.x-k8s.io/pod-group-total-count";
/// On pods: the Workload is made before all pods of the group exist.
pub const POD_GROUP_FAST_ADMISSION: &str = "kueue.x-k8s.io/pod-group-fast-admission";
/// On pods: the group never finishes.
pub const POD_GROUP_SERVING: &str = "kueue.x-k8s.io/pod-group-serving";
/// On pods: pods with the same hash make a pod set.
pub const ROLE_HASH: &str = "kueue.x-k8s.io/role-hash";
/// On pods: `false` means that the group fails with the pod.
pub const RETRIABLE_IN_GROUP: &str = "kueue.x-k8s.io/retriable-in-group";
/// On a Workload: it belongs to a pod group.
pub const IS_GROUP_WORKLOAD: &str = "kueue.x-k8s.io/is-group-workload";
/// On pods: the integration that suspends them in place of the pod integration.
pub const POD_SUSPENDING_PARENT: &str = "kueue.x-k8s.io/pod-suspending-parent";
/// On jobs: the Workload that was made for it beforehand.
pub const PREBUILT_WORKLOAD_NAME: &str = "kueue.x-k8s.io/prebuilt-workload-name";
/// On a Job: the least parallelism that is of use.
pub const JOB_MIN_PARALLELISM: &str = "kueue.x-k8s.io/job-min-parallelism";
/// On a Job: completions follow parallelism.
pub const JOB_COMPLETIONS_EQUAL_PARALLELISM: &str = "kueue.x-k8s.io/job-completions-equal-parallelism";
/// On a Job: the first of two steps of stopping it was taken.
pub const STOPPING: &str = "kueue.x-k8s.io/stopping";
/// On jobs and Workloads: gates that keep it from being admitted, as a comma list.
pub const ADMISSION_GATED_BY: &str = "kueue.x-k8s.io/admission-gated-by";
/// On a Workload: a number added to its priority.
pub const PRIORITY_BOOST: &str = "kueue.x-k8s.io/priority-boost";
/// On a variant: the flavors it may use, as a comma list.
pub const WORKLOAD_ALLOWED_RESOURCE_FLAVORS: &str = "kueue.x-k8s.io/workload-allowed-resource-flavors";
/// On a Workload: group, version and kind of the job that has several of them.
pub const JOB_OWNER_GVK: &str = "kueue.x-k8s.io/job-owner-gvk";
/// On a Workload: the name of the job that has several of them.
pub const JOB_OWNER_NAME: &str = "kueue.x-k8s.io/job-owner-name";
/// On a Workload: which of the job's Workloads it is.
pub const COMPONENT_WORKLOAD_INDEX: &str = "kueue.x-k8s.io/component-workload-index";
/// On objects of a worker cluster: the UID of the manager's object.
pub const MULTIKUEUE_ORIGIN_UID: &str = "kueue.x-k8s.io/multikueue-origin-uid";
/// On pods: may be deleted by force when its node is lost.
pub const SAFE_TO_FORCEFULLY_DELETE: &str = "kueue.x-k8s.io/safe-to-forcefully-delete";
/// On RayJobs and RayServices: sizes of the RayCluster's groups.
pub const RAYCLUSTER_POD_SET_REPLICA_SIZES: &str = "kueue.x-k8s.io/raycluster-podset-replica-sizes";
/// On RayJobs and RayServices: the RayCluster generation that the sizes belong to.
pub const RAYCLUSTER_GENERATION: &str = "kueue.x-k8s.io/raycluster-generation";
/// On jobs and Workloads: what follows is a parameter for the autoscaler.
pub const PROVISIONING_REQUEST_PREFIX: &str = "provreq.kueue.x-k8s.io/";
