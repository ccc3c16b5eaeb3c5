//! A cluster: an API server with everything installed, a pretend world, and somebody who uses it.

use std::convert::Infallible;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use http::{HeaderValue, Method, Request, header};
use jiff::Timestamp;
use kube::client::Body;
use kueue_apiserver::auth::StaticUser;
use kueue_apiserver::{ApiServer, Image, Settings, clock};
use kueue_runtime::clock::Clock;
use kueue_sandbox::install::install;
use kueue_world::World;
use kueue_world::behaviour::Defaults;
use serde_json::Value;
use tokio::task::JoinSet;

use crate::audit::Audit;
use crate::load::Setup;

/// What the clocks show at the start.
const START: Timestamp = Timestamp::constant(1_767_225_600, 0);
/// Managers have the rights of their account and no others, and a token that is cheaper to check than a signed one.
const ACCOUNT: (&str, &str) = ("system:serviceaccount:kueue-system:kueue-controller-manager", "the-token-of-a-manager");
/// Managers are started and killed by hand.
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/kueue-system/deployments/kueue-controller-manager";

/// Runs until it is dropped.
pub struct Bed {
    pub server: ApiServer,
    pub clock: Clock,
    pub audit: Audit,
    pub admin: kube::Client,
    _tasks: JoinSet<()>,
}

impl Bed {
    /// A cluster with nodes and no manager. Must be called inside a tokio runtime.
    pub async fn start(seed: u64, setup: &Setup, tells: bool) -> Result<Self> {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let settings = Settings::new(clock::Clock::starting_at(START), bytes);
        let manager = StaticUser { name: ACCOUNT.0.to_owned(), groups: Vec::new(), token: ACCOUNT.1.to_owned() };
        let users = vec![manager];
        let server = ApiServer::start(Settings { collects: true, image: Some(image()?), users, ..settings });
        let (clock, audit) = (Clock::starting_at(START), Audit::new(tells));
        let mut tasks = JoinSet::new();
        let (mut news, listener) = (server.server().store.follow(), audit.clone());
        tasks.spawn(async move {
            while let Some(news) = news.recv().await {
                listener.hear(&news);
            }
        });
        let admin = client(&server, server.admin_token())?;
        let pods = Defaults { seed, ..Defaults::default() };
        tasks.spawn(World::new(admin.clone(), clock, pods).with_nodes(setup.nodes()).run());
        Ok(Self { server, clock, audit, admin, _tasks: tasks })
    }

    /// Every object of a collection.
    pub fn all(&self, collection: &str) -> Vec<Value> {
        let found = self.server.server().store.list(collection, "", None);
        found.map_or_else(
            |_| Vec::new(),
            |found| found.objects.into_iter().map(|(_, object)| Value::from(&object.value)).collect(),
        )
    }
}

/// A server on which everything is installed. To read the definitions takes seconds, so it happens once.
fn image() -> Result<Image> {
    static IMAGE: OnceLock<Result<Image, String>> = OnceLock::new();
    let prepared =
        IMAGE.get_or_init(|| std::thread::spawn(prepare).join().unwrap_or_else(|_| Err("it panicked".to_owned())));
    prepared.clone().map_err(|why| anyhow::anyhow!("cannot install everything: {why}"))
}

/// In a thread of its own: whoever asks is in a runtime already.
fn prepare() -> Result<Image, String> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| error.to_string())?;
    let prepared = runtime.block_on(async {
        let server = ApiServer::start(Settings::new(clock::Clock::starting_at(START), [0; 32]));
        let admin = client(&server, server.admin_token())?;
        install(&admin).await?;
        send(&admin, Method::DELETE, DEPLOYMENT, &Value::Null).await?;
        Ok::<_, anyhow::Error>(server.image())
    });
    prepared.map_err(|error| format!("{error:#}"))
}

/// Somebody who has that token, over a connection that never fails.
fn client(server: &ApiServer, token: &str) -> Result<kube::Client> {
    let (token, server) = (bearer(token)?, server.clone());
    let service = tower::service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert(header::AUTHORIZATION, token.clone());
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.handle(request).await) }
    });
    Ok(kube::Client::new(service, "default"))
}

/// The token of managers.
pub fn account() -> Result<HeaderValue> {
    bearer(ACCOUNT.1)
}

fn bearer(token: &str) -> Result<HeaderValue> {
    HeaderValue::try_from(format!("Bearer {token}")).context("the token is no header")
}

/// Sends a request, and reads the answer: its code and its object.
pub async fn send(client: &kube::Client, method: Method, path: &str, body: &Value) -> Result<(u16, Value)> {
    let kind = if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    let answer = client.send(request.body(Body::from(body))?).await?;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect_bytes().await?;
    Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
}
