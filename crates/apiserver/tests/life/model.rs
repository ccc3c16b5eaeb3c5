//! Random lives of a few objects against a simple model of what a server keeps.
//!
//! Whatever is done, versions only grow, lists show what the model holds, old pages and watches either tell all that
//! happened or say that they no longer can, and who watched from the beginning ends up with what a list shows.

use std::collections::BTreeMap;
use std::time::Duration;

use http_body_util::BodyExt as _;
use kueue_apiserver::rest::reply::Body;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::rig::{CONFIG_MAPS, Rig, settings};

/// What the model knows of an object.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    data: u8,
    label: u8,
    has_finalizer: bool,
    is_deleted: bool,
    version: u64,
}

#[derive(Debug, Clone)]
enum Op {
    Create {
        name: u8,
        label: u8,
        has_finalizer: bool,
    },
    /// With the present version, or with one that is too old.
    Update {
        name: u8,
        data: u8,
        is_stale: bool,
    },
    Patch {
        name: u8,
        data: u8,
    },
    Relabel {
        name: u8,
        label: u8,
    },
    Delete {
        name: u8,
    },
    Release {
        name: u8,
    },
    List {
        label: Option<u8>,
    },
    Pages {
        limit: u8,
    },
    /// Begins to watch, all or those with a label.
    Watch {
        label: Option<u8>,
    },
    /// Forgets everything that happened so far.
    Compact,
}

fn op() -> impl Strategy<Value = Op> {
    let (name, data, label) = (0..4u8, 0..3u8, 0..2u8);
    let some_label = proptest::option::of(0..2u8);
    prop_oneof![
        4 => (name.clone(), label.clone(), any::<bool>())
            .prop_map(|(name, label, has_finalizer)| Op::Create { name, label, has_finalizer }),
        3 => (name.clone(), data.clone(), any::<bool>())
            .prop_map(|(name, data, is_stale)| Op::Update { name, data, is_stale }),
        3 => (name.clone(), data).prop_map(|(name, data)| Op::Patch { name, data }),
        2 => (name.clone(), label).prop_map(|(name, label)| Op::Relabel { name, label }),
        3 => name.clone().prop_map(|name| Op::Delete { name }),
        2 => name.prop_map(|name| Op::Release { name }),
        2 => some_label.clone().prop_map(|label| Op::List { label }),
        1 => (1..4u8).prop_map(|limit| Op::Pages { limit }),
        2 => some_label.prop_map(|label| Op::Watch { label }),
        1 => Just(Op::Compact),
    ]
}

/// The server, what it should hold, and who watches.
struct Life {
    rig: Rig,
    known: BTreeMap<String, Known>,
    latest: u64,
    watches: Vec<(Option<u8>, Body)>,
}

