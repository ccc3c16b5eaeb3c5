//! A group of pods that are admitted together, and what it says about itself.
//!
//! The pods name their group, and each says how many there are in all. The first of them, by name, speaks for the group
//! where all should say the same; what must agree is checked before a Workload is made.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, condition, label};
use kueue_api::kueue::v1beta2::{PodSet, ReclaimablePod, Workload};
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::Gates;
use kueue_core::time::Time;

use super::Pod;
use crate::job::Finish;
use crate::step::is_true;
use crate::topology_request::BadTopologyRequest;
use crate::workload::queue_name;

/// So many roles a group may have: a Workload has no more pod sets.
const ROLES_MAX: usize = 18;
const TOTAL: &str = annotation::POD_GROUP_TOTAL_COUNT;

/// Why no Workload can be made for a group.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadGroup {
    #[error("failed to extract '{TOTAL}' annotation")]
    NoTotal,
    #[error("{0}")]
    TotalIsNoNumber(#[from] NotANumber),
    #[error("incorrect annotation value '{TOTAL}={0}': group total count should be greater than zero")]
    TotalTooSmall(String),
    #[error("failed to extract '{TOTAL}' annotation from the pod '{pod}': {error}")]
    MemberTotal { pod: String, error: NotANumber },
    #[error("incorrect label value {value:?} for Pod {pod:?}: {error}")]
    Index { value: String, pod: String, error: BadIndex },
    #[error("'{0}' group has fewer runnable pods than expected")]
    Incomplete(String),
    #[error("pods '{first}' and '{other}' has different queue names: {queue}!={other_queue}")]
    Queues { first: String, other: String, queue: String, other_queue: String },
    #[error("pods '{first}' and '{other}' has different '{TOTAL}' values: {total}!={other_total}")]
    Totals { first: String, other: String, total: usize, other_total: i64 },
    #[error("pod group can't include more than {ROLES_MAX} roles")]
    TooManyRoles,
    #[error("failed to find a runnable pod in the group")]
    NobodyRuns,
    #[error("constructing workload: pods have different label values")]
    Labels,
    #[error("constructing workload: pods have different annotation values")]
    Annotations,
    #[error(transparent)]
    Topology(#[from] BadTopologyRequest),
}

impl BadGroup {
    /// Whether the group stays as it is until one of its pods changes, so that looking again is of no use.
    pub fn is_lasting(&self) -> bool {
        matches!(
            self,
            Self::Incomplete(_) | Self::Queues { .. } | Self::Totals { .. } | Self::TooManyRoles | Self::Topology(_)
        )
    }

    /// Whether users are told by an event.
    pub fn is_told(&self) -> bool {
        matches!(self, Self::Incomplete(_) | Self::Topology(_))
    }
}

/// A text that should be a number, in the words of Go.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("strconv.{function}: parsing {text:?}: {reason}")]
pub struct NotANumber {
    function: &'static str,
    text: String,
    reason: &'static str,
}

/// Why a label is no index of a pod.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadIndex {
    #[error("invalid unsigned integer: {0}")]
    NotANumber(#[from] NotANumber),
    #[error("validation error: value should be less than {bound}")]
    TooLarge { bound: usize },
}

fn number(text: &str) -> Result<i64, NotANumber> {
    text.parse().map_err(|error| not_a_number("Atoi", text, &error))
}

fn not_a_number(function: &'static str, text: &str, error: &std::num::ParseIntError) -> NotANumber {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    let is_far = matches!(error.kind(), PosOverflow | NegOverflow);
    let reason = if is_far { "value out of range" } else { "invalid syntax" };
    NotANumber { function, text: text.to_owned(), reason }
}

/// The number that a label holds, if there is the label.
pub fn index_below(meta: &ObjectMeta, key: &str, bound: usize) -> Result<Option<usize>, BadIndex> {
    let Some(text) = meta.labels.get(key) else { return Ok(None) };
    // Unlike ours, Go's numbers without a sign take none at all.
    let parsed = if text.starts_with('+') { "+".parse() } else { text.parse::<u64>() };
    let value = parsed.map_err(|error| not_a_number("ParseUint", text, &error))?;
    let index = usize::try_from(value).ok().filter(|index| *index < bound);
    index.map(Some).ok_or(BadIndex::TooLarge { bound })
}

/// How many pods a group has in all, as one of its pods says.
pub fn total_count(meta: &ObjectMeta) -> Result<usize, BadGroup> {
    let text = meta.annotations.get(TOTAL).ok_or(BadGroup::NoTotal)?;
    let total = usize::try_from(number(text)?).unwrap_or(0);
    if total == 0 { Err(BadGroup::TotalTooSmall(text.clone())) } else { Ok(total) }
}

/// Whether the Workload was made for a group of pods.
pub fn is_group_workload(workload: &Workload) -> bool {
    workload.metadata.annotations.get(annotation::IS_GROUP_WORKLOAD).is_some_and(|value| value == label::TRUE)
}

impl Pod {
    fn says(&self, key: &str, value: &str) -> bool {
        self.metadata.annotations.get(key).is_some_and(|said| said == value)
    }

    /// Whether its group needs not be complete to be admitted.
    pub fn is_fast(&self) -> bool {
        self.says(annotation::POD_GROUP_FAST_ADMISSION, label::TRUE)
    }

    /// Whether its group runs until somebody ends it.
    pub fn is_serving(&self) -> bool {
        self.says(annotation::POD_GROUP_SERVING, label::TRUE)
    }

    /// Whether its group is over when nothing of it runs any more, instead of waiting for replacements.
    pub fn is_unretriable(&self) -> bool {
        self.says(annotation::RETRIABLE_IN_GROUP, "false")
    }
}

/// Pods that say they belong together. There is at least one.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    pub name: &'a str,
    /// All of them, by name.
    pub pods: Vec<Arc<Pod>>,
    pub now: Time,
    /// Whether all that was done to its pods was seen.
    pub is_settled: bool,
}

