//! Tells users what happened, as events of the API group `events.k8s.io`, or as the controllers of a cluster do, of the
//! core group.
//!
//! Nobody waits for an event: when more are said than the server takes, the newest are dropped and counted. The same
//! event about the same object becomes one object whose series counts.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kueue_api::meta::{Object, ObjectMeta};
use kueue_core::time::{MicroTime, Time};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::debug;

use crate::client::{Client, Patch};
use crate::clock::Clock;
use crate::key::Key;

/// Who tells, unless somebody else is named.
const AGENT: &str = "kueue";

/// The longest text of an event, in bytes.
pub const NOTE_BYTES_MAX: usize = 1024;
const CUT: &str = " ...";
/// How many events may wait to be written: those of a burst, until the server has time again.
const BACKLOG: usize = 20_000;
/// One after the other: what was decided comes before what is told about it.
const AT_ONCE: usize = 1;
/// How long after one event the next is written while the server is busy, so that what was decided goes first.
const REST: Duration = Duration::from_millis(50);
/// How often the counts of series are written.
const COUNT_EVERY: Duration = Duration::from_secs(30);
/// An event that was not repeated for so long begins anew.
const SERIES_ENDS_AFTER: Duration = Duration::from_secs(360);

/// The object that an event is about.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Regarding {
    pub api_version: String,
    pub kind: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    pub uid: String,
}

impl Regarding {
    pub fn of<T: Object>(object: &T) -> Self {
        let meta = object.metadata();
        Self {
            api_version: T::api_version(),
            kind: T::KIND.to_owned(),
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
        }
    }
}

/// Something to be told.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Event {
    pub regarding: Regarding,
    pub is_warning: bool,
    /// In one word.
    pub reason: String,
    /// In a sentence.
    pub note: String,
}

impl Event {
    fn r#type(&self) -> &'static str {
        if self.is_warning { "Warning" } else { "Normal" }
    }
}

/// The wire form, as far as it is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventObject {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: ObjectMeta,
    event_time: MicroTime,
    reporting_controller: String,
    reporting_instance: String,
    action: String,
    reason: String,
    #[serde(default)]
    regarding: Option<Regarding>,
    #[serde(default)]
    note: String,
    r#type: String,
}

/// The wire form of old, which names its controller as a source and counts by itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CoreEvent {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    metadata: ObjectMeta,
    #[serde(default)]
    involved_object: Option<Regarding>,
    reason: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    source: Source,
    #[serde(default)]
    first_timestamp: Option<Time>,
    #[serde(default)]
    last_timestamp: Option<Time>,
    #[serde(default)]
    count: u32,
    r#type: String,
    #[serde(default)]
    reporting_component: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Source {
    #[serde(default)]
    component: String,
}

/// Who tells.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Teller {
    controller: &'static str,
    /// The program that it is part of.
    agent: &'static str,
    /// Whether in the form of old.
    has_source: bool,
}

