//! A workload's status as the engine reads and decides it.
//!
//! The values here mirror what the API shows: what a condition says, what was admitted, how far checks are. Every
//! change goes through the functions of this module, so that reasons, transition times and the rule "a write that
//! changes nothing is none" hold everywhere.

pub(crate) mod admitted;
pub(crate) mod eviction;
pub(crate) mod history;
mod shared;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::time::Time;
use serde::{Deserialize, Serialize};

use crate::id::Name;
use crate::placement::Toleration;
use crate::text;
use crate::topology::TopologyAssignment;

pub(crate) use shared::SharedStatus;

/// A reason of a condition: one of Kueue's words, or what somebody else wrote.
pub type Reason = Cow<'static, str>;

/// The conditions of a Workload that take part in decisions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum ConditionKind {
    /// Quota is held.
    QuotaReserved,
    /// The job may run.
    Admitted,
    /// The job must stop.
    Evicted,
    /// The eviction makes room for another workload.
    Preempted,
    /// Whether an evicted workload is queued again.
    Requeued,
    /// The job is over.
    Finished,
    /// All pods run.
    PodsReady,
    /// Somebody decided that the workload is to be deactivated.
    DeactivationTarget,
    /// Preemption is needed and held back.
    BlockedOnPreemptionGates,
    /// A pod group lost pods and waits for others.
    WaitingForReplacementPods,
}

/// What a condition says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// Nobody knows.
    Unknown,
}

/// One condition.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Condition {
    /// Which one.
    pub kind: ConditionKind,
    /// What it says.
    pub verdict: Verdict,
    /// Why, in one word.
    pub reason: Reason,
    /// Why, in a sentence.
    pub message: Name,
    /// Since when it says so.
    pub since: Time,
    /// The generation of the object that was looked at.
    pub generation: i64,
}

/// The state of one admission check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckState {
    /// The AdmissionCheck.
    pub name: Name,
    /// How far it is.
    pub progress: CheckProgress,
    /// What its controller says.
    pub message: Name,
    /// Since when it is that far.
    pub since: Time,
    /// How long to wait before another attempt.
    pub requeue_after_s: Option<i32>,
    /// How often it asked for another attempt.
    pub retries: Option<i32>,
    /// What it adds to the pods.
    pub pod_set_updates: Vec<PodSetUpdate>,
}

/// What an admission check adds to the pods of a pod set, as far as it decides where they may run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PodSetUpdate {
    /// The pod set.
    pub name: Name,
    /// Labels that nodes must have.
    pub node_selector: BTreeMap<Name, Name>,
    /// Taints that the pods can live with.
    pub tolerations: Vec<Toleration>,
}

/// How far an admission check is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CheckProgress {
    /// No answer yet.
    Pending,
    /// The workload may start.
    Ready,
    /// Not now: evict and try again.
    Retry,
    /// Never.
    Rejected,
}

/// Quota that a workload holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Admission {
    /// The ClusterQueue.
    pub queue: Name,
    /// In the order of the workload's pod sets.
    pub pod_sets: Vec<PodSetAdmission>,
}

/// Quota that one pod set holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PodSetAdmission {
    /// The pod set.
    pub name: Name,
    /// How many pods; the count of the spec where it is missing.
    pub count: Option<i32>,
    /// The flavor of each resource, by resource name.
    pub flavors: Vec<(Name, Name)>,
    /// What all pods use together, by resource name: milli-units of cpu, units of everything else.
    pub usage: Vec<(Name, i64)>,
    /// Where its pods go.
    pub topology: Option<Arc<TopologyAssignment>>,
    /// Why what was written about their places cannot be read, where that is so.
    pub unreadable: Option<Name>,
    /// Present where its pods get their places only after its checks.
    pub delayed: Option<Delayed>,
}

/// How far a pod set is that gets its places later than its quota.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Delayed {
    /// It waits for them.
    Pending,
    /// It has them.
    Ready,
}

impl PodSetAdmission {
    /// Whether its pods have quota and no place yet.
    pub(crate) fn is_placement_pending(&self) -> bool {
        self.topology.is_none() && self.delayed == Some(Delayed::Pending)
    }

    /// Whether some of its pods are on that node.
    pub(crate) fn is_on(&self, node: &str) -> bool {
        self.topology.iter().flat_map(|topology| &topology.domains).any(|domain| domain.is_on(node))
    }
}

/// What one pod set asks for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PodSetRequests {
    /// The pod set.
    pub name: Name,
    /// What all pods need together, by resource name: milli-units of cpu, units of everything else.
    pub requests: Vec<(Name, i64)>,
}

/// When and how often an evicted workload is queued again.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Requeue {
    /// Evictions so far that counted.
    pub count: Option<i32>,
    /// Not before.
    pub at: Option<Time>,
}

/// How often a workload was evicted for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct EvictionCount {
    /// The reason.
    pub reason: Reason,
    /// What was behind it.
    pub cause: Reason,
    /// How often.
    pub count: i32,
}

/// The state of a gate that keeps a workload from preempting others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PreemptionGate {
    /// Its name.
    pub name: Name,
    /// Whether it lets the workload preempt.
    pub is_open: bool,
    /// Since when.
    pub since: Time,
}

