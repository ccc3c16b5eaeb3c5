//! Where the pods go: asked for after all flavors are chosen. It can turn a fit into a preemption, because room is
//! scattered, and a preemption into a refusal, because not even an empty cluster has the room.

use std::collections::BTreeMap;

use kueue_core::gates::Gate;

use super::{Assignment, Choice, Mode, Obstacle, Plan, PodSetAssignment};
use crate::change::{CheckController, Owner, PodSetSpec};
use crate::engine::Engine;
use crate::id::{FlavorId, Name, ResourceId, WorkloadId};
use crate::names::Names;
use crate::queue::Rules;
use crate::status::{CheckProgress, ConditionKind, Delayed, PodSetAdmission};
use crate::text::refusal::Refusal;
use crate::topology::{Conflict, Found, Habits, Manner, Pods, Repair, TopologyAssignment, Wanted};

/// Why a pod set can have no place, whatever room there is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unplaceable {
    /// No flavor of the queue has a topology.
    NoTopology,
    /// None of its own flavors has one.
    NoFlavor,
    SeveralFlavors(Vec<FlavorId>),
    ElasticRequired,
    ElasticPreferred,
}

impl Unplaceable {
    pub(super) fn render(&self, names: &Names) -> String {
        match self {
            Self::NoTopology => "workload requires Topology, but there is no TAS cache information".to_owned(),
            Self::NoFlavor => "no TAS flavor assigned".to_owned(),
            Self::SeveralFlavors(flavors) => {
                let flavors: Vec<&str> = flavors.iter().map(|flavor| &**names.flavor(*flavor)).collect();
                format!("more than one TAS flavor assigned: {}", flavors.join(", "))
            }
            Self::ElasticRequired => "required topology is not supported with ElasticJobsViaWorkloadSlices".to_owned(),
            Self::ElasticPreferred => {
                "preferred topology is not supported with ElasticJobsViaWorkloadSlices".to_owned()
            }
        }
    }
}

/// Pod sets that need places, by flavor in the order of its name.
pub(crate) type WantedPlaces = Vec<(FlavorId, Vec<Wanted>)>;

impl Engine {
    /// Gives a workload back what it holds: it comes a second time, for places.
    pub(super) fn held_assignment(&mut self, plan: &Plan<'_>) -> Option<Vec<PodSetAssignment>> {
        if !self.workloads[plan.workload].status.has_reservation() {
            return None;
        }
        let held = self.held_by(plan.workload);
        let workload = &self.workloads[plan.workload];
        let admission = workload.status.admission.clone()?;
        let pod_sets = workload.pod_sets.iter().enumerate().filter_map(|(index, pod_set)| {
            let held = held.iter().find(|held| held.pod_set == pod_set.spec.name)?;
            let assigned = admission.pod_sets.iter().find(|assigned| assigned.name == pod_set.spec.name)?;
            let choice = |flavor| Choice { flavor, mode: Mode::Fit, borrow: 0, tried: 0 };
            Some(PodSetAssignment {
                index,
                count: held.count,
                requests: held.resources.iter().map(|(resource, _, amount)| (*resource, *amount)).collect(),
                flavors: held.resources.iter().map(|(resource, flavor, _)| (*resource, choice(*flavor))).collect(),
                refusals: Vec::new(),
                attempts: Vec::new(),
                place: assigned.topology.as_deref().cloned(),
                delayed: assigned.delayed,
                unplaceable: None,
            })
        });
        Some(pod_sets.collect())
    }

    /// Finds places for an assignment whose flavors are chosen.
    pub(super) fn place(&mut self, plan: &Plan<'_>, assignment: &mut Assignment) {
        let wanted = self.wanted_places(plan, assignment);
        if assignment.mode == Mode::Fit {
            let found = self.find_places(plan.workload, &wanted, false);
            match found.failure {
                None => assignment.take_places(found),
                Some((index, _, failure)) => {
                    assignment.pod_set_mut(index).refusals.push(Refusal::Unplaced(failure));
                    assignment.lower(index, Mode::Preempt);
                }
            }
        }
        let is_repair = !self.workloads[plan.workload].status.unhealthy_nodes.is_empty();
        if assignment.mode != Mode::Preempt || is_repair {
            return;
        }
        match self.find_places(plan.workload, &wanted, true).failure {
            Some((index, flavor, _)) => {
                assignment.pod_set_mut(index).refuse_place(flavor);
                assignment.lower(index, Mode::NoFit);
                assignment.is_unplaced = true;
            }
            None => {
                // Quota may be free and yet scattered, so that somebody has to go even there.
                for index in wanted.iter().flat_map(|(_, wanted)| wanted).map(|wanted| wanted.index) {
                    assignment.lower(index, Mode::Preempt);
                }
            }
        }
    }

