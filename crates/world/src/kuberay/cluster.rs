//! The controller of RayClusters.
//!
//! | cluster | gets |
//! |---|---|
//! | new, or resumed | a head, and as many workers as its groups say |
//! | another size | workers made, or the last of them deleted |
//! | pods that ended | others in their place |
//! | all pods ready | the state `ready`, which it keeps |
//! | suspended | its pods deleted; the state `suspended` when they are gone |

use std::sync::Arc;

use kueue_core::time::Time;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::Value;
use tokio::task::JoinSet;

use super::{CLUSTER_LABEL, MANAGER, is_own};
use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{Pod, RayCluster, RayClusterStatus, controller_of};
use crate::replica_set::pod_of;
use crate::{AT_ONCE, Parts, Start, gone_is_fine};

const GROUP_LABEL: &str = "ray.io/group";
const HEAD: &str = "headgroup";

struct Clusters {
    client: Client,
    clock: Clock,
    clusters: View<RayCluster>,
    owned: Owned<Pod>,
}

pub(super) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.ray_clusters.line_up(&line);
    feeds.pods.line_up_owners::<RayCluster>(&line);
    let clusters = Clusters {
        client: parts.client.clone(),
        clock: parts.clock,
        clusters: feeds.ray_clusters.view(),
        owned: feeds.owned_pods(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(clusters), AT_ONCE))))
}

/// What is to be done about a cluster.
pub(super) struct Plan {
    pub(super) create: Vec<Pod>,
    pub(super) delete: Vec<Arc<Pod>>,
    pub(super) status: RayClusterStatus,
}

/// Pods of one sort: the name of their group, how many there are to be, and what they are made from.
struct Sort<'a> {
    group: &'a str,
    count: usize,
    template: &'a Value,
}

fn sorts(cluster: &RayCluster) -> Vec<Sort<'_>> {
    if cluster.spec.suspend == Some(true) {
        return Vec::new();
    }
    let head = Sort { group: HEAD, count: 1, template: &cluster.spec.head_group_spec.template };
    let workers = cluster.spec.worker_group_specs.iter().map(|group| {
        let count = group.replicas.unwrap_or(1).saturating_mul(group.num_of_hosts.max(1));
        Sort { group: &group.group_name, count: usize::try_from(count).unwrap_or(0), template: &group.template }
    });
    std::iter::once(head).chain(workers).collect()
}

pub(super) fn plan(cluster: &RayCluster, pods: &[Arc<Pod>], now: Time) -> Plan {
    let group_of = |pod: &Pod| pod.metadata.labels.get(GROUP_LABEL).cloned().unwrap_or_default();
    let sorts = sorts(cluster);
    let (mut create, mut delete) = (Vec::new(), Vec::new());
    let (mut wanted, mut ready) = (0, Vec::new());
    for pod in pods.iter().filter(|pod| !sorts.iter().any(|sort| sort.group == group_of(pod))) {
        delete.push(Arc::clone(pod));
    }
    for sort in &sorts {
        let (active, ended): (Vec<_>, Vec<_>) =
            pods.iter().filter(|pod| group_of(pod) == sort.group).cloned().partition(|pod| pod.is_active());
        delete.extend(ended);
        wanted += sort.count;
        ready.extend(active.iter().take(sort.count).filter(|pod| pod.is_ready()).cloned());
        create.extend((active.len()..sort.count).map(|_| pod(cluster, sort)));
        delete.extend(active.into_iter().skip(sort.count));
    }
    delete.retain(|pod| !pod.is_going());
    let is_complete = !sorts.is_empty() && ready.len() == wanted;
    let state = match (sorts.is_empty(), is_complete) {
        (true, _) if pods.is_empty() => "suspended",
        (_, true) => "ready",
        _ => cluster.status.state.as_str(),
    };
    let is_head = |pod: &&Arc<Pod>| group_of(pod) == HEAD;
    let workers = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let head = ready.iter().find(is_head).map(|head| ("podName".to_owned(), head.metadata.name.clone()));
    let ready_workers = workers(ready.iter().filter(|pod| !is_head(pod)).count());
    let mut status = RayClusterStatus {
        state: state.to_owned(),
        desired_worker_replicas: workers(wanted.saturating_sub(1)),
        ready_worker_replicas: ready_workers,
        available_worker_replicas: ready_workers,
        head: head.into_iter().collect(),
        observed_generation: cluster.metadata.generation,
        last_update_time: cluster.status.last_update_time,
    };
    if status != cluster.status {
        status.last_update_time = Some(now);
    }
    Plan { create, delete, status }
}

/// A pod as KubeRay makes it: named and labelled after the cluster and its group.
fn pod(cluster: &RayCluster, sort: &Sort<'_>) -> Pod {
    let mut pod = pod_of(cluster, sort.template);
    let (role, name) = match sort.group {
        HEAD => ("head", format!("{}-head-", cluster.metadata.name)),
        group => ("worker", format!("{}-{group}-worker-", cluster.metadata.name)),
    };
    pod.metadata.generate_name = name;
    let labels = [
        (CLUSTER_LABEL, cluster.metadata.name.as_str()),
        (GROUP_LABEL, sort.group),
        ("ray.io/node-type", role),
        ("ray.io/is-ray-node", "yes"),
    ];
    pod.metadata.labels.extend(labels.map(|(key, value)| (key.to_owned(), value.to_owned())));
    pod
}

impl Reconciler<Key> for Clusters {
    fn name(&self) -> &'static str {
        "raycluster"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let is_alive = |cluster: &Arc<RayCluster>| {
            cluster.metadata.deletion_timestamp.is_none() && is_own(cluster.spec.managed_by.as_deref())
        };
        let Some(cluster) = self.clusters.get(key).filter(is_alive) else { return Ok(Next::Done) };
        let mut pods = self.owned.named("RayCluster", key);
        pods.retain(|pod| controller_of(&**pod).is_some_and(|owner| owner.uid == cluster.metadata.uid));
        let plan = plan(&cluster, &pods, self.clock.time());
        for pod in plan.delete {
            let deleted = self.client.delete::<Pod>(&Key::of(&*pod), &pod.metadata.uid, Dependents::Background).await;
            gone_is_fine(deleted)?;
        }
        let mut last = None;
        for pod in plan.create {
            last = Some(self.client.make(&pod).await?);
        }
        if let Some(last) = last {
            self.owned.view.until_seen(&last.version).await;
        }
        let shown = RayCluster { status: plan.status, ..(*cluster).clone() };
        if let Some(patch) = Patch::between(&*cluster, &shown, MANAGER) {
            let written = self.client.change::<RayCluster>(key, &patch.of_status()).await?;
            self.clusters.until_seen(&written.version).await;
        }
        Ok(Next::Done)
    }
}
