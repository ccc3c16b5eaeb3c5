//! One control plane inside its supervisor: which files it needs, which programs with which flags, when it is ready.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::audit;
use crate::cache::{Cache, make_dir, write};
use crate::control::{PlaneInfo, PlaneSpec, Profile, ProgramStatus};
use crate::egress::{self, Routes};
use crate::http::{Client, Request};
use crate::keys::{FRONT_PROXY, Keys, write_secret};
use crate::manager;
use crate::nodes::NodeGroup;
use crate::ports::Ports;
use crate::problem::Result;
use crate::process::Process;
use crate::recipe::Program;

/// How pretend nodes and pods behave.
const STAGES: &str = include_str!("../../../testbed/stages.yaml");

/// How long an API server that is told to end has for what it is doing. It would wait for its watches much longer.
const DRAINED_WITHIN: Duration = Duration::from_secs(3);

/// A control plane being started or running.
#[derive(Debug)]
pub(crate) struct Launch {
    pub spec: PlaneSpec,
    pub routes: Routes,
    number: usize,
    cache: Cache,
    dir: PathBuf,
    ports: Ports,
    keys: Keys,
    client: Client,
    processes: Vec<Process>,
}

impl Launch {
    /// Makes keys and files for the control plane with this number, in a fresh directory.
    pub fn prepare(cache: &Cache, bed: &Path, number: usize, spec: PlaneSpec) -> Result<Launch> {
        let dir = bed.join(format!("plane-{number}"));
        make_dir(&dir.join("logs"))?;
        let ports = Ports::take(cache)?;
        let keys = Keys::create(&dir.join("keys"))?;
        let client = Client::new(ports.api_server, &keys.authority, &keys.admin_token)?;
        let server = format!("https://127.0.0.1:{}", ports.api_server);
        let kubeconfig = kubeconfig(&server, &dir.join("keys/ca.crt"), "admin", &keys.admin_token);
        write_secret(&dir.join("kubeconfig"), &kubeconfig)?;
        write(&dir.join("stages.yaml"), STAGES)?;
        write(&dir.join("egress.json"), &egress::configuration(&dir.join("egress.sock")))?;
        write(&dir.join("audit.json"), &audit::policy())?;
        let routes = Routes::default();
        Ok(Launch { spec, routes, number, cache: cache.clone(), dir, ports, keys, client, processes: Vec::new() })
    }

    /// etcd and the API server, which waits for it by itself.
    pub fn start_server(&mut self) -> Result<()> {
        egress::serve(&self.dir.join("egress.sock"), self.routes.clone(), self.client.clone())?;
        let (client, peer) = (local("http", self.ports.etcd), local("http", self.ports.etcd_peer));
        let data = self.path("etcd");
        self.start(
            Program::Etcd,
            &flags(&[
                ("data-dir", &data),
                ("listen-client-urls", &client),
                ("advertise-client-urls", &client),
                ("listen-peer-urls", &peer),
                ("initial-advertise-peer-urls", &peer),
                ("initial-cluster", &format!("default={peer}")),
                ("unsafe-no-fsync", "true"),
                ("quota-backend-bytes", "8589934592"),
                ("log-level", "error"),
            ]),
        )?;
        let flags = self.api_server_flags();
        self.start(Program::ApiServer, &flags)
    }

    /// Another API server in place of the one that runs.
    pub fn restart_server(&mut self) -> Result<()> {
        let name = Program::ApiServer.name();
        if let Some(position) = self.processes.iter().position(|process| process.name == name) {
            self.processes.remove(position).end(DRAINED_WITHIN);
        }
        let flags = self.api_server_flags();
        self.start(Program::ApiServer, &flags)
    }

    fn api_server_flags(&self) -> Vec<String> {
        let key = |name: &str| self.keys.file(name);
        // In a bare control plane nobody makes ServiceAccounts. In a full one nobody takes away the taint that
        // TaintNodesByCondition gives to every new node (the node life cycle controller would), and nothing would ever
        // be scheduled.
        let disabled = match self.spec.profile {
            Profile::Bare => "ServiceAccount",
            Profile::Full => "TaintNodesByCondition",
        };
        let mut list = flags(&[
            ("etcd-servers", &local("http", self.ports.etcd)),
            ("bind-address", "127.0.0.1"),
            ("secure-port", &self.ports.api_server.to_string()),
            ("cert-dir", &self.path("certs")),
            ("tls-cert-file", &key("apiserver.crt")),
            ("tls-private-key-file", &key("apiserver.key")),
            ("service-account-issuer", &local("https", self.ports.api_server)),
            ("service-account-key-file", &key("sa.pub")),
            ("service-account-signing-key-file", &key("sa.key")),
            ("token-auth-file", &key("tokens.csv")),
            ("authorization-mode", "RBAC"),
            ("service-cluster-ip-range", "10.0.0.0/24"),
            ("allow-privileged", "true"),
            ("requestheader-client-ca-file", &key("front-proxy-ca.crt")),
            ("proxy-client-cert-file", &key("front-proxy.crt")),
            ("proxy-client-key-file", &key("front-proxy.key")),
            ("requestheader-allowed-names", FRONT_PROXY),
            ("requestheader-username-headers", "X-Remote-User"),
            ("requestheader-group-headers", "X-Remote-Group"),
            ("requestheader-extra-headers-prefix", "X-Remote-Extra-"),
            ("egress-selector-config-file", &self.path("egress.json")),
            ("disable-admission-plugins", disabled),
            ("max-requests-inflight", "5000"),
            ("max-mutating-requests-inflight", "2500"),
            ("shutdown-delay-duration", "0s"),
        ]);
        if self.spec.audits {
            let (policy, log) = (self.path("audit.json"), audit::file(&self.dir.join("logs")));
            list.extend(flags(&[
                ("audit-policy-file", &policy),
                ("audit-log-path", &log.display().to_string()),
                ("audit-log-mode", "blocking"),
            ]));
        }
        if self.spec.forgets_history {
            list.push("--etcd-compaction-interval=4s".to_string());
        }
        list
    }

