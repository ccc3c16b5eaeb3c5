//! Managers: each with a connection that fails as the plan says, and is watched.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use anyhow::Result;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use jiff::SignedDuration;
use kube::client::Body;
use kueue_api::config::{self, Checked, DEFAULT_NAMESPACE};
use kueue_apiserver::faults::{Fault, Faults, Rule};
use kueue_apiserver::{ApiServer, dial};
use kueue_manager::{Manager, Observer, keep_registered};
use kueue_runtime::clock::Clock;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tower::{Layer as _, ServiceExt as _};

use crate::audit::{self, Audit};
use crate::bed::{Bed, account};
use crate::plan::Plan;

const WEBHOOKS: &str = "kueue-system/kueue-webhook-service:443";
const NOT_REACHABLE: [Fault; 1] = [Fault::LostBefore];

/// All managers of a cluster.
pub struct Replicas {
    server: ApiServer,
    clock: Clock,
    audit: Audit,
    token: HeaderValue,
    configuration: String,
    registers: bool,
    rules: Vec<Rule>,
    faults: Vec<Faults>,
    running: Vec<Option<Running>>,
    /// How many were started, so that each has a name of its own.
    started: usize,
    hooks: Hooks,
}

struct Running {
    task: JoinHandle<()>,
    end: Option<oneshot::Sender<()>>,
}

/// Those who can answer the server's questions.
#[derive(Clone, Default)]
struct Hooks(Arc<Mutex<BTreeMap<usize, Observer>>>);

impl Hooks {
    fn observers(&self) -> MutexGuard<'_, BTreeMap<usize, Observer>> {
        self.0.lock().expect("nobody panics with the list")
    }

    /// Somebody who is ready.
    fn find(&self) -> Option<Observer> {
        self.observers().values().find(|observer| observer.is_ready()).cloned()
    }

    async fn answer(self, request: dial::Request) -> http::Response<Full<bytes::Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let answer = match self.find() {
            Some(observer) => observer.review(parts.uri.path(), &body).await,
            None => None,
        };
        answer.unwrap_or_else(|| {
            let mut refusal = http::Response::new(Full::default());
            *refusal.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            refusal
        })
    }
}

impl Replicas {
    /// None of them runs yet.
    pub fn new(plan: &Plan, bed: &Bed) -> Result<Self> {
        let hooks = Hooks::default();
        let answering = hooks.clone();
        let service = tower::service_fn(move |request: dial::Request| {
            let hooks = answering.clone();
            async move { Ok::<_, Infallible>(hooks.answer(request).await) }
        });
        bed.server.server().dialer.route_to_service(WEBHOOKS, service);
        let faults =
            |replica: usize| Faults::new(plan.seed.wrapping_mul(31).wrapping_add(replica as u64), plan.faults.clone());
        Ok(Self {
            server: bed.server.clone(),
            clock: bed.clock,
            audit: bed.audit.clone(),
            token: account()?,
            configuration: plan.setup.configuration(),
            registers: plan.setup.registers,
            rules: plan.faults.clone(),
            faults: (0..plan.setup.replicas).map(faults).collect(),
            running: (0..plan.setup.replicas).map(|_| None).collect(),
            started: 0,
            hooks,
        })
    }

