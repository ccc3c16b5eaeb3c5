//! Topologies, nodes and the pods on them: where workloads can be placed.

use std::collections::BTreeSet;

use kueue_core::gates::Gate;

use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{FlavorId, Name, QueueId};
use crate::topology::{NodeSpec, PlainPodSpec, TopologySpec};

impl Engine {
    pub(crate) fn on_topology(&mut self, spec: TopologySpec) {
        let old = self.topologies.insert(spec.name.clone(), spec.levels);
        let is_new = old.as_ref() != self.topologies.get(&spec.name);
        let flavors = self.flavors_in(&spec.name);
        if is_new {
            flavors.iter().for_each(|flavor| self.grow_tree(*flavor));
        }
        let mut affected = self.refresh_activity();
        if is_new && old.is_some() {
            affected.extend(self.queues_with_any(&flavors));
        }
        self.notify(&affected);
    }

    pub(crate) fn on_topology_gone(&mut self, name: &Name) {
        self.topologies.remove(name);
        for flavor in self.flavors_in(name) {
            self.grow_tree(flavor);
        }
        let affected = self.refresh_activity();
        self.notify(&affected);
    }

    fn flavors_in(&self, topology: &Name) -> Vec<FlavorId> {
        let mut flavors: Vec<FlavorId> = self
            .flavors
            .iter()
            .filter(|(_, nodes)| nodes.topology.as_ref() == Some(topology))
            .map(|(flavor, _)| *flavor)
            .collect();
        flavors.sort();
        flavors
    }

    fn queues_with_any(&self, flavors: &[FlavorId]) -> Vec<QueueId> {
        let uses_any = |queue: &QueueId| self.queues[*queue].rules.flavors().any(|flavor| flavors.contains(&flavor));
        self.queues.ids().filter(uses_any).collect()
    }

    /// Arranges the nodes of a flavor as its topology says, if both are there.
    pub(crate) fn grow_tree(&mut self, flavor: FlavorId) {
        let nodes = self.flavors.get(&flavor);
        let topology = nodes.and_then(|nodes| nodes.topology.as_ref());
        let levels = topology.and_then(|topology| self.topologies.get(topology));
        match (nodes, topology, levels) {
            (Some(nodes), Some(topology), Some(levels))
                if self.settings.gates.enabled(Gate::TopologyAwareScheduling) =>
            {
                let shares_nodes = self.settings.gates.enabled(Gate::TASHandleOverlappingFlavors);
                self.quotas.sites.set_flavor(flavor, nodes, topology, levels, shares_nodes);
                self.replace_all();
            }
            _ => self.quotas.sites.remove_flavor(flavor),
        }
    }

    pub(crate) fn on_node(&mut self, spec: NodeSpec) {
        let name = spec.name.clone();
        let before = self.quotas.sites.flavors_of(&name);
        if !self.quotas.sites.set_node(spec, &mut self.names) {
            return;
        }
        self.on_node_changed(&name, &before);
    }

    pub(crate) fn on_node_gone(&mut self, name: &Name) {
        let before = self.quotas.sites.flavors_of(name);
        if self.quotas.sites.remove_node(name) {
            self.on_node_changed(name, &before);
        }
    }

    fn on_node_changed(&mut self, name: &Name, before: &BTreeSet<FlavorId>) {
        let is_placed_on = !before.is_empty() || !self.quotas.sites.flavors_of(name).is_empty();
        if is_placed_on {
            let queues: Vec<QueueId> = self.queues.ids().filter(|queue| self.queues[*queue].is_active).collect();
            self.notify(&queues);
        }
        self.nodes_to_check.insert(name.clone());
    }

    pub(crate) fn on_pods_moved(&mut self, workload: Key, nodes: Vec<Name>) {
        let nodes: BTreeSet<Name> = nodes.into_iter().collect();
        let old = if nodes.is_empty() {
            self.pods_on_nodes.remove(&workload)
        } else {
            self.pods_on_nodes.insert(workload, nodes.clone())
        };
        self.nodes_to_check.extend(old.unwrap_or_default().symmetric_difference(&nodes).cloned());
    }

    pub(crate) fn on_plain_pod(&mut self, spec: &PlainPodSpec) {
        let freed = self.quotas.sites.set_pod(spec, &mut self.names);
        self.on_room_freed(freed);
    }

    pub(crate) fn on_plain_pod_gone(&mut self, key: &Key) {
        let freed = self.quotas.sites.remove_pod(key);
        self.on_room_freed(freed);
    }

    fn on_room_freed(&mut self, node: Option<Name>) {
        let Some(node) = node else { return };
        let flavors: Vec<FlavorId> = self.quotas.sites.flavors_of(&node).into_iter().collect();
        let queues = self.queues_with_any(&flavors);
        self.notify(&queues);
    }
}
