//! Answers on a socket: HTTP, or HTTPS with a certificate that can be replaced while everything goes on.

mod peer;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use rustls::{SupportedCipherSuite, SupportedProtocolVersion};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

pub use peer::Peer;

/// How long a client may take for its part of the handshake, and for the head of a request.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const HEAD_TIMEOUT: Duration = Duration::from_secs(32);
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// The number that TLS 1.3 has on the wire.
const TLS_1_3: u16 = 0x0304;

/// What an answer consists of.
pub type Answer = Response<Full<Bytes>>;

/// Answers requests.
pub trait Handler: Send + Sync + 'static {
    fn handle(&self, request: Request<Incoming>) -> impl Future<Output = Answer> + Send;
}

/// Opens a socket as Go writes addresses: `:8443` listens everywhere.
///
/// # Errors
/// When the address means nothing or is taken; the text names it.
pub async fn listen(address: &str) -> io::Result<TcpListener> {
    let everywhere = address.strip_prefix(':').map(|port| format!("[::]:{port}"));
    let bound = match &everywhere {
        // Where there is no IPv6 there is still IPv4.
        Some(everywhere) => match TcpListener::bind(everywhere).await {
            Ok(listener) => Ok(listener),
            Err(_) => TcpListener::bind(format!("0.0.0.0{address}")).await,
        },
        None => TcpListener::bind(address).await,
    };
    bound.map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address:?}: {error}")))
}

/// What clients must be able to speak, as the numbers of the TLS registry; everything safe where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demands {
    pub min_version: Option<u16>,
    pub cipher_suites: Vec<u16>,
    pub curves: Vec<u16>,
    /// Whether clients are asked for a certificate, which requests then carry as a [`Peer`]. They need not have one.
    pub asks_for_certificate: bool,
}

/// The certificate that clients are shown from now on; copies share it.
#[derive(Clone, Debug, Default)]
pub struct Certificate(Arc<Shown>);

#[derive(Debug, Default)]
struct Shown(RwLock<Option<Arc<CertifiedKey>>>);

/// Why a certificate cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum BadCertificate {
    #[error("the certificate is no PEM: {0}")]
    Certificate(rustls::pki_types::pem::Error),
    #[error("the key is no PEM: {0}")]
    Key(rustls::pki_types::pem::Error),
    #[error("the key is of no use: {0}")]
    Useless(#[from] rustls::Error),
}

impl Certificate {
    /// Shows another one, to clients that come from now on. A bad one changes nothing.
    ///
    /// # Errors
    /// When it cannot be read, or the key does not belong to it.
    pub fn replace(&self, certificate_pem: &[u8], key_pem: &[u8]) -> Result<(), BadCertificate> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate_pem).collect();
        let chain = chain.map_err(BadCertificate::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(BadCertificate::Key)?;
        let certified = CertifiedKey::from_der(chain, key, &provider())?;
        *self.0.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    /// Whether there is anything to show.
    pub fn is_there(&self) -> bool {
        self.0.shown().is_some()
    }

    /// What clients are shown now.
    pub fn der(&self) -> Option<Vec<u8>> {
        self.0.shown()?.end_entity_cert().ok().map(|shown| shown.to_vec())
    }

    fn acceptor(&self, demands: &Demands) -> Result<TlsAcceptor, rustls::Error> {
        let mut provider = provider();
        let has = |wanted: &[u16], number: u16| wanted.is_empty() || wanted.contains(&number);
        // Suites of TLS 1.3 are not chosen one by one, as in Go.
        provider.cipher_suites.retain(|suite| {
            matches!(suite, SupportedCipherSuite::Tls13(_)) || has(&demands.cipher_suites, suite.suite().into())
        });
        provider.kx_groups.retain(|group| has(&demands.curves, group.name().into()));
        let newest: &[&SupportedProtocolVersion] = &[&rustls::version::TLS13];
        let versions = if demands.min_version == Some(TLS_1_3) { newest } else { rustls::ALL_VERSIONS };
        let provider = Arc::new(provider);
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions)?;
        let builder = match demands.asks_for_certificate {
            true => builder.with_client_cert_verifier(Arc::new(peer::Anybody(provider))),
            false => builder.with_no_client_auth(),
        };
        let mut config = builder.with_cert_resolver(Arc::clone(&self.0) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl Shown {
    fn shown(&self) -> Option<Arc<CertifiedKey>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.shown()
    }
}

fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}

/// Answers over HTTPS until it is dropped.
///
/// # Errors
/// When nobody could meet the demands.
pub async fn serve_tls<H: Handler>(
    listener: TcpListener,
    certificate: &Certificate,
    demands: &Demands,
    handler: Arc<H>,
) -> Result<(), rustls::Error> {
    let acceptor = certificate.acceptor(demands)?;
    serve_each(listener, |stream| {
        let (acceptor, handler) = (acceptor.clone(), Arc::clone(&handler));
        async move {
            if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE_TIMEOUT, acceptor.accept(stream)).await {
                let peer = stream.get_ref().1.peer_certificates().map(Peer::new);
                serve_connection(stream, peer, handler).await;
            }
        }
    })
    .await;
    Ok(())
}

/// Answers over HTTP until it is dropped.
pub async fn serve_plain<H: Handler>(listener: TcpListener, handler: Arc<H>) {
    serve_each(listener, |stream| serve_connection(stream, None, Arc::clone(&handler))).await;
}

/// Serves connections, each on its own, for ever.
async fn serve_each<F>(listener: TcpListener, serve: impl Fn(tokio::net::TcpStream) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely too many files are open; that passes when clients leave.
            tokio::time::sleep(ACCEPT_AGAIN).await;
            continue;
        };
        // Answers are small and wanted at once; where that cannot be had they come a little later.
        let _ = stream.set_nodelay(true);
        connections.spawn(serve(stream));
    }
}

async fn serve_connection<S, H>(stream: S, peer: Option<Peer>, handler: Arc<H>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    let service = service_fn(move |mut request: Request<Incoming>| {
        let handler = Arc::clone(&handler);
        if let Some(peer) = &peer {
            request.extensions_mut().insert(peer.clone());
        }
        async move { Ok::<_, std::convert::Infallible>(handler.handle(request).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT);
    builder.http2().timer(TokioTimer::new());
    // What went wrong on a connection is the client's to know.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}
