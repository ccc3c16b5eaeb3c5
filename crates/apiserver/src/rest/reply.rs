//! Answers: code, headers and a body that is either there or still to come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http_body::Frame;
use serde_json::Value;
use tokio::sync::mpsc;

use super::accept::Encoding;
use crate::status::Status;

pub type Response = http::Response<Body>;

/// A body: all of it, or a stream of watch events.
#[derive(Debug)]
pub enum Body {
    Whole(Option<Bytes>),
    Stream(mpsc::Receiver<Bytes>),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Body::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Body::Stream(receiver) => receiver.poll_recv(cx).map(|chunk| chunk.map(|bytes| Ok(Frame::data(bytes)))),
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
    /// An object in a media type of its own.
    Typed(Value, &'static str),
    Text(String),
    Stream(mpsc::Receiver<Bytes>),
}

impl Reply {
    pub fn ok(value: Value) -> Self {
        Self { code: 200, body: ReplyBody::Value(value) }
    }

    pub fn created(value: Value) -> Self {
        Self { code: 201, body: ReplyBody::Value(value) }
    }

    pub fn text(code: u16, text: impl Into<String>) -> Self {
        Self { code, body: ReplyBody::Text(text.into()) }
    }

    /// Adds headers and turns the body into bytes.
    pub fn encode(self, encoding: Encoding, warnings: &[String]) -> Response {
        let (content_type, body) = match self.body {
            ReplyBody::Value(value) => encoded(&value, encoding),
            ReplyBody::Json(bytes) if encoding == Encoding::Json => ("application/json", bytes.into()),
            ReplyBody::Json(bytes) => {
                let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                encoded(&value, encoding)
            }
            ReplyBody::Typed(value, content_type) => (content_type, Bytes::from(value.to_string()).into()),
            ReplyBody::Text(text) => ("text/plain; charset=utf-8", Bytes::from(text).into()),
            ReplyBody::Stream(receiver) => ("application/json", Body::Stream(receiver)),
        };
        let mut response = http::Response::new(body);
        *response.status_mut() =
            http::StatusCode::from_u16(self.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
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
pub fn refused(status: &Status, encoding: Encoding, warnings: &[String]) -> Response {
    let reply = Reply { code: status.code(), body: ReplyBody::Value(status.to_value()) };
    let mut response = reply.encode(encoding, warnings);
    if let Some(seconds) = status.retry_after() {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn encoded(value: &Value, encoding: Encoding) -> (&'static str, Body) {
    match encoding {
        Encoding::Json => ("application/json", Bytes::from(format!("{value}\n")).into()),
        Encoding::Yaml => {
            let text = serde_saphyr::to_string(value).unwrap_or_default();
            ("application/yaml", Bytes::from(text).into())
        }
    }
}
