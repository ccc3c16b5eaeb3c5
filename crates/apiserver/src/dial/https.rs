//! HTTPS, one connection per call, with errors as Go's HTTP client words them.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper_util::rt::TokioIo;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Answered, Dial, Request};

/// One place to call, and whom to believe there.
pub struct Https {
    /// `HOST:PORT`.
    address: String,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

impl Https {
    pub fn new(host: &str, address: String, ca_bundle: &[u8], is_trusted: bool) -> Result<Self, String> {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let name = ServerName::try_from(bare).map_err(|_| format!("invalid URL host {host:?}"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new(ca_bundle, is_trusted, &provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("tls: {error}"))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(Self { address, name, config: Arc::new(config) })
    }
}

impl Dial for Https {
    fn call(&self, request: Request) -> Answered {
        let (address, name, config) = (self.address.clone(), self.name.clone(), Arc::clone(&self.config));
        Box::pin(async move {
            let stream = TcpStream::connect(&address).await.map_err(|error| dial_text(&address, &error))?;
            let stream = TlsConnector::from(config).connect(name, stream).await.map_err(|error| tls_text(&error))?;
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|error| http_text(&error))?;
            // It lives as long as the answer's body is read.
            tokio::spawn(connection);
            let response = sender.send_request(in_origin_form(request)).await.map_err(|error| http_text(&error))?;
            Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
        })
    }
}

/// HTTP/1.1 names the host in a header and only the path in its first line.
fn in_origin_form(mut request: Request) -> http::Request<Full<Bytes>> {
    let uri = request.uri().clone();
    if let Some(authority) = uri.authority()
        && let Ok(host) = http::HeaderValue::from_str(authority.as_str())
    {
        request.headers_mut().insert(http::header::HOST, host);
    }
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    if let Ok(path) = path.parse() {
        *request.uri_mut() = path;
    }
    request
}

/// `dial tcp 127.0.0.1:9: connect: connection refused`.
fn dial_text(address: &str, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused",
        io::ErrorKind::NetworkUnreachable => "connect: network is unreachable",
        io::ErrorKind::HostUnreachable => "connect: no route to host",
        io::ErrorKind::TimedOut => "connect: connection timed out",
        _ if error.raw_os_error().is_some() => return format!("dial tcp {address}: connect: {error}"),
        // What is no error of the system comes from looking up the name.
        _ => {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            return format!("dial tcp: lookup {host}: no such host");
        }
    };
    format!("dial tcp {address}: {why}")
}

fn http_text(error: &hyper::Error) -> String {
    if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        return "EOF".to_owned();
    }
    if error.is_parse() {
        return "net/http: HTTP/1.x transport connection broken: malformed HTTP response".to_owned();
    }
    let is_reset = std::error::Error::source(error)
        .and_then(|source| source.downcast_ref::<io::Error>())
        .is_some_and(|source| source.kind() == io::ErrorKind::ConnectionReset);
    if is_reset { "read: connection reset by peer".to_owned() } else { format!("net/http: {error}") }
}

/// Why a TLS connection did not come about.
fn tls_text(error: &io::Error) -> String {
    let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "EOF".to_owned(),
            io::ErrorKind::ConnectionReset => "read: connection reset by peer".to_owned(),
            _ => error.to_string(),
        };
    };
    match tls {
        rustls::Error::InvalidCertificate(why) => {
            format!("tls: failed to verify certificate: x509: {}", certificate_text(why))
        }
        rustls::Error::InvalidMessage(_) => "http: server gave HTTP response to HTTPS client".to_owned(),
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {alert:?}"),
        other => format!("tls: {other}"),
    }
}

fn certificate_text(error: &CertificateError) -> String {
    let time = |time: &UnixTime| {
        let seconds = i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
        jiff::Timestamp::from_second(seconds).map(|time| time.to_string()).unwrap_or_default()
    };
    match error {
        CertificateError::ExpiredContext { time: now, not_after } => format!(
            "certificate has expired or is not yet valid: current time {} is after {}",
            time(now),
            time(not_after)
        ),
        CertificateError::NotValidYetContext { time: now, not_before } => format!(
            "certificate has expired or is not yet valid: current time {} is before {}",
            time(now),
            time(not_before)
        ),
        CertificateError::NotValidForNameContext { expected, presented } => name_text(expected, presented),
        _ => "certificate signed by unknown authority".to_owned(),
    }
}

/// `certificate is valid for a.example.com, not b.example.com`.
fn name_text(expected: &ServerName<'_>, presented: &[String]) -> String {
    let wanted = expected.to_str();
    // Names come as `DnsName("a")` and `IpAddress(127.0.0.1)`.
    let bare = |name: &String| {
        let inner = name.split_once('(').map_or(name.as_str(), |(_, inner)| inner.trim_end_matches(')'));
        inner.trim_matches('"').to_owned()
    };
    let is_address = matches!(expected, ServerName::IpAddress(_));
    let of_kind = |name: &&String| name.starts_with("IpAddress") == is_address;
    let names: Vec<String> = presented.iter().filter(of_kind).map(bare).collect();
    match (names.is_empty(), is_address) {
        (true, true) => format!("cannot validate certificate for {wanted} because it doesn't contain any IP SANs"),
        (true, false) => format!("certificate is not valid for any names, but wanted to match {wanted}"),
        (false, _) => format!("certificate is valid for {}, not {wanted}", names.join(", ")),
    }
}

/// Believes what the bundle vouches for, and, as Go does, a certificate that is itself in the bundle.
#[derive(Debug)]
struct Verifier {
    /// Nothing when the bundle is empty: then nobody is believed.
    inner: Option<Arc<WebPkiServerVerifier>>,
    bundle: Vec<CertificateDer<'static>>,
    is_trusted: bool,
    provider: Arc<CryptoProvider>,
}

impl Verifier {
    fn new(ca_bundle: &[u8], is_trusted: bool, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let bundle: Vec<_> = CertificateDer::pem_slice_iter(ca_bundle).filter_map(Result::ok).collect();
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(bundle.iter().cloned());
        let inner = match roots.is_empty() {
            true => None,
            false => {
                let builder = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
                Some(builder.build().map_err(|error| format!("unable to load root certificates: {error}"))?)
            }
        };
        Ok(Self { inner, bundle, is_trusted, provider: Arc::clone(provider) })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.is_trusted {
            return Ok(ServerCertVerified::assertion());
        }
        if self.bundle.iter().any(|known| known.as_ref() == end_entity.as_ref()) {
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, name)?;
            return Ok(ServerCertVerified::assertion());
        }
        match &self.inner {
            Some(inner) => inner.verify_server_cert(end_entity, intermediates, name, ocsp_response, now),
            None => Err(CertificateError::UnknownIssuer.into()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
