//! What faults look at in a request, and the answers they give.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, Uri};

use super::Fault;
use crate::json::json;
use crate::rest::path::{Target, parse};
use crate::rest::query::Query;
use crate::rest::reply::{Body, Response};
use crate::status::{About, Status};

/// As much of a request as faults look at.
#[derive(Debug)]
pub struct Head {
    pub agent: String,
    pub method: Method,
    pub path: String,
    pub is_watch: bool,
    query: String,
}

impl Head {
    pub fn of<B>(request: &http::Request<B>) -> Self {
        let agent = request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default();
        let query = request.uri().query().unwrap_or_default();
        let path = request.uri().path();
        let is_watch = request.method() == Method::GET
            && (Query::parse(query).flag("watch").unwrap_or_default() || path.contains("/watch/"));
        Self {
            agent: agent.to_owned(),
            method: request.method().clone(),
            path: path.to_owned(),
            is_watch,
            query: query.to_owned(),
        }
    }

    /// Whether the query says something of this.
    pub fn has(&self, name: &str) -> bool {
        !["", "0"].contains(&Query::parse(&self.query).get(name))
    }
}

/// The answer of a fault that answers at once.
pub fn refusal(fault: Fault, head: &Head) -> Option<Status> {
    Some(match fault {
        Fault::Conflict => {
            let Target::Resource(path) = parse(&head.path) else { return None };
            let about = About { group: &path.group, kind: &path.plural, name: &path.name };
            let why = "the object has been modified; please apply your changes to the latest version and try again";
            Status::conflict(about, why)
        }
        Fault::Expired => Status::expired("The provided continue parameter is too old, as faults demand."),
        Fault::TooManyRequests => {
            let message = "the server has received too many requests and has asked us to try again later";
            Status::new(429, "TooManyRequests", message).with_details(json!({"retryAfterSeconds": 1}))
        }
        Fault::Internal => Status::internal_error("as faults demand"),
        Fault::Unavailable => {
            Status::new(503, "ServiceUnavailable", "the server is currently unable to handle the request")
        }
        Fault::TimeoutBefore => Status::timeout(),
        _ => return None,
    })
}

/// A watch whose version is no longer known.
pub fn expired_watch() -> Response {
    let status = Status::expired("too old resource version, as faults demand").to_value();
    let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
    let mut response = http::Response::new(Body::from(Bytes::from(line)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Asks for a shorter page than the client did.
pub fn shorten_page<B>(request: &mut http::Request<B>, page_max: u64) {
    let uri = request.uri();
    let shorter = |part: &str| match part.strip_prefix("limit=").and_then(|limit| limit.parse::<u64>().ok()) {
        Some(limit) if limit > page_max => format!("limit={page_max}"),
        _ => part.to_owned(),
    };
    let query: Vec<String> = uri.query().unwrap_or_default().split('&').map(shorter).collect();
    let text = format!("{}?{}", uri.path(), query.join("&"));
    let mut parts = uri.clone().into_parts();
    if let Ok(path_and_query) = text.parse() {
        parts.path_and_query = Some(path_and_query);
        if let Ok(shorter) = Uri::from_parts(parts) {
            *request.uri_mut() = shorter;
        }
    }
}
