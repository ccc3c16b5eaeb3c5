//! The names that recur in requests, quotas and usage, each turned into an id once.

use std::sync::Arc;

use crate::id::{FlavorId, Interner, LabelsId, LocalQueueId, Name, NamespaceId, PoolId, ResourceId};

/// All tables of names. They only grow: the names of a cluster are few beside its workloads.
#[derive(Debug)]
pub(crate) struct Names {
    resources: Interner<ResourceId, Name>,
    pods: ResourceId,
    flavors: Interner<FlavorId, Name>,
    pools: Interner<PoolId, (FlavorId, ResourceId)>,
    namespaces: Interner<NamespaceId, Name>,
    local_queues: Interner<LocalQueueId, (NamespaceId, Name)>,
    labels: Interner<LabelsId, Arc<[Name]>>,
}

impl Default for Names {
    fn default() -> Self {
        let mut resources = Interner::default();
        let pods = resources.intern(&"pods".into());
        Self {
            resources,
            pods,
            flavors: Interner::default(),
            pools: Interner::default(),
            namespaces: Interner::default(),
            local_queues: Interner::default(),
            labels: Interner::default(),
        }
    }
}

impl Names {
    /// The resource that counts pods.
    pub(crate) fn pods(&self) -> ResourceId {
        self.pods
    }

    pub(crate) fn resource_id(&mut self, name: &Name) -> ResourceId {
        self.resources.intern(name)
    }

    /// Sorts by the order in which Kueue looks at resources, which decides what is reported first: a hash of the name.
    pub(crate) fn sort_requests(&self, requests: &mut [(ResourceId, i64)]) {
        if requests.len() > 1 {
            requests.sort_by_cached_key(|(id, _)| (fnv1a(self.resource(*id)), self.resource(*id).clone()));
        }
    }

    pub(crate) fn flavor_id(&mut self, name: &Name) -> FlavorId {
        self.flavors.intern(name)
    }

    pub(crate) fn pool_id(&mut self, flavor: FlavorId, resource: ResourceId) -> PoolId {
        self.pools.intern(&(flavor, resource))
    }

    /// The pool, if anybody ever named it.
    pub(crate) fn known_pool(&self, flavor: FlavorId, resource: ResourceId) -> Option<PoolId> {
        self.pools.get(&(flavor, resource))
    }

    pub(crate) fn namespace_id(&mut self, name: &Name) -> NamespaceId {
        self.namespaces.intern(name)
    }

    pub(crate) fn local_queue_id(&mut self, namespace: NamespaceId, name: &Name) -> LocalQueueId {
        self.local_queues.intern(&(namespace, name.clone()))
    }

    pub(crate) fn known_local_queue(&self, namespace: &Name, name: &Name) -> Option<LocalQueueId> {
        self.local_queues.get(&(self.namespaces.get(namespace)?, name.clone()))
    }

    pub(crate) fn labels_id(&mut self, labels: &Arc<[Name]>) -> LabelsId {
        self.labels.intern(labels)
    }

    pub(crate) fn known_flavor(&self, name: &Name) -> Option<FlavorId> {
        self.flavors.get(name)
    }

    pub(crate) fn known_pool_named(&self, flavor: &str, resource: &str) -> Option<PoolId> {
        self.known_pool(self.flavors.get(&flavor.into())?, self.resources.get(&resource.into())?)
    }

    pub(crate) fn resource(&self, id: ResourceId) -> &Name {
        &self.resources[id]
    }

    pub(crate) fn flavor(&self, id: FlavorId) -> &Name {
        &self.flavors[id]
    }

    pub(crate) fn namespace(&self, id: NamespaceId) -> &Name {
        &self.namespaces[id]
    }

    pub(crate) fn local_queue(&self, id: LocalQueueId) -> &Name {
        &self.local_queues[id].1
    }

    pub(crate) fn namespace_of(&self, id: LocalQueueId) -> NamespaceId {
        self.local_queues[id].0
    }

    pub(crate) fn labels(&self, id: LabelsId) -> &Arc<[Name]> {
        &self.labels[id]
    }

    /// Flavor and resource of a pool.
    pub(crate) fn pool(&self, id: PoolId) -> (&Name, &Name) {
        let (flavor, resource) = self.pools[id];
        (self.flavor(flavor), self.resource(resource))
    }

    pub(crate) fn resource_of(&self, id: PoolId) -> ResourceId {
        self.pools[id].1
    }
}

/// The 64-bit FNV-1a hash.
fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
