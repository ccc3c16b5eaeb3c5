//! Workload slices: how the Workloads of an elastic job follow its size.
//!
//! A job that shrinks, or that has no quota yet, changes its Workload. A job that grows while it runs gets a second
//! Workload, the new *slice*, which names the one it replaces; both exist until the new one is admitted. [`plan`] says
//! what has to be created, changed and finished, given the job and the Workloads it has; whoever calls it does so.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::gates::{Gate, Gates};

use crate::kueue::names::{annotation, condition, reason};
use crate::kueue::v1beta2::{PodSet, Workload};
use crate::meta::{ConditionStatus, ObjectMeta};

#[cfg(test)]
mod tests;

/// What is said about a slice that the job has outgrown.
const OUT_OF_SYNC: &str = "The workload slice is out of sync with its parent job";
/// What is said about a slice that has a successor.
const REPLACED: &str = "Replaced to accommodate a new workload slice";

/// Pods per pod set.
pub type Counts<'a> = BTreeMap<&'a str, i32>;

/// What is to be done so that the slices of a job are those it needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Slices that nothing stands for any more, by position.
    pub finish: Vec<Finish>,
    /// What stands for the job from now on.
    pub slice: Slice,
}

/// A slice that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// Its position among the Workloads that were given.
    pub workload: usize,
    /// The reason of its condition `Finished`.
    pub reason: &'static str,
    /// The message of that condition.
    pub message: &'static str,
}

/// The slice that stands for a job, by its position among the Workloads that were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    /// A new one has to be created.
    New,
    /// It is as the job is.
    Current(usize),
    /// Its pod counts have to become the job's.
    Resized(usize),
    /// The job has other pod sets than its Workload.
    Incompatible,
}

/// The Workload that a pod belongs to: the first of the slices where there are several.
pub fn of_pod(pod: &ObjectMeta) -> Option<&str> {
    let named = [annotation::WORKLOAD_SLICE_NAME, annotation::WORKLOAD].map(|name| pod.annotations.get(name));
    named.into_iter().flatten().find(|name| !name.is_empty()).map(String::as_str)
}

/// Whether the job or Workload follows its size by slices.
pub fn is_elastic(meta: &ObjectMeta, gates: Gates) -> bool {
    gates.enabled(Gate::ElasticJobsViaWorkloadSlices)
        && meta.annotations.get(annotation::ELASTIC_JOB).is_some_and(|value| value == "true")
}

/// The key of the Workload that this one replaces.
pub fn replacement_for(workload: &Workload) -> Option<&str> {
    workload.metadata.annotations.get(annotation::WORKLOAD_SLICE_REPLACEMENT_FOR).map(String::as_str)
}

/// The name of the first slice of the job, by which its pods are found whatever slice they came with.
pub fn slice_name(workload: &Workload) -> &str {
    let first = workload.metadata.annotations.get(annotation::WORKLOAD_SLICE_NAME).filter(|name| !name.is_empty());
    first.unwrap_or(&workload.metadata.name)
}

/// Those that are not finished, the oldest first.
pub fn unfinished(workloads: impl IntoIterator<Item = Workload>) -> Vec<Workload> {
    let mut found: Vec<Workload> = workloads.into_iter().filter(|wl| !is_true(wl, condition::FINISHED)).collect();
    found.sort_by(|a, b| {
        let (a, b) = (&a.metadata, &b.metadata);
        (a.creation_timestamp, &a.uid).cmp(&(b.creation_timestamp, &b.uid))
    });
    found
}

/// The newest slice that holds quota and keeps it: what the job may use. Takes what [`unfinished`] gives.
pub fn latest_active(slices: &[Workload]) -> Option<&Workload> {
    slices.iter().rev().find(|slice| has_quota(slice) && !is_evicted(slice))
}

/// How many pods each pod set has.
pub fn counts(pod_sets: &[PodSet]) -> Counts<'_> {
    pod_sets.iter().map(|pod_set| (pod_set.name.as_str(), pod_set.count)).collect()
}

