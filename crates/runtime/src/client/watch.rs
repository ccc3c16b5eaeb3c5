//! A watch as it comes over the wire: one JSON object a line, in pieces of any size.

use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead as _;
use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
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
    lines: VecDeque<Bytes>,
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
                        self.take(data);
                    }
                }
            }
        }
    }

    fn take(&mut self, mut data: Bytes) {
        while !data.is_empty() {
            // What is in memory can be read.
            let length = (&*data).skip_until(b'\n').unwrap_or(data.len());
            let piece = data.split_to(length);
            let is_end = piece.ends_with(b"\n");
            if is_end && self.rest.is_empty() {
                self.lines.push_back(piece);
                continue;
            }
            self.rest.extend_from_slice(&piece);
            if is_end {
                self.lines.push_back(std::mem::take(&mut self.rest).into());
            }
        }
    }
}

fn read<T: Object>(line: &[u8]) -> Result<WatchEvent<T>, Failure> {
    match lean::read_event(line) {
        Some(("ADDED" | "MODIFIED", object)) => Ok(WatchEvent::Applied(object)),
        Some(("DELETED", object)) => Ok(WatchEvent::Deleted(object)),
        _ => read_any(line),
    }
}

/// Reads what is no object, or none that can be read.
fn read_any<T: Object>(line: &[u8]) -> Result<WatchEvent<T>, Failure> {
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

#[cfg(test)]
mod tests {
    use kueue_api::core_v1::Lease;

    use super::*;

    #[test]
    fn lines_come_in_pieces_of_any_size() {
        let text = "{\"type\":\"A\"}\n\n{\"b\":\"\\n\"}\nlast";
        for size in 1..=text.len() {
            let mut watch: Watch<Lease> = Watch::new(Body::empty(), Duration::ZERO);
            for piece in text.as_bytes().chunks(size) {
                watch.take(Bytes::copy_from_slice(piece));
            }
            assert_eq!(watch.lines, ["{\"type\":\"A\"}\n", "\n", "{\"b\":\"\\n\"}\n"], "{size}");
            assert_eq!(watch.rest, b"last");
        }
    }

    #[test]
    fn events_are_read_in_any_form() {
        let lease =
            |holder: &str| format!("{{\"metadata\":{{\"name\":\"l\"}},\"spec\":{{\"holderIdentity\":{holder}}}}}");
        let told = |line: String| match read::<Lease>(line.as_bytes()) {
            Ok(WatchEvent::Applied(lease)) => format!("applied {}", lease.metadata.name),
            Ok(WatchEvent::Deleted(lease)) => format!("deleted {}", lease.metadata.name),
            Ok(WatchEvent::Bookmark { version, .. }) => format!("bookmark {version}"),
            Ok(WatchEvent::Unreadable(_)) => "unreadable".to_owned(),
            Err(failure) => format!("failed {:?}", failure.code()),
        };
        let event = |r#type: &str, object: &str| format!("{{\"type\":\"{type}\",\"object\":{object}}}\n");
        for (line, wanted) in [
            (event("ADDED", &lease("\"h\"")), "applied l"),
            (event("MODIFIED", &lease("\"h\"")), "applied l"),
            (event("DELETED", &lease("\"h\"")), "deleted l"),
            (format!("{{\"object\":{},\"type\":\"ADDED\"}}\n", lease("\"h\"")), "applied l"),
            (event("ADDED", &lease("1")), "unreadable"),
            (event("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"7\"}}"), "bookmark 7"),
            (event("ERROR", "{\"code\":410}"), "failed Some(410)"),
            (event("OTHER", &lease("\"h\"")), "failed None"),
        ] {
            assert_eq!(told(line.clone()), wanted, "{line}");
        }
    }
}