    /// Places to be kept free for a workload that waits until somebody has left: where it would go then, or, if nobody
    /// has to go, where it would go in an empty cluster.
    pub(crate) fn place_ahead(&mut self, plan: &Plan<'_>, assignment: &mut Assignment, has_targets: bool) {
        let wanted = self.wanted_places(plan, assignment);
        let found = self.find_places(plan.workload, &wanted, !has_targets);
        for (_, wanted) in &wanted {
            wanted.iter().for_each(|wanted| assignment.pod_set_mut(wanted.index).place = None);
        }
        assignment.take_places(found);
    }

    pub(crate) fn find_places(&mut self, id: WorkloadId, wanted: &WantedPlaces, is_empty: bool) -> Found {
        let manner = self.manner(id, is_empty);
        self.quotas.sites.find_places(wanted, &manner)
    }

    pub(crate) fn manner(&self, id: WorkloadId, is_empty: bool) -> Manner {
        let gates = self.settings.gates;
        let workload = &self.workloads[id];
        let repair = workload.status.unhealthy_nodes.first().map(|node| Repair {
            node: node.clone(),
            current: self.current_places(id),
            is_pinned: gates.enabled(Gate::SkipReassignmentForPodOwnedWorkloads) && workload.owner == Owner::Pod,
        });
        Manner { repair, ..self.manner_of_search(is_empty) }
    }

    pub(crate) fn manner_of_search(&self, is_empty: bool) -> Manner {
        let gates = self.settings.gates;
        Manner {
            is_empty,
            explains: true,
            habits: Habits {
                fills_gaps: gates.enabled(Gate::TASProfileMixed),
                has_tastes: gates.enabled(Gate::TASRespectNodeAffinityPreferred),
                is_balanced: gates.enabled(Gate::TASBalancedPlacement),
            },
            keeps_places: gates.enabled(Gate::ElasticJobsViaWorkloadSlicesWithTAS),
            repair: None,
        }
    }

    /// Where the pods of an admitted workload are, by position of the pod set.
    fn current_places(&self, id: WorkloadId) -> Vec<(usize, TopologyAssignment)> {
        let workload = &self.workloads[id];
        let assigned = workload.status.admission.iter().flat_map(|admission| &admission.pod_sets);
        let place = |assigned: &PodSetAdmission| {
            let index = workload.pod_sets.iter().position(|pod_set| pod_set.spec.name == assigned.name)?;
            Some((index, assigned.topology.as_deref()?.clone()))
        };
        assigned.filter_map(place).collect()
    }

    /// The pod sets that need places, and what each asks for. One that can have none is marked.
    pub(crate) fn wanted_places(&mut self, plan: &Plan<'_>, assignment: &mut Assignment) -> WantedPlaces {
        let mut wanted: BTreeMap<Name, (FlavorId, Vec<Wanted>)> = BTreeMap::new();
        let places_all = self.places_all(plan.rules);
        for slot in 0..assignment.pod_sets.len() {
            let index = assignment.pod_sets[slot].index;
            let spec = &self.workloads[plan.workload].pod_sets[index].spec;
            if !(spec.topology.is_some() || places_all) || assignment.pod_sets[slot].is_settled(self, plan.workload) {
                continue;
            }
            match self.wanted_place(plan, &assignment.pod_sets[slot]) {
                Ok(Some((flavor, place))) => {
                    let name = self.names.flavor(flavor).clone();
                    wanted.entry(name).or_insert_with(|| (flavor, Vec::new())).1.push(place);
                }
                Ok(None) => assignment.pod_sets[slot].delayed = Some(Delayed::Pending),
                Err(why) => {
                    assignment.pod_sets[slot].unplaceable = Some(why);
                    assignment.mode = Mode::NoFit;
                }
            }
        }
        wanted.into_values().collect()
    }

