//! How the API server reaches a process on this machine through an ordinary Service.
//!
//! The API server has no network to pods here, so it is told (egress selector) to send every call of a webhook or an
//! aggregated API as `CONNECT ClusterIP:port` to a Unix socket. Behind it we look the ClusterIP up among the Services
//! and join the call to the loopback port that the Service is routed to. Manifests, names, ports and certificates stay
//! those of production.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::Value;

use crate::control::Route;
use crate::http::{Client, Request};
use crate::problem::{Problem, Result};

/// The routes of one control plane; clones share them.
#[derive(Debug, Clone, Default)]
pub struct Routes(Arc<Mutex<Vec<Route>>>);

impl Routes {
    /// Adds a route; of several for one Service port the newest counts behind which somebody answers.
    pub fn add(&self, route: Route) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(0, route);
    }

    /// The loopback ports for a ClusterIP and port, given the present Services, the newest first.
    fn find(&self, services: &Value, cluster_ip: &str, port: u16) -> Vec<u16> {
        let mut services = services["items"].as_array().into_iter().flatten();
        let service = services.find(|item| item["spec"]["clusterIP"] == cluster_ip).map(|item| &item["metadata"]);
        let Some(service) = service else { return Vec::new() };
        let routes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |route: &&Route| {
            service["namespace"] == route.namespace.as_str()
                && service["name"] == route.service.as_str()
                && route.port == port
        };
        routes.iter().filter(is_it).map(|route| route.to).collect()
    }
}

/// The API server's configuration that sends its calls to `socket`.
pub fn configuration(socket: &Path) -> String {
    serde_json::json!({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{
            "name": "cluster",
            "connection": {"proxyProtocol": "HTTPConnect", "transport": {"uds": {"udsName": socket}}},
        }],
    })
    .to_string()
}

/// Serves the socket on threads of its own until the process ends.
pub fn serve(socket: &Path, routes: Routes, services: Client) -> Result<()> {
    let failed = |error: std::io::Error| Problem::file("listen on", socket, &error);
    let _ = std::fs::remove_file(socket);
    let listener = UnixListener::bind(socket).map_err(failed)?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (routes, services) = (routes.clone(), services.clone());
            thread::spawn(move || tunnel(&stream, &routes, &services));
        }
    });
    Ok(())
}

/// One call: an answer to `CONNECT`, then bytes both ways until either side ends.
fn tunnel(stream: &UnixStream, routes: &Routes, services: &Client) -> std::io::Result<()> {
    let mut caller = BufReader::new(stream.try_clone()?);
    let target = read_connect(&mut caller)?;
    let mut answer = stream.try_clone()?;
    let backend = target.ok_or_else(|| "400 Bad Request".to_string()).and_then(|(cluster_ip, port)| {
        let listed = services.send(&Request::get("/api/v1/services")).map_err(|_| "503 Service Unavailable")?;
        let mut ways = routes.find(&listed.body, &cluster_ip, port).into_iter();
        let answering = ways.find_map(|to| TcpStream::connect((Ipv4Addr::LOCALHOST, to)).ok());
        answering.ok_or_else(|| "502 Bad Gateway".to_string())
    });
    let backend = match backend {
        Ok(backend) => backend,
        Err(status) => return write!(answer, "HTTP/1.1 {status}\r\n\r\n"),
    };
    answer.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut to_backend, mut from_backend) = (backend.try_clone()?, backend);
    let back = thread::spawn(move || {
        let _ = std::io::copy(&mut from_backend, &mut answer);
        let _ = answer.shutdown(Shutdown::Write);
    });
    let _ = std::io::copy(&mut caller, &mut to_backend);
    let _ = to_backend.shutdown(Shutdown::Write);
    let _ = back.join();
    Ok(())
}

/// Reads `CONNECT HOST:PORT HTTP/1.1` and its headers; `None` when it is something else.
fn read_connect(reader: &mut impl BufRead) -> std::io::Result<Option<(String, u16)>> {
    let mut head = reader.by_ref().take(16 << 10);
    let mut first = String::new();
    head.read_line(&mut first)?;
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        line.clear();
    }
    let target = first.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next());
    let target = target.and_then(|target| target.rsplit_once(':'));
    Ok(target.and_then(|(host, port)| Some((host.to_string(), port.parse().ok()?))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_routed_by_the_cluster_ip_and_port_of_its_service() {
        let services = serde_json::json!({"items": [
            {"metadata": {"namespace": "a", "name": "hook"}, "spec": {"clusterIP": "10.0.0.5"}},
            {"metadata": {"namespace": "b", "name": "hook"}, "spec": {"clusterIP": "10.0.0.6"}},
        ]});
        let routes = Routes::default();
        routes.add("b/hook:443=9000".parse().unwrap());
        routes.add("b/hook:443=9443".parse().unwrap());
        assert_eq!(routes.find(&services, "10.0.0.6", 443), [9443, 9000]);
        for (address, port) in [("10.0.0.6", 8443), ("10.0.0.5", 443), ("10.0.0.7", 443)] {
            assert!(routes.find(&services, address, port).is_empty(), "{address}:{port}");
        }
    }

    #[test]
    fn only_connect_requests_have_a_target() {
        let read = |text: &str| read_connect(&mut text.as_bytes()).unwrap();
        assert_eq!(read("CONNECT 10.0.0.6:443 HTTP/1.1\r\nHost: x\r\n\r\n"), Some(("10.0.0.6".to_string(), 443)));
        assert_eq!(read("GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(read("CONNECT nowhere HTTP/1.1\r\n\r\n"), None);
        assert_eq!(read(""), None);
    }
}