impl Group<'_> {
    /// The pod that speaks for the group.
    pub fn first(&self) -> &Arc<Pod> {
        &self.pods[0]
    }

    /// Whether and how the group ended.
    pub fn finished(&self, members: &[Arc<Pod>]) -> Option<Finish> {
        let total = total_count(&self.first().metadata).ok().filter(|_| !self.first().is_serving())?;
        let succeeded = members.iter().filter(|pod| pod.has_succeeded()).count();
        let is_given_up =
            members.iter().all(|pod| pod.is_terminated()) && members.iter().any(|pod| pod.is_unretriable());
        let finish = || Finish { is_success: true, message: format!("Pods succeeded: {succeeded}/{total}.") };
        (succeeded == total || is_given_up).then(finish)
    }

    pub fn pods_ready(&self, members: &[Arc<Pod>]) -> bool {
        let total = total_count(&self.first().metadata);
        total.is_ok_and(|total| members.len() >= total) && members.iter().all(|pod| pod.is_ready())
    }

    /// Pods that are done, per role; a group that serves keeps what it has.
    pub fn reclaimable_pods(&self, members: &[Arc<Pod>]) -> Vec<ReclaimablePod> {
        let mut done: Vec<ReclaimablePod> = Vec::new();
        for pod in members.iter().filter(|pod| pod.has_succeeded() && !self.first().is_serving()) {
            let role = pod.role();
            match done.iter_mut().find(|known| known.name == role) {
                Some(known) => known.count += 1,
                None => done.push(ReclaimablePod { name: role, count: 1 }),
            }
        }
        done
    }

    /// What the group needs. One that need not be complete is taken to consist of pods like the first that can run.
    pub fn pod_sets(&self, members: &[Arc<Pod>], gates: Gates) -> Result<Vec<PodSet>, BadGroup> {
        if !self.first().is_fast() {
            return Ok(pod_sets(members, gates)?);
        }
        let total = total_count(&self.first().metadata)?;
        let pod = members.iter().find(|pod| pod.is_runnable_or_succeeded()).ok_or(BadGroup::NobodyRuns)?;
        let count = i32::try_from(total).unwrap_or(i32::MAX);
        Ok(vec![PodSet { name: pod.role(), count, ..pod.pod_set(gates)? }])
    }

    /// Whether all pods agree on what makes them a group; `runnable` of them run, may run or ran.
    pub fn check(&self, members: &[Arc<Pod>], runnable: usize) -> Result<usize, BadGroup> {
        let meta = &self.first().metadata;
        let total = total_count(meta)?;
        index_below(meta, label::POD_GROUP_POD_INDEX, total).map_err(|error| BadGroup::Index {
            value: meta.labels.get(label::POD_GROUP_POD_INDEX).cloned().unwrap_or_default(),
            pod: format!("{}/{}", meta.namespace, meta.name),
            error,
        })?;
        if !self.first().is_fast() && runnable < total {
            return Err(BadGroup::Incomplete(self.name.to_owned()));
        }
        for pod in members.iter().filter(|pod| pod.status.phase != "Failed") {
            let (first, other) = (meta.name.clone(), pod.metadata.name.clone());
            let (queue, other_queue) = (queue_name(meta).to_owned(), queue_name(&pod.metadata).to_owned());
            if queue != other_queue {
                return Err(BadGroup::Queues { first, other, queue, other_queue });
            }
            let text = pod.metadata.annotations.get(TOTAL).map_or("", String::as_str);
            let other_total = number(text).map_err(|error| BadGroup::MemberTotal { pod: other.clone(), error })?;
            if usize::try_from(other_total) != Ok(total) {
                return Err(BadGroup::Totals { first, other, total, other_total });
            }
        }
        Ok(total)
    }

    /// Whether a Workload stands for these pod sets: it has their roles, and no fewer pods of any.
    pub fn fits(&self, pod_sets: &[PodSet], workload: &Workload, name: &str) -> bool {
        let is_finished = is_true(workload, condition::FINISHED);
        let have = &workload.spec.pod_sets;
        if workload.metadata.name != name || (!is_finished && have.len() < pod_sets.len()) {
            return false;
        }
        // Both lists are in the order of their names, so each role is sought after the one before it.
        let mut rest = have.iter();
        pod_sets.iter().all(|wanted| {
            let found = rest.find(|present| present.name == wanted.name);
            found.is_some_and(|present| is_finished || present.count >= wanted.count)
        })
    }
}

/// One pod set per role, by name.
pub fn pod_sets(members: &[Arc<Pod>], gates: Gates) -> Result<Vec<PodSet>, BadTopologyRequest> {
    let mut found: Vec<PodSet> = Vec::new();
    for pod in members.iter().filter(|pod| pod.is_runnable_or_succeeded()) {
        let role = pod.role();
        match found.iter_mut().find(|known| known.name == role) {
            Some(known) => known.count += 1,
            None => found.push(PodSet { name: role, ..pod.pod_set(gates)? }),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// Refuses a group with more roles than a Workload has pod sets.
pub fn check_roles(pod_sets: &[PodSet]) -> Result<(), BadGroup> {
    if pod_sets.len() > ROLES_MAX { Err(BadGroup::TooManyRoles) } else { Ok(()) }
}
