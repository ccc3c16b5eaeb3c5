//! What a ClusterQueue's status shows, and the finalizer that keeps it while anybody holds its quota.

use std::sync::Arc;

use kueue_api::kueue::names::{FIELD_MANAGER_KUEUE, condition};
use kueue_api::kueue::v1beta2::{ClusterQueue, FairSharingStatus};
use kueue_api::meta::Condition;
use kueue_core::resource::Formatter;
use kueue_core::time::Time;
use kueue_engine::{Engine, PendingCount, Readiness, ShareView, UsageView};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};
use kueue_translate::{Holders, cluster_queue_usage};

use crate::conditions::{set, status_of};
use crate::guard;
use crate::owner::Handle;

/// Shows ClusterQueues.
#[derive(Debug)]
pub struct ClusterQueues {
    pub client: Client,
    pub clock: Clock,
    pub engine: Handle,
    pub objects: Arc<Store<ClusterQueue>>,
    /// Whether shares are computed.
    pub shares_fairly: bool,
}

/// What the engine knows about one.
#[derive(Clone, Debug)]
pub struct View {
    pub readiness: Readiness,
    pub pending: PendingCount,
    pub usage: UsageView,
    pub share: Option<ShareView>,
}

impl View {
    /// Nothing while the engine was not told of it.
    pub fn of(engine: &Engine, name: &str) -> Option<Self> {
        Some(Self {
            readiness: engine.readiness(name),
            pending: engine.pending_count(name)?,
            usage: engine.queue_usage(name)?,
            share: engine.queue_share(name, &[]),
        })
    }
}

impl Reconciler<Key> for ClusterQueues {
    fn name(&self) -> &'static str {
        "clusterqueue_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let name = Arc::clone(&key.name);
        let view = self.engine.ask(move |engine| View::of(engine, &name));
        // One that the engine was not told of yet is looked at again when it was.
        let Some(view) = view.await.flatten() else { return Ok(Next::Done) };
        let is_in_use = view.usage.reserving > 0;
        if guard::guard(&self.client, &*object, is_in_use).await? {
            return Ok(Next::Done);
        }
        let shown = shown(&object, &view, self.shares_fairly, self.clock.time());
        if let Some(patch) = Patch::between(&*object, &shown, FIELD_MANAGER_KUEUE) {
            self.client.patch::<ClusterQueue>(key, &patch.of_status()).await?;
        }
        Ok(Next::Done)
    }
}

/// The object as it is to be shown.
pub fn shown(object: &ClusterQueue, view: &View, shares_fairly: bool, now: Time) -> ClusterQueue {
    let formatter = Formatter::default();
    let mut shown = object.clone();
    let status = &mut shown.status;
    let count = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    status.pending_workloads = count(view.pending.active + view.pending.inadmissible);
    status.reserving_workloads = count(view.usage.reserving);
    status.admitted_workloads = count(view.usage.admitted);
    status.flavors_reservation = cluster_queue_usage(&view.usage, Holders::Reserving, &formatter);
    status.flavors_usage = cluster_queue_usage(&view.usage, Holders::Admitted, &formatter);
    let share = view.share.as_ref().filter(|_| shares_fairly);
    status.fair_sharing = share.map(|share| FairSharingStatus { weighted_share: share.rounded });
    let active = Condition {
        r#type: condition::ACTIVE.to_owned(),
        status: status_of(view.readiness.is_active),
        reason: view.readiness.reason.to_owned(),
        message: view.readiness.message.to_string(),
        observed_generation: object.metadata.generation,
        ..Condition::default()
    };
    set(&mut status.conditions, active, now);
    shown
}
