//! What the engine decided, as values: the one way out.
//!
//! The engine performs nothing. Whoever owns it writes statuses and events to the API server, and tells the outcome
//! as another [`Change`](crate::Change).

use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::status::history::Release;
use crate::status::{Reason, Status};

/// The name of a workload or of a LocalQueue.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Its namespace.
    pub namespace: Name,
    /// Its name.
    pub name: Name,
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// One thing to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// The workload's status is to be this.
    Status {
        /// The workload.
        workload: Key,
        /// All of what the engine decides about it.
        status: Arc<Status>,
        /// What made it different.
        decision: Decision,
    },
    /// The workload's finalizer is to be removed: it holds nothing that would have to be given back.
    Unguard(Key),
    /// The workload, finished long ago, is to be deleted.
    Delete(Key),
    /// The job of the workload, switched off long ago, is to be deleted.
    DeleteJob(Key),
    /// The workload is to be switched off (`spec.active: false`).
    Deactivate(Key),
    /// The workload is to be marked as the parent of variants (label `kueue.x-k8s.io/concurrent-admission-parent`).
    MarkParent(Key),
    /// What a LocalQueue used, for its status.
    Consumed {
        /// The LocalQueue.
        local_queue: Key,
        /// By resource, older usage counting less.
        consumed: ResourceList,
        /// When that was counted.
        at: Time,
    },
    /// Something that users may want to read.
    Event(Event),
}

/// What a status was changed for.
#[derive(Clone, PartialEq, Debug)]
pub enum Decision {
    /// Quota was reserved.
    Reserved,
    /// It had quota, and was given places.
    Placed,
    /// An attempt failed; it waits.
    Waiting,
    /// It must go, to make room for another one.
    Preempted {
        /// By which rule.
        reason: Reason,
        /// For whom.
        preemptor: Key,
    },
    /// A larger slice of its job took its place.
    Replaced {
        /// Which one.
        by: Key,
    },
    /// It must go, for another reason.
    Evicted(Reason),
    /// Its job has stopped, so its quota is free again.
    Released(Release),
    /// A step of its life cycle outside scheduling.
    LifeCycle,
}

/// An event about a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The workload.
    pub workload: Key,
    /// Whether something is wrong.
    pub is_warning: bool,
    /// In one word.
    pub reason: Reason,
    /// In a sentence.
    pub message: String,
    /// Told instead when what was decided cannot be written.
    pub otherwise: Option<Box<Event>>,
}
