//! `watch`: what exists, then what happens, one JSON object per line until someone ends it.
//!
//! Each watch is a task with a cursor into the collection's history; it sleeps until the collection changes. A client
//! that does not read stops its task, not the server.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::accept::Shape;
use super::list::{partial, typed_bytes};
use super::query::ListOptions;
use super::reply::{Reply, ReplyBody};
use super::select::Selection;
use super::service::{Call, Server};
use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::schema::go;
use crate::status::{Result, Status};
use crate::store::{Change, Forgotten, Key, Object};
use crate::table;

/// Answers that wait to be sent, per watch.
const BACKLOG: usize = 64;
/// How often a watch tells how far it is.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// A watch without a timeout ends by itself after this, or up to twice this.
const TIMEOUT_S_MIN: u64 = 1800;

const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// One running watch.
struct Watch {
    server: Arc<Server>,
    resource: Arc<Resource>,
    selection: Selection,
    namespace: String,
    shape: Shape,
    include: table::Include,
    wants_bookmarks: bool,
    cursor: u64,
    /// Whether a Table has already told its columns.
    has_told_columns: bool,
    sender: mpsc::Sender<Bytes>,
}

/// The client has gone; there is nobody to tell.
struct Gone;

impl Server {
    pub async fn watch(
        self: &Arc<Self>,
        call: &Call,
        resource: &Arc<Resource>,
        options: &ListOptions,
    ) -> Result<Reply> {
        options.validate()?;
        let selection = Selection::parse(options, resource, &call.path.name)?;
        let version = options.version().map_err(Status::internal)?;
        let include = table::Include::parse(call.query.get("includeObject"))?;
        let wants_state = match options.send_initial_events {
            Some(wants) => wants,
            None => version.is_none_or(|version| version == 0),
        };
        if let Some(version) = version.filter(|_| wants_state) {
            self.wait_for(version).await?;
        }
        let (sender, receiver) = mpsc::channel(BACKLOG);
        let watch = Watch {
            server: Arc::clone(self),
            resource: Arc::clone(resource),
            selection,
            namespace: call.path.namespace.clone(),
            shape: call.accepted.shape,
            include,
            wants_bookmarks: options.wants_bookmarks,
            cursor: version.unwrap_or_default(),
            has_told_columns: false,
            sender,
        };
        let seconds = match options.timeout_seconds {
            Some(seconds) if seconds > 0 => seconds.unsigned_abs(),
            _ => TIMEOUT_S_MIN + self.random.below(TIMEOUT_S_MIN),
        };
        let deadline = Instant::now() + Duration::from_secs(seconds);
        tokio::spawn(watch.run(wants_state, deadline));
        Ok(Reply { code: 200, body: ReplyBody::Stream(receiver) })
    }
}

impl Watch {
    async fn run(mut self, wants_state: bool, deadline: Instant) {
        // Subscribed before the first look, so that nothing falls between.
        let mut signal = self.server.store.signal(&self.resource.storage);
        let mut bookmark = tokio::time::interval_at(Instant::now() + BOOKMARK_EVERY, BOOKMARK_EVERY);
        if wants_state && self.send_state().await.is_err() {
            return;
        }
        loop {
            if self.send_changes().await.is_err() {
                return;
            }
            let has_changed = tokio::select! {
                biased;
                () = self.sender.closed() => return,
                () = tokio::time::sleep_until(deadline) => return,
                () = signal.changed() => true,
                _ = bookmark.tick(), if self.wants_bookmarks => self.send_bookmark(false).await.is_ok(),
            };
            if !has_changed {
                return;
            }
        }
    }

    /// Everything that exists, as if it had just been added.
    async fn send_state(&mut self) -> std::result::Result<(), Gone> {
        let Ok(snapshot) = self.server.store.list(&self.resource.storage, &self.namespace, None) else {
            return Err(Gone);
        };
        self.cursor = snapshot.revision;
        for (key, object) in &snapshot.objects {
            if self.selection.matches(key, object) {
                self.send("ADDED", object, None).await?;
            }
        }
        if self.wants_bookmarks { self.send_bookmark(true).await } else { Ok(()) }
    }

    async fn send_changes(&mut self) -> std::result::Result<(), Gone> {
        match self.server.store.changes_after(&self.resource.storage, self.cursor) {
            Ok(changes) => {
                for change in changes {
                    self.cursor = change.revision;
                    self.send_change(&change).await?;
                }
                Ok(())
            }
            Err(Forgotten { oldest }) => {
                let why = format!("too old resource version: {} ({oldest})", self.cursor);
                let status = Status::expired(why).to_value();
                self.send_line(&json!({"type": "ERROR", "object": status})).await?;
                Err(Gone)
            }
        }
    }

