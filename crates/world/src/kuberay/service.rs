//! The controller of RayServices.
//!
//! | service | gets |
//! |---|---|
//! | new | a RayCluster |
//! | changed | its cluster changed alike: nobody is served meanwhile, so a second one is not needed |
//! | whose cluster is ready | the condition `Ready` |

use std::sync::Arc;

use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use tokio::task::JoinSet;

use super::{MANAGER, cluster_name, cluster_of, is_own};
use crate::feeds::{Feeds, Line, View};
use crate::kinds::{ActiveService, Condition, RayCluster, RayService, set_condition};
use crate::{AT_ONCE, Parts, Start};

struct Services {
    client: Client,
    clock: Clock,
    services: View<RayService>,
    clusters: View<RayCluster>,
}

pub(super) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.ray_services.line_up(&line);
    feeds.ray_clusters.line_up_owners::<RayService>(&line);
    let services = Services {
        client: parts.client.clone(),
        clock: parts.clock,
        services: feeds.ray_services.view(),
        clusters: feeds.ray_clusters.view(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(services), AT_ONCE))))
}

impl Reconciler<Key> for Services {
    fn name(&self) -> &'static str {
        "rayservice"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let is_alive = |service: &Arc<RayService>| {
            service.metadata.deletion_timestamp.is_none() && is_own(service.spec.managed_by.as_deref())
        };
        let Some(service) = self.services.get(key).filter(is_alive) else { return Ok(Next::Done) };
        let mut shown = (*service).clone();
        shown.status.observed_generation = service.metadata.generation;
        let name = &mut shown.status.active_service_status.ray_cluster_name;
        if name.is_empty() {
            *name = cluster_name(&*service, self.clock.time());
        } else {
            let cluster = self.follow(&service, &name.clone()).await?;
            let is_ready = cluster.status.state == "ready";
            let (reason, message) = match is_ready {
                true => ("NonZeroServeEndpoints", "Number of serve endpoints is greater than 0"),
                false => ("Initializing", "the cluster is not ready"),
            };
            let told = Condition::new("Ready", is_ready, reason, message, self.clock.time());
            set_condition(&mut shown.status.conditions, told);
            shown.status.service_status = if is_ready { "Running" } else { "" }.to_owned();
            shown.status.active_service_status = ActiveService {
                ray_cluster_name: cluster.metadata.name.clone(),
                ray_cluster_status: cluster.status.clone(),
            };
        }
        if let Some(patch) = Patch::between(&*service, &shown, MANAGER) {
            let written = self.client.change::<RayService>(key, &patch.of_status()).await?;
            self.services.until_seen(&written.version).await;
        }
        Ok(Next::Done)
    }
}

impl Services {
    /// The cluster of the service, which is as the service says.
    async fn follow(&self, service: &RayService, name: &str) -> Result<Arc<RayCluster>, Failure> {
        let key = Key::new(service.metadata.namespace.as_str(), name);
        let Some(cluster) = self.clusters.get(&key) else {
            let made = self.client.create(&cluster_of(service, name, service.spec.ray_cluster_config.clone())).await?;
            self.clusters.until_seen(&made.metadata.resource_version).await;
            return Ok(Arc::new(made));
        };
        let wanted = RayCluster { spec: service.spec.ray_cluster_config.clone(), ..(*cluster).clone() };
        match Patch::between(&*cluster, &wanted, MANAGER) {
            None => Ok(cluster),
            Some(patch) => self.client.patch::<RayCluster>(&key, &patch).await.map(Arc::new),
        }
    }
}
