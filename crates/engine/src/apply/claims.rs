//! The quota that workloads hold: counted from their admissions, given back when they go.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use kueue_core::amount::Amount;

use crate::engine::Engine;
use crate::few::{Few, add_amount};
use crate::id::{Name, PoolId, QueueId, WorkloadId};
use crate::status::ConditionKind;
use crate::topology::{HOSTNAME, Occupied};
use crate::workload::{Claim, Held, Placed, Rank};

impl Engine {
    /// Counts the quota that the workload holds, as its status says.
    pub(crate) fn sync_claim(&mut self, id: WorkloadId) {
        let workload = &self.workloads[id];
        if !workload.holds_quota() {
            return self.drop_claim(id);
        }
        let admission = workload.status.admission.clone().expect("who holds quota has an admission");
        let queue = self.queue_ids.get(&admission.queue).copied();
        let counted = workload.claim.as_ref().map(|claim| claim.queue);
        if queue.is_some_and(|queue| counted == Some(queue) && self.is_stand_in(id, queue)) {
            // What it held before the queue had variants stays counted until it ends.
            return;
        }
        self.drop_claim(id);
        if queue.is_some_and(|queue| self.is_stand_in(id, queue)) {
            // A parent's admission repeats that of its variant, which is counted there.
            self.strays.insert(id, admission.queue.clone());
            return;
        }
        let Some(queue) = queue else {
            self.strays.insert(id, admission.queue.clone());
            return;
        };
        let usage = self.usage_of_admission(id);
        let rank = self.rank_of(id);
        let node = self.queues[queue].node;
        let mut is_exact = true;
        for (pool, amount) in &usage {
            is_exact &= self.quotas.add_usage(node, *pool, *amount);
        }
        let placed = self.placed_by_admission(id);
        if let Some(placed) = &placed {
            placed.places.iter().for_each(|place| self.quotas.sites.add(place));
            for node in &placed.nodes {
                self.on_nodes.entry(node.clone()).or_default().insert(id);
            }
        }
        let workload = &self.workloads[id];
        let admitted_through = workload.status.is_true(ConditionKind::Admitted).then_some(workload.local_queue);
        let is_ready = workload.status.is_true(ConditionKind::PodsReady);
        self.unready += usize::from(!is_ready);
        let claim = Claim { queue, usage, placed, rank, is_ready, admitted_through };
        let queue_state = &mut self.queues[queue];
        queue_state.reserving.insert(claim.rank.clone());
        queue_state.holdings.add(&claim);
        self.workloads[id].claim = Some(Box::new(claim));
        if !is_exact {
            self.recount(queue);
        }
    }

    /// When the workload would go, among those of its queue.
    pub(crate) fn rank_of(&self, id: WorkloadId) -> Rank {
        let workload = &self.workloads[id];
        let reserved = workload.status.condition(ConditionKind::QuotaReserved).map(|reserved| reserved.since);
        Rank {
            is_staying: !workload.status.is_evicted(),
            priority: workload.priority,
            reserved: Reverse(reserved.unwrap_or_default()),
            uid: workload.uid.clone(),
            id,
            local_queue: workload.local_queue,
        }
    }

    pub(crate) fn drop_claim(&mut self, id: WorkloadId) {
        self.strays.remove(&id);
        let Some(claim) = self.workloads[id].claim.take() else { return };
        for node in claim.nodes() {
            if let Some(on_it) = self.on_nodes.get_mut(node) {
                on_it.remove(&id);
                if on_it.is_empty() {
                    self.on_nodes.remove(node);
                }
            }
        }
        self.unready -= usize::from(!claim.is_ready);
        let queue = &mut self.queues[claim.queue];
        queue.reserving.remove(&claim.rank);
        queue.holdings.remove(&claim);
        let node = queue.node;
        let mut is_exact = true;
        for (pool, amount) in &claim.usage {
            is_exact &= self.quotas.remove_usage(node, *pool, *amount);
        }
        claim.places().for_each(|place| self.quotas.sites.remove(place));
        self.quotas.bump_generation(node);
        if !is_exact {
            self.recount(claim.queue);
        }
    }

    fn placed_by_admission(&mut self, id: WorkloadId) -> Option<Box<Placed>> {
        let admission = self.workloads[id].status.admission.as_ref()?;
        admission
            .pod_sets
            .iter()
            .any(|pod_set| pod_set.topology.is_some())
            .then(|| Box::new(Placed { places: self.places_of_admission(id), nodes: self.nodes_of_admission(id) }))
    }

