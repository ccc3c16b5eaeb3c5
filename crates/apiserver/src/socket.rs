//! The server on a socket: HTTPS on loopback, with a certificate of its own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tower::Service;

use crate::rest::reply::Response;

/// How long a client may take for its part of the handshake, and for the head of a request.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_TIMEOUT: Duration = Duration::from_secs(32);
/// Requests that one HTTP/2 connection may have under way.
const STREAMS_MAX: u32 = 1000;
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// A certificate that this machine's clients can be told to trust.
#[derive(Debug)]
pub struct Identity {
    pub certificate_pem: String,
    key_pem: String,
}

impl Identity {
    /// A fresh one, for loopback names only.
    pub fn generate() -> Result<Self> {
        Self::for_names([])
    }

    /// A fresh one, also for these names and addresses.
    pub fn for_names(names: impl IntoIterator<Item = String>) -> Result<Self> {
        let loopback = ["localhost", "127.0.0.1", "::1", "kubernetes.default.svc"].map(str::to_owned);
        let names: Vec<String> = loopback.into_iter().chain(names).collect();
        let made = rcgen::generate_simple_self_signed(names).context("cannot make a certificate")?;
        Ok(Self { certificate_pem: made.cert.pem(), key_pem: made.signing_key.serialize_pem() })
    }

    fn tls(&self) -> Result<Arc<ServerConfig>> {
        let certificate = CertificateDer::from_pem_slice(self.certificate_pem.as_bytes()).context("the certificate")?;
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes()).context("the key")?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

/// A socket that is open and not yet served.
#[derive(Debug)]
pub struct Socket {
    listener: TcpListener,
    tls: Arc<ServerConfig>,
}

impl Socket {
    pub async fn bind(address: SocketAddr, identity: &Identity) -> Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        Ok(Self { listener, tls: identity.tls()? })
    }

    pub fn address(&self) -> Result<SocketAddr> {
        self.listener.local_addr().context("the socket has an address")
    }

    /// Serves until the task is dropped. A connection that fails ends alone.
    pub async fn serve<S>(self, service: S) -> Result<()>
    where
        S: Service<http::Request<Incoming>, Response = Response> + Clone + Send + 'static,
        S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
        S::Future: Send,
    {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else {
                // Most likely too many files are open; that passes when clients leave.
                tokio::time::sleep(ACCEPT_AGAIN).await;
                continue;
            };
            let (tls, service) = (TlsAcceptor::from(Arc::clone(&self.tls)), service.clone());
            tokio::spawn(async move {
                // Watch events are small and wanted at once.
                let _ = stream.set_nodelay(true);
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                    serve_connection(stream, service).await;
                }
            });
        }
    }
}

/// Serves one client until it or the connection ends.
pub async fn serve_connection<I, S>(stream: I, service: S)
where
    I: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    S: Service<http::Request<Incoming>, Response = Response> + Clone + Send + 'static,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    S::Future: Send,
{
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
    // What went wrong on a connection is the client's to know.
    let _ = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(service)).await;
}

/// A kubeconfig for whoever has the token.
pub fn kubeconfig(address: SocketAddr, identity: &Identity, token: &str) -> String {
    let certificate = crate::base64::STANDARD.encode(identity.certificate_pem.as_bytes());
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: embedded\nclusters:\n- name: embedded\n  cluster:\n    \
         server: https://{address}\n    certificate-authority-data: {certificate}\nusers:\n- name: admin\n  user:\n    \
         token: {token}\ncontexts:\n- name: embedded\n  context:\n    cluster: embedded\n    user: admin\n"
    )
}
