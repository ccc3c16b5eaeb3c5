//! What is put into the pods of a job when it starts, and taken out again when it stops.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use kueue_core::gates::{Gate, Gates};

use crate::core_v1::{Affinity, PodSchedulingGate, PodTemplateSpec, Toleration};
use crate::kueue::names::{SCHEDULING_GATE_TOPOLOGY, annotation};
use crate::kueue::v1beta2::{PodSet, PodSetAssignment, PodSetUpdate, ResourceFlavor};
use crate::lookup::NotFound;

/// The part of a pod set that starting and stopping a job changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PodSetInfo {
    pub name: String,
    pub count: i32,
    pub annotations: BTreeMap<String, String>,
    pub labels: BTreeMap<String, String>,
    pub node_selector: BTreeMap<String, String>,
    pub affinity: Option<Affinity>,
    pub tolerations: Vec<Toleration>,
    pub scheduling_gates: Vec<PodSchedulingGate>,
}

/// Two sources want different values for one key. Trying again does not help.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// `annotations`, `labels` or `nodeSelector`.
    pub field: &'static str,
    pub key: String,
    pub present: String,
    pub added: String,
}

impl PodSetInfo {
    /// What the flavors that a pod set was assigned ask of its pods; `flavor` looks them up.
    pub fn from_assignment<'f>(
        assignment: &PodSetAssignment,
        pod_set: &PodSet,
        gates: Gates,
        flavor: impl Fn(&str) -> Option<&'f ResourceFlavor>,
    ) -> Result<Self, NotFound> {
        let mut info =
            Self { name: assignment.name.clone(), count: assignment.count.unwrap_or(pod_set.count), ..Self::default() };
        if gates.enabled(Gate::TopologyAwareScheduling) && assignment.topology_assignment.is_some() {
            info.wait_for_topology(pod_set);
        }
        let mut seen = BTreeSet::new();
        for name in assignment.flavors.values().filter(|name| seen.insert(name.as_str())) {
            let spec = &flavor(name).ok_or_else(|| NotFound::of::<ResourceFlavor>(name))?.spec;
            info.node_selector.extend(spec.node_labels.clone());
            info.tolerations.extend(spec.tolerations.iter().cloned());
        }
        Ok(info)
    }

    /// The pods are held until each is told its domain. A pod set placed without having asked says so, for those that
    /// read the annotation of its pods.
    fn wait_for_topology(&mut self, pod_set: &PodSet) {
        let asks = pod_set.topology_request.as_ref().is_some_and(|request| {
            request.required.is_some() || request.preferred.is_some() || request.unconstrained.is_some()
        });
        if !asks {
            self.annotations.insert(annotation::UNCONSTRAINED_TOPOLOGY.to_owned(), "true".to_owned());
        }
        self.scheduling_gates
            .push(PodSchedulingGate { name: SCHEDULING_GATE_TOPOLOGY.to_owned(), ..PodSchedulingGate::default() });
    }

    /// What an admission check asks of the pods.
    pub fn from_update(update: &PodSetUpdate) -> Self {
        Self {
            annotations: update.annotations.clone(),
            labels: update.labels.clone(),
            node_selector: update.node_selector.clone(),
            tolerations: update.tolerations.clone(),
            ..Self::default()
        }
    }

    /// The pods as they were before the job started.
    pub fn from_pod_set(pod_set: &PodSet) -> Self {
        let affinity = pod_set.template.spec.affinity.clone();
        Self { name: pod_set.name.clone(), count: pod_set.count, affinity, ..Self::from_template(&pod_set.template) }
    }

    fn from_template(template: &PodTemplateSpec) -> Self {
        Self {
            annotations: template.metadata.annotations.clone(),
            labels: template.metadata.labels.clone(),
            node_selector: template.spec.node_selector.clone(),
            tolerations: template.spec.tolerations.clone(),
            scheduling_gates: template.spec.scheduling_gates.clone(),
            ..Self::default()
        }
    }

    /// Adds what the other asks for; nothing is changed when they disagree.
    pub fn merge(&mut self, other: &Self) -> Result<(), Conflict> {
        check("annotations", &self.annotations, &other.annotations)?;
        check("labels", &self.labels, &other.labels)?;
        check("nodeSelector", &self.node_selector, &other.node_selector)?;
        self.annotations.extend(other.annotations.clone());
        self.labels.extend(other.labels.clone());
        self.node_selector.extend(other.node_selector.clone());
        for toleration in &other.tolerations {
            if !self.tolerations.iter().any(|present| present.is_same(toleration)) {
                self.tolerations.push(toleration.clone());
            }
        }
        for gate in &other.scheduling_gates {
            if !self.scheduling_gates.contains(gate) {
                self.scheduling_gates.push(gate.clone());
            }
        }
        Ok(())
    }

    /// Adds this to the pods of a job that starts; nothing is changed when they disagree.
    pub fn merge_into(&self, template: &mut PodTemplateSpec, gates: Gates) -> Result<(), Conflict> {
        let mut merged = Self::from_template(template);
        for key in self.overridden_annotations(gates) {
            merged.annotations.remove(*key);
        }
        merged.merge(self)?;
        merged.write(template);
        Ok(())
    }

    /// Annotations whose old value gives way: each new slice of an elastic job has its own.
    fn overridden_annotations(&self, gates: Gates) -> &'static [&'static str] {
        let is_elastic = gates.enabled(Gate::ElasticJobsViaWorkloadSlices)
            && self.annotations.contains_key(annotation::WORKLOAD_SLICE_NAME);
        match (is_elastic, self.annotations.contains_key(annotation::WORKLOAD)) {
            (false, _) => &[],
            (true, false) => &[annotation::WORKLOAD_SLICE_NAME],
            (true, true) => &[annotation::WORKLOAD_SLICE_NAME, annotation::WORKLOAD],
        }
    }

    /// Puts the pods of a job that stopped back to this. Says whether that changed anything.
    pub fn restore(&self, template: &mut PodTemplateSpec) -> bool {
        let before = Self::from_template(template);
        let changed = before.annotations != self.annotations
            || before.labels != self.labels
            || before.node_selector != self.node_selector
            || before.tolerations != self.tolerations
            || before.scheduling_gates != self.scheduling_gates;
        if changed {
            self.write(template);
        }
        changed
    }

    fn write(&self, template: &mut PodTemplateSpec) {
        template.metadata.annotations.clone_from(&self.annotations);
        template.metadata.labels.clone_from(&self.labels);
        template.spec.node_selector.clone_from(&self.node_selector);
        template.spec.tolerations.clone_from(&self.tolerations);
        template.spec.scheduling_gates.clone_from(&self.scheduling_gates);
    }
}

fn check(
    field: &'static str,
    present: &BTreeMap<String, String>,
    added: &BTreeMap<String, String>,
) -> Result<(), Conflict> {
    let differs = |(key, value): &(&String, &String)| added.get(*key).is_some_and(|added| added != *value);
    match present.iter().find(differs) {
        None => Ok(()),
        Some((key, value)) => {
            Err(Conflict { field, key: key.clone(), present: value.clone(), added: added[key].clone() })
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, key, present, added } = self;
        write!(f, "invalid admission check PodSetUpdate: conflict for {field}: ")?;
        write!(f, "conflict for key={key}, value1={present}, value2={added}")
    }
}

impl std::error::Error for Conflict {}

#[cfg(test)]
mod tests;
