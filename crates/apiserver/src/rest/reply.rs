//! Answers: code, headers and a body that is either there or still to come.

use std::convert::Infallible;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderValue, RETRY_AFTER, VARY, WARNING};
use http_body::Frame;
use tokio::sync::mpsc;

use super::accept::{Accepted, Encoding, Shape};
use super::list::{typed, typed_bytes};
use crate::json::Value;
use crate::kinds::Resource;
use crate::protobuf;
use crate::status::Status;
use crate::store::Object;

mod yaml;

pub type Response = http::Response<Body>;

/// A body: all of it, or a stream of watch events, which are lines of JSON until they are sent.
#[derive(Debug)]
pub enum Body {
    Whole(Option<Bytes>),
    Stream { lines: mpsc::Receiver<Bytes>, accepted: Accepted },
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Stream { lines, accepted } => {
                let accepted = *accepted;
                lines.poll_recv(cx).map(|line| line.map(|line| Ok(Frame::data(event(line, accepted)))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(None))
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Body::Whole((!bytes.is_empty()).then_some(bytes))
    }
}

/// What a handler made of a request.
#[derive(Debug)]
pub struct Reply {
    pub code: u16,
    pub body: ReplyBody,
}

#[derive(Debug)]
pub enum ReplyBody {
    /// An object, still to be encoded.
    Value(Value),
    /// An object that is JSON already.
    Json(Bytes),
    /// Something that is no object, and has a media type of its own.
    Page(Page),
    Text(String),
    Stream(mpsc::Receiver<Bytes>),
}

/// A page as it is sent; without a media type nothing is said of it.
#[derive(Debug)]
pub struct Page {
    pub bytes: Bytes,
    pub content_type: &'static str,
    /// Changes when the page does, so that clients need not read it again.
    pub etag: Option<String>,
}

impl Page {
    /// A page that clients keep.
    pub fn kept(value: &Value, content_type: &'static str) -> Self {
        let text = value.to_string();
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self { bytes: text.into(), content_type, etag: Some(format!("\"{:016X}\"", hasher.finish())) }
    }

    /// The page as an answer to a client that may have it already.
    pub fn answer(mut self, known: Option<&str>) -> Reply {
        let is_known =
            self.etag.as_deref().zip(known).is_some_and(|(tag, known)| known.split(',').any(|one| one.trim() == tag));
        if is_known {
            self.bytes = Bytes::new();
            self.content_type = "";
        }
        Reply { code: if is_known { 304 } else { 200 }, body: ReplyBody::Page(self) }
    }
}

impl Reply {
    pub fn ok(value: Value) -> Self {
        Self { code: 200, body: ReplyBody::Value(value) }
    }

    pub fn created(value: Value) -> Self {
        Self { code: 201, body: ReplyBody::Value(value) }
    }

    /// An object as the kind that it was asked for as: encoded once, however many ask, unless it still has to change
    /// its form.
    pub fn object(code: u16, resource: &Resource, object: &Object, accepted: Accepted) -> Self {
        let body = match accepted.shape {
            Shape::Whole => ReplyBody::Json(typed_bytes(resource, object)),
            _ => ReplyBody::Value(typed(resource, &object.whole())),
        };
        Self { code, body }
    }

    pub fn text(code: u16, text: impl Into<String>) -> Self {
        Self { code, body: ReplyBody::Text(text.into()) }
    }

    /// Adds headers and turns the body into bytes.
    pub fn encode(self, accepted: Accepted, warnings: &[String]) -> Response {
        let mut tag = None;
        let (content_type, body) = match self.body {
            ReplyBody::Value(value) => encoded(value, accepted),
            ReplyBody::Json(bytes) if accepted == Accepted::JSON => (JSON, bytes.into()),
            ReplyBody::Json(bytes) => encoded(serde_json::from_slice(&bytes).unwrap_or(Value::Null), accepted),
            ReplyBody::Page(page) => {
                tag = page.etag;
                (page.content_type, page.bytes.into())
            }
            ReplyBody::Text(text) => ("text/plain; charset=utf-8", Bytes::from(text).into()),
            ReplyBody::Stream(lines) => {
                let is_protobuf = accepted.encoding == Encoding::Protobuf;
                (if is_protobuf { PROTOBUF_STREAM } else { JSON }, Body::Stream { lines, accepted })
            }
        };
        let mut response = http::Response::new(body);
        *response.status_mut() =
            http::StatusCode::from_u16(self.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if !content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        }
        if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&tag).ok()) {
            headers.insert(ETAG, tag);
            headers.insert(VARY, HeaderValue::from_static("Accept"));
        }
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        for warning in warnings {
            let text = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}

/// An error as an answer.
pub fn refused(status: &Status, accepted: Accepted, warnings: &[String]) -> Response {
    let reply = Reply { code: status.code(), body: ReplyBody::Value(status.to_value()) };
    let mut response = reply.encode(accepted, warnings);
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

const JSON: &str = "application/json";
const PROTOBUF_STREAM: &str = "application/vnd.kubernetes.protobuf;stream=watch";

fn encoded(mut value: Value, accepted: Accepted) -> (&'static str, Body) {
    if accepted.is_beta {
        make_beta(&mut value);
    }
    let json = |text: String| (JSON, Bytes::from(text).into());
    match accepted.encoding {
        Encoding::Json => json(format!("{value}\n")),
        Encoding::PrettyJson => json(format!("{value:#}")),
        Encoding::Yaml => ("application/yaml", Bytes::from(yaml::document(&value)).into()),
        // The few things that have no such form are told apart by their content type.
        Encoding::Protobuf => match protobuf::encode(&value) {
            Some(bytes) => (protobuf::MEDIA_TYPE, Bytes::from(bytes).into()),
            None => json(format!("{value}\n")),
        },
    }
}

/// A line of a watch as the client wants it.
fn event(line: Bytes, accepted: Accepted) -> Bytes {
    if accepted.encoding != Encoding::Protobuf && !accepted.is_beta {
        return line;
    }
    let mut value: Value = serde_json::from_slice(&line).unwrap_or(Value::Null);
    if accepted.is_beta {
        make_beta(&mut value["object"]);
    }
    match accepted.encoding {
        Encoding::Protobuf => protobuf::frame(&value).map_or(line, Bytes::from),
        _ => format!("{value}\n").into(),
    }
}

/// Tables and metadata in the version before the present one, which looked the same.
fn make_beta(value: &mut Value) {
    if value["apiVersion"] != "meta.k8s.io/v1" {
        return;
    }
    value["apiVersion"] = "meta.k8s.io/v1beta1".into();
    for (list, inner) in [("items", None), ("rows", Some("object"))] {
        for item in value.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            match inner {
                Some(name) => make_beta(&mut item[name]),
                None => make_beta(item),
            }
        }
    }
}
