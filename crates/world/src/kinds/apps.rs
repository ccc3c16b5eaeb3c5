//! `apps/v1`: what keeps a number of pods running.

use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use kueue_core::selector::LabelSelector;
use serde_json::Value;

use super::Condition;

const GROUP: &str = "apps";
const VERSION: &str = "v1";

object! {
    /// A number of equal pods.
    pub struct ReplicaSet in GROUP/VERSION/"replicasets", namespaced: true {
        pub spec?: ReplicaSetSpec,
        pub status?: ReplicaSetStatus,
    }
}

wire_struct! {
    pub struct ReplicaSetSpec {
        pub replicas?: Option<i32>,
        pub min_ready_seconds?: i64,
        pub selector?: LabelSelector,
        pub template?: Value,
    }
}

wire_struct! {
    pub struct ReplicaSetStatus {
        pub replicas: i32,
        pub fully_labeled_replicas?: i32,
        pub ready_replicas?: i32,
        pub available_replicas?: i32,
        pub terminating_replicas?: Option<i32>,
        pub observed_generation?: i64,
    }
}

object! {
    /// Equal pods that are replaced step by step when their template changes.
    pub struct Deployment in GROUP/VERSION/"deployments", namespaced: true {
        pub spec?: DeploymentSpec,
        pub status?: DeploymentStatus,
    }
}

wire_struct! {
    pub struct DeploymentSpec {
        pub replicas?: Option<i32>,
        pub min_ready_seconds?: i64,
        pub selector?: LabelSelector,
        pub template?: Value,
        pub strategy?: Strategy,
        pub paused?: bool,
        pub revision_history_limit?: Option<i32>,
        pub progress_deadline_seconds?: Option<i64>,
    }
}

wire_struct! {
    pub struct Strategy {
        /// `RollingUpdate` or `Recreate`.
        pub r#type?: String,
        pub rolling_update?: Option<RollingUpdate>,
    }
}

wire_struct! {
    /// Numbers or percentages.
    pub struct RollingUpdate {
        pub max_unavailable?: Value,
        pub max_surge?: Value,
    }
}

wire_struct! {
    pub struct DeploymentStatus {
        pub observed_generation?: i64,
        pub replicas?: i32,
        pub updated_replicas?: i32,
        pub ready_replicas?: i32,
        pub available_replicas?: i32,
        pub unavailable_replicas?: i32,
        pub terminating_replicas?: Option<i32>,
        pub conditions?: Vec<Condition>,
    }
}

object! {
    /// Pods with numbers that keep their names.
    pub struct StatefulSet in GROUP/VERSION/"statefulsets", namespaced: true {
        pub spec?: StatefulSetSpec,
        pub status?: StatefulSetStatus,
    }
}

wire_struct! {
    pub struct StatefulSetSpec {
        pub replicas?: Option<i32>,
        pub service_name?: String,
        pub template?: Value,
        /// `OrderedReady` or `Parallel`.
        pub pod_management_policy?: String,
        pub update_strategy?: UpdateStrategy,
        pub ordinals?: Option<Ordinals>,
    }
}

wire_struct! {
    pub struct UpdateStrategy {
        /// `RollingUpdate` or `OnDelete`.
        pub r#type?: String,
        pub rolling_update?: Option<Partition>,
    }
}

wire_struct! {
    /// Pods with smaller numbers keep their template.
    pub struct Partition {
        pub partition?: i32,
    }
}

wire_struct! {
    pub struct Ordinals {
        pub start?: i32,
    }
}

wire_struct! {
    pub struct StatefulSetStatus {
        pub observed_generation?: i64,
        pub replicas: i32,
        pub ready_replicas?: i32,
        pub available_replicas: i32,
        pub current_replicas?: i32,
        pub updated_replicas?: i32,
        pub current_revision?: String,
        pub update_revision?: String,
        pub collision_count?: Option<i32>,
    }
}

object! {
    /// One pod on every node that suits.
    pub struct DaemonSet in GROUP/VERSION/"daemonsets", namespaced: true {
        pub spec?: DaemonSetSpec,
        pub status?: DaemonSetStatus,
    }
}

wire_struct! {
    pub struct DaemonSetSpec {
        pub template?: Value,
        pub update_strategy?: UpdateStrategy,
    }
}

wire_struct! {
    pub struct DaemonSetStatus {
        pub current_number_scheduled: i32,
        pub number_misscheduled: i32,
        pub desired_number_scheduled: i32,
        pub number_ready: i32,
        pub observed_generation?: i64,
        pub updated_number_scheduled?: i32,
        pub number_available?: i32,
        pub number_unavailable?: i32,
    }
}
