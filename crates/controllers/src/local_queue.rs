//! What a LocalQueue's status shows.

use std::sync::Arc;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, condition, reason};
use kueue_api::kueue::v1beta2::{ClusterQueue, LocalQueue, StopPolicy};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::resource::Formatter;
use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;
use kueue_engine::{PendingCount, UsageView};
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

/// What the engine knows about one.
struct View {
    pending: Option<PendingCount>,
    usage: Option<UsageView>,
    consumed: Option<(ResourceList, Time)>,
}

impl Reconciler<Key> for LocalQueues {
    fn name(&self) -> &'static str {
        "localqueue_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let (namespace, name) = (Arc::clone(&key.namespace), Arc::clone(&key.name));
        let view = self.engine.ask(move |engine| View {
            pending: engine.pending_in_local_queue(&namespace, &name),
            usage: engine.local_queue_usage(&namespace, &name),
            consumed: engine.ledger(&namespace, &name).map(|ledger| (ledger.consumed().clone(), ledger.updated())),
        });
        let Some(view) = view.await else { return Ok(Next::Done) };
        let shown = self.shown(&object, view);
        if let Some(patch) = Patch::between(&*object, &shown, FIELD_MANAGER_KUEUE) {
            self.client.patch::<LocalQueue>(key, &patch.of_status()).await?;
        }
        Ok(Next::Done)
    }
}

impl LocalQueues {
    fn shown(&self, object: &LocalQueue, view: View) -> LocalQueue {
        let formatter = Formatter::default();
        let mut shown = object.clone();
        let status = &mut shown.status;
        let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        let (is_active, reason, message) = self.readiness(object);
        let pending = view.pending.filter(|_| reason != reason::local_queue::STOPPED).unwrap_or_default();
        status.pending_workloads = count(pending.active + pending.inadmissible);
        let usage = view.usage.unwrap_or_default();
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
        set(&mut status.conditions, active, self.clock.time());
        shown
    }

    /// Whether jobs can be submitted to it, and why.
    fn readiness(&self, object: &LocalQueue) -> (bool, &'static str, &'static str) {
        let no_queue = "Can't submit new workloads to clusterQueue";
        if object.spec.stop_policy.as_ref().is_some_and(|policy| *policy != StopPolicy::None) {
            return (false, reason::local_queue::STOPPED, "LocalQueue is stopped");
        }
        let Some(queue) = self.cluster_queues.named(&object.spec.cluster_queue) else {
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
}
