//! What is measured over a socket: the whole way through TLS and HTTP.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use kueue_apiserver::socket::{Identity, Socket};
use serde_json::json;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};

use super::Size;
use super::measures::{ROUND, median};
use super::object::{OBJECTS, name, status_of};
use super::subject::{MERGE, Subject, With, on_one_thread, start_server};
use crate::meter::cpu_time;

const CONNECTIONS: usize = 8;
const STARTS: usize = 9;

type Connection = SendRequest<Full<Bytes>>;

async fn connect(address: SocketAddr, identity: &Identity) -> Result<Connection> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(identity.certificate_pem.as_bytes())?)?;
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let host = ServerName::try_from("localhost")?;
    let stream = TlsConnector::from(Arc::new(config)).connect(host, stream).await.context("TLS")?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn ask(connection: &mut Connection, request: http::Request<Full<Bytes>>) -> Result<()> {
    connection.ready().await?;
    let answer = connection.send_request(request).await?;
    let code = answer.status();
    let body = answer.into_body().collect().await?.to_bytes();
    ensure!(code.is_success(), "{code}: {}", String::from_utf8_lossy(&body));
    Ok(())
}

/// Merge patches per second of processor time: client, TLS on both sides and server on one thread.
pub fn merges(size: Size) -> Result<f64> {
    on_one_thread(async {
        let subject = Subject::filled(With::Nothing, ROUND.min(size.writes)).await?;
        let identity = Identity::generate()?;
        let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &identity).await?;
        let address = socket.address()?;
        tokio::spawn(socket.serve(subject.server.clone()));
        let mut shares: Vec<Vec<_>> = (0..CONNECTIONS).map(|_| Vec::new()).collect();
        for number in 0..size.writes {
            let path = format!("{OBJECTS}/{}/status", name(number % ROUND));
            let body = json!({"status": status_of(number)}).to_string();
            let mut request = subject.request("PATCH", &path, MERGE, body.into())?;
            request.headers_mut().insert("Host", "localhost".parse()?);
            shares[number % CONNECTIONS].push(request);
        }
        let mut clients = JoinSet::new();
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            connections.push(connect(address, &identity).await?);
        }
        let begin = cpu_time();
        for (mut connection, requests) in connections.into_iter().zip(shares) {
            clients.spawn(async move {
                for request in requests {
                    ask(&mut connection, request).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = clients.join_next().await {
            done??;
        }
        Ok(size.writes as f64 / (cpu_time() - begin).as_secs_f64())
    })
}

/// From nothing to an answer of `/readyz` over a new connection, in milliseconds of the clock on the wall.
pub fn start(_: Size) -> Result<f64> {
    on_one_thread(async {
        let mut spent = Vec::new();
        for _ in 0..STARTS {
            let begin = Instant::now();
            let server = start_server();
            let identity = Identity::generate()?;
            let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &identity).await?;
            let address = socket.address()?;
            let serving = tokio::spawn(socket.serve(server));
            let mut connection = connect(address, &identity).await?;
            let request = http::Request::get("/readyz").header("Host", "localhost").body(Full::default())?;
            ask(&mut connection, request).await?;
            spent.push(begin.elapsed().as_secs_f64() * 1e3);
            serving.abort();
        }
        Ok(median(spent))
    })
}
