//! Pods, and what a kubelet tells about them.

use kueue_api::core_v1::PodSpec;
use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use kueue_core::time::Time;
use serde_json::Value;

use super::{Condition, holds};

const GROUP: &str = "";
const VERSION: &str = "v1";

object! {
    /// A group of containers on one node.
    pub struct Pod in GROUP/VERSION/"pods", namespaced: true {
        pub spec?: PodSpec,
        pub status?: PodStatus,
    }
}

wire_struct! {
    pub struct PodStatus {
        /// `Pending`, `Running`, `Succeeded` or `Failed`.
        pub phase?: String,
        pub reason?: String,
        pub message?: String,
        pub conditions?: Vec<Condition>,
        #[serde(rename = "hostIP")]
        pub host_ip?: String,
        #[serde(rename = "hostIPs")]
        pub host_ips?: Vec<Value>,
        #[serde(rename = "podIP")]
        pub pod_ip?: String,
        #[serde(rename = "podIPs")]
        pub pod_ips?: Vec<Value>,
        pub start_time?: Option<Time>,
        pub init_container_statuses?: Vec<ContainerStatus>,
        pub container_statuses?: Vec<ContainerStatus>,
    }
}

wire_struct! {
    pub struct ContainerStatus {
        pub name: String,
        pub image: String,
        #[serde(rename = "imageID")]
        pub image_id: String,
        pub ready: bool,
        pub started?: Option<bool>,
        pub restart_count: i32,
        pub state?: ContainerState,
        pub last_state?: ContainerState,
    }
}

wire_struct! {
    /// One of its fields is there.
    pub struct ContainerState {
        pub waiting?: Option<StateWaiting>,
        pub running?: Option<StateRunning>,
        pub terminated?: Option<StateTerminated>,
    }
}

wire_struct! {
    pub struct StateWaiting {
        pub reason?: String,
        pub message?: String,
    }
}

wire_struct! {
    pub struct StateRunning {
        pub started_at?: Option<Time>,
    }
}

wire_struct! {
    pub struct StateTerminated {
        pub exit_code: i32,
        pub reason?: String,
        pub message?: String,
        pub started_at?: Option<Time>,
        pub finished_at?: Option<Time>,
    }
}

/// Whether a phase is the last one of a pod.
pub fn is_terminal(phase: &str) -> bool {
    matches!(phase, "Succeeded" | "Failed")
}

impl Pod {
    pub(crate) fn is_terminal(&self) -> bool {
        is_terminal(&self.status.phase)
    }

    pub(crate) fn is_going(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    pub(crate) fn is_ready(&self) -> bool {
        holds(&self.status.conditions, "Ready")
    }

    /// Neither ended nor about to.
    pub(crate) fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_going()
    }

    /// When the last of its containers ended.
    pub(crate) fn finished_at(&self) -> Option<Time> {
        let ends = self.status.container_statuses.iter().filter_map(|status| status.state.terminated.as_ref());
        ends.filter_map(|end| end.finished_at).max()
    }
}
