//! Faults on demand: each one, whom it strikes, and that clients who do as they should find the truth all the same.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use kueue_apiserver::faults::{Fault, Faults, Faulty, Filter, Lost, Rule};
use kueue_apiserver::rest::reply::Response;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};
use tower::{Layer as _, ServiceExt as _};

use super::rig::{CONFIG_MAPS, Rig, settings};

/// A server, and the same behind faults.
struct Stage {
    rig: Rig,
    faults: Faults,
    faulty: Faulty<ApiServer>,
}

impl Stage {
    fn new(seed: u64, rules: Vec<Rule>) -> Self {
        let rig = Rig::start(Settings { ..settings() });
        let faults = Faults::new(seed, rules);
        let faulty = faults.layer(rig.server.clone());
        Self { rig, faults, faulty }
    }

    async fn send(&self, request: http::Request<Full<Bytes>>) -> Result<Response, Lost> {
        self.faulty.clone().oneshot(request).await
    }

    /// Code and body; nothing when the connection broke.
    async fn ask(&self, line: &str, body: Value) -> Option<(u16, Value)> {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.send(self.rig.request(line, &text)).await.ok()?;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect().await.unwrap().to_bytes();
        Some((code, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
    }

    /// The lines of a watch until it ends or nothing comes for ten seconds.
    async fn events(&self, path: &str) -> Vec<Value> {
        let Ok(answer) = self.send(self.rig.request(&format!("GET {path}"), "")).await else { return Vec::new() };
        let mut body = answer.into_body();
        let mut events = Vec::new();
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_secs(10), body.frame()).await {
            let bytes = frame.into_data().unwrap();
            events.extend(serde_json::Deserializer::from_slice(&bytes).into_iter::<Value>().map(Result::unwrap));
        }
        events
    }
}

#[tokio::test(start_paused = true)]
async fn each_fault_answers_as_a_real_server_would() {
    let cases = [
        (Fault::Conflict, "PATCH", Some(409), false),
        (Fault::TooManyRequests, "PATCH", Some(429), false),
        (Fault::Internal, "PATCH", Some(500), false),
        (Fault::Unavailable, "PATCH", Some(503), false),
        (Fault::TimeoutBefore, "PATCH", Some(504), false),
        (Fault::TimeoutAfter, "PATCH", Some(504), true),
        (Fault::LostBefore, "PATCH", None, false),
        (Fault::LostAfter, "PATCH", None, true),
        (Fault::Delay, "PATCH", Some(200), true),
        // What could not happen to a request does not.
        (Fault::WatchCut, "PATCH", Some(200), true),
        (Fault::Conflict, "GET", Some(200), false),
        (Fault::TimeoutBefore, "GET", Some(200), false),
    ];
    for (fault, method, code, is_done) in cases {
        let stage = Stage::new(1, vec![Rule::new(fault, 1.0)]);
        stage.rig.config_map("x", json!([])).await;
        let patch = if method == "PATCH" { json!({"data": {"b": "2"}}) } else { Value::Null };
        let answer = stage.ask(&format!("{method} {CONFIG_MAPS}/x"), patch).await;
        assert_eq!(answer.map(|(code, _)| code), code, "{fault:?}");
        let object = stage.rig.get(&format!("{CONFIG_MAPS}/x")).await.unwrap();
        assert_eq!(object["data"]["b"] == "2", is_done, "{fault:?} of a {method}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_is_told_to_wait_is_told_how_long() {
    let stage = Stage::new(1, vec![Rule::new(Fault::TooManyRequests, 1.0)]);
    let answer = stage.send(stage.rig.request(&format!("GET {CONFIG_MAPS}"), "")).await.unwrap();
    assert_eq!(answer.headers()["Retry-After"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_said_to_be_forgotten_ends_a_watch_and_a_page() {
    let stage = Stage::new(1, vec![Rule::new(Fault::Expired, 1.0)]);
    let events = stage.events(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=5")).await;
    assert_eq!((events.len(), &events[0]["object"]["code"]), (1, &json!(410)));
    let (code, _) = stage.ask(&format!("GET {CONFIG_MAPS}?limit=1&continue=abc"), Value::Null).await.unwrap();
    assert_eq!(code, 410);
    let (code, _) = stage.ask(&format!("GET {CONFIG_MAPS}"), Value::Null).await.unwrap();
    assert_eq!(code, 200, "a list of the present state is always there");
}

#[tokio::test(start_paused = true)]
async fn faults_strike_whom_they_are_for_and_stop_when_told() {
    let only = |agent: &str, path: &str| Filter { agent: agent.to_owned(), path: path.to_owned() };
    for (only, is_struck) in [
        (only("test", ""), true),
        (only("kubectl", ""), false),
        (only("", "/configmaps"), true),
        (only("", "/pods"), false),
        (only("test", "/pods"), false),
    ] {
        let stage = Stage::new(1, vec![Rule { fault: Fault::Internal, rate: 1.0, only: only.clone() }]);
        let line = format!("GET {CONFIG_MAPS}");
        let code = |answer: Option<(u16, Value)>| answer.unwrap().0;
        assert_eq!(code(stage.ask(&line, Value::Null).await) == 500, is_struck, "{only:?}");
        stage.faults.stop();
        assert_eq!(code(stage.ask(&line, Value::Null).await), 200);
        stage.faults.resume();
        assert_eq!(code(stage.ask(&line, Value::Null).await) == 500, is_struck, "{only:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_fails_the_same_requests() {
    let mut runs = Vec::new();
    for seed in [7, 7, 8] {
        let stage = Stage::new(seed, vec![Rule::new(Fault::Internal, 0.5)]);
        let mut codes = Vec::new();
        for round in 0..40_usize {
            if seed == 7 && round.is_multiple_of(3) {
                // What others ask for changes nothing.
                stage.ask("GET /api/v1/namespaces/default/pods", Value::Null).await;
            }
            codes.push(stage.ask(&format!("GET {CONFIG_MAPS}"), Value::Null).await.unwrap().0);
        }
        runs.push(codes);
    }
    assert_eq!(runs[0], runs[1]);
    assert_ne!(runs[0], runs[2]);
}

#[tokio::test(start_paused = true)]
async fn short_pages_still_make_the_whole_list() {
    let stage = Stage::new(3, vec![Rule::new(Fault::ShortPages, 0.7)]);
    for number in 0..30 {
        stage.rig.config_map(&format!("c{number:02}"), json!([])).await;
    }
    let (mut names, mut pages, mut next) = (Vec::new(), 0, String::new());
    loop {
        let path = format!("GET {CONFIG_MAPS}?limit=20&continue={next}");
        let (_, page) = stage.ask(&path, Value::Null).await.unwrap();
        names.extend(page["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].to_string()));
        pages += 1;
        next = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
        if next.is_empty() {
            break;
        }
    }
    names.dedup();
    assert_eq!(names.len(), 30);
    assert!(pages > 2, "{pages} pages");
}

#[tokio::test(start_paused = true)]
async fn streams_may_be_late_cut_and_mixed_but_tell_each_object_in_order() {
    for seed in 0..20 {
        let faults = [Fault::WatchLag, Fault::Reorder, Fault::NoBookmarks];
        let stage = Stage::new(seed, faults.map(|fault| Rule::new(fault, 1.0)).to_vec());
        for name in ["a", "b", "c"] {
            stage.rig.config_map(name, json!([])).await;
        }
        let from = stage.rig.get(CONFIG_MAPS).await.unwrap()["metadata"]["resourceVersion"].clone();
        for round in 0..10 {
            for name in ["a", "b", "c"] {
                let patch = json!({"data": {"round": round.to_string()}});
                stage.rig.must(&format!("PATCH {CONFIG_MAPS}/{name}"), patch).await;
            }
        }
        let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&resourceVersion={}", from.as_str().unwrap());
        let events = stage.events(&path).await;
        assert_eq!(events.len(), 30, "nothing is missing and no bookmark is there");
        let mut last: BTreeMap<String, u64> = BTreeMap::new();
        let mut versions = Vec::new();
        for event in &events {
            let metadata = &event["object"]["metadata"];
            let version: u64 = metadata["resourceVersion"].as_str().unwrap().parse().unwrap();
            let before = last.insert(metadata["name"].to_string(), version);
            assert!(before.is_none_or(|before| before < version), "seed {seed}: {metadata}");
            versions.push(version);
        }
        assert!(!versions.is_sorted(), "seed {seed}: nothing changed places");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_watch_ends_after_a_few_events() {
    let stage = Stage::new(1, vec![Rule::new(Fault::WatchCut, 1.0)]);
    for number in 0..60 {
        stage.rig.config_map(&format!("c{number:02}"), json!([])).await;
    }
    let events = stage.events(&format!("{CONFIG_MAPS}?watch=1")).await;
    assert!((1..60).contains(&events.len()), "{} events", events.len());
}

/// Follows a collection as informers do: pages, then a watch from there, again and again, whatever happens.
struct Reflector<'s> {
    stage: &'s Stage,
    view: BTreeMap<String, Value>,
    version: String,
}

impl Reflector<'_> {
    async fn list(&mut self) -> Option<()> {
        let mut view = BTreeMap::new();
        let mut next = String::new();
        loop {
            let path = format!("GET {CONFIG_MAPS}?limit=5&continue={next}");
            let (200, page) = self.stage.ask(&path, Value::Null).await? else { return None };
            for item in page["items"].as_array()? {
                view.insert(item["metadata"]["name"].to_string(), item.clone());
            }
            next = page["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
            if next.is_empty() {
                self.version = page["metadata"]["resourceVersion"].as_str()?.to_owned();
                self.view = view;
                return Some(());
            }
        }
    }

    /// One watch until it ends; whether the next one can go on from there.
    async fn watch(&mut self) -> Option<()> {
        let version = &self.version;
        let path = format!("{CONFIG_MAPS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={version}");
        for event in self.stage.events(&path).await {
            let object = &event["object"];
            let name = object["metadata"]["name"].to_string();
            match event["type"].as_str()? {
                "ADDED" | "MODIFIED" => drop(self.view.insert(name, object.clone())),
                "DELETED" => drop(self.view.remove(&name)),
                "BOOKMARK" => {}
                _ => return None,
            }
            self.version = object["metadata"]["resourceVersion"].as_str()?.to_owned();
        }
        Some(())
    }

    async fn step(&mut self) {
        if self.version.is_empty() && self.list().await.is_none() {
            return;
        }
        if self.watch().await.is_none() {
            self.version.clear();
        }
    }
}

async fn scramble(rig: &Rig, round: usize) {
    let name = format!("c{}", round * 7 % 12);
    let object = json!({"metadata": {"name": name}, "data": {"round": round.to_string()}});
    match rig.ask(&format!("POST {CONFIG_MAPS}"), object).await.0 {
        201 => {}
        _ if round.is_multiple_of(4) => drop(rig.must(&format!("DELETE {CONFIG_MAPS}/{name}"), Value::Null).await),
        _ => {
            let patch = json!({"data": {"round": round.to_string()}});
            rig.must(&format!("PATCH {CONFIG_MAPS}/{name}"), patch).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_lists_and_watches_converges_whatever_the_faults() {
    for seed in 0..10 {
        let stage = Stage::new(seed, Rule::all(0.2));
        let mut reflector = Reflector { stage: &stage, view: BTreeMap::new(), version: String::new() };
        for round in 0..60 {
            scramble(&stage.rig, round).await;
            if round.is_multiple_of(3) {
                reflector.step().await;
            }
        }
        stage.faults.stop();
        reflector.step().await;
        let list = stage.rig.get(CONFIG_MAPS).await.unwrap();
        let truth: Vec<&Value> =
            list["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["resourceVersion"]).collect();
        let seen: Vec<&Value> = reflector.view.values().map(|item| &item["metadata"]["resourceVersion"]).collect();
        assert_eq!(seen.len(), truth.len(), "seed {seed}");
        assert!(truth.iter().all(|version| seen.contains(version)), "seed {seed}: {seen:?} is not {truth:?}");
        assert!(stage.faults.played().len() > 5, "seed {seed}: {:?}", stage.faults.played());
    }
}

#[test]
fn rules_are_read_from_text() {
    let rule = |text: &str| text.parse::<Rule>().map_err(|error| error.to_string());
    let read = rule("watch-cut=0.25@kube-rs/pods").unwrap();
    assert_eq!((read.fault, read.rate), (Fault::WatchCut, 0.25));
    assert_eq!(read.only, Filter { agent: "kube-rs".into(), path: "/pods".into() });
    assert_eq!(rule("delay=1").unwrap(), Rule::new(Fault::Delay, 1.0));
    for (text, why) in [
        ("delay", "write it as FAULT=RATE[@AGENT][/PATH]"),
        ("delay=2", "the rate must be between 0 and 1"),
        ("delay=x", "the rate must be between 0 and 1"),
        ("nonsense=1", "\"nonsense\" is not known; there are delay, conflict"),
    ] {
        let told = rule(text).unwrap_err();
        assert!(told.contains(why), "{told}");
    }
}
