use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Frame;
use kube::client::Body;
use kueue_api::meta::ObjectMeta;
use kueue_apiserver::{ApiServer, Settings};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::mpsc;

use super::*;
use crate::client::{Dependents, Limits, Patch};

#[derive(Serialize, Deserialize, Default, Debug)]
struct ConfigMap {
    metadata: ObjectMeta,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

impl Object for ConfigMap {
    const GROUP: &'static str = "";
    const VERSION: &'static str = "v1";
    const KIND: &'static str = "ConfigMap";
    const PLURAL: &'static str = "configmaps";
    const NAMESPACED: bool = true;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

type Answer = Response<UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>>;

fn text(code: u16, text: impl Into<Bytes>) -> Answer {
    let body = Full::from(text.into()).map_err(Into::into).boxed_unsync();
    Response::builder().status(code).body(body).unwrap()
}

/// What goes wrong with a watch that goes on.
enum Fault {
    Refuse(u16, &'static str),
    /// The stream says that the version is forgotten.
    Forget,
}

/// A body that comes in pieces.
struct Pieces(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Pieces {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// An embedded server behind a connection that fails as it is told.
#[derive(Clone)]
struct Bed {
    server: ApiServer,
    /// Requests for everything, and for pages of it.
    lists: Arc<AtomicUsize>,
    /// Watches that go on where another one ended.
    watches: Arc<AtomicUsize>,
    faults: Arc<Mutex<Vec<Fault>>>,
    /// Breaks all connections off whenever it changes.
    cut: watch::Sender<()>,
    /// Watches do not begin with everything.
    is_old: bool,
    /// Nobody answers.
    is_down: Arc<Mutex<bool>>,
}

impl Bed {
    fn new() -> Self {
        let clock = kueue_apiserver::clock::Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
        let server = ApiServer::start(Settings::new(clock, [1; 32]));
        let (lists, watches, faults) = (Arc::default(), Arc::default(), Arc::default());
        Self { server, lists, watches, faults, cut: watch::Sender::default(), is_old: false, is_down: Arc::default() }
    }

    fn client(&self) -> Client {
        let bed = self.clone();
        let service = tower::service_fn(move |request| {
            let bed = bed.clone();
            async move { bed.answer(request).await }
        });
        Client::new(kube::Client::new(service, "default"), Limits::new(8, None))
    }

    async fn answer(&self, mut request: Request<Body>) -> Result<Answer, std::io::Error> {
        if *self.is_down.lock().unwrap() {
            return Err(std::io::Error::other("connection refused"));
        }
        let token = format!("Bearer {}", self.server.admin_token());
        request.headers_mut().insert("authorization", token.parse().unwrap());
        let is_read = request.method() == http::Method::GET && request.uri().path().ends_with("configmaps");
        let query = request.uri().query().unwrap_or_default();
        let (is_watch, is_all) = match query.contains("watch=1") {
            true => (is_read, is_read && query.contains("sendInitialEvents")),
            false => (false, is_read),
        };
        if is_all {
            self.lists.fetch_add(1, Ordering::Relaxed);
        }
        if is_all && is_watch && self.is_old {
            return Ok(text(422, json!({"code": 422, "message": "sendInitialEvents is forbidden"}).to_string()));
        }
        let fault = if is_watch && !is_all {
            self.watches.fetch_add(1, Ordering::Relaxed);
            let mut faults = self.faults.lock().unwrap();
            (!faults.is_empty()).then(|| faults.remove(0))
        } else {
            None
        };
        match fault {
            Some(Fault::Refuse(code, retry_after)) => {
                let mut refusal = text(code, json!({"code": code, "message": "no"}).to_string());
                refusal.headers_mut().insert("retry-after", retry_after.parse().unwrap());
                Ok(refusal)
            }
            Some(Fault::Forget) => {
                let event = json!({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}});
                Ok(text(200, format!("{event}\n")))
            }
            None if is_watch => Ok(self.server.handle(request).await.map(|body| self.until_cut(body))),
            None => Ok(self.server.handle(request).await.map(|body| body.map_err(Into::into).boxed_unsync())),
        }
    }

    /// The same body, until the connection breaks.
    fn until_cut<B>(&self, mut body: B) -> UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>
    where
        B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
        B::Error: std::fmt::Debug + Send,
    {
        let (sender, pieces) = mpsc::channel(1);
        let mut cut = self.cut.subscribe();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    frame = body.frame() => {
                        let Some(frame) = frame else { return };
                        if sender.send(frame.unwrap().into_data().unwrap()).await.is_err() {
                            return;
                        }
                    }
                    _ = cut.changed() => {
                        // Half a line more, as connections break.
                        drop(sender.send(Bytes::from_static(br#"{"type":"MODI"#)).await);
                        return;
                    }
                }
            }
        });
        Pieces(pieces).boxed_unsync()
    }
}

/// A bed, an informer on it and the notes of one who listens: `+name`, `~name old>new`, `-name`.
struct Story {
    bed: Bed,
    client: Client,
    notes: Arc<Mutex<Vec<String>>>,
    store: Arc<Store<String>>,
    running: Option<tokio::task::JoinHandle<()>>,
}

impl Story {
    fn new() -> Self {
        Self::on(Bed::new())
    }

