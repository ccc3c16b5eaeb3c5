//! The kinds that the world plays with, as far as it reads or writes them. What a view does not name stays as it is on
//! the server, because nothing is ever written whole.

mod apps;
mod cron_job;
mod job;
mod node;
mod pod;
mod ray;
mod service;

pub use apps::{
    DaemonSet, DaemonSetStatus, Deployment, DeploymentStatus, ReplicaSet, ReplicaSetStatus, StatefulSet,
    StatefulSetStatus,
};
pub use cron_job::{CronJob, CronJobSpec, CronJobStatus, JobReference};
pub use job::{Job, JobSpec, JobStatus, OnExitCodes, PodFailureRule, UncountedPods};
pub use node::{Node, NodeStatus};
pub use pod::{
    ContainerState, ContainerStatus, Pod, PodStatus, StateRunning, StateTerminated, StateWaiting, is_terminal,
};
pub use ray::{ActiveService, RayCluster, RayClusterSpec, RayClusterStatus, RayJob, RayJobStatus, RayService};
pub use service::{EndpointSlice, Endpoints, Namespace, Service, ServiceAccount, ServicePort};

use kueue_api::meta::{Object, OwnerReference};
use kueue_api::wire::wire_struct;
use kueue_core::time::Time;

wire_struct! {
    /// One thing that is known about an object of a built-in kind.
    pub struct Condition {
        pub r#type: String,
        /// `True`, `False` or `Unknown`.
        pub status: String,
        pub last_heartbeat_time?: Option<Time>,
        pub last_probe_time?: Option<Time>,
        pub last_update_time?: Option<Time>,
        pub last_transition_time?: Option<Time>,
        pub reason?: String,
        pub message?: String,
        pub observed_generation?: Option<i64>,
    }
}

impl Condition {
    pub(crate) fn new(kind: &str, holds: bool, reason: &str, message: &str, now: Time) -> Self {
        Self {
            r#type: kind.to_owned(),
            status: if holds { "True" } else { "False" }.to_owned(),
            last_transition_time: Some(now),
            reason: reason.to_owned(),
            message: message.to_owned(),
            ..Self::default()
        }
    }

    pub(crate) fn holds(&self) -> bool {
        self.status == "True"
    }
}

/// Whether a condition of that type holds.
pub(crate) fn holds(conditions: &[Condition], kind: &str) -> bool {
    conditions.iter().any(|condition| condition.r#type == kind && condition.holds())
}

/// Sets a condition; the time of its last change stays while its status does.
pub(crate) fn set_condition(conditions: &mut Vec<Condition>, mut new: Condition) {
    match conditions.iter_mut().find(|known| known.r#type == new.r#type) {
        None => conditions.push(new),
        Some(known) => {
            if known.status == new.status {
                new.last_transition_time = known.last_transition_time;
            }
            *known = new;
        }
    }
}

/// The one that manages an object.
pub(crate) fn controller_of<T: Object>(object: &T) -> Option<&OwnerReference> {
    object.metadata().owner_references.iter().find(|owner| owner.controller == Some(true))
}

/// A reference by which `owner` manages what it makes.
pub(crate) fn owned_by<T: Object>(owner: &T) -> OwnerReference {
    let meta = owner.metadata();
    OwnerReference {
        api_version: T::api_version(),
        kind: T::KIND.to_owned(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}
