//! The whole system in one process: an embedded API server, a pretend world and a manager, without any cluster.
//!
//! The parts know nothing of each other: world and manager are clients of the server, in the same process but through
//! the same door as kubectl. Without a socket a sandbox runs under tokio's paused clock as well.

mod demo;
mod events;
mod install;
mod manager;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http::{HeaderValue, Request};
use jiff::Timestamp;
use kube::client::Body;
use kueue_apiserver::socket::{Identity, Socket, kubeconfig};
use kueue_apiserver::{ApiServer, Settings};
use kueue_runtime::clock::Clock;
use kueue_world::World;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use manager::Managers;

pub use kueue_world::behaviour::Defaults;

/// The nodes of a sandbox whose user gave none.
pub const NODES: &str = include_str!("nodes.yaml");

/// What a sandbox is made of.
#[derive(Debug)]
pub struct Options {
    /// What the clocks show at the start.
    pub start: Timestamp,
    /// How many times as fast as usual time passes.
    pub speed: f64,
    /// Where everything that is invented comes from, tokens among it.
    pub seed: [u8; 32],
    /// What pods do that do not say.
    pub pods: Defaults,
    /// Manifests of the nodes.
    pub nodes: Vec<Value>,
    /// Whether two teams submit jobs all the time.
    pub has_demo: bool,
}

/// A sandbox that runs until it is dropped.
#[derive(Debug)]
pub struct Sandbox {
    server: ApiServer,
    has_manager: watch::Receiver<bool>,
    tasks: JoinSet<()>,
}

impl Sandbox {
    /// Starts everything but the socket. Must be called inside a tokio runtime.
    pub async fn start(options: Options) -> Result<Self> {
        let Options { start, speed, seed, pods, nodes, has_demo } = options;
        // Both begin now: whatever takes time from here on takes it for everybody.
        let clock = Clock::starting_at(start).at_speed(speed);
        let its_clock = kueue_apiserver::clock::Clock::starting_at(start).at_speed(speed);
        let server = ApiServer::start(Settings { collects: true, ..Settings::new(its_clock, seed) });
        let client = client(&server)?;
        install::install(&client).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(events::forget(client.clone(), clock));
        let managers = Managers::new(server.clone(), client.clone(), clock);
        let has_manager = managers.started();
        if has_demo {
            tasks.spawn(demo::run(client.clone(), clock, pods.seed, managers.started()));
        }
        let world = World::new(client, clock, pods).with_nodes(nodes).with_program(Arc::new(managers));
        tasks.spawn(world.run());
        Ok(Self { server, has_manager, tasks })
    }

    /// Waits until the manager is ready.
    pub async fn ready(&mut self) {
        // A world that is gone starts nothing more.
        drop(self.has_manager.wait_for(|has_manager| *has_manager).await);
    }

    /// The administrator, in this process.
    pub fn client(&self) -> Result<kube::Client> {
        client(&self.server)
    }

    /// Opens a port on loopback, any free one for 0. The text is a kubeconfig for it.
    pub async fn open(&self, port: u16) -> Result<(Door, String)> {
        let identity = Identity::generate()?;
        let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &identity).await?;
        let address = socket.address()?;
        let text = kubeconfig(address, &identity, self.server.admin_token());
        Ok((Door { socket, server: self.server.clone(), address }, text))
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// An open port that nobody answers yet.
#[derive(Debug)]
pub struct Door {
    socket: Socket,
    server: ApiServer,
    pub address: SocketAddr,
}

impl Door {
    /// Answers until it is dropped.
    pub async fn serve(self) -> Result<()> {
        self.socket.serve(self.server).await
    }
}

/// The administrator as a client in the same process.
fn client(server: &ApiServer) -> Result<kube::Client> {
    let token = HeaderValue::try_from(format!("Bearer {}", server.admin_token())).context("the token is a header")?;
    let server = server.clone();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert(http::header::AUTHORIZATION, token.clone());
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.handle(request).await) }
    });
    Ok(kube::Client::new(service, "default"))
}