    fn on(bed: Bed) -> Self {
        Self { client: bed.client(), bed, notes: Arc::default(), store: Arc::default(), running: None }
    }

    async fn watch(&mut self) {
        let mut informer = Informer::<ConfigMap, String>::new(|map| map.data.get("v").cloned().unwrap_or_default());
        let notes = Arc::clone(&self.notes);
        informer.listen(move |delta| {
            let note = match (&delta.old, &delta.new) {
                (None, Some(_)) => format!("+{}", delta.key.name),
                (Some(old), Some(new)) => format!("~{} {}>{}", delta.key.name, old.object, new.object),
                (_, None) => format!("-{}", delta.key.name),
            };
            notes.lock().unwrap().push(note);
        });
        self.store = informer.store();
        let mut synced = informer.synced();
        self.running = Some(tokio::spawn(informer.run(self.client.clone())));
        let _ = tokio::time::timeout(Duration::from_secs(600), synced.wait_for(|synced| *synced)).await;
        settle().await;
    }

    async fn create(&self, name: &str, value: &str) {
        let metadata = ObjectMeta { name: name.to_owned(), namespace: "default".to_owned(), ..ObjectMeta::default() };
        let data = BTreeMap::from([("v".to_owned(), value.to_owned())]);
        self.client.create(&ConfigMap { metadata, data }).await.unwrap();
    }

    async fn change(&self, name: &str, value: &str) {
        let patch = Patch::merge(json!({"data": {"v": value}}), "test");
        self.client.patch::<ConfigMap>(&Key::new("default", name), &patch).await.unwrap();
    }

    async fn delete(&self, name: &str) {
        self.client.delete::<ConfigMap>(&Key::new("default", name), "", Dependents::Background).await.unwrap();
    }

    async fn notes(&self) -> String {
        settle().await;
        std::mem::take(&mut *self.notes.lock().unwrap()).join(", ")
    }

