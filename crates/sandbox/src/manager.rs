//! The manager as a pod: it runs in this process while the pod of its Deployment does, with what its ConfigMap says.
//!
//! So `kubectl rollout restart` starts another one with the new configuration, and one that is broken never becomes
//! ready: its pod says what is wrong, and the running manager stays. The server asks the newest one as its webhooks.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use http::Request;
use http_body_util::BodyExt as _;
use kube::client::Body;
use kueue_api::config::blocks::LeaderElection;
use kueue_api::config::{self, Checked, DEFAULT_NAMESPACE};
use kueue_apiserver::{ApiServer, dial};
use kueue_core::gates::Gate;
use kueue_manager::{Manager, Observer, Visibility, keep_registered};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::watch;
use kueue_world::kinds::Pod;
use kueue_world::program::{Program, Starting};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tracing::warn;

use crate::client;

const CONFIG_MAP: &str = "/api/v1/namespaces/kueue-system/configmaps/kueue-manager-config";
const TOKEN: &str = "/api/v1/namespaces/kueue-system/serviceaccounts/kueue-controller-manager/token";
/// The longest there is: nobody renews it here.
const TOKEN_SECONDS: u64 = 1 << 32;
const CONFIG_KEY: &str = "controller_manager_config.yaml";
const WEBHOOKS: &str = "kueue-system/kueue-webhook-service:443";
const VISIBILITY: &str = "kueue-system/kueue-visibility-server:443";
/// How long a manager may take to list everything.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Runs a manager per pod.
pub(crate) struct Managers {
    server: ApiServer,
    client: kube::Client,
    clock: Clock,
    /// What tells each of them to end.
    running: Mutex<BTreeMap<Key, oneshot::Sender<()>>>,
    started: watch::Sender<bool>,
}

impl std::fmt::Debug for Managers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Managers").finish_non_exhaustive()
    }
}

impl Managers {
    pub(crate) fn new(server: ApiServer, client: kube::Client, clock: Clock) -> Self {
        Self { server, client, clock, running: Mutex::default(), started: watch::Sender::new(false) }
    }

    /// Becomes true when the first one is ready.
    pub(crate) fn started(&self) -> watch::Receiver<bool> {
        self.started.subscribe()
    }

    async fn configuration(&self) -> Result<String> {
        let map = self.ask(Request::get(CONFIG_MAP).body(Body::empty())?).await.context("cannot read the ConfigMap")?;
        let text = map["data"][CONFIG_KEY].as_str();
        text.map(str::to_owned).with_context(|| format!("ConfigMap kueue-manager-config has no key {CONFIG_KEY}"))
    }

    /// The manager has the rights of its account and no others.
    async fn account(&self) -> Result<kube::Client> {
        let wanted = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS}});
        let request = Request::post(TOKEN).header("content-type", "application/json");
        let request = request.body(Body::from(wanted.to_string().into_bytes()))?;
        let granted = self.ask(request).await.context("no token for ServiceAccount kueue-controller-manager")?;
        client(&self.server, granted["status"]["token"].as_str().unwrap_or_default())
    }

    async fn ask(&self, request: Request<Body>) -> Result<Value> {
        let answer = self.client.send(request).await?;
        let is_fine = answer.status().is_success();
        let bytes = answer.into_body().collect_bytes().await?;
        let answer: Value = serde_json::from_slice(&bytes)?;
        match is_fine {
            true => Ok(answer),
            false => bail!("{}", answer["message"].as_str().unwrap_or_default()),
        }
    }

    async fn run(&self, pod: &Pod) -> Result<(), String> {
        let told = |error: anyhow::Error| format!("{error:#}");
        let text = self.configuration().await.map_err(told)?;
        let checked = config::check(&text, "", DEFAULT_NAMESPACE, &|_| Ok(()));
        let checked = checked.map_err(|rejected| rejected.describe(CONFIG_KEY))?;
        let Checked { mut configuration, gates, notes } = checked;
        configuration.leader_election.iter_mut().for_each(hold_longer);
        notes.iter().for_each(|note| warn!("{CONFIG_KEY}: {note}"));
        let name = pod.metadata.name.clone();
        let client = self.account().await.map_err(told)?;
        let manager = Manager::new(configuration.clone(), gates, client.clone(), self.clock, name);
        let observer = manager.observer();
        let visibility = Visibility::new(&observer, client.clone(), self.clock);
        let registering = keep_registered(&configuration, &observer, client, self.clock);
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(async move {
            let until_stopped = async {
                // Whoever drops the other end wants it to end as well.
                drop(stopped.await);
            };
            tokio::select! {
                biased;
                () = manager.run_until(until_stopped) => {}
                () = registering => {}
            }
        });
        self.running().insert(Key::of(pod), stop);
        let ready = tokio::time::timeout(READY_WITHIN, observer.ready()).await;
        ready.map_err(|_| "the manager cannot list what it needs; the log says why".to_owned())?;
        self.answer_with(observer);
        if gates.enabled(Gate::VisibilityOnDemand) {
            self.show_queues_with(visibility);
        }
        self.started.send_replace(true);
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<Key, oneshot::Sender<()>>> {
        self.running.lock().expect("no one panics while holding the list")
    }

    /// Leads the server's questions to that manager.
    fn answer_with(&self, observer: Observer) {
        let service = tower::service_fn(move |request: dial::Request| {
            let observer = observer.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
                Ok::<_, Infallible>(observer.review(parts.uri.path(), &body).await.unwrap_or_default())
            }
        });
        self.server.server().dialer.route_to_service(WEBHOOKS, service);
    }

    /// Leads those who ask the server for queues to that manager.
    fn show_queues_with(&self, visibility: Visibility) {
        let visibility = Arc::new(visibility);
        let service = tower::service_fn(move |request: dial::Request| {
            let visibility = Arc::clone(&visibility);
            async move {
                let answer = visibility.answer_near(request.method(), request.uri(), request.headers()).await;
                Ok::<_, Infallible>(answer)
            }
        });
        self.server.server().dialer.route_to_service(VISIBILITY, service);
    }
}

/// Nobody competes for the Lease here, and each renewal is a write that wakes whoever watches: it lives ten times longer
/// than usual. Who waits watches it, and who held it takes it again, so that a restart takes no longer.
fn hold_longer(election: &mut LeaderElection) {
    let seconds = kueue_core::duration::Duration::from_seconds;
    if election.lease_duration == seconds(15) {
        (election.lease_duration, election.renew_deadline, election.retry_period) =
            (seconds(150), seconds(100), seconds(20));
    }
}

impl Program for Managers {
    fn is_in(&self, pod: &Pod) -> bool {
        let role = pod.metadata.labels.get("control-plane");
        pod.metadata.namespace == "kueue-system" && role.is_some_and(|role| role == "controller-manager")
    }

    fn start<'a>(&'a self, pod: &'a Pod) -> Starting<'a> {
        Box::pin(self.run(pod))
    }

    fn runs(&self, pod: &Key) -> bool {
        self.running().contains_key(pod)
    }

    fn stop(&self, pod: &Key) {
        if let Some(stop) = self.running().remove(pod) {
            // One that ended already need not be told.
            let _ = stop.send(());
        }
    }
}