impl Object for CoreEvent {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Event";
    const PLURAL: &'static str = "events";
    const NAMESPACED: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Object for EventObject {
    const GROUP: &'static str = "events.k8s.io";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "Event";
    const PLURAL: &'static str = "events";
    const NAMESPACED: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// Takes events in the name of one controller. Copies share the line.
#[derive(Clone, Debug)]
pub struct Recorder {
    line: mpsc::Sender<Told>,
    teller: Teller,
    clock: Clock,
    dropped: Arc<AtomicU64>,
}

impl Recorder {
    /// A recorder, and what writes its events while it runs.
    pub fn new(client: Client, clock: Clock, instance: String) -> (Self, impl Future<Output = ()> + Send) {
        let (line, events) = mpsc::channel(BACKLOG);
        let teller = Teller { controller: "", agent: AGENT, has_source: false };
        let recorder = Self { line, teller, clock, dropped: Arc::default() };
        let writer = Writer { client, clock, instance, series: BTreeMap::new(), written: 0 };
        (recorder, writer.run(events))
    }

    /// The same line for another controller.
    pub fn named(&self, controller: &'static str) -> Self {
        Self { teller: Teller { controller, ..self.teller }, ..self.clone() }
    }

    /// The same line for a controller of another program, as managed fields tell it.
    #[must_use]
    pub fn speaking_as(self, agent: &'static str) -> Self {
        Self { teller: Teller { agent, ..self.teller }, ..self }
    }

    /// The same line, told in the form of old, as the controllers of a cluster do.
    #[must_use]
    pub fn with_source(self) -> Self {
        Self { teller: Teller { has_source: true, ..self.teller }, ..self }
    }

    pub fn record(&self, mut event: Event) {
        event.note = shorten(event.note);
        if self.line.try_send(Told { event, teller: self.teller, at: self.clock.micro_time() }).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many events there was no room for.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Cuts a text to the length that the server takes, between characters.
pub fn shorten(mut text: String) -> String {
    if text.len() > NOTE_BYTES_MAX {
        let end = text.floor_char_boundary(NOTE_BYTES_MAX - CUT.len());
        text.truncate(end);
        text.push_str(CUT);
    }
    text
}

/// One event on its way to be written.
#[derive(Debug)]
struct Told {
    event: Event,
    teller: Teller,
    /// When it happened, which may be long before it is written.
    at: MicroTime,
}

/// One event that was written and may come again.
#[derive(Debug)]
struct Series {
    key: Key,
    teller: Teller,
    count: u32,
    counted: u32,
    last: Instant,
    last_time: MicroTime,
}

struct Writer {
    client: Client,
    clock: Clock,
    instance: String,
    /// By fingerprint, which is much smaller than the event; in order, so that the same story is told by the same
    /// requests.
    series: BTreeMap<u64, Series>,
    written: u64,
}

impl Writer {
    async fn run(mut self, mut events: mpsc::Receiver<Told>) {
        let mut requests = JoinSet::new();
        let mut tick = tokio::time::interval_at(Instant::now() + COUNT_EVERY, COUNT_EVERY);
        let mut rests_until = None;
        loop {
            tokio::select! {
                biased;
                Some(_) = requests.join_next(), if !requests.is_empty() => {
                    // At the end nobody else is kept from anything.
                    let rests = !self.client.is_prompt() && !events.is_closed();
                    rests_until = rests.then(|| Instant::now() + REST);
                }
                () = sleep_until(rests_until), if rests_until.is_some() => rests_until = None,
                event = events.recv(), if requests.len() < AT_ONCE && rests_until.is_none() => match event {
                    Some(told) => self.take(&told, &mut requests),
                    None => break,
                },
                _ = tick.tick() => self.count(&mut requests),
            }
        }
        // Nobody is left who tells anything: what was told is written to the end.
        self.count(&mut requests);
        while requests.join_next().await.is_some() {}
    }

    fn take(&mut self, told: &Told, requests: &mut JoinSet<()>) {
        let Told { event, teller, at: last_time } = told;
        let (teller, last, last_time) = (*teller, Instant::now(), *last_time);
        let mut fingerprint = DefaultHasher::new();
        (event, teller).hash(&mut fingerprint);
        let fingerprint = fingerprint.finish();
        if let Some(series) = self.series.get_mut(&fingerprint) {
            series.count += 1;
            (series.last, series.last_time) = (last, last_time);
            return;
        }
        let metadata = self.metadata(&event.regarding);
        let key = Key::new(metadata.namespace.as_str(), metadata.name.as_str());
        match teller.has_source {
            false => self.create(self.object(event, teller, metadata, last_time), teller, requests),
            true => self.create(core_object(event, teller, metadata, last_time), teller, requests),
        }
        self.series.insert(fingerprint, Series { key, teller, count: 1, counted: 1, last, last_time });
    }

    fn create<T: Object + Send + Sync + 'static>(&self, object: T, teller: Teller, requests: &mut JoinSet<()>) {
        let client = self.client.clone().speaking_as(teller.agent);
        requests.spawn(async move {
            if let Err(failure) = client.make(&object).await {
                debug!(event = object.metadata().name, error = %failure, "an event was not written");
            }
        });
    }

    fn metadata(&mut self, regarding: &Regarding) -> ObjectMeta {
        self.written += 1;
        // Events about objects without a namespace live in `default`.
        let namespace = if regarding.namespace.is_empty() { "default" } else { &regarding.namespace };
        let stamp = self.clock.now().as_nanosecond();
        let name = format!("{}.{stamp:x}{:x}", regarding.name, self.written % 16);
        ObjectMeta { name, namespace: namespace.to_owned(), ..ObjectMeta::default() }
    }

    fn object(&self, event: &Event, teller: Teller, metadata: ObjectMeta, event_time: MicroTime) -> EventObject {
        EventObject {
            api_version: EventObject::api_version(),
            kind: EventObject::KIND.to_owned(),
            metadata,
            event_time,
            reporting_controller: teller.controller.to_owned(),
            reporting_instance: self.instance.clone(),
            action: event.reason.clone(),
            reason: event.reason.clone(),
            regarding: Some(event.regarding.clone()),
            note: event.note.clone(),
            r#type: event.r#type().to_owned(),
        }
    }

    /// Writes the counts that moved, and forgets what was not repeated for long.
    fn count(&mut self, requests: &mut JoinSet<()>) {
        for series in self.series.values_mut().filter(|series| series.count > series.counted) {
            series.counted = series.count;
            let (count, last) = (series.count, series.last_time);
            let (client, key) = (self.client.clone(), series.key.clone());
            let Teller { agent, has_source, .. } = series.teller;
            let body = match has_source {
                false => json!({"series": {"count": count, "lastObservedTime": last}}),
                true => json!({"count": count, "lastTimestamp": Time::new(last.timestamp())}),
            };
            requests.spawn(async move {
                let patch = Patch::merge(body, agent);
                let counted = match has_source {
                    false => client.change::<EventObject>(&key, &patch).await,
                    true => client.change::<CoreEvent>(&key, &patch).await,
                };
                if let Err(failure) = counted {
                    debug!(event = %key, error = %failure, "an event was not counted");
                }
            });
        }
        self.series.retain(|_, series| series.last.elapsed() < SERIES_ENDS_AFTER);
    }
}

fn core_object(event: &Event, teller: Teller, metadata: ObjectMeta, at: MicroTime) -> CoreEvent {
    let at = Some(Time::new(at.timestamp()));
    CoreEvent {
        api_version: CoreEvent::api_version(),
        kind: CoreEvent::KIND.to_owned(),
        metadata,
        involved_object: Some(event.regarding.clone()),
        reason: event.reason.clone(),
        message: event.note.clone(),
        source: Source { component: teller.controller.to_owned() },
        first_timestamp: at,
        last_timestamp: at,
        count: 1,
        r#type: event.r#type().to_owned(),
        reporting_component: teller.controller.to_owned(),
    }
}

async fn sleep_until(end: Option<Instant>) {
    if let Some(end) = end {
        tokio::time::sleep_until(end).await;
    }
}
