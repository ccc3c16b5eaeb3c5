//! What a supervisor and those who talk to it say to each other: one JSON line each way.

use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::nodes::NodeGroup;
use crate::problem::{Problem, Result};

/// What runs in a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// etcd and the API server: nothing acts, and pods need no ServiceAccount.
    Bare,
    /// With controllers, scheduler and KWOK nodes.
    Full,
}

/// The wish for one control plane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlaneSpec {
    pub profile: Profile,
    pub nodes: Vec<NodeGroup>,
    /// Forgets history after a few seconds, so that old continue tokens and versions expire.
    pub forgets_history: bool,
    /// Writes down who asked for what, for [`audit`](crate::audit).
    pub audits: bool,
    /// The program of our manager, which is then installed and runs with the rights of its account.
    pub manager: Option<PathBuf>,
}

impl PlaneSpec {
    /// A control plane of this profile with these nodes.
    pub fn new(profile: Profile, nodes: Vec<NodeGroup>) -> PlaneSpec {
        PlaneSpec { profile, nodes, forgets_history: false, audits: false, manager: None }
    }
}

/// The first line a supervisor reads from its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub dir: PathBuf,
    pub cache: PathBuf,
    pub planes: Vec<PlaneSpec>,
}

/// What a supervisor prints while it starts.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum News {
    Progress(String),
    Ready(BedInfo),
    Failed { what: String },
}

/// All that a client of a running bed needs, also kept in `bed.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BedInfo {
    pub supervisor: u32,
    pub planes: Vec<PlaneInfo>,
}

/// One running control plane.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PlaneInfo {
    pub profile: Profile,
    pub server: String,
    pub port: u16,
    pub token: String,
    /// Administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// PEM file of the authority that signed the server's certificate.
    pub authority: PathBuf,
    pub logs: PathBuf,
}

/// A request to a running supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Ask {
    Down,
    Status,
    /// The API server ends, and another one takes its place.
    RestartServer {
        plane: usize,
    },
    /// Calls of a Service's port go to a port on loopback.
    Route {
        plane: usize,
        route: Route,
    },
}

/// Where the API server's calls of one Service go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub namespace: String,
    pub service: String,
    pub port: u16,
    /// The port on loopback where a process answers for the Service.
    pub to: u16,
}

impl std::str::FromStr for Route {
    type Err = Problem;

    /// `NAMESPACE/SERVICE:PORT=LOOPBACKPORT`.
    fn from_str(text: &str) -> Result<Route> {
        let parse = || {
            let (service, to) = text.split_once('=')?;
            let (service, port) = service.split_once(':')?;
            let (namespace, service) = service.split_once('/')?;
            let (port, to) = (port.parse().ok()?, to.parse().ok()?);
            Some(Route { namespace: namespace.to_string(), service: service.to_string(), port, to })
        };
        parse().ok_or_else(|| {
            Problem::new(format!("{text:?} is not a route")).next("write NAMESPACE/SERVICE:PORT=LOOPBACKPORT")
        })
    }
}

/// What a supervisor answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Answer {
    Done,
    Status(Vec<ProgramStatus>),
    Failed(String),
}

/// One program of a running bed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ProgramStatus {
    pub plane: usize,
    pub program: String,
    pub pid: u32,
    pub memory_kb: Option<u64>,
}

/// Asks a supervisor; `None` when none listens on this socket, or when it ends instead of answering.
pub(crate) fn ask(socket: &Path, ask: &Ask) -> Result<Option<Answer>> {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return Ok(None);
    };
    let mut answer = String::new();
    let asked = stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .and_then(|()| writeln!(stream, "{}", line(ask)))
        .and_then(|()| BufReader::new(stream).read_line(&mut answer));
    match asked {
        Ok(0) => Ok(None),
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => Ok(None),
        Err(error) => Err(Problem::new(format!("the supervisor does not answer: {error}"))),
        Ok(_) => {
            let answer = serde_json::from_str(&answer);
            answer.map(Some).map_err(|error| Problem::new(format!("the supervisor answered nonsense: {error}")))
        }
    }
}

/// A message as one line.
pub(crate) fn line(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("messages hold only text, numbers and lists")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_read_and_nonsense_is_told() {
        let route: Route = "kueue-system/kueue-webhook-service:443=9443".parse().unwrap();
        assert_eq!((route.namespace.as_str(), route.port, route.to), ("kueue-system", 443, 9443));
        for text in ["", "a", "a/b", "a/b:1", "a/b:x=1", "a/b:1=99999", "b:1=2"] {
            assert!(text.parse::<Route>().is_err(), "{text}");
        }
    }
}