    pub fn server_is_ready(&self) -> bool {
        self.client.send(&Request::get("/readyz")).is_ok_and(|answer| answer.is_success())
    }

    /// Controllers, scheduler, KWOK and its nodes, in a full control plane.
    pub fn start_rest(&mut self) -> Result<()> {
        if self.spec.profile == Profile::Bare {
            return Ok(());
        }
        let kubeconfig = self.path("kubeconfig");
        let shared: [(&str, &str); 5] = [
            ("kubeconfig", &kubeconfig),
            ("leader-elect", "false"),
            ("secure-port", "0"),
            ("kube-api-qps", "500"),
            ("kube-api-burst", "1000"),
        ];
        let mut controllers = flags(&shared);
        controllers.extend(flags(&[
            ("service-account-private-key-file", self.keys.file("sa.key").as_str()),
            ("root-ca-file", &self.keys.file("ca.crt")),
            ("use-service-account-credentials", "false"),
            // Nodes send no heartbeats here; the controller would call them lost after 40 seconds.
            ("controllers", "*,-node-lifecycle-controller"),
        ]));
        self.start(Program::ControllerManager, &controllers)?;
        self.start(Program::Scheduler, &flags(&shared))?;
        self.start(
            Program::Kwok,
            &flags(&[
                ("kubeconfig", kubeconfig.as_str()),
                ("config", &self.path("stages.yaml")),
                ("manage-all-nodes", "true"),
                ("node-lease-duration-seconds", "0"),
                ("server-address", &format!("127.0.0.1:{}", self.ports.kwok)),
            ]),
        )?;
        for node in self.spec.nodes.iter().flat_map(NodeGroup::objects) {
            self.client.send(&Request::post("/api/v1/nodes", node))?.success("cannot create a node")?;
        }
        Ok(())
    }

    /// Our manager, where it is wanted.
    pub fn start_manager(&mut self) -> Result<()> {
        if let Some(program) = self.spec.manager.clone() {
            let reach = manager::Reach { client: &self.client, info: &self.info() };
            manager::install(&reach, &self.cache.program(Program::Kubectl))?;
            let started = manager::start(&reach, &program, manager::DEFAULTS, &self.dir.join("manager"))?;
            started.routes.iter().cloned().for_each(|route| self.routes.add(route));
            self.processes.push(started.await_ready()?);
        }
        Ok(())
    }

    /// Whether pods can be created, bound and run.
    pub fn is_settled(&self) -> bool {
        if self.spec.profile == Profile::Bare {
            return true;
        }
        let get = |path: &str| self.client.send(&Request::get(path)).ok().filter(crate::http::Response::is_success);
        let is_ready = |node: &Value| {
            let conditions = node["status"]["conditions"].as_array();
            conditions.is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == "True"))
        };
        get("/api/v1/namespaces/default/serviceaccounts/default").is_some()
            && get("/api/v1/nodes")
                .is_some_and(|nodes| nodes.body["items"].as_array().is_some_and(|nodes| nodes.iter().all(is_ready)))
    }

    /// Says which program has ended, if one has.
    pub fn check(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Process::check)
    }

    pub fn status(&self) -> impl Iterator<Item = ProgramStatus> + '_ {
        self.processes.iter().map(|process| ProgramStatus {
            plane: self.number,
            program: process.name.clone(),
            pid: process.id(),
            memory_kb: process.memory_kb(),
        })
    }

    pub fn info(&self) -> PlaneInfo {
        PlaneInfo {
            profile: self.spec.profile,
            server: local("https", self.ports.api_server),
            port: self.ports.api_server,
            token: self.keys.admin_token.clone(),
            kubeconfig: self.dir.join("kubeconfig"),
            authority: self.keys.dir.join("ca.crt"),
            logs: self.dir.join("logs"),
        }
    }

    fn start(&mut self, program: Program, args: &[String]) -> Result<()> {
        let log = self.dir.join("logs").join(format!("{}.log", program.name()));
        self.processes.push(Process::start(&self.cache.program(program), args, &self.dir, &log)?);
        Ok(())
    }

    fn path(&self, name: &str) -> String {
        self.dir.join(name).display().to_string()
    }
}

fn flags(list: &[(&str, &str)]) -> Vec<String> {
    list.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

fn local(scheme: &str, port: u16) -> String {
    format!("{scheme}://127.0.0.1:{port}")
}

/// A kubeconfig with one user, who has a bearer token.
pub(crate) fn kubeconfig(server: &str, authority: &Path, user: &str, token: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "testbed",
        "clusters": [{"name": "testbed", "cluster": {"server": server, "certificate-authority": authority}}],
        "users": [{"name": user, "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": user}}],
    });
    format!("{config:#}\n")
}
