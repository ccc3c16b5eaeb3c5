//! `ray.io/v1`: clusters of Ray, and what runs in them.

use std::collections::BTreeMap;

use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use kueue_core::time::Time;
use serde_json::Value;

use super::Condition;

const GROUP: &str = "ray.io";
const VERSION: &str = "v1";

object! {
    /// A head and its workers.
    pub struct RayCluster in GROUP/VERSION/"rayclusters", namespaced: true {
        pub spec?: RayClusterSpec,
        pub status?: RayClusterStatus,
    }
}

object! {
    /// A cluster with something to do.
    pub struct RayJob in GROUP/VERSION/"rayjobs", namespaced: true {
        pub spec?: RayJobSpec,
        pub status?: RayJobStatus,
    }
}

object! {
    /// A cluster that answers requests.
    pub struct RayService in GROUP/VERSION/"rayservices", namespaced: true {
        pub spec?: RayServiceSpec,
        pub status?: RayServiceStatus,
    }
}

wire_struct! {
    pub struct RayClusterSpec {
        pub suspend?: Option<bool>,
        pub managed_by?: Option<String>,
        pub head_group_spec?: HeadGroup,
        pub worker_group_specs?: Vec<WorkerGroup>,
        pub ..rest,
    }
}

wire_struct! {
    pub struct HeadGroup {
        pub template?: Value,
        pub ..rest,
    }
}

wire_struct! {
    pub struct WorkerGroup {
        pub group_name?: String,
        pub replicas?: Option<i32>,
        pub num_of_hosts?: i32,
        pub template?: Value,
        pub ..rest,
    }
}

wire_struct! {
    pub struct RayClusterStatus {
        /// `ready`, `suspended` or nothing yet.
        pub state?: String,
        pub desired_worker_replicas?: i32,
        pub ready_worker_replicas?: i32,
        pub available_worker_replicas?: i32,
        pub head?: BTreeMap<String, String>,
        pub observed_generation?: i64,
        pub last_update_time?: Option<Time>,
    }
}

wire_struct! {
    pub struct RayJobSpec {
        pub suspend?: bool,
        pub managed_by?: Option<String>,
        pub entrypoint?: String,
        pub cluster_selector?: BTreeMap<String, String>,
        pub ray_cluster_spec?: Option<RayClusterSpec>,
        pub shutdown_after_job_finishes?: bool,
        pub ttl_seconds_after_finished?: i64,
        pub active_deadline_seconds?: Option<i64>,
        pub backoff_limit?: Option<i32>,
        pub submission_mode?: String,
        pub submitter_pod_template?: Option<Value>,
    }
}

wire_struct! {
    pub struct RayJobStatus {
        pub job_id?: String,
        /// What Ray says: `PENDING`, `RUNNING`, `SUCCEEDED`, `FAILED` or `STOPPED`.
        pub job_status?: String,
        /// What KubeRay says: `Initializing`, `Running`, `Complete`, `Failed`, `Suspending`, `Suspended`,
        /// `ValidationFailed` or nothing yet.
        pub job_deployment_status?: String,
        pub reason?: String,
        pub message?: String,
        pub ray_cluster_name?: String,
        pub ray_cluster_status?: RayClusterStatus,
        pub start_time?: Option<Time>,
        pub end_time?: Option<Time>,
        pub succeeded?: i32,
        pub failed?: i32,
        pub observed_generation?: i64,
    }
}

wire_struct! {
    pub struct RayServiceSpec {
        pub ray_cluster_config?: RayClusterSpec,
        pub managed_by?: Option<String>,
        pub ..rest,
    }
}

wire_struct! {
    pub struct RayServiceStatus {
        pub conditions?: Vec<Condition>,
        pub active_service_status?: ActiveService,
        pub service_status?: String,
        pub observed_generation?: i64,
    }
}

wire_struct! {
    pub struct ActiveService {
        pub ray_cluster_name?: String,
        pub ray_cluster_status?: RayClusterStatus,
    }
}
