//! What a LocalQueue's status shows.

use std::sync::Arc;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, condition, reason};
use kueue_api::kueue::v1beta2::{ClusterQueue, LocalQueue, StopPolicy};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::resource::Formatter;
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;
use kueue_engine::{Engine, Name, PendingCount, UsageView};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};
use kueue_translate::{Holders, consumed_from_engine, local_queue_usage};

use crate::conditions::{set, status_of};
use crate::owner::Handle;

/// Shows LocalQueues.
#[derive(Debug)]
pub struct LocalQueues {
    pub client: Client,
    pub clock: Clock,
    pub engine: Handle,
    pub objects: Arc<Store<LocalQueue>>,
    pub cluster_queues: Arc<Store<ClusterQueue>>,
}

/// By what LocalQueues are found: the ClusterQueue behind them.
pub fn queue_values(queue: &LocalQueue) -> Vec<String> {
    vec![queue.spec.cluster_queue.clone()]
}

/// What the engine knows about one.
#[derive(Clone, Debug, Default)]
pub struct View {
    pub pending: Option<PendingCount>,
    pub usage: Option<UsageView>,
    /// What it used of late, and when that was counted.
    pub consumed: Option<(ResourceList, Time)>,
}

impl View {
    pub fn of(engine: &Engine, namespace: &Name, name: &Name) -> Self {
        Self {
            pending: engine.pending_in_local_queue(namespace, name),
            usage: engine.local_queue_usage(namespace, name),
            consumed: engine.told_usage(namespace, name).map(|(consumed, at)| (consumed.clone(), at)),
        }
    }
}

impl Reconciler<Key> for LocalQueues {
    fn name(&self) -> &'static str {
        "localqueue_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let (namespace, name) = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let view = self.engine.ask(move |engine| View::of(engine, &namespace, &name));
        let Some(view) = view.await else { return Ok(Next::Done) };
        let queue = self.cluster_queues.named(&object.spec.cluster_queue);
        let shown = shown(&object, queue.as_deref(), view, self.clock.time());
        if let Some(patch) = Patch::between(&*object, &shown, FIELD_MANAGER_KUEUE) {
            self.client.patch::<LocalQueue>(key, &patch.of_status()).await?;
        }
        Ok(Next::Done)
    }
}

/// The object as it is to be shown, beside the ClusterQueue behind it.
pub fn shown(object: &LocalQueue, queue: Option<&ClusterQueue>, view: View, now: Time) -> LocalQueue {
    let formatter = Formatter::default();
    let mut shown = object.clone();
    let status = &mut shown.status;
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let (is_active, reason, message) = readiness(object, queue);
    let pending = view.pending.filter(|_| reason != reason::local_queue::STOPPED).unwrap_or_default();
    status.pending_workloads = count(pending.active + pending.inadmissible);
    // The engine may hear later that the ClusterQueue is gone, and with it what was held there.
    let usage = view.usage.filter(|_| queue.is_some()).unwrap_or_default();
    status.reserving_workloads = count(usage.reserving);
    status.admitted_workloads = count(usage.admitted);
    status.flavors_reservation = local_queue_usage(&usage, Holders::Reserving, &formatter);
    status.flavors_usage = local_queue_usage(&usage, Holders::Admitted, &formatter);
    if let Some((consumed, at)) = view.consumed {
        consumed_from_engine(&consumed, at, status);
    }
    let active = Condition {
        r#type: condition::ACTIVE.to_owned(),
        status: status_of(is_active),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: object.metadata.generation,
        ..Condition::default()
    };
    set(&mut status.conditions, active, now);
    shown
}

/// Whether jobs can be submitted to it, and why.
fn readiness(object: &LocalQueue, queue: Option<&ClusterQueue>) -> (bool, &'static str, &'static str) {
    let no_queue = "Can't submit new workloads to clusterQueue";
    if object.spec.stop_policy.as_ref().is_some_and(|policy| *policy != StopPolicy::None) {
        return (false, reason::local_queue::STOPPED, "LocalQueue is stopped");
    }
    let Some(queue) = queue else {
        return (false, reason::local_queue::CLUSTER_QUEUE_DOES_NOT_EXIST, no_queue);
    };
    let mut conditions = queue.status.conditions.iter();
    let is_active =
        conditions.any(|active| active.r#type == condition::ACTIVE && active.status == ConditionStatus::True);
    match is_active {
        true => (true, reason::local_queue::READY, "Can submit new workloads to localQueue"),
        false => (false, reason::local_queue::CLUSTER_QUEUE_IS_INACTIVE, no_queue),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_shown_follows_the_queue_behind_it() {
        let now = "2026-01-01T00:00:00Z".parse().unwrap();
        let cluster_queue = |status: &str| -> ClusterQueue {
            let active = json!([{"type": "Active", "status": status, "reason": "R", "message": ""}]);
            let counts =
                json!({"conditions": active, "pendingWorkloads": 0, "reservingWorkloads": 0, "admittedWorkloads": 0});
            serde_json::from_value(json!({"spec": {}, "status": counts})).unwrap()
        };
        let shown = |stop: Option<&str>, queue: Option<&ClusterQueue>| {
            let object = serde_json::from_value(json!({"spec": {"clusterQueue": "q", "stopPolicy": stop}})).unwrap();
            let usage = UsageView { reserving: 2, ..UsageView::default() };
            let pending = PendingCount { active: 1, inadmissible: 2 };
            let status =
                shown(&object, queue, View { pending: Some(pending), usage: Some(usage), consumed: None }, now).status;
            (status.conditions[0].reason.clone(), status.pending_workloads, status.reserving_workloads)
        };
        let (active, inactive) = (cluster_queue("True"), cluster_queue("False"));
        assert_eq!(shown(None, Some(&active)), ("Ready".to_owned(), 3, 2));
        assert_eq!(shown(None, Some(&inactive)), ("ClusterQueueIsInactive".to_owned(), 3, 2));
        assert_eq!(shown(None, None), ("ClusterQueueDoesNotExist".to_owned(), 3, 0));
        assert_eq!(shown(Some("Hold"), Some(&active)), ("Stopped".to_owned(), 0, 2));
    }
}
