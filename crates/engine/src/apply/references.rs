//! Namespaces, flavors, checks and cohorts: what queues refer to.

use std::collections::BTreeMap;

use kueue_core::selector::Selector;

use crate::change::{CheckSpec, CohortSpec, FlavorSpec, ResourceGroupSpec};
use crate::engine::Engine;
use crate::id::{Name, NamespaceId, PoolId, QueueId};
use crate::quota::Quota;
use crate::text;

impl Engine {
    pub(crate) fn on_namespace(&mut self, name: &Name, labels: BTreeMap<String, String>) {
        let id = self.names.namespace_id(name);
        let old = self.namespaces.insert(id, labels);
        let newly: Vec<QueueId> = self
            .queues
            .ids()
            .filter(|queue| {
                let matched_before = old.as_ref().is_some_and(|old| {
                    self.queues[*queue].rules.namespaces.as_ref().is_some_and(|selector| selector.matches(old))
                });
                !matched_before && self.serves(*queue, id)
            })
            .collect();
        if old.is_some() {
            self.notify(&newly);
        }
    }

    pub(crate) fn on_namespace_gone(&mut self, name: &Name) {
        let id = self.names.namespace_id(name);
        self.namespaces.remove(&id);
    }

    /// Whether the ClusterQueue accepts workloads of the namespace.
    pub(crate) fn serves(&self, queue: QueueId, namespace: NamespaceId) -> bool {
        match (self.namespaces.get(&namespace), &self.queues[queue].rules.namespaces) {
            (Some(labels), Some(selector)) => selector.matches(labels),
            _ => false,
        }
    }

    /// Why the ClusterQueue's selector of namespaces cannot be evaluated, if it cannot.
    pub(crate) fn selector_mistake(&self, queue: QueueId) -> Option<String> {
        let selector = self.queues[queue].rules.namespaces.as_ref()?;
        Selector::try_from(selector).err().map(|mistake| text::invalid_selector(&mistake))
    }

    pub(crate) fn on_flavor(&mut self, spec: FlavorSpec) {
        let id = self.names.flavor_id(&spec.name);
        let old = self.flavors.insert(id, spec.nodes);
        if old.as_ref() != self.flavors.get(&id) {
            self.grow_tree(id);
        }
        let mut affected = self.refresh_activity();
        if let Some(old) = old
            && self.flavors.get(&id) != Some(&old)
        {
            affected.extend(
                self.queues.ids().filter(|queue| self.queues[*queue].rules.flavors().any(|flavor| flavor == id)),
            );
        }
        self.notify(&affected);
    }

    pub(crate) fn on_flavor_gone(&mut self, name: &Name) {
        if let Some(id) = self.names.known_flavor(name) {
            self.flavors.remove(&id);
            self.grow_tree(id);
        }
        let affected = self.refresh_activity();
        self.notify(&affected);
    }

    pub(crate) fn on_check(&mut self, spec: CheckSpec) {
        self.checks.insert(spec.name.clone(), spec);
        let affected = self.refresh_activity();
        self.notify(&affected);
    }

    pub(crate) fn on_check_gone(&mut self, name: &Name) {
        self.checks.remove(name);
        let affected = self.refresh_activity();
        self.notify(&affected);
    }

    pub(crate) fn on_cohort(&mut self, spec: CohortSpec) {
        if self.cohorts.get(&spec.name) == Some(&spec) {
            return;
        }
        let quotas = self.quotas_of(&spec.groups);
        self.quotas.set_cohort(&spec.name, quotas, spec.weight, spec.parent.as_ref());
        self.refresh_activity();
        if let Some(node) = self.quotas.cohort(&spec.name) {
            self.notify_tree(node);
        }
        self.cohorts.insert(spec.name.clone(), spec);
    }

    pub(crate) fn on_cohort_gone(&mut self, name: &Name) {
        self.cohorts.remove(name);
        self.quotas.remove_cohort(name);
        if self.quotas.has_seen_cycle() {
            self.refresh_activity();
        }
    }

    pub(crate) fn quotas_of(&mut self, groups: &[ResourceGroupSpec]) -> Vec<(PoolId, Quota)> {
        let mut quotas: Vec<(PoolId, Quota)> = Vec::new();
        for flavor in groups.iter().flat_map(|group| &group.flavors) {
            let flavor_id = self.names.flavor_id(&flavor.flavor);
            for resource in &flavor.resources {
                let resource_id = self.names.resource_id(&resource.resource);
                let pool = self.names.pool_id(flavor_id, resource_id);
                let quota = Quota {
                    nominal: resource.nominal,
                    borrowing_limit: resource.borrowing_limit,
                    lending_limit: resource.lending_limit,
                };
                match quotas.binary_search_by_key(&pool, |(known, _)| *known) {
                    Ok(slot) => quotas[slot].1 = quota,
                    Err(slot) => quotas.insert(slot, (pool, quota)),
                }
            }
        }
        quotas
    }

    /// Finds out again which ClusterQueues may admit, and returns those that newly may.
    pub(crate) fn refresh_activity(&mut self) -> Vec<QueueId> {
        let ids: Vec<QueueId> = self.queues.ids().collect();
        ids.into_iter().filter(|queue| self.refresh_activity_of(*queue)).collect()
    }

    /// The same for one; says whether it newly may.
    pub(crate) fn refresh_activity_of(&mut self, id: QueueId) -> bool {
        let queue = &self.queues[id];
        let is_active = !self.quotas.node(queue.node).is_in_cycle && self.is_ready(id);
        let node = queue.node;
        let was_active = std::mem::replace(&mut self.queues[id].is_active, is_active);
        if was_active != is_active {
            self.quotas.set_active(node, is_active);
        }
        is_active && !was_active
    }
}
