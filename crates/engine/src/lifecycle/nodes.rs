//! Nodes that fail under running workloads: the first one is replaced, a second one ends the attempt.

use kueue_core::duration::Duration;
use kueue_core::gates::Gate;
use kueue_core::time::Time;

use crate::effect::{Decision, Key};
use crate::engine::Engine;
use crate::id::{Name, WorkloadId};
use crate::placement::{TaintEffect, Toleration};
use crate::status::ConditionKind;
use crate::status::eviction::Eviction;
use crate::text;

/// How long a node may be away where its pods are not asked.
const PATIENCE: Duration = Duration::from_seconds(30);

/// What a node's state means to a workload on it.
enum Health {
    Good,
    Failed,
    /// Not known before then.
    Unclear(Time),
}

/// Whether the pods of a workload may be on a node, whatever they do there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Open,
    Closed,
    /// Those that are there may stay until they end; no other one can start.
    Leaving,
}

impl Engine {
    /// Whether pods of a workload that wait to start on a node never can: it takes none of them any more, or the
    /// workload has its place elsewhere by now. A workload that has to go takes its pods with it.
    pub fn strands_pods(&self, workload: &Key, node: &Name) -> bool {
        let Some(id) = self.workload_ids.get(workload).copied() else { return false };
        let status = &self.workloads[id].status;
        if status.is_true(ConditionKind::Finished) || status.is_evicted() {
            return false;
        }
        let mut assigned = status.admission.iter().flat_map(|admission| &admission.pod_sets);
        if !assigned.any(|pod_set| pod_set.is_on(node)) {
            return true;
        }
        let ready = self.quotas.sites.node(node).and_then(|spec| spec.ready);
        ready.is_some_and(|is_ready| self.access(id, node, is_ready) == Access::Leaving)
    }

    /// Looks at the workloads on nodes about which something became known.
    pub(super) fn check_nodes(&mut self, now: Time) {
        if !self.settings.gates.enabled(Gate::TASFailedNodeReplacement) {
            self.nodes_to_check.clear();
            return;
        }
        let due: Vec<Name> =
            self.node_timers.iter().filter(|(_, at)| **at <= now).map(|(node, _)| node.clone()).collect();
        for node in due {
            self.node_timers.remove(&node);
            self.nodes_to_check.insert(node);
        }
        for node in std::mem::take(&mut self.nodes_to_check) {
            let on_it: Vec<WorkloadId> = self.on_nodes.get(&node).into_iter().flatten().copied().collect();
            for id in on_it {
                match self.health(id, &node, now) {
                    Health::Good => self.clear_failed_node(id, &node, now),
                    Health::Failed => self.note_failed_node(id, &node, now),
                    Health::Unclear(at) => drop(self.node_timers.insert(node.clone(), at)),
                }
            }
        }
    }

    fn health(&self, id: WorkloadId, name: &Name, now: Time) -> Health {
        let gates = self.settings.gates;
        let Some(node) = self.quotas.sites.node(name) else { return Health::Failed };
        let Some(is_ready) = node.ready else { return Health::Failed };
        if !is_ready {
            let patient_until = node.ready_since + PATIENCE;
            let is_overdue = patient_until <= now;
            if !is_overdue && !gates.enabled(Gate::TASReplaceNodeOnPodTermination) {
                return Health::Unclear(patient_until);
            }
            if is_overdue && gates.enabled(Gate::TASReplaceNodeDueToNotReadyOverFixedTime) {
                return Health::Failed;
            }
        }
        match self.access(id, name, is_ready) {
            Access::Open => Health::Good,
            Access::Leaving if self.has_pods_on(id, name) => Health::Good,
            Access::Closed | Access::Leaving => Health::Failed,
        }
    }

    fn access(&self, id: WorkloadId, name: &Name, is_ready: bool) -> Access {
        let gates = self.settings.gates;
        let closed = if gates.enabled(Gate::TASReplaceNodeOnPodTermination) { Access::Leaving } else { Access::Closed };
        if !is_ready {
            return closed;
        }
        if !gates.enabled(Gate::TASReplaceNodeOnNodeTaints) {
            return Access::Open;
        }
        let node = self.quotas.sites.node(name);
        let taints = || {
            let all = node.iter().flat_map(|node| &node.taints);
            all.filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        };
        let tolerations = self.tolerations_on(id, name);
        let is_tolerated = |taint, for_ever: bool| {
            tolerations.iter().all(|of_pod_set| {
                let mut fitting = of_pod_set.iter().filter(|toleration| toleration.tolerates(taint));
                if for_ever { fitting.any(|toleration| !toleration.is_limited) } else { fitting.next().is_some() }
            })
        };
        if taints().any(|taint| !is_tolerated(taint, false)) {
            return closed;
        }
        if taints().any(|taint| !is_tolerated(taint, true)) { Access::Leaving } else { Access::Open }
    }

    /// The tolerations of each pod set that has pods there.
    fn tolerations_on(&self, id: WorkloadId, node: &Name) -> Vec<Vec<Toleration>> {
        let workload = &self.workloads[id];
        let assigned = workload.status.admission.iter().flat_map(|admission| &admission.pod_sets);
        let tolerations = |assigned: &crate::status::PodSetAdmission| {
            let pod_set = workload.pod_sets.iter().find(|pod_set| pod_set.spec.name == assigned.name)?;
            let mut all = pod_set.spec.placement.tolerations.clone();
            for (_, flavor) in &assigned.flavors {
                let nodes = self.names.known_flavor(flavor).and_then(|flavor| self.flavors.get(&flavor));
                all.extend(nodes.into_iter().flat_map(|nodes| nodes.tolerations.iter().cloned()));
            }
            let updates = workload.status.checks.iter().flat_map(|check| &check.pod_set_updates);
            all.extend(
                updates.filter(|update| update.name == assigned.name).flat_map(|update| update.tolerations.clone()),
            );
            Some(all)
        };
        assigned.filter(|assigned| assigned.is_on(node)).filter_map(tolerations).collect()
    }

    fn has_pods_on(&self, id: WorkloadId, node: &Name) -> bool {
        self.pods_on_nodes.get(&self.workloads[id].key).is_some_and(|nodes| nodes.contains(node))
    }

    fn clear_failed_node(&mut self, id: WorkloadId, node: &Name, now: Time) {
        self.change_status(id, now, |status, _| {
            let known = status.unhealthy_nodes.len();
            status.unhealthy_nodes.retain(|failed| failed != node);
            status.unhealthy_nodes.len() < known
        });
    }

    fn note_failed_node(&mut self, id: WorkloadId, node: &Name, now: Time) {
        let status = &self.workloads[id].status;
        let is_concerned = status.is_true(ConditionKind::Admitted) && !status.is_evicted();
        if !is_concerned || status.unhealthy_nodes.contains(node) {
            return;
        }
        if status.unhealthy_nodes.is_empty() {
            let before = self.before(id);
            self.workloads[id].status.unhealthy_nodes.push(node.clone());
            self.write(id, &before, Decision::LifeCycle, now);
            return;
        }
        let mut failed = status.unhealthy_nodes.clone();
        failed.push(node.clone());
        let eviction = Eviction::new(text::NODE_FAILURES, text::many_nodes_failed(&failed).into());
        self.evict(id, &eviction, now);
    }
}
