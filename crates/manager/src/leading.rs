//! Who decides: the leader of several replicas, once it knows everything.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use kueue_api::config::Configuration;
use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_api::kueue::v1beta2::Workload;
use kueue_controllers::owner::{Handle, Input};
use kueue_metrics::{Metrics, Role};
use kueue_runtime::client::{Client, Limits};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::leadership::{Candidate, Terms, elected};
use kueue_runtime::meters::Meters;
use kueue_runtime::watch;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinSet;
use tracing::info;

use crate::current;
use crate::observer::Observer;

/// How long requests that are under way may take when the end has come; the pod has ten seconds for all of it.
const DRAIN_WITHIN: Duration = Duration::from_secs(3);

/// One who wants to lead; none when the configuration says that there is only one replica.
pub(crate) fn candidate(
    config: &Configuration,
    connection: kube::Client,
    clock: Clock,
    instance: String,
    meters: &Meters,
) -> Option<Candidate> {
    let election = config.leader_election.as_ref().filter(|election| election.leader_elect != Some(false))?;
    let namespace = match election.resource_namespace.as_str() {
        "" => config.namespace.as_deref().unwrap_or_default(),
        namespace => namespace,
    };
    let usual = Terms::default();
    let terms = Terms {
        lease: positive(election.lease_duration).unwrap_or(usual.lease),
        renew_within: positive(election.renew_deadline).unwrap_or(usual.renew_within),
        retry: positive(election.retry_period).unwrap_or(usual.retry),
    };
    let key = Key::new(namespace, election.resource_name.as_str());
    // Its own limits: a renewal does not wait behind other requests.
    let client = Client::new(connection, Limits::new(2, None)).counted_by(meters).speaking_as(FIELD_MANAGER_KUEUE);
    Some(Candidate::new(client, clock, terms, key, instance, FIELD_MANAGER_KUEUE))
}

fn positive(duration: kueue_core::duration::Duration) -> Option<Duration> {
    u64::try_from(duration.nanos()).ok().filter(|nanos| *nanos > 0).map(Duration::from_nanos)
}

/// Whoever may decide and write.
pub(crate) struct Decide<R> {
    pub(crate) inputs: UnboundedSender<Input>,
    pub(crate) engine: Handle,
    pub(crate) metrics: Metrics,
    pub(crate) observer: Observer,
    /// The name of what the leader holds.
    pub(crate) lease: String,
    pub(crate) client: Client,
    pub(crate) workloads: Arc<Store<Workload>>,
    /// Starts all controllers.
    pub(crate) reconcilers: R,
}

impl<R: Fn(&mut JoinSet<()>)> Decide<R> {
    /// Decides while it leads, until the end.
    pub(crate) async fn when_synced_and_leading(
        &self,
        synced: impl Future<Output = ()>,
        candidate: Option<Candidate>,
        end: impl Future<Output = ()>,
    ) {
        let (leads, leading) = watch::channel(candidate.is_none());
        let is_elected = candidate.is_some();
        self.set_role(is_elected, false);
        // Writing stops before the Lease is given back.
        let (stopped, has_stopped) = tokio::sync::oneshot::channel::<()>();
        let deciding = async {
            tokio::select! {
                biased;
                () = end => {}
                () = self.decide(synced, leading, is_elected) => {}
            }
            let (drained, is_drained) = tokio::sync::oneshot::channel();
            self.tell(Input::Drain(drained));
            // Whoever takes over must not wait for answers that never come.
            drop(tokio::time::timeout(DRAIN_WITHIN, is_drained).await);
            self.tell(Input::Leads(false));
            // The answer comes after what was told before: nothing is on its way any more.
            self.engine.ask(|_| ()).await;
            drop(stopped);
        };
        let electing = async {
            match candidate {
                Some(candidate) => candidate.run(&leads, async { drop(has_stopped.await) }).await,
                None => drop(has_stopped.await),
            }
        };
        tokio::join!(deciding, electing);
    }

    async fn decide(&self, synced: impl Future<Output = ()>, mut leading: watch::Receiver<bool>, is_elected: bool) {
        synced.await;
        self.tell(Input::Synced);
        self.observer.set_ready();
        info!("everything is listed");
        // Nobody says who leads any more only while everything ends.
        while elected(&mut leading).await {
            if is_elected && !self.has_caught_up(leading.clone()).await {
                continue;
            }
            info!("decisions begin");
            self.set_role(is_elected, true);
            self.tell(Input::Leads(true));
            let mut controllers = JoinSet::new();
            (self.reconcilers)(&mut controllers);
            if leading.wait_for(|leads| !*leads).await.is_err() {
                return;
            }
            drop(controllers);
            self.tell(Input::Leads(false));
            self.set_role(is_elected, false);
        }
    }

    /// Waits until everything is known that the leader before decided; for as long as it is our turn. Those who look at
    /// jobs wait on their own for what it did to these.
    async fn has_caught_up(&self, mut leading: watch::Receiver<bool>) -> bool {
        tokio::select! {
            biased;
            () = current::catch_up(&self.client, &self.workloads, "") => true,
            _ = leading.wait_for(|leads| !*leads) => false,
        }
    }

    fn set_role(&self, is_elected: bool, leads: bool) {
        self.metrics.set_role(Role::of(is_elected, leads));
        if is_elected {
            self.observer.meters().set_leads(&self.lease, leads);
        }
    }

    /// The owner of the engine is gone only while everything ends.
    fn tell(&self, input: Input) {
        drop(self.inputs.send(input));
    }
}