    fn counts(&self) -> (usize, usize) {
        (self.bed.lists.load(Ordering::Relaxed), self.bed.watches.load(Ordering::Relaxed))
    }
}

/// Long enough for everything that does not wait.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(10)).await;
}

#[tokio::test(start_paused = true)]
async fn listeners_see_old_and_new() {
    let mut story = Story::new();
    story.create("a", "1").await;
    story.watch().await;
    story.create("b", "1").await;
    story.change("a", "2").await;
    story.delete("b").await;
    assert_eq!(story.notes().await, "+a, +b, ~a 1>2, -b");
    assert_eq!(story.store.get(&Key::new("default", "a")).map(|stored| stored.object.to_string()), Some("2".into()));
    assert_eq!(story.counts(), (1, 0), "one watch tells everything and goes on");
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_is_made_with_the_last_version_of_the_same_object() {
    let story = Story::new();
    let value = |map: &ConfigMap| map.data.get("v").cloned().unwrap_or_default();
    let informer =
        Informer::<ConfigMap, String>::sharing(move |map, last| last.cloned().unwrap_or_default() + &value(&map));
    let store = informer.store();
    let running = tokio::spawn(informer.run(story.client.clone()));
    let kept = async || {
        settle().await;
        store.get(&Key::new("default", "a")).map(|stored| stored.object.to_string())
    };
    story.create("a", "1").await;
    story.change("a", "2").await;
    assert_eq!(kept().await.as_deref(), Some("12"));
    story.delete("a").await;
    story.create("a", "3").await;
    assert_eq!(kept().await.as_deref(), Some("3"), "another object of that name");
    running.abort();
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_goes_on_where_it_was_without_a_list() {
    let mut story = Story::new();
    story.create("a", "1").await;
    story.watch().await;
    story.change("a", "2").await;
    settle().await;
    story.bed.cut.send_replace(());
    settle().await;
    story.change("a", "3").await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(story.notes().await, "+a, ~a 1>2, ~a 2>3");
    assert_eq!(story.counts(), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_begins_no_watch_with_everything_is_asked_for_a_list() {
    let mut story = Story::on(Bed { is_old: true, ..Bed::new() });
    story.create("a", "1").await;
    story.watch().await;
    story.change("a", "2").await;
    assert_eq!(story.notes().await, "+a, ~a 1>2");
    assert_eq!(story.counts(), (2, 1));
    // It is not asked for that again.
    story.bed.faults.lock().unwrap().push(Fault::Forget);
    story.bed.cut.send_replace(());
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(story.counts(), (3, 3));
}

#[tokio::test(start_paused = true)]
async fn watches_that_end_in_time_are_renewed_for_hours_without_a_list() {
    let mut story = Story::new();
    story.watch().await;
    tokio::time::sleep(Duration::from_secs(3 * 3600)).await;
    story.create("late", "1").await;
    assert_eq!(story.notes().await, "+late");
    assert_eq!(story.counts(), (1, 36));
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_costs_one_list_and_tells_what_was_missed() {
    let mut story = Story::new();
    for name in ["changed", "gone", "replaced", "same"] {
        story.create(name, "1").await;
    }
    story.watch().await;
    assert_eq!(story.notes().await, "+changed, +gone, +replaced, +same");
    // The watch fails, and while nobody watches things happen; then the version is forgotten.
    story.bed.faults.lock().unwrap().extend([Fault::Refuse(500, "1"), Fault::Forget]);
    story.bed.cut.send_replace(());
    settle().await;
    story.change("changed", "2").await;
    story.delete("gone").await;
    story.delete("replaced").await;
    story.create("replaced", "9").await;
    story.create("new", "1").await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(story.notes().await, "~changed 1>2, +new, -replaced, +replaced, -gone");
    assert_eq!(story.counts(), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn refusals_are_waited_out_as_the_server_asks() {
    let mut story = Story::new();
    story.bed.faults.lock().unwrap().extend([
        Fault::Refuse(429, "45"),
        Fault::Refuse(500, "0"),
        Fault::Refuse(504, "0"),
    ]);
    story.watch().await;
    let begin = tokio::time::Instant::now();
    story.bed.cut.send_replace(());
    settle().await;
    story.create("a", "1").await;
    while story.notes.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(story.counts(), (1, 4), "an error of a watch needs no list");
    assert!((45..60).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_down_at_the_start_or_later_is_waited_for() {
    let mut story = Story::new();
    *story.bed.is_down.lock().unwrap() = true;
    let bed = story.bed.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(120)).await;
        *bed.is_down.lock().unwrap() = false;
    });
    story.watch().await;
    story.create("a", "1").await;
    assert_eq!(story.notes().await, "+a");
    *story.bed.is_down.lock().unwrap() = true;
    tokio::time::sleep(Duration::from_secs(400)).await;
    *story.bed.is_down.lock().unwrap() = false;
    story.change("a", "2").await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    assert_eq!(story.notes().await, "~a 1>2");
    assert_eq!(story.counts().0, 1, "one list in all");
}

#[tokio::test(start_paused = true)]
async fn many_objects_come_in_pages() {
    let mut story = Story::on(Bed { is_old: true, ..Bed::new() });
    for number in 0..1201 {
        story.create(&format!("n{number}"), "1").await;
    }
    story.watch().await;
    assert_eq!(story.store.keys().len(), 1201);
    assert_eq!(story.counts(), (4, 1), "the attempt to watch everything, and three pages");
}
