//! The whole system in one process: an embedded API server, a pretend world and a manager, without any cluster.
//!
//! The parts know nothing of each other: world and manager are clients of the server, in the same process but through
//! the same door as kubectl. Without a socket a sandbox runs under tokio's paused clock as well.

mod demo;
pub mod install;
mod manager;
mod state;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use http::{HeaderValue, Request};
use jiff::Timestamp;
use kube::client::Body;
use kueue_apiserver::socket::{Identity, Socket, kubeconfig};
use kueue_apiserver::{ApiServer, Settings, expire};
use kueue_runtime::clock::Clock;
use kueue_runtime::watch;
use kueue_world::World;
use serde_json::Value;
use tokio::task::JoinSet;

use manager::Managers;
use state::StateFile;

pub use kueue_world::behaviour::Defaults;

/// The nodes of a sandbox whose user gave none.
pub const NODES: &str = include_str!("nodes.yaml");

/// How many changes of each kind clients can catch up on: enough for a kubectl that slept, little enough for a laptop.
const HISTORY_MAX: usize = 2_000;

/// What a sandbox is made of.
#[derive(Debug)]
pub struct Options {
    /// What the clocks show at the start; later if a sandbox was kept that was ahead.
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
    /// The file that holds everything while no sandbox runs.
    pub state: Option<PathBuf>,
}

/// A sandbox that runs until it is dropped.
#[derive(Debug)]
pub struct Sandbox {
    server: ApiServer,
    clock: Clock,
    state: Option<StateFile>,
    has_manager: watch::Receiver<bool>,
    tasks: JoinSet<()>,
}

impl Sandbox {
    /// Starts everything but the socket. Must be called inside a tokio runtime.
    pub async fn start(options: Options) -> Result<Self> {
        let Options { start, speed, seed, pods, nodes, has_demo, state } = options;
        let state = state.map(StateFile::take).transpose()?;
        let kept = state.as_ref().map(StateFile::read).transpose()?.flatten();
        let (start, image) = match kept {
            Some(kept) => (start.max(kept.time), Some(kept.image)),
            None => (start, None),
        };
        // Both begin now: whatever takes time from here on takes it for everybody.
        let clock = Clock::starting_at(start).at_speed(speed);
        let its_clock = kueue_apiserver::clock::Clock::starting_at(start).at_speed(speed);
        let settings = Settings {
            history_max: HISTORY_MAX,
            keeps_events: Some(expire::KEPT),
            collects: true,
            assigns_accounts: true,
            image,
            ..Settings::new(its_clock, seed)
        };
        let server = ApiServer::start(settings);
        let client = client(&server, server.admin_token())?;
        install::install(&client).await?;
        let mut tasks = JoinSet::new();
        if let Some(file) = state.clone() {
            // Whoever cannot write there should know before there is something to lose.
            file.write(&server, clock.now())?;
            tasks.spawn(file.keep(server.clone(), clock));
        }
        let managers = Managers::new(server.clone(), client.clone(), clock);
        let has_manager = managers.started();
        if has_demo {
            tasks.spawn(demo::run(client.clone(), clock, pods.seed, managers.started()));
        }
        let world = World::new(client, clock, pods).with_nodes(nodes).with_program(Arc::new(managers));
        tasks.spawn(world.run());
        Ok(Self { server, clock, state, has_manager, tasks })
    }

    /// Waits until the manager is ready.
    pub async fn ready(&mut self) {
        // A world that is gone starts nothing more.
        drop(self.has_manager.wait_for(|has_manager| *has_manager).await);
    }

    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// The administrator, in this process.
    pub fn client(&self) -> Result<kube::Client> {
        client(&self.server, self.server.admin_token())
    }

    /// Runs until it is dropped.
    pub async fn run(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    /// Ends everything, and keeps what is there where a file was named for that.
    pub async fn end(mut self) -> Result<()> {
        self.tasks.shutdown().await;
        self.state.map_or(Ok(()), |file| file.close(&self.server, self.clock.now()))
    }
}

/// An open port on loopback that nobody answers yet.
#[derive(Debug)]
pub struct Door {
    socket: Socket,
    identity: Identity,
    pub address: SocketAddr,
}

impl Door {
    /// Any free port for 0.
    pub async fn open(port: u16) -> Result<Self> {
        let identity = Identity::generate()?;
        let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), &identity).await?;
        let address = socket.address()?;
        Ok(Self { socket, identity, address })
    }

    /// What the sandbox's administrator gives kubectl.
    pub fn kubeconfig(&self, sandbox: &Sandbox) -> String {
        kubeconfig(self.address, &self.identity, sandbox.server.admin_token())
    }

    /// Answers for that server until it is dropped.
    pub async fn serve(self, server: ApiServer) -> Result<()> {
        self.socket.serve(server).await
    }
}

/// Somebody who has that token, as a client in the same process.
fn client(server: &ApiServer, token: &str) -> Result<kube::Client> {
    let token = HeaderValue::try_from(format!("Bearer {token}")).context("the token is no header")?;
    let server = server.clone();
    let service = tower::service_fn(move |mut request: Request<Body>| {
        request.headers_mut().insert(http::header::AUTHORIZATION, token.clone());
        let server = server.clone();
        async move { Ok::<_, Infallible>(server.handle(request).await) }
    });
    Ok(kube::Client::new(service, "default"))
}
