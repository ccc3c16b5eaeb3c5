//! A small HTTPS server on loopback that denies what it is asked to admit and serves one API.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

pub struct Backend {
    pub port: u16,
    certificate: String,
}

impl Backend {
    /// Serves under a certificate for this name until the process ends.
    pub fn start(name: &str) -> Backend {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed([name.to_string()]).unwrap();
        let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let config = config.clone();
                // A client that goes away in the middle is its own affair.
                std::thread::spawn(move || drop(serve(socket, config)));
            }
        });
        Backend { port, certificate: cert.pem() }
    }

    pub fn ca_bundle(&self) -> String {
        base64(self.certificate.as_bytes())
    }
}

fn serve(socket: TcpStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
    let mut stream = BufReader::new(StreamOwned::new(connection, socket));
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line)? <= 2 {
            break;
        }
        head.push(line.trim_end().to_string());
    }
    let header = |name: &str| {
        let found =
            head.iter().filter_map(|line| line.split_once(": ")).find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_string()).unwrap_or_default()
    };
    let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
    stream.read_exact(&mut body)?;
    let path = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let (status, answer) = answer(path, &header("x-remote-user"), &serde_json::from_slice(&body).unwrap_or_default());
    let text = answer.to_string();
    let stream = stream.get_mut();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    )?;
    stream.flush()
}

fn answer(path: &str, user: &str, body: &Value) -> (&'static str, Value) {
    match path.split('?').next().unwrap_or_default() {
        "/validate" => {
            let verdict = json!({"uid": body["request"]["uid"], "allowed": false,
                                 "status": {"code": 403, "message": "not on loopback's watch"}});
            ("200 OK", json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": verdict}))
        }
        "/apis/loopback.example.com/v1" => {
            let things = json!({"name": "things", "singularName": "thing", "namespaced": false, "kind": "Thing", "verbs": ["list"]});
            let list = json!({"apiVersion": "v1", "kind": "APIResourceList", "groupVersion": "loopback.example.com/v1", "resources": [things]});
            ("200 OK", list)
        }
        "/apis/loopback.example.com/v1/things" => {
            let item = json!({"metadata": {"name": "from-loopback"}, "user": user});
            ("200 OK", json!({"apiVersion": "loopback.example.com/v1", "kind": "ThingList", "items": [item]}))
        }
        _ => ("404 Not Found", json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404})),
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let encode = |chunk: &[u8]| {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..4)
            .map(move |place| match place <= chunk.len() {
                true => char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63]),
                false => '=',
            })
            .collect::<String>()
    };
    bytes.chunks(3).map(encode).collect()
}
