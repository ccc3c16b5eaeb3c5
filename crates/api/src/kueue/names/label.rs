//! Label keys, and values where there is only one.

/// On a job: its LocalQueue.
pub const QUEUE_NAME: &str = "kueue.x-k8s.io/queue-name";
/// On a job: its WorkloadPriorityClass.
pub const PRIORITY_CLASS: &str = "kueue.x-k8s.io/priority-class";
/// On a job: seconds after which its workload is deactivated.
pub const MAX_EXEC_TIME_SECONDS: &str = "kueue.x-k8s.io/max-exec-time-seconds";
/// On a job: the Workload that was made for it beforehand.
pub const PREBUILT_WORKLOAD_NAME: &str = "kueue.x-k8s.io/prebuilt-workload-name";
/// On a Workload: the UID of its job.
pub const JOB_UID: &str = "kueue.x-k8s.io/job-uid";
/// On pods and other objects: Kueue manages it; the value is [`TRUE`].
pub const MANAGED: &str = "kueue.x-k8s.io/managed";
/// On pods: their pod set.
pub const POD_SET: &str = "kueue.x-k8s.io/podset";
/// On pods: the ClusterQueue whose quota they use.
pub const CLUSTER_QUEUE_NAME: &str = "kueue.x-k8s.io/cluster-queue-name";
/// On pods: the LocalQueue they came through.
pub const LOCAL_QUEUE_NAME: &str = "kueue.x-k8s.io/local-queue-name";
/// On pods: the group they belong to.
pub const POD_GROUP_NAME: &str = "kueue.x-k8s.io/pod-group-name";
/// On pods: their index in the group.
pub const POD_GROUP_POD_INDEX: &str = "kueue.x-k8s.io/pod-group-pod-index";
/// On objects of a worker cluster: which manager they came from.
pub const MULTIKUEUE_ORIGIN: &str = "kueue.x-k8s.io/multikueue-origin";
/// On pods of a worker cluster: a manager sent them; the value is [`TRUE`].
pub const MULTIKUEUE_WORKER_POD: &str = "kueue.x-k8s.io/multikueue-worker-workload-pod";
/// On a Workload: it has variants; the value is [`TRUE`].
pub const CONCURRENT_ADMISSION_PARENT: &str = "kueue.x-k8s.io/concurrent-admission-parent";

/// The value of labels and annotations that say yes.
pub const TRUE: &str = "true";