fn version(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn path(name: u8) -> String {
    format!("{CONFIG_MAPS}/n{name}")
}

fn selector(label: Option<u8>) -> String {
    label.map(|label| format!("labelSelector=l%3D{label}")).unwrap_or_default()
}

impl Life {
    fn new() -> Self {
        Self { rig: Rig::start(settings()), known: BTreeMap::new(), latest: 0, watches: Vec::new() }
    }

    async fn play(&mut self, op: &Op) {
        match op {
            Op::Create { name, label, has_finalizer } => self.create(*name, *label, *has_finalizer).await,
            Op::Update { name, data, is_stale } => self.update(*name, *data, *is_stale).await,
            Op::Patch { name, data } => {
                let changed = |known: &mut Known| known.data = *data;
                self.write(*name, json!({"data": {"d": data.to_string()}}), changed).await;
            }
            Op::Relabel { name, label } => {
                let changed = |known: &mut Known| known.label = *label;
                self.write(*name, json!({"metadata": {"labels": {"l": label.to_string()}}}), changed).await;
            }
            Op::Release { name } => {
                let changed = |known: &mut Known| known.has_finalizer = false;
                self.write(*name, json!({"metadata": {"finalizers": null}}), changed).await;
            }
            Op::Delete { name } => self.delete(*name).await,
            Op::List { label } => {
                let list = self.rig.get(&format!("{CONFIG_MAPS}?{}", selector(*label))).await.unwrap();
                assert_eq!(names_of(&list), self.expected(*label));
            }
            Op::Pages { limit } => self.pages(*limit).await,
            Op::Watch { label } => {
                let path = format!("GET {CONFIG_MAPS}?watch=1&timeoutSeconds=100000&{}", selector(*label));
                let answer = self.rig.server.handle(self.rig.request(&path, "")).await;
                self.watches.push((*label, answer.into_body()));
                // It begins with what is there now, before anything else happens.
                tokio::task::yield_now().await;
            }
            Op::Compact => self.compact().await,
        }
    }

    fn expected(&self, label: Option<u8>) -> Vec<(String, u64)> {
        let is_wanted = |known: &Known| label.is_none_or(|label| known.label == label);
        let wanted = self.known.iter().filter(|(_, known)| is_wanted(known));
        wanted.map(|(name, known)| (name.clone(), known.version)).collect()
    }

    /// A write happened: its version is newer than all before.
    fn advance(&mut self, object: &Value) -> u64 {
        let version = version(object);
        assert!(version > self.latest, "{version} is not after {}", self.latest);
        self.latest = version;
        version
    }

    async fn create(&mut self, name: u8, label: u8, has_finalizer: bool) {
        let finalizers = if has_finalizer { json!(["example.com/f"]) } else { json!([]) };
        let metadata =
            json!({"name": format!("n{name}"), "labels": {"l": label.to_string()}, "finalizers": finalizers});
        let object = json!({"metadata": metadata, "data": {"d": "0"}});
        let (code, made) = self.rig.ask(&format!("POST {CONFIG_MAPS}"), object).await;
        if self.known.contains_key(&format!("n{name}")) {
            assert_eq!(code, 409);
            return;
        }
        assert_eq!(code, 201);
        let version = self.advance(&made);
        let known = Known { data: 0, label, has_finalizer, is_deleted: false, version };
        self.known.insert(format!("n{name}"), known);
    }

    async fn update(&mut self, name: u8, data: u8, is_stale: bool) {
        let Some(known) = self.known.get(&format!("n{name}")).cloned() else {
            let object = json!({"metadata": {"name": format!("n{name}")}});
            assert_eq!(self.rig.ask(&format!("PUT {}", path(name)), object).await.0, 404);
            return;
        };
        let mut object = self.rig.get(&path(name)).await.unwrap();
        object["data"] = json!({"d": data.to_string()});
        if is_stale {
            object["metadata"]["resourceVersion"] = (known.version - 1).to_string().into();
        }
        let (code, written) = self.rig.ask(&format!("PUT {}", path(name)), object).await;
        assert_eq!(code, if is_stale { 409 } else { 200 });
        if !is_stale {
            let changed = |known: &mut Known| known.data = data;
            self.note(name, &written, changed);
        }
    }

    async fn write(&mut self, name: u8, patch: Value, change: impl FnOnce(&mut Known)) {
        let (code, written) = self.rig.ask(&format!("PATCH {}", path(name)), patch).await;
        let is_known = self.known.contains_key(&format!("n{name}"));
        assert_eq!(code, if is_known { 200 } else { 404 });
        if is_known {
            self.note(name, &written, change);
        }
    }

    /// What a successful write did to an object: nothing when nothing changed, its end when nothing kept it.
    fn note(&mut self, name: u8, written: &Value, change: impl FnOnce(&mut Known)) {
        let name = format!("n{name}");
        let before = self.known[&name].clone();
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            assert_eq!(version(written), before.version, "a write that changes nothing is none");
        } else if after.is_deleted && !after.has_finalizer {
            self.known.remove(&name);
            self.latest += 1;
        } else {
            after.version = self.advance(written);
            self.known.insert(name, after);
        }
    }

    async fn delete(&mut self, name: u8) {
        let (code, answer) = self.rig.ask(&format!("DELETE {}", path(name)), Value::Null).await;
        let name = format!("n{name}");
        let Some(known) = self.known.get(&name).cloned() else {
            assert_eq!(code, 404);
            return;
        };
        assert_eq!(code, 200);
        match (known.has_finalizer, known.is_deleted) {
            (true, true) => assert_eq!(version(&answer), known.version),
            (true, false) => {
                let version = self.advance(&answer);
                self.known.insert(name, Known { is_deleted: true, version, ..known });
            }
            (false, _) => {
                self.known.remove(&name);
                self.latest += 1;
            }
        }
    }

    /// All pages show the first one's state, whatever happens between them.
    async fn pages(&mut self, limit: u8) {
        let expected = self.expected(None);
        let (mut found, mut next, mut round) = (Vec::new(), String::new(), 0);
        loop {
            let page = self.rig.get(&format!("{CONFIG_MAPS}?limit={limit}&continue={next}")).await.unwrap();
            found.extend(names_of(&page));
            next = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if next.is_empty() {
                break;
            }
            round += 1;
            self.write(round % 4, json!({"data": {"d": (round % 3).to_string()}}), |known| known.data = round % 3)
                .await;
        }
        assert_eq!(found, expected);
    }

    async fn compact(&mut self) {
        // Who watches must have read what is forgotten now.
        self.rig.settle().await;
        let before = self.latest.max(2) - 1;
        self.rig.server.server().store.compact(self.latest);
        let changes = format!("{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={before}");
        let (code, told) = self.rig.ask(&format!("GET {changes}"), Value::Null).await;
        let is_told = told["type"] == "ERROR" && told["object"]["code"] == 410;
        assert!(code == 200 && (is_told || self.latest < 2), "{told}");
    }

    /// Everybody who watched sees in the end what a list shows.
    async fn check_watches(&mut self) {
        for (label, body) in std::mem::take(&mut self.watches) {
            let mut view: BTreeMap<String, u64> = BTreeMap::new();
            for event in drain(body).await {
                let object = &event["object"];
                let name = object["metadata"]["name"].as_str().unwrap().to_owned();
                let before = match (event["type"].as_str().unwrap(), view.contains_key(&name)) {
                    ("ADDED", false) | ("MODIFIED", true) => view.insert(name, version(object)),
                    ("DELETED", true) => view.remove(&name),
                    (kind, _) => panic!("{kind} of {name} makes no sense after {view:?}"),
                };
                assert!(before.is_none_or(|before| before < version(object)), "versions go back: {event}");
            }
            let view: Vec<(String, u64)> = view.into_iter().collect();
            assert_eq!(view, self.expected(label));
        }
    }
}

fn names_of(list: &Value) -> Vec<(String, u64)> {
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), version(item))).collect()
}

async fn drain(mut body: Body) -> Vec<Value> {
    let mut events = Vec::new();
    while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_secs(1), body.frame()).await {
        events.push(serde_json::from_slice(&frame.into_data().unwrap()).unwrap());
    }
    events
}

#[test]
fn a_random_life_is_as_a_simple_model_says() {
    let mut runner = TestRunner::new(Config { cases: 48, ..Config::default() });
    let lives = proptest::collection::vec(op(), 1..40);
    let result = runner.run(&lives, |ops| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut life = Life::new();
            life.latest = life.rig.server.server().store.revision();
            for op in &ops {
                life.play(op).await;
            }
            let list = life.rig.get(CONFIG_MAPS).await.unwrap();
            assert_eq!(names_of(&list), life.expected(None));
            life.check_watches().await;
        });
        Ok(())
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}
