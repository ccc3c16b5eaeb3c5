use http_body_util::BodyExt as _;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::*;

/// Says what it was asked for.
struct Echo;

impl Handler for Echo {
    async fn handle(&self, request: Request<Incoming>) -> Answer {
        Response::new(Full::from(request.uri().path().to_owned()))
    }
}

struct Made {
    certificate: String,
    key: String,
}

fn made() -> Made {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    Made { certificate: made.cert.pem(), key: made.signing_key.serialize_pem() }
}

/// What a client that trusts only this certificate is answered.
async fn ask(
    address: std::net::SocketAddr,
    trusted: &Made,
    versions: &[&'static SupportedProtocolVersion],
) -> io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(trusted.certificate.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await?;
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::get("/x").header("host", "localhost").body(Full::<Bytes>::default()).unwrap();
    let answer = sender.send_request(request).await.map_err(io::Error::other)?;
    let body = answer.into_body().collect().await.map_err(io::Error::other)?;
    Ok(String::from_utf8_lossy(&body.to_bytes()).into_owned())
}

#[tokio::test]
async fn a_certificate_is_replaced_while_clients_come() {
    let (old, new) = (made(), made());
    let certificate = Certificate::default();
    assert!(!certificate.is_there());
    certificate.replace(old.certificate.as_bytes(), old.key.as_bytes()).unwrap();
    let listener = listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let shown = certificate.clone();
    tokio::spawn(async move { serve_tls(listener, &shown, &Demands::default(), Arc::new(Echo)).await });
    assert_eq!(ask(address, &old, rustls::ALL_VERSIONS).await.unwrap(), "/x");
    assert!(certificate.replace(b"nonsense", new.key.as_bytes()).is_err());
    assert!(certificate.replace(new.certificate.as_bytes(), b"nonsense").is_err());
    assert_eq!(ask(address, &old, rustls::ALL_VERSIONS).await.unwrap(), "/x", "a bad one changes nothing");
    certificate.replace(new.certificate.as_bytes(), new.key.as_bytes()).unwrap();
    assert_eq!(ask(address, &new, rustls::ALL_VERSIONS).await.unwrap(), "/x");
    assert!(ask(address, &old, rustls::ALL_VERSIONS).await.is_err());
}

#[tokio::test]
async fn clients_that_cannot_speak_what_is_demanded_are_turned_away() {
    let made = made();
    let certificate = Certificate::default();
    certificate.replace(made.certificate.as_bytes(), made.key.as_bytes()).unwrap();
    let listener = listen("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let demands = Demands { min_version: Some(TLS_1_3), ..Demands::default() };
    tokio::spawn(async move { serve_tls(listener, &certificate, &demands, Arc::new(Echo)).await });
    assert!(ask(address, &made, &[&rustls::version::TLS13]).await.is_ok());
    assert!(ask(address, &made, &[&rustls::version::TLS12]).await.is_err());
}

#[tokio::test]
async fn an_address_that_means_nothing_is_named() {
    let error = listen("nowhere").await.unwrap_err().to_string();
    assert!(error.starts_with("cannot listen on \"nowhere\": "), "{error}");
}