    /// Nothing while the place is left to be found later.
    fn wanted_place(
        &self,
        plan: &Plan<'_>,
        assigned: &PodSetAssignment,
    ) -> Result<Option<(FlavorId, Wanted)>, Unplaceable> {
        let workload = &self.workloads[plan.workload];
        let pod_set = &workload.pod_sets[assigned.index];
        let keeps_places = self.settings.gates.enabled(Gate::ElasticJobsViaWorkloadSlicesWithTAS);
        let is_elastic = workload.is_elastic && self.settings.gates.enabled(Gate::ElasticJobsViaWorkloadSlices);
        if is_elastic && keeps_places {
            match &pod_set.spec.topology {
                Some(request) if request.required.is_some() => return Err(Unplaceable::ElasticRequired),
                Some(request) if request.preferred.is_some() => return Err(Unplaceable::ElasticPreferred),
                _ => {}
            }
        }
        let has_tree = |flavor: &FlavorId| self.quotas.sites.tree(*flavor).is_some();
        if !plan.rules.flavors().any(|flavor| has_tree(&flavor)) {
            return Err(Unplaceable::NoTopology);
        }
        let mut flavors: Vec<FlavorId> =
            assigned.flavors.iter().map(|(_, choice)| choice.flavor).filter(has_tree).collect();
        flavors.sort_by_key(|flavor| self.names.flavor(*flavor));
        flavors.dedup();
        let flavor = match flavors[..] {
            [] => return Err(Unplaceable::NoFlavor),
            [flavor] => flavor,
            _ => return Err(Unplaceable::SeveralFlavors(flavors)),
        };
        if self.is_placed_later(plan, flavor) {
            return Ok(None);
        }
        let previous = plan.replaced.filter(|_| is_elastic && keeps_places).and_then(|replaced| {
            let old = &self.workloads[replaced.workload].status.admission.as_ref()?.pod_sets;
            old.iter().find(|old| old.name == pod_set.spec.name)?.topology.as_deref().cloned()
        });
        let (pods, conflict) = self.pods_of(plan.workload, &pod_set.spec, &pod_set.room);
        Ok(Some((
            flavor,
            Wanted {
                index: assigned.index,
                count: assigned.count,
                pods,
                conflict,
                request: pod_set.spec.topology.clone(),
                group: pod_set.spec.topology.as_ref().and(pod_set.spec.group.clone()),
                previous,
            },
        )))
    }

    /// Whether places are found by another cluster, or only after an autoscaler has brought nodes.
    fn is_placed_later(&self, plan: &Plan<'_>, flavor: FlavorId) -> bool {
        let controller = |name| self.checks.get(name).map(|check| check.controller);
        let has_reservation = self.workloads[plan.workload].status.has_reservation();
        plan.rules.checks.iter().any(|(name, flavors)| match controller(name) {
            Some(CheckController::MultiKueue) => true,
            Some(CheckController::Provisioning) => !has_reservation && flavors.contains(&flavor),
            _ => false,
        })
    }

    /// What the pods are like, with what ready checks add to them, and where that cannot be.
    fn pods_of(&self, id: WorkloadId, spec: &PodSetSpec, room: &[(ResourceId, i64)]) -> (Pods, Option<Conflict>) {
        let mut placement = spec.placement.clone();
        let mut conflict = None;
        let ready = self.workloads[id].status.checks.iter().filter(|check| check.progress == CheckProgress::Ready);
        for update in ready.flat_map(|check| &check.pod_set_updates).filter(|update| update.name == spec.name) {
            for (key, added) in &update.node_selector {
                let present = placement.node_selector.entry(key.clone()).or_insert_with(|| added.clone());
                if present != added {
                    let (pod_set, key, present, added) =
                        (spec.name.clone(), key.clone(), present.clone(), added.clone());
                    conflict.get_or_insert(Conflict { pod_set, key, present, added });
                }
            }
            placement.tolerations.extend(update.tolerations.iter().cloned());
        }
        (Pods { requests: room.to_vec(), placement }, conflict)
    }