    /// Somebody else says where its pods are. A node that went while nobody looked, or never was, is not heard of again.
    pub(super) fn doubt_unknown_nodes(&mut self, id: WorkloadId) {
        let nodes = self.nodes_of_admission(id).into_iter();
        let unknown: Vec<Name> = nodes.filter(|node| self.quotas.sites.node(node).is_none()).collect();
        self.nodes_to_check.extend(unknown);
    }

    /// The nodes that an admission names.
    fn nodes_of_admission(&self, id: WorkloadId) -> Vec<Name> {
        let admission = self.workloads[id].status.admission.as_ref();
        let placed = admission.into_iter().flat_map(|admission| &admission.pod_sets);
        let by_node = placed
            .filter_map(|pod_set| pod_set.topology.as_ref())
            .filter(|topology| topology.levels.last().is_some_and(|level| **level == *HOSTNAME));
        let domains = by_node.flat_map(|topology| &topology.domains).filter(|domain| domain.count > 0);
        domains.filter_map(|domain| domain.values.last().cloned()).collect()
    }

    /// What the pods of an admission take of nodes.
    pub(crate) fn places_of_admission(&mut self, id: WorkloadId) -> Vec<Occupied> {
        let Self { workloads, names, quotas, .. } = self;
        let workload = &workloads[id];
        let mut places = Vec::new();
        for assigned in workload.status.admission.iter().flat_map(|admission| &admission.pod_sets) {
            let pod_set = workload.pod_sets.iter().find(|pod_set| pod_set.spec.name == assigned.name);
            let (Some(topology), Some(pod_set)) = (&assigned.topology, pod_set) else { continue };
            let flavors: BTreeSet<&Name> = assigned.flavors.iter().map(|(_, flavor)| flavor).collect();
            for flavor in flavors {
                places.extend(quotas.sites.occupied(names.flavor_id(flavor), topology, &pod_set.room));
            }
        }
        places
    }

    /// Counts anew what workloads take of nodes: the nodes of a flavor are told apart in another way.
    pub(crate) fn replace_all(&mut self) {
        let holders: Vec<WorkloadId> = self.workloads.ids().filter(|id| self.workloads[*id].claim.is_some()).collect();
        for id in holders {
            let places = self.places_of_admission(id);
            let placed = self.workloads[id].claim.as_mut().and_then(|claim| claim.placed.as_mut());
            let Some(placed) = placed else { continue };
            let old = std::mem::replace(&mut placed.places, places.clone());
            old.iter().for_each(|place| self.quotas.sites.remove(place));
            places.iter().for_each(|place| self.quotas.sites.add(place));
        }
    }

    /// Sums up again who holds what: a sum that once was beyond all numbers tells nothing about what is left of it.
    fn recount(&mut self, queue: QueueId) {
        let mut usage = Few::new();
        for rank in self.queues[queue].reserving.iter() {
            for (pool, amount) in self.workloads[rank.id].claim.iter().flat_map(|claim| &claim.usage) {
                add_amount(&mut usage, *pool, *amount);
            }
        }
        self.quotas.set_usages(self.queues[queue].node, &usage);
    }

    /// What the admission says per pool.
    fn usage_of_admission(&mut self, id: WorkloadId) -> Few<(PoolId, Amount)> {
        let Self { workloads, names, settings, .. } = self;
        let workload = &workloads[id];
        let mut sums = Few::new();
        let assigned = workload.status.admission.iter().flat_map(|admission| &admission.pod_sets);
        for (resource, flavor, used) in assigned.flat_map(|assigned| workload.living_usage(assigned, settings.gates)) {
            let (flavor, resource) = (names.flavor_id(flavor), names.resource_id(resource));
            add_amount(&mut sums, names.pool_id(flavor, resource), Amount::new(used));
        }
        sums
    }

    /// What the admission says per pod set, without the pods that are done.
    pub(crate) fn held_by(&mut self, id: WorkloadId) -> Vec<Held> {
        let Self { workloads, names, settings, .. } = self;
        let workload = &workloads[id];
        let assigned = workload.status.admission.iter().flat_map(|admission| &admission.pod_sets);
        assigned
            .map(|assigned| {
                let resources = workload
                    .living_usage(assigned, settings.gates)
                    .map(|(resource, flavor, used)| (names.resource_id(resource), names.flavor_id(flavor), used));
                let resources = resources.collect();
                let count = workload.living_share(assigned, settings.gates).count();
                Held { pod_set: assigned.name.clone(), count, resources }
            })
            .collect()
    }
}