    /// What a change means to this watch: an object may begin or cease to be selected.
    async fn send_change(&mut self, change: &Change) -> std::result::Result<(), Gone> {
        if !self.namespace.is_empty() && change.key.namespace != self.namespace {
            return Ok(());
        }
        let matches = |key: &Key, object: &Option<Arc<Object>>| {
            object.as_ref().is_some_and(|object| self.selection.matches(key, object))
        };
        let (before, after) = (matches(&change.key, &change.old), matches(&change.key, &change.new));
        match (&change.old, &change.new) {
            (_, Some(new)) if after => {
                let kind = if before { "MODIFIED" } else { "ADDED" };
                self.send(kind, new, None).await
            }
            (Some(old), Some(new)) if before => self.send("DELETED", old, Some(new.revision)).await,
            (Some(old), None) if before => self.send("DELETED", old, None).await,
            _ => Ok(()),
        }
    }

    /// `revision` replaces the one in the object: a watcher must not go back.
    async fn send(&mut self, kind: &str, object: &Arc<Object>, revision: Option<u64>) -> std::result::Result<(), Gone> {
        let shown = self.server.shown(&self.resource, object).await.map_err(|_| Gone)?;
        if self.shape == Shape::Whole && revision.is_none() {
            let object = typed_bytes(&self.resource, &shown);
            let mut line = format!("{{\"type\":\"{kind}\",\"object\":").into_bytes();
            line.extend_from_slice(&object);
            line.extend_from_slice(b"}\n");
            return self.sender.send(line.into()).await.map_err(|_| Gone);
        }
        let mut value = shown.whole();
        if let Some(revision) = revision {
            value["metadata"]["resourceVersion"] = revision.to_string().into();
        }
        let object = match self.shape {
            Shape::Whole => super::list::typed(&self.resource, &value),
            Shape::Partial | Shape::PartialList => partial(&value),
            Shape::Table => {
                let metadata = json!({"resourceVersion": value["metadata"]["resourceVersion"]});
                let row = table::row(&self.resource, &value, self.include, self.server.clock.now());
                let with_columns = !std::mem::replace(&mut self.has_told_columns, true);
                table::table(&self.resource, &metadata, &[row], with_columns)
            }
        };
        self.send_line(&json!({"type": kind, "object": object})).await
    }

    async fn send_bookmark(&mut self, ends_initial: bool) -> std::result::Result<(), Gone> {
        let mut metadata = json!({"resourceVersion": self.cursor.max(self.reached()).to_string()});
        if ends_initial {
            metadata["annotations"] = json!({INITIAL_EVENTS_END: "true"});
        }
        let mut value = json!({"metadata": metadata});
        if self.resource.custom.is_none() {
            // A bookmark is an empty object of the kind; nothing in it can be of the wrong type.
            let _ = go::canonical(&self.resource.schema, &mut value, None);
            match self.resource.storage.as_str() {
                // Inside a real server these count replicas without a pointer, so none is zero.
                "deployments.apps" | "replicasets.apps" | "statefulsets.apps" => value["spec"]["replicas"] = 0.into(),
                "daemonsets.apps" => {
                    value["metadata"]["annotations"]["deprecated.daemonset.template.generation"] = "0".into();
                }
                _ => {}
            }
        }
        let object = match self.shape {
            Shape::Whole => super::list::typed(&self.resource, &value),
            Shape::Partial | Shape::PartialList => partial(&value),
            Shape::Table => table::table(&self.resource, &value["metadata"], &[], false),
        };
        self.send_line(&json!({"type": "BOOKMARK", "object": object})).await
    }

    /// Nothing has happened in this collection since the cursor, so the present revision is as good.
    fn reached(&self) -> u64 {
        let store = &self.server.store;
        let revision = store.revision();
        let is_quiet = store.changes_after(&self.resource.storage, self.cursor).is_ok_and(|changes| changes.is_empty());
        if is_quiet { revision } else { self.cursor }
    }

    async fn send_line(&self, value: &Value) -> std::result::Result<(), Gone> {
        self.sender.send(Bytes::from(format!("{value}\n"))).await.map_err(|_| Gone)
    }
}
