//! Who waits in a queue, as the visibility API shows it.

use std::ops::Deref;

use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::{ObjectMeta, OwnerReference};
use kueue_api::visibility::{PendingWorkload, PendingWorkloadOptions};
use kueue_engine::{Engine, Key, Name, Position};

/// One page of those who wait in a ClusterQueue; nothing when there is no such queue. `find` knows the objects.
pub fn pending_in_cluster_queue<W: Deref<Target = Workload>>(
    engine: &Engine,
    queue: &str,
    page: PendingWorkloadOptions,
    find: impl Fn(&Key) -> Option<W>,
) -> Option<Vec<PendingWorkload>> {
    engine.pending_count(queue)?;
    Some(show(engine.positions(queue), page, find))
}

/// One page of those who wait in a LocalQueue; nothing when there is no such queue, or it is stopped.
pub fn pending_in_local_queue<W: Deref<Target = Workload>>(
    engine: &Engine,
    namespace: &Name,
    name: &Name,
    page: PendingWorkloadOptions,
    find: impl Fn(&Key) -> Option<W>,
) -> Option<Vec<PendingWorkload>> {
    let queue = engine.queue_behind(namespace, name)?;
    let is_here = |position: &Position| position.workload.namespace == *namespace && position.local_queue == *name;
    Some(show(engine.positions(&queue).filter(is_here), page, find))
}

fn show<W: Deref<Target = Workload>>(
    positions: impl Iterator<Item = Position>,
    page: PendingWorkloadOptions,
    find: impl Fn(&Key) -> Option<W>,
) -> Vec<PendingWorkload> {
    let page = page.bounded();
    let number = |number: i64| usize::try_from(number).unwrap_or(0);
    let positions = positions.skip(number(page.offset)).take(number(page.limit));
    positions.map(|position| pending_workload(&position, find(&position.workload).as_deref())).collect()
}

/// A waiting workload; what the engine does not keep comes from the object.
fn pending_workload(position: &Position, object: Option<&Workload>) -> PendingWorkload {
    let place = |place: usize| i32::try_from(place).unwrap_or(i32::MAX);
    let owners = object.into_iter().flat_map(|object| &object.metadata.owner_references);
    PendingWorkload {
        metadata: ObjectMeta {
            name: position.workload.name.to_string(),
            namespace: position.workload.namespace.to_string(),
            owner_references: owners.map(owner).collect(),
            creation_timestamp: position.created,
            ..ObjectMeta::default()
        },
        priority: position.priority,
        local_queue_name: position.local_queue.to_string(),
        position_in_cluster_queue: place(position.in_cluster_queue),
        position_in_local_queue: place(position.in_local_queue),
    }
}

fn owner(owner: &OwnerReference) -> OwnerReference {
    OwnerReference { controller: None, block_owner_deletion: None, ..owner.clone() }
}
