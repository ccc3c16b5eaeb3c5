//! Lets the pods of elastic jobs run, as many as the admitted slice has.
//!
//! The pods of a job are created with a gate, whatever slice they were created for. The slice that is admitted says how
//! many of each pod set may be without it; what its checks add to pods is added before the gate goes.

pub mod controller;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::kueue::names::{SCHEDULING_GATE_ELASTIC_JOB, annotation, condition, label};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::slices;
use kueue_core::gates::Gates;

use crate::kinds::pod::{Pod, has_gate};
use crate::step::is_true;

/// Annotations by which the autoscaler knows the pods of a request; once set they stay.
const OF_THE_AUTOSCALER: [&str; 2] =
    ["autoscaling.x-k8s.io/consume-provisioning-request", "autoscaling.x-k8s.io/provisioning-class-name"];

/// Two checks want the same thing to be different.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("conflicting {key:?} {what} updates for PodSet {pod_set:?}")]
pub struct Contradiction {
    pod_set: String,
    what: &'static str,
    key: String,
}

/// Whether pods may run because of this Workload.
pub fn lets_run(workload: &Workload, gates: Gates) -> bool {
    slices::is_elastic(&workload.metadata, gates)
        && !is_true(workload, condition::FINISHED)
        && is_true(workload, condition::ADMITTED)
}

/// The slice of a job that says how many pods may run, if there is one. Quota alone is not enough: checks may be pending.
pub fn active(slices: impl IntoIterator<Item = Workload>, gates: Gates) -> Option<Workload> {
    let slices = slices::unfinished(slices);
    slices::latest_active(&slices).filter(|slice| lets_run(slice, gates)).cloned()
}

/// By which name the slices of a pod are found; none for pods of other jobs.
pub fn slice_name(pod: &Pod) -> Option<&str> {
    let annotations = &pod.metadata.annotations;
    let name = annotations.get(annotation::WORKLOAD_SLICE_NAME).or_else(|| annotations.get(annotation::WORKLOAD))?;
    (!name.is_empty()).then_some(name)
}

/// The pods that may run now, each with what it is to become. `pods` are all of the job.
pub fn ungate(active: &Workload, pods: &[Arc<Pod>]) -> Result<Vec<(Arc<Pod>, Pod)>, Contradiction> {
    let mut gated: BTreeMap<&str, Vec<&Arc<Pod>>> = BTreeMap::new();
    let mut running: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| !matches!(pod.status.phase.as_str(), "Succeeded" | "Failed")) {
        let pod_set = pod.metadata.labels.get(label::POD_SET).map_or("", String::as_str);
        match has_gate(&pod.spec, SCHEDULING_GATE_ELASTIC_JOB) {
            true => gated.entry(pod_set).or_default().push(pod),
            false => *running.entry(pod_set).or_default() += 1,
        }
    }
    let granted = slices::counts(&active.spec.pod_sets);
    let mut free = Vec::new();
    for (pod_set, mut waiting) in gated {
        let additions = Additions::of(active, pod_set)?;
        waiting.retain(|pod| additions.agree_with(pod));
        waiting.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let granted = granted.get(pod_set).copied().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        let room = granted.saturating_sub(running.get(pod_set).copied().unwrap_or(0));
        free.extend(waiting.into_iter().take(room).map(|pod| (Arc::clone(pod), additions.ungated(pod))));
    }
    Ok(free)
}

/// What checks add to the pods of a pod set.
#[derive(Debug, Default)]
struct Additions {
    annotations: BTreeMap<String, String>,
    node_selector: BTreeMap<String, String>,
}

impl Additions {
    fn of(active: &Workload, pod_set: &str) -> Result<Self, Contradiction> {
        let mut all = Self::default();
        let add = |to: &mut BTreeMap<String, String>, what: &'static str, key: &str, value: &str| match to
            .insert(key.to_owned(), value.to_owned())
        {
            Some(old) if old != value => Err(Contradiction { pod_set: pod_set.to_owned(), what, key: key.to_owned() }),
            _ => Ok(()),
        };
        let updates = active.status.admission_checks.iter().flat_map(|check| &check.pod_set_updates);
        for update in updates.filter(|update| update.name == pod_set) {
            for key in OF_THE_AUTOSCALER {
                if let Some(value) = update.annotations.get(key) {
                    add(&mut all.annotations, "annotation", key, value)?;
                }
            }
            for (key, value) in &update.node_selector {
                add(&mut all.node_selector, "node selector", key, value)?;
            }
        }
        Ok(all)
    }

    /// A pod that was made for another request to the autoscaler stays where it is until it is made anew.
    fn agree_with(&self, pod: &Pod) -> bool {
        let agree = |wanted: &BTreeMap<String, String>, present: &BTreeMap<String, String>| {
            wanted.iter().all(|(key, value)| present.get(key).is_none_or(|present| present == value))
        };
        agree(&self.annotations, &pod.metadata.annotations) && agree(&self.node_selector, &pod.spec.node_selector)
    }

    fn ungated(&self, pod: &Pod) -> Pod {
        let mut free = pod.clone();
        free.metadata.annotations.extend(self.annotations.clone());
        free.spec.node_selector.extend(self.node_selector.clone());
        free.spec.scheduling_gates.retain(|gate| gate.name != SCHEDULING_GATE_ELASTIC_JOB);
        free
    }
}
