//! Our manager on a control plane: what its manifests install, and its process, with the rights of its account alone.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bed::Bed;
use crate::cache::{make_dir, write};
use crate::control::{PlaneInfo, Route};
use crate::http::{Client, Request};
use crate::keys::write_secret;
use crate::launch::kubeconfig;
use crate::problem::{Problem, Result};
use crate::process::Process;

const MANIFESTS: &str = include_str!("../../../dist/manifests.yaml");
pub(crate) const NAMESPACE: &str = "kueue-system";
pub(crate) const ACCOUNT: &str = "kueue-controller-manager";
/// The configuration that says nothing.
pub(crate) const DEFAULTS: &str = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
/// Where the API server calls it.
const WEBHOOK_SERVICE: &str = "kueue-webhook-service";
const VISIBILITY_SERVICE: &str = "kueue-visibility-server";
const SERVICE_PORT: u16 = 443;
/// How long the manager may take until it knows everything and its webhooks can be reached.
const READY_WITHIN: Duration = Duration::from_secs(120);
/// How long an API server may take to serve a new kind.
const SERVED_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The administrator's way to a control plane.
pub(crate) struct Reach<'a> {
    pub client: &'a Client,
    pub info: &'a PlaneInfo,
}

impl Reach<'_> {
    /// Writes a kubeconfig that is a ServiceAccount.
    pub(crate) fn write_account(&self, namespace: &str, name: &str, file: &Path) -> Result<()> {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let day = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 86400}});
        let doing = format!("no token for ServiceAccount {namespace}/{name}");
        let answer = self.client.send(&Request::post(path, day))?.success(&doing)?;
        let token = answer["status"]["token"].as_str().map(String::from);
        let token = token.ok_or_else(|| Problem::new(format!("{doing}: the answer has none: {answer}")))?;
        write_secret(file, &kubeconfig(&self.info.server, &self.info.authority, name, &token))
    }
}

/// Applies the manifests as users do, and waits until all of their kinds are served. Returns what kubectl says.
pub(crate) fn install(reach: &Reach<'_>, kubectl: &Path) -> Result<String> {
    let objects: Vec<Value> = serde_saphyr::from_multiple(MANIFESTS)
        .map_err(|error| Problem::new(format!("the manifests cannot be read: {error}")))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let file = reach.info.logs.with_file_name("manifests.yaml");
    write(&file, MANIFESTS)?;
    let said = Command::new(kubectl)
        .arg("apply")
        .arg("-f")
        .arg(&file)
        .env("KUBECONFIG", &reach.info.kubeconfig)
        .output()
        .map_err(|error| Problem::file("start", kubectl, &error))?;
    if !said.status.success() {
        let told = String::from_utf8_lossy(&said.stderr);
        return Err(Problem::new(format!("kubectl cannot apply the manifests: {told}")));
    }
    let client = reach.client;
    objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition").try_for_each(|crd| {
        // Other versions than the stored one need somebody who converts.
        let mut versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        let stored = versions.find(|version| version["storage"] == true).map(|version| text(&version["name"]));
        let (group, plural) = (text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["plural"]));
        await_kind(client, &format!("/apis/{group}/{}/{plural}", stored.unwrap_or_default()))
    })?;
    Ok(String::from_utf8_lossy(&said.stdout).into_owned())
}

fn await_kind(client: &Client, path: &str) -> Result<()> {
    let mut passed = Duration::ZERO;
    while !client.send(&Request::get(format!("{path}?limit=1")))?.is_success() {
        if passed >= SERVED_WITHIN {
            return Err(Problem::new(format!(
                "{path} is not served {SERVED_WITHIN:?} after its definition was applied"
            )));
        }
        Bed::pass(client, LOOK_EVERY);
        passed += LOOK_EVERY;
    }
    Ok(())
}

/// A manager that was started, and where it answers.
pub(crate) struct Started {
    pub process: Process,
    /// The ways from its Services to what it serves.
    pub routes: [Route; 2],
    probes: u16,
}

impl Started {
    /// Waits until the API server can call it. The routes must be known there.
    pub(crate) fn await_ready(mut self) -> Result<Process> {
        let begin = Instant::now();
        while !answers(self.probes, "/readyz") {
            self.process.check()?;
            if begin.elapsed() > READY_WITHIN {
                let log = self.process.log.display();
                return Err(Problem::new(format!("the manager is not ready after {READY_WITHIN:?}; its log is {log}")));
            }
            std::thread::sleep(LOOK_EVERY);
        }
        Ok(self.process)
    }
}

/// Whether somebody on this machine answers with 200.
fn answers(port: u16, path: &str) -> bool {
    let ask = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.take(1 << 16).read_to_string(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}

/// Starts the manager with files of its own in `dir`. It ends with the calling thread at the latest.
pub(crate) fn start(reach: &Reach<'_>, program: &Path, configuration: &str, dir: &Path) -> Result<Started> {
    make_dir(dir)?;
    let (kubeconfig, config) = (dir.join("kubeconfig"), dir.join("config.yaml"));
    reach.write_account(NAMESPACE, ACCOUNT, &kubeconfig)?;
    let (webhooks, visibility, probes, metrics) = (free_port()?, free_port()?, free_port()?, free_port()?);
    let mut configuration: Value = serde_saphyr::from_str(configuration)
        .map_err(|error| Problem::new(format!("the configuration cannot be read: {error}")))?;
    // Others on this machine may have the usual ports.
    configuration["webhook"] = json!({"host": "127.0.0.1", "port": webhooks});
    configuration["visibilityServer"] = json!({"bindAddress": "127.0.0.1", "bindPort": visibility});
    configuration["health"] = json!({"healthProbeBindAddress": format!("127.0.0.1:{probes}")});
    configuration["metrics"]["bindAddress"] = format!("127.0.0.1:{metrics}").into();
    write(&config, &configuration.to_string())?;
    let flag = |name: &str, file: &Path| format!("--{name}={}", file.display());
    let args = ["manager".to_string(), flag("config", &config), flag("kubeconfig", &kubeconfig)];
    let process = Process::start(program, &args, dir, &dir.join("kueue.log"))?;
    let to = |service: &str, to: u16| Route {
        namespace: NAMESPACE.to_string(),
        service: service.to_string(),
        port: SERVICE_PORT,
        to,
    };
    let routes = [to(WEBHOOK_SERVICE, webhooks), to(VISIBILITY_SERVICE, visibility)];
    Ok(Started { process, routes, probes })
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    listener.map(|address| address.port()).map_err(|error| Problem::new(format!("no port is free: {error}")))
}
