//! A small client for the API server: HTTPS/1.1, one request after the other, JSON in and out.
//!
//! It serves readiness probes, node creation, resets and scenarios. Watches and thousands of requests per second are
//! for a real client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::Value;

use crate::problem::{Problem, Result};

/// Answers of the API server are a few megabytes at most (OpenAPI); more is not for this client.
const ANSWER_BYTES_MAX: u64 = 64 << 20;

const JSON: &str = "application/json";

/// One request, without host and credentials.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: &'static str,
    /// Path and query.
    pub path: String,
    pub content_type: &'static str,
    /// The form of the answer.
    pub accept: &'static str,
    pub body: Option<Value>,
}

impl Request {
    pub fn get(path: impl Into<String>) -> Request {
        Request::new("GET", path, None)
    }

    pub fn delete(path: impl Into<String>) -> Request {
        Request::new("DELETE", path, None)
    }

    pub fn post(path: impl Into<String>, body: Value) -> Request {
        Request::new("POST", path, Some(body))
    }

    /// A server-side apply in the name of `manager`, taking over what others own.
    pub fn apply(path: &str, manager: &str, body: Value) -> Request {
        let path = format!("{path}?fieldManager={manager}&force=true");
        Request { content_type: "application/apply-patch+yaml", ..Request::new("PATCH", path, Some(body)) }
    }

    /// A JSON merge patch.
    pub fn merge(path: impl Into<String>, body: Value) -> Request {
        Request { content_type: "application/merge-patch+json", ..Request::new("PATCH", path, Some(body)) }
    }

    /// A patch of either sort: a list holds operations, anything else is merged.
    pub fn patch(path: impl Into<String>, body: Value) -> Request {
        match body {
            Value::Array(_) => {
                Request { content_type: "application/json-patch+json", ..Request::new("PATCH", path, Some(body)) }
            }
            body => Request::merge(path, body),
        }
    }

    fn new(method: &'static str, path: impl Into<String>, body: Option<Value>) -> Request {
        Request { method, path: path.into(), content_type: JSON, accept: JSON, body }
    }

    /// Asks for another form of the answer, still in JSON.
    #[must_use]
    pub fn accepting(mut self, accept: &'static str) -> Request {
        self.accept = accept;
        self
    }
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    /// The body as JSON, or as a JSON string when it is something else.
    pub body: Value,
}

impl Response {
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body, or the server's message as a problem.
    pub fn success(self, doing: &str) -> Result<Value> {
        if self.is_success() {
            return Ok(self.body);
        }
        let message = self.body.get("message").and_then(Value::as_str).map(String::from);
        let message = message.unwrap_or_else(|| self.body.to_string());
        Err(Problem::new(format!("{doing}: {} {message}", self.status)))
    }
}

/// Where an API server is and who we are to it.
#[derive(Debug, Clone)]
pub struct Client {
    port: u16,
    token: String,
    config: Arc<ClientConfig>,
}

impl Client {
    /// A client of the API server on this loopback port, trusting only `authority` (PEM).
    pub fn new(port: u16, authority: &str, token: &str) -> Result<Client> {
        let failed = |error: &dyn std::fmt::Display| Problem::new(format!("cannot use the bed's certificate: {error}"));
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_slice(authority.as_bytes()).map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Client { port, token: token.to_string(), config: Arc::new(config) })
    }

    /// Sends one request and waits for its whole answer.
    pub fn send(&self, request: &Request) -> Result<Response> {
        self.connect()?.send(request)
    }

    /// A connection for many requests, one after the other.
    pub fn connect(&self) -> Result<Connection> {
        let failed =
            |error: &dyn std::fmt::Display| Problem::new(format!("cannot reach 127.0.0.1:{}: {error}", self.port));
        let open = || {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
            let socket = TcpStream::connect_timeout(&address, Duration::from_secs(5))?;
            socket.set_read_timeout(Some(Duration::from_secs(60)))?;
            socket.set_nodelay(true)?;
            std::io::Result::Ok(socket)
        };
        let socket = open().map_err(|error| failed(&error))?;
        let name = ServerName::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST));
        let connection = ClientConnection::new(self.config.clone(), name).map_err(|error| failed(&error))?;
        let stream = BufReader::new(StreamOwned::new(connection, socket));
        Ok(Connection { stream, token: self.token.clone() })
    }
}

/// An open connection to the API server.
#[derive(Debug)]
pub struct Connection {
    stream: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    token: String,
}

impl Connection {
    /// Sends one request and waits for its whole answer.
    pub fn send(&mut self, request: &Request) -> Result<Response> {
        let text = head_and_body(request, &self.token);
        let writer = self.stream.get_mut();
        let sent = writer.write_all(text.as_bytes()).and_then(|()| writer.flush());
        sent.and_then(|()| read_response(&mut self.stream))
            .map_err(|error| Problem::new(format!("{} {}: {error}", request.method, request.path)))
    }
}

fn head_and_body(request: &Request, token: &str) -> String {
    let body = request.body.as_ref().map(Value::to_string).unwrap_or_default();
    let Request { method, path, content_type, accept, .. } = request;
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kueue-testbed\r\nAuthorization: Bearer {token}\r\n\
         Accept: {accept}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads status, headers and body; a body of unknown size ends with the stream.
fn read_response(reader: &mut impl BufRead) -> std::io::Result<Response> {
    let malformed = |what: &str| std::io::Error::new(std::io::ErrorKind::InvalidData, format!("malformed {what}"));
    let status_line = read_line(reader)?;
    let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| malformed("status line"))?;
    let (mut length, mut is_chunked) = (None, false);
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed("header"))?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<u64>().map_err(|_| malformed("content length"))?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            is_chunked = value.trim().eq_ignore_ascii_case("chunked");
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let size = u64::from_str_radix(read_line(reader)?.trim(), 16).map_err(|_| malformed("chunk"))?;
            if size == 0 {
                read_line(reader)?;
                break;
            }
            if body.len() as u64 + size > ANSWER_BYTES_MAX {
                return Err(malformed("answer: too long"));
            }
            reader.by_ref().take(size).read_to_end(&mut body)?;
            read_line(reader)?;
        }
    } else {
        reader.by_ref().take(length.unwrap_or(ANSWER_BYTES_MAX)).read_to_end(&mut body)?;
    }
    let text = String::from_utf8_lossy(&body);
    let body = serde_json::from_str(&text).unwrap_or_else(|_| Value::String(text.into_owned()));
    Ok(Response { status, body })
}

fn read_line(reader: &mut impl BufRead) -> std::io::Result<String> {
    let mut line = String::new();
    if reader.by_ref().take(64 << 10).read_line(&mut line)? == 0 {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: &str) {
        let got = match read_response(&mut answer.as_bytes()) {
            Ok(response) => format!("{} {}", response.status, response.body),
            Err(error) => error.to_string(),
        };
        assert_eq!(got, expected, "{answer:?}");
    }

    #[test]
    fn bodies_are_read_by_length_by_chunk_and_to_the_end() {
        check("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{\"a\":1}trailing", "200 {\"a\":1}");
        check(
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":2}\r\n0\r\n\r\n",
            "201 {\"a\":2}",
        );
        check("HTTP/1.1 200 OK\r\n\r\nok", "200 \"ok\"");
    }

    #[test]
    fn broken_answers_are_errors_and_never_hang() {
        check("", "unexpected end of file");
        check("nonsense\r\n\r\n", "malformed status line");
        check("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed header");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed chunk");
        check("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffff\r\n", "malformed answer: too long");
    }
}