    /// Starts a manager whose clock differs from the server's by so much, unless there is one.
    pub fn start(&mut self, replica: usize, skew_s: i64) -> Result<()> {
        if self.running[replica].is_some() {
            return Ok(());
        }
        let checked = config::check(&self.configuration, "", DEFAULT_NAMESPACE, &|_| Ok(()));
        let checked = checked.map_err(|rejected| anyhow::anyhow!("{}", rejected.describe("configuration")))?;
        let Checked { configuration, gates, .. } = checked;
        let name = format!("manager-{replica}-{}", self.started);
        self.started += 1;
        self.audit.tell(|| format!("{name} starts, {skew_s} s ahead"));
        let clock = Clock::starting_at(self.clock.now().saturating_add(SignedDuration::from_secs(skew_s))?);
        let client = self.client(&name, &self.faults[replica]);
        let manager = Manager::new(configuration.clone(), gates, client.clone(), clock, name);
        let observer = manager.observer();
        let registering = self.registers.then(|| keep_registered(&configuration, &observer, client, clock));
        self.hooks.observers().insert(replica, observer);
        let (end, ended) = oneshot::channel();
        let task = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = manager.run_until(async { drop(ended.await) }) => {}
                () = async {
                    match registering {
                        Some(registering) => registering.await,
                        None => std::future::pending().await,
                    }
                } => {}
            }
        });
        self.running[replica] = Some(Running { task, end: Some(end) });
        Ok(())
    }

    /// A manager ends in the middle of whatever it does.
    pub fn kill(&mut self, replica: usize) {
        self.hooks.observers().remove(&replica);
        if let Some(running) = self.running[replica].take() {
            self.audit.tell(|| format!("manager-{replica} is killed"));
            running.task.abort();
        }
    }

    /// A manager is told to end, and has until [`kill`](Self::kill) for it.
    pub fn stop(&mut self, replica: usize) {
        self.hooks.observers().remove(&replica);
        let end = self.running[replica].as_mut().and_then(|running| running.end.take());
        if let Some(end) = end {
            self.audit.tell(|| format!("manager-{replica} is told to end"));
            // One that ended already need not be told.
            let _ = end.send(());
        }
    }

    /// No request of a manager arrives any more.
    pub fn cut_off(&self, replica: usize) {
        self.audit.tell(|| format!("manager-{replica} is cut off"));
        self.faults[replica].replace_rules(NOT_REACHABLE.map(|fault| Rule::new(fault, 1.0)));
    }

    pub fn reconnect(&self, replica: usize) {
        self.audit.tell(|| format!("manager-{replica} is connected again"));
        self.faults[replica].replace_rules(self.rules.clone());
    }

    /// No more faults, and all of them run.
    pub fn mend(&mut self) -> Result<()> {
        self.audit.tell(|| "no more faults".to_owned());
        self.faults.iter().for_each(Faults::stop);
        for replica in 0..self.running.len() {
            // Who was told to end does not go on.
            if self.running[replica].as_ref().is_some_and(|running| running.end.is_none() || running.task.is_finished())
            {
                self.kill(replica);
            }
            self.start(replica, 0)?;
        }
        Ok(())
    }

    /// One that should run and does not any more.
    pub fn ended(&self) -> Option<usize> {
        let has_ended = |running: &Running| running.end.is_some() && running.task.is_finished();
        self.running.iter().position(|running| running.as_ref().is_some_and(has_ended))
    }

    /// A connection of a manager: watched where it leaves and where it arrives, with faults between.
    fn client(&self, name: &str, faults: &Faults) -> kube::Client {
        let (server, audit, manager) = (self.server.clone(), self.audit.clone(), name.to_owned());
        let arriving = tower::service_fn(move |request: Request<Body>| {
            let (server, audit, manager) = (server.clone(), audit.clone(), manager.clone());
            async move { Ok::<_, Infallible>(arrive(server, audit, manager, request).await) }
        });
        let faulty = faults.layer(arriving);
        let (audit, token) = (self.audit.clone(), self.token.clone());
        let leaving = tower::service_fn(move |mut request: Request<Body>| {
            request.headers_mut().insert(header::AUTHORIZATION, token.clone());
            let (faulty, audit) = (faulty.clone(), audit.clone());
            async move {
                let asked = audit.asks(request.method(), request.uri().path());
                let answer = faulty.oneshot(request).await?;
                if answer.status() != StatusCode::GATEWAY_TIMEOUT {
                    asked.is_answered();
                }
                Ok::<_, kueue_apiserver::faults::Lost>(answer)
            }
        });
        kube::Client::new(leaving, "default")
    }
}

async fn arrive(
    server: ApiServer,
    audit: Audit,
    manager: String,
    request: Request<Body>,
) -> kueue_apiserver::rest::reply::Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let store = &server.server().store;
    audit.arrives(audit::holder(store).as_deref(), &manager, &method, &path);
    let before = store.revision();
    let answer = server.handle(request).await;
    if method != Method::GET {
        audit.tell(|| format!("{manager} {method} {path} {}", answer.status().as_u16()));
    }
    let is_change = method == Method::PATCH || method == Method::PUT;
    if is_change && answer.status().is_success() && store.revision() == before {
        audit.changed_nothing(&manager, &method, &path);
    }
    answer
}