/// Whether a pod set lost pods and none gained any; those that only one side has do not count.
pub fn is_scaled_down(old: &Counts<'_>, new: &Counts<'_>) -> bool {
    let has_fewer = |some: &Counts<'_>, others: &Counts<'_>| {
        some.iter().any(|(name, count)| others.get(name).is_some_and(|other| count < other))
    };
    has_fewer(new, old) && !has_fewer(old, new)
}

/// Gives the pod sets the counts of the same name.
pub fn resize(pod_sets: &mut [PodSet], counts: &Counts<'_>) {
    for pod_set in pod_sets {
        if let Some(count) = counts.get(pod_set.name.as_str()) {
            pod_set.count = *count;
        }
    }
}

/// What has to be done for a job with these pod sets and slices. Takes what [`unfinished`] gives.
pub fn plan(job: &[PodSet], slices: &[Workload]) -> Plan {
    let (finish, selected) = match slices {
        [] => (Vec::new(), None),
        [_] => (Vec::new(), Some(0)),
        _ => normalize(slices),
    };
    let slice = selected.map_or(Slice::New, |index| follow(&counts(job), &slices[index], index));
    Plan { finish, slice }
}

fn follow(job: &Counts<'_>, slice: &Workload, index: usize) -> Slice {
    let have = counts(&slice.spec.pod_sets);
    if !job.keys().eq(have.keys()) {
        Slice::Incompatible
    } else if *job == have {
        Slice::Current(index)
    } else if !has_quota(slice) || is_scaled_down(&have, job) {
        Slice::Resized(index)
    } else {
        Slice::New
    }
}

/// Of several slices, keeps the newest one that holds quota and the one that waits to replace it; without the former
/// the newest that is not evicted. All others are finished. Returns those, and the slice that stands for the job.
pub fn normalize(slices: &[Workload]) -> (Vec<Finish>, Option<usize>) {
    let successors = successors(slices);
    let staying = || (0..slices.len()).filter(|index| !is_evicted(&slices[*index]));
    let successor = |index: usize| successors.get(key(&slices[index]).as_str()).copied();
    let holder = staying()
        .filter(|index| has_quota(&slices[*index]))
        .rfind(|index| !successor(*index).is_some_and(|next| has_quota(&slices[next])));
    let waiting = holder.and_then(successor).filter(|next| !has_quota(&slices[*next]));
    let selected = waiting.or(holder).or_else(|| staying().next_back());
    let kept: BTreeSet<usize> = selected.into_iter().chain(holder).collect();
    let finish = (0..slices.len())
        .filter(|index| !kept.contains(index))
        .map(|workload| {
            let (reason, message) = match successor(workload) {
                Some(_) => (reason::finished::WORKLOAD_SLICE_REPLACED, REPLACED),
                None => (reason::finished::OUT_OF_SYNC, OUT_OF_SYNC),
            };
            Finish { workload, reason, message }
        })
        .collect();
    (finish, selected)
}

/// Who replaces whom. If several claim the same place, the first that holds quota counts, else the first.
fn successors(slices: &[Workload]) -> BTreeMap<&str, usize> {
    let mut successors: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, slice) in slices.iter().enumerate().filter(|(_, slice)| !is_evicted(slice)) {
        let Some(replaced) = replacement_for(slice) else { continue };
        let known = successors.get(replaced).copied();
        if known.is_none_or(|known| !has_quota(&slices[known]) && has_quota(slice)) {
            successors.insert(replaced, index);
        }
    }
    successors
}

fn key(workload: &Workload) -> String {
    format!("{}/{}", workload.metadata.namespace, workload.metadata.name)
}

fn has_quota(workload: &Workload) -> bool {
    is_true(workload, condition::QUOTA_RESERVED)
}

fn is_evicted(workload: &Workload) -> bool {
    is_true(workload, condition::EVICTED)
}

fn is_true(workload: &Workload, kind: &str) -> bool {
    let conditions = &workload.status.conditions;
    conditions.iter().any(|condition| condition.r#type == kind && condition.status == ConditionStatus::True)
}