/// The status of a workload.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Status {
    /// In the order in which they were first set.
    pub conditions: Vec<Condition>,
    /// What it holds.
    pub admission: Option<Arc<Admission>>,
    /// The worker cluster it runs on.
    pub cluster: Option<Name>,
    /// What it waits for, in the order of its pod sets; nothing while it holds quota.
    pub requests: Arc<[PodSetRequests]>,
    /// Its checks, by name.
    pub checks: Vec<CheckState>,
    /// Its backoff.
    pub requeue: Option<Requeue>,
    /// Pods per pod set that are done and need nothing any more.
    pub reclaimable: Vec<(Name, i32)>,
    /// Seconds that it ran before earlier evictions.
    pub past_execution_s: Option<i32>,
    /// How often it was evicted, by reason.
    pub evictions: Vec<EvictionCount>,
    /// Worker clusters that are asked to run it.
    pub nominated_clusters: Vec<Name>,
    /// Nodes that pods of it failed on.
    pub unhealthy_nodes: Vec<Name>,
    /// Its preemption gates.
    pub preemption_gates: Vec<PreemptionGate>,
}

/// Where a workload is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// It waits.
    Pending,
    /// It has quota, and waits for its checks.
    Reserved,
    /// It may run.
    Admitted,
    /// It is over.
    Finished,
}

impl Stage {
    /// Whether quota comes free when that stage follows this one.
    pub fn loses_quota_as(self, next: Self) -> bool {
        matches!(self, Self::Reserved | Self::Admitted) && next == Self::Pending
    }
}

impl Status {
    /// The condition of that kind.
    pub fn condition(&self, kind: ConditionKind) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.kind == kind)
    }

    /// Whether the condition of that kind is there and true.
    pub fn is_true(&self, kind: ConditionKind) -> bool {
        self.condition(kind).is_some_and(|condition| condition.verdict == Verdict::True)
    }

    /// Whether the condition of that kind is there and false.
    pub fn is_false(&self, kind: ConditionKind) -> bool {
        self.condition(kind).is_some_and(|condition| condition.verdict == Verdict::False)
    }

    /// Whether it holds quota.
    pub fn has_reservation(&self) -> bool {
        self.is_true(ConditionKind::QuotaReserved)
    }

    /// Whether it is on its way out.
    pub fn is_evicted(&self) -> bool {
        self.is_true(ConditionKind::Evicted)
    }

    /// Where it is on its way.
    pub fn stage(&self) -> Stage {
        if self.is_true(ConditionKind::Finished) {
            Stage::Finished
        } else if !self.has_reservation() {
            // Whoever is said to be admitted without quota is not.
            Stage::Pending
        } else if self.is_true(ConditionKind::Admitted) {
            Stage::Admitted
        } else {
            Stage::Reserved
        }
    }

    /// Whether its job wants no quota for now.
    pub fn is_on_hold(&self) -> bool {
        self.condition(ConditionKind::QuotaReserved)
            .is_some_and(|reserved| reserved.verdict == Verdict::False && reserved.reason == text::ON_HOLD)
    }

    pub(crate) fn requeue_at(&self) -> Option<Time> {
        self.requeue.as_ref().and_then(|requeue| requeue.at)
    }

    pub(crate) fn clear_requeue_at(&mut self) {
        if let Some(requeue) = &mut self.requeue {
            requeue.at = None;
        }
    }

    /// Whether the same pods are done, in whatever order they are listed.
    pub fn reclaims_like(&self, other: &Self) -> bool {
        is_same_reclaim(&self.reclaimable, &other.reclaimable)
    }

    pub(crate) fn any_check(&self, progress: CheckProgress) -> bool {
        self.checks.iter().any(|check| check.progress == progress)
    }

    pub(crate) fn are_checks_ready(&self) -> bool {
        self.checks.iter().all(|check| check.progress == CheckProgress::Ready)
    }

    /// Notes what the pods were found to request; says whether that is news.
    pub fn set_requests(&mut self, requests: Vec<PodSetRequests>) -> bool {
        let is_news = self.requests[..] != requests;
        if is_news {
            self.requests = requests.into();
        }
        is_news
    }

    /// Whether setting the condition would change nothing.
    pub(crate) fn says(&self, new: &Condition) -> bool {
        let message = text::condition_message(new.message.clone());
        self.condition(new.kind).is_some_and(|old| {
            old.verdict == new.verdict
                && old.reason == new.reason
                && old.message == message
                && old.generation == new.generation
        })
    }

    /// Sets a condition; says whether that changed anything but the time. The time moves with the verdict only.
    pub fn set(&mut self, mut new: Condition) -> bool {
        new.message = text::condition_message(new.message);
        let Some(old) = self.conditions.iter_mut().find(|condition| condition.kind == new.kind) else {
            self.conditions.push(new);
            return true;
        };
        if old.verdict == new.verdict {
            new.since = old.since;
        }
        let is_changed = *old != new;
        *old = new;
        is_changed
    }

    pub(crate) fn remove(&mut self, kind: ConditionKind) {
        self.conditions.retain(|condition| condition.kind != kind);
    }
}

/// Whether two lists of done pods say the same; of a name that is listed twice the last counts.
pub(crate) fn is_same_reclaim(a: &[(Name, i32)], b: &[(Name, i32)]) -> bool {
    let count =
        |pods: &[(Name, i32)], name: &Name| pods.iter().rev().find(|(known, _)| known == name).map(|(_, count)| *count);
    let covers = |pods: &[(Name, i32)], others: &[(Name, i32)]| {
        pods.iter().all(|(name, _)| count(pods, name) == count(others, name))
    };
    a.len() == b.len() && covers(a, b) && covers(b, a)
}