    /// Whether every pod set of the queue is placed, because all of its flavors have topologies.
    pub(crate) fn places_all(&self, rules: &Rules) -> bool {
        self.settings.gates.enabled(Gate::TopologyAwareScheduling)
            && rules.flavors().all(|flavor| self.quotas.sites.tree(flavor).is_some())
    }

    /// Why a flavor does not suit what a pod set says about its place.
    pub(super) fn topology_mismatch(&self, plan: &Plan<'_>, index: usize, flavor: FlavorId) -> Option<Refusal> {
        if !self.settings.gates.enabled(Gate::TopologyAwareScheduling) {
            return None;
        }
        let pod_set = &self.workloads[plan.workload].pod_sets[index];
        let topology = self.flavors.get(&flavor)?.topology.as_ref();
        let Some(request) = &pod_set.spec.topology else {
            return (topology.is_some() && !self.places_all(plan.rules)).then_some(Refusal::OnlyPlaced(flavor));
        };
        if topology.is_none() {
            let group = plan.rules.groups.iter().find(|group| group.flavors.contains(&flavor))?;
            let is_needed = pod_set
                .room
                .iter()
                .any(|(resource, _)| *resource != self.names.pods() && group.resources.contains(resource));
            return is_needed.then_some(Refusal::NotPlaced(flavor));
        }
        match self.quotas.sites.tree(flavor) {
            None => Some(Refusal::NoTree(flavor)),
            Some(tree) => (!request.is_known_to(tree)).then_some(Refusal::NoLevel(flavor)),
        }
    }

    /// Whether an assigned place is on a node that failed.
    pub(crate) fn is_on_failed_node(&self, id: WorkloadId) -> bool {
        let status = &self.workloads[id].status;
        let assigned = || status.admission.iter().flat_map(|admission| &admission.pod_sets);
        status.is_true(ConditionKind::Admitted)
            && status.unhealthy_nodes.iter().any(|node| assigned().any(|pod_set| pod_set.is_on(node)))
    }
}

impl PodSetAssignment {
    /// Whether there is nothing to place: no pods, or their places are known and good.
    fn is_settled(&self, engine: &Engine, workload: WorkloadId) -> bool {
        let failed = &engine.workloads[workload].status.unhealthy_nodes;
        let is_good = self
            .place
            .as_ref()
            .is_some_and(|place| !place.domains.iter().any(|domain| failed.iter().any(|node| domain.is_on(node))));
        self.count == 0 || self.unplaceable.is_some() || is_good
    }

    /// The flavor has no room for the pods even in an empty cluster.
    fn refuse_place(&mut self, flavor: FlavorId) {
        if let Some(attempt) = self.attempts.iter_mut().find(|attempt| attempt.flavor == flavor) {
            attempt.mode = Mode::NoFit;
            attempt.obstacle = Obstacle::TopologyPlacementFailed;
        }
    }
}

impl Assignment {
    /// Why the first pod set that can have no place can have none.
    pub(crate) fn unplaceable(&self, names: &Names) -> Option<String> {
        self.pod_sets.iter().find_map(|pod_set| pod_set.unplaceable.as_ref()).map(|why| why.render(names))
    }

    fn pod_set_mut(&mut self, index: usize) -> &mut PodSetAssignment {
        self.pod_sets.iter_mut().find(|pod_set| pod_set.index == index).expect("only assigned pod sets are placed")
    }

    fn take_places(&mut self, found: Found) {
        for (index, place) in found.places {
            let pod_set = self.pod_set_mut(index);
            pod_set.place = Some(place);
            if pod_set.delayed.is_some() {
                pod_set.delayed = Some(Delayed::Ready);
            }
        }
    }

    /// Everything of the pod set, and with it the whole, is of that mode.
    fn lower(&mut self, index: usize, mode: Mode) {
        self.mode = mode;
        for (_, choice) in &mut self.pod_set_mut(index).flavors {
            choice.mode = mode;
        }
    }
}
