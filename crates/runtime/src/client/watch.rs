//! A watch as it comes over the wire: one JSON object a line, in pieces of any size.

use std::collections::{BTreeMap, VecDeque};
use std::marker::PhantomData;
use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::client::Body;
use kueue_api::meta::Object;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failure::Failure;
use super::lean;

/// A server that says nothing for so long after a watch should have ended is not there any more.
const GRACE: Duration = Duration::from_secs(30);

/// The annotation of a bookmark after which everything is told that existed when the watch began.
const COMPLETE: &str = "k8s.io/initial-events-end";

/// Something that happened to an object of a kind.
#[derive(Debug)]
pub enum WatchEvent<T> {
    /// It is like this now.
    Applied(T),
    /// It was like this when it went.
    Deleted(T),
    /// Nothing else happened up to this version.
    Bookmark {
        version: String,
        /// Everything that existed when the watch began was told.
        is_complete: bool,
    },
    /// Something happened to an object that cannot be read.
    Unreadable(String),
}

/// A running watch.
#[derive(Debug)]
pub struct Watch<T> {
    body: Body,
    /// What came after the last whole line.
    rest: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    silence: Duration,
    kind: PhantomData<fn() -> T>,
}

#[derive(Deserialize)]
struct Line<'a> {
    r#type: &'a str,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Versioned {
    metadata: Version,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: String,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl<T: Object> Watch<T> {
    pub(super) fn new(body: Body, lasting: Duration) -> Self {
        Self { body, rest: Vec::new(), lines: VecDeque::new(), silence: lasting + GRACE, kind: PhantomData }
    }

    /// The next event; none when the server ended the watch.
    pub async fn next(&mut self) -> Result<Option<WatchEvent<T>>, Failure> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return read(&line).map(Some);
            }
            let frame = tokio::time::timeout(self.silence, self.body.frame()).await;
            match frame.map_err(|_| Failure::TimedOut(self.silence))? {
                None => return Ok(None),
                Some(Err(error)) => return Err(Failure::Unreachable(super::reasons(&error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.take(&data);
                    }
                }
            }
        }
    }

    fn take(&mut self, data: &[u8]) {
        for byte in data.split_inclusive(|byte| *byte == b'\n') {
            self.rest.extend_from_slice(byte);
            if byte.ends_with(b"\n") {
                self.lines.push_back(std::mem::take(&mut self.rest));
            }
        }
    }
}

fn read<T: Object>(line: &[u8]) -> Result<WatchEvent<T>, Failure> {
    let unreadable = |error: serde_json::Error| Failure::Unreadable(format!("an event of a watch: {error}"));
    let Line { r#type, object } = serde_json::from_slice(line).map_err(unreadable)?;
    let object = object.get();
    Ok(match r#type {
        "ADDED" | "MODIFIED" => lean::read(object.as_bytes()).map_or_else(|error| told(&error), WatchEvent::Applied),
        "DELETED" => lean::read(object.as_bytes()).map_or_else(|error| told(&error), WatchEvent::Deleted),
        "BOOKMARK" => {
            let bookmark: Versioned = serde_json::from_str(object).map_err(unreadable)?;
            let Version { resource_version: version, annotations } = bookmark.metadata;
            let is_complete = annotations.get(COMPLETE).is_some_and(|value| value == "true");
            WatchEvent::Bookmark { version, is_complete }
        }
        "ERROR" => return Err(Failure::from_event(object)),
        other => return Err(Failure::Unreadable(format!("a watch event of type {other:?}"))),
    })
}

fn told<T>(error: &serde_json::Error) -> WatchEvent<T> {
    WatchEvent::Unreadable(error.to_string())
}
