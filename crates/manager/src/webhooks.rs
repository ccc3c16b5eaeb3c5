//! Webhooks, connected to what their answers depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kueue_api::config::Configuration;
use kueue_api::core_v1::Namespace;
use kueue_api::kueue::names::{DEFAULT_LOCAL_QUEUE, DEFAULT_WORKLOAD_PRIORITY_CLASS};
use kueue_api::kueue::v1beta2::{LocalQueue, StopPolicy, Workload, WorkloadPriorityClass};
use kueue_api::meta::ObjectMeta;
use kueue_jobs::ancestor::{Ancestor, Lost};
use kueue_jobs::owners::Owners;
use kueue_jobs::step::Settings;
use kueue_runtime::client::{Client, Failure};
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_webhooks::{Surroundings, Webhooks};

use crate::informers::Informers;
use crate::observer::Observer;

/// What answers are looked up in.
pub(crate) struct Stores {
    namespaces: Arc<Store<Namespace>>,
    local_queues: Arc<Store<LocalQueue>>,
    priority_classes: Arc<Store<WorkloadPriorityClass>>,
    workloads: Arc<Store<Workload>>,
    owners: Owners,
}

impl Surroundings for Stores {
    fn namespace(&self, name: &str) -> Option<BTreeMap<String, String>> {
        self.namespaces.named(name).map(|namespace| namespace.metadata.labels.clone())
    }

    fn has_default_queue(&self, namespace: &str) -> bool {
        let queue = self.local_queues.get(&Key::new(namespace, DEFAULT_LOCAL_QUEUE));
        queue.is_some_and(|queue| takes_jobs(&queue.object))
    }

    fn has_default_priority_class(&self) -> bool {
        self.priority_classes.named(DEFAULT_WORKLOAD_PRIORITY_CLASS).is_some()
    }

    /// No job is sent anywhere yet.
    fn is_dispatched(&self, _: &str, _: &str) -> bool {
        false
    }

    fn workload(&self, namespace: &str, name: &str) -> Option<Arc<Workload>> {
        self.workloads.get(&Key::new(namespace, name)).map(|stored| stored.object)
    }

    async fn ancestor(&self, job: &ObjectMeta, settings: &Settings) -> Result<Result<Option<Ancestor>, Lost>, Failure> {
        self.owners.ancestor(job, &settings.integrations, settings.manages_without_queue).await
    }
}

fn takes_jobs(queue: &LocalQueue) -> bool {
    queue.spec.stop_policy.as_ref().is_none_or(|policy| *policy == StopPolicy::None)
}

/// Lets the observer answer, and know which namespaces have a queue for everybody.
pub(crate) fn connect(
    config: &Configuration,
    settings: &Arc<Settings>,
    client: &Client,
    informers: &mut Informers,
    observer: &Observer,
) {
    let stores = Stores {
        namespaces: informers.namespaces.store(),
        local_queues: informers.local_queues.store(),
        priority_classes: informers.workload_priority_classes.store(),
        workloads: informers.workloads.store(),
        owners: Owners::new(client.clone()),
    };
    let frameworks = config.integrations.iter().flat_map(|jobs| &jobs.frameworks).map(String::as_str);
    observer.set_webhooks(Webhooks::new(frameworks, Arc::clone(settings), stores));
    if settings.manages_without_queue {
        return observer.set_default_namespaces(None);
    }
    observer.set_default_namespaces(Some(Vec::new()));
    let (observer, mut namespaces) = (observer.clone(), BTreeSet::new());
    informers.local_queues.listen(move |delta| {
        if *delta.key.name != *DEFAULT_LOCAL_QUEUE {
            return;
        }
        let namespace = delta.key.namespace.to_string();
        let has_changed = match delta.new.as_ref().is_some_and(|queue| takes_jobs(&queue.object)) {
            true => namespaces.insert(namespace),
            false => namespaces.remove(&namespace),
        };
        if has_changed {
            observer.set_default_namespaces(Some(namespaces.iter().cloned().collect()));
        }
    });
}
