//! What happens to the events of a watch on their way.
//!
//! Events of one object never overtake each other, and a stream is never cut between two that changed places: whoever
//! goes on at the last version they saw misses nothing.

use std::time::Duration;

use bytes::Bytes;
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::Faults;
use crate::json::Value;

/// Events that wait to be sent.
const BACKLOG: usize = 64;
/// How long an event waits for a neighbour to change places with.
const NEIGHBOUR_WAIT: Duration = Duration::from_millis(100);

/// What is done to a stream.
#[derive(Debug, Clone, Copy, Default)]
pub struct Shape {
    pub cut_after: Option<usize>,
    pub lag_max: Option<Duration>,
    pub drops_bookmarks: bool,
    pub reorders: bool,
    /// Where the random numbers of this stream start.
    pub dice: u64,
}

impl Shape {
    pub fn does_something(&self) -> bool {
        self.cut_after.is_some() || self.lag_max.is_some() || self.drops_bookmarks || self.reorders
    }
}

/// An event, as far as it matters here.
struct Event {
    line: Bytes,
    /// The object it is about; nothing for a bookmark or an error.
    uid: Option<String>,
    is_plain_bookmark: bool,
}

impl Event {
    fn read(line: Bytes) -> Self {
        let value: Value = serde_json::from_slice(&line).unwrap_or_default();
        let metadata = &value["object"]["metadata"];
        let is_bookmark = value["type"] == "BOOKMARK";
        Self {
            uid: metadata["uid"].as_str().filter(|_| !is_bookmark).map(str::to_owned),
            is_plain_bookmark: is_bookmark && metadata.get("annotations").is_none(),
            line,
        }
    }
}

/// The lines of a stream after what `shape` says was done to them.
pub fn shape(lines: mpsc::Receiver<Bytes>, shape: Shape, is_text: bool, faults: Faults) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(BACKLOG);
    let shape = Shape { reorders: shape.reorders && is_text, ..shape };
    tokio::spawn(run(lines, shape, faults, sender));
    receiver
}

async fn run(mut lines: mpsc::Receiver<Bytes>, shape: Shape, faults: Faults, sender: mpsc::Sender<Bytes>) {
    let mut dice = ChaCha8Rng::seed_from_u64(shape.dice);
    let mut held: Option<(Event, Instant)> = None;
    let mut left = shape.cut_after;
    loop {
        let waits_until = held.as_ref().map(|(_, until)| *until);
        let waited = async {
            match waits_until {
                Some(until) => sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        let line = tokio::select! {
            biased;
            () = sender.closed() => return,
            line = lines.recv() => line,
            () = waited => {
                let Some((event, _)) = held.take() else { continue };
                if sender.send(event.line).await.is_err() { return }
                continue;
            }
        };
        let Some(line) = line else {
            // The server's own end: nothing may be missing.
            if let Some((event, _)) = held.take() {
                let _ = sender.send(event.line).await;
            }
            return;
        };
        let is_on = faults.is_on();
        if let Some(lag_max) = shape.lag_max.filter(|_| is_on) {
            sleep(lag_max.mul_f64(dice.random())).await;
        }
        let event = Event::read(line);
        if is_on && shape.drops_bookmarks && event.is_plain_bookmark {
            continue;
        }
        let out = match held.take() {
            Some((first, _)) if first.uid != event.uid && event.uid.is_some() => joined(&event.line, &first.line),
            Some((first, _)) => joined(&first.line, &event.line),
            None if is_on && shape.reorders && event.uid.is_some() && dice.random::<bool>() => {
                held = Some((event, Instant::now() + NEIGHBOUR_WAIT));
                continue;
            }
            None => event.line,
        };
        if sender.send(out).await.is_err() {
            return;
        }
        if let Some(left) = left.as_mut().filter(|_| is_on) {
            *left = left.saturating_sub(1);
            if *left == 0 {
                return;
            }
        }
    }
}

/// Two events that are sent together or not at all.
fn joined(one: &Bytes, two: &Bytes) -> Bytes {
    [one.as_ref(), two.as_ref()].concat().into()
}
