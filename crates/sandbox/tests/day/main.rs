//! A day of a busy cluster under virtual time: the whole sandbox, and jobs that come all day and all end.
//!
//! Run as a test it is only a morning, played twice, and both must have the same writes in the same order, to the last
//! byte. With a number it is a day of so many jobs, or so many pods at once, with figures:
//! `cargo test --release -p kueue-sandbox --test day -- --jobs 10000`, `-- --pods 10000`.

#![allow(clippy::unwrap_used, reason = "a sandbox that cannot be made fails its test")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http::Request;
use kube::client::Body;
use kueue_apiserver::store::{Change, News};
use kueue_sandbox::{Defaults, NODES, Options, Sandbox};
use serde_json::{Value, json};

/// That of the program, or the figures would not be its.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const JOBS: &str = "/apis/batch/v1/namespaces/team-a/jobs";
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A morning that tests have the time for, and the jobs that come in it.
const MORNING: (Duration, u32) = (Duration::from_secs(300), 40);
/// How long everything may take to end after the last job came.
const EVENING: Duration = Duration::from_secs(600);

/// What there is to tell at the end of a day.
struct Evening {
    jobs: usize,
    complete: usize,
    revision: u64,
    /// Every write, with all it says, where it is kept.
    history: Vec<String>,
}

/// One write as a line.
fn line(News { collection, change }: &News) -> String {
    let Change { revision, key, new, .. } = change;
    let object = new.as_ref().map_or_else(|| "deleted".to_owned(), |object| object.whole().to_string());
    format!("{revision} {collection} {}/{} {object}", key.namespace, key.name)
}

async fn send(client: &kube::Client, request: http::request::Builder, body: &Value) -> Value {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = request.header("content-type", "application/json").body(Body::from(body)).unwrap();
    let answer = client.send(request).await.unwrap();
    let is_fine = answer.status().is_success();
    let answer: Value = serde_json::from_slice(&answer.into_body().collect_bytes().await.unwrap()).unwrap();
    assert!(is_fine, "{answer}");
    answer
}

fn job(number: u32) -> Value {
    let (pods, seconds) = (1 + number % 3, 20 + number * 37 % 60);
    json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": format!("job-{number}"), "labels": {"kueue.x-k8s.io/queue-name": "jobs"}},
        "spec": {
            "parallelism": pods, "completions": pods, "suspend": true,
            "template": {"spec": {"restartPolicy": "Never", "containers": [{
                "name": "work", "image": "example.com/work:1", "command": ["sleep", seconds.to_string()],
                "resources": {"requests": {"cpu": "1"}}}]}},
        },
    })
}

fn options(nodes: Vec<Value>) -> Options {
    Options {
        start: "2026-01-01T00:00:00Z".parse().unwrap(),
        speed: 1.0,
        seed: [3; 32],
        pods: Defaults::default(),
        nodes,
        has_demo: false,
        state: None,
    }
}

async fn create_all(client: &kube::Client, objects: &[Value]) {
    for object in objects {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
        let plural = kind.clone() + if kind.ends_with('s') { "es" } else { "s" };
        let root = if version.contains('/') { "apis" } else { "api" };
        let space = object["metadata"]["namespace"].as_str().map(|space| format!("/namespaces/{space}"));
        let path = format!("/{root}/{version}{}/{plural}", space.unwrap_or_default());
        send(client, Request::post(path), object).await;
    }
}

/// How many writes there were of each kind.
#[derive(Clone, Default)]
struct Writes(Arc<Mutex<BTreeMap<Arc<str>, usize>>>);

impl Writes {
    fn count(sandbox: &Sandbox) -> Self {
        let (writes, mut news) = (Self::default(), sandbox.server().server().store.follow());
        let counting = writes.clone();
        tokio::spawn(async move {
            while let Some(News { collection, .. }) = news.recv().await {
                *counting.0.lock().unwrap().entry(collection).or_default() += 1;
            }
        });
        writes
    }

    fn tell(&self) {
        let mut counts = Vec::from_iter(std::mem::take(&mut *self.0.lock().unwrap()));
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        println!("writes: {counts:?}");
    }
}

/// Lets so many jobs come, evenly over the time.
async fn day(time: Duration, jobs: u32, is_kept: bool) -> Evening {
    let mut sandbox = Sandbox::start(options(kueue_world::fleet::nodes(NODES).unwrap())).await.unwrap();
    let writes = Writes::count(&sandbox);
    let mut news = is_kept.then(|| sandbox.server().server().store.follow());
    sandbox.ready().await;
    let client = sandbox.client().unwrap();
    let teams: Vec<Value> = serde_saphyr::from_multiple(include_str!("../../../../examples/two-teams.yaml")).unwrap();
    create_all(&client, &teams).await;
    for number in 0..jobs {
        send(&client, Request::post(JOBS), &job(number)).await;
        tokio::time::sleep(time / jobs).await;
    }
    tokio::time::sleep(EVENING).await;
    let all = send(&client, Request::get(JOBS), &Value::Null).await;
    let all = all["items"].as_array().unwrap();
    let is_complete = |job: &&Value| job["status"]["completionTime"].is_string();
    let revision = sandbox.server().server().store.revision();
    let history = std::iter::from_fn(|| news.as_mut()?.try_recv().ok()).map(|news| line(&news)).collect();
    writes.tell();
    Evening { jobs: all.len(), complete: all.iter().filter(is_complete).count(), revision, history }
}

/// Lets so many pods come at once, ten of each job, where there is room for all of them. Returns how many ended.
async fn flood(pods: u32) -> usize {
    let nodes = "[{name: big, count: 100, capacity: {cpu: '10000', memory: 1Ti, pods: '10000'}}]";
    let mut sandbox = Sandbox::start(options(kueue_world::fleet::nodes(nodes).unwrap())).await.unwrap();
    let writes = Writes::count(&sandbox);
    sandbox.ready().await;
    let client = sandbox.client().unwrap();
    let queue: Vec<Value> = serde_saphyr::from_multiple(include_str!("queue.yaml")).unwrap();
    create_all(&client, &queue).await;
    for number in 0..pods / 10 {
        let mut job = job(number);
        (job["spec"]["parallelism"], job["spec"]["completions"]) = (json!(10), json!(10));
        send(&client, Request::post("/apis/batch/v1/namespaces/default/jobs"), &job).await;
    }
    tokio::time::sleep(EVENING).await;
    let all = send(&client, Request::get("/apis/batch/v1/namespaces/default/jobs"), &Value::Null).await;
    let ended = |job: &Value| usize::try_from(job["status"]["succeeded"].as_u64().unwrap_or(0)).unwrap();
    writes.tell();
    all["items"].as_array().unwrap().iter().map(ended).sum()
}

/// Plays something under virtual time.
fn play<T>(story: impl Future<Output = T>) -> (T, f64) {
    let begin = Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    (runtime.block_on(story), begin.elapsed().as_secs_f64())
}

/// The number after a flag.
fn number(flag: &str) -> Option<u32> {
    let arguments: Vec<String> = std::env::args().collect();
    let place = arguments.iter().position(|argument| argument == flag)?;
    Some(arguments.get(place + 1).and_then(|text| text.parse().ok()).expect("a number follows the flag"))
}

fn check_day(time: Duration, jobs: u32, is_kept: bool) -> Evening {
    let (evening, seconds) = play(day(time, jobs, is_kept));
    let Evening { jobs, complete, revision, .. } = evening;
    println!("{time:?} with {jobs} jobs: {complete} complete, {revision} writes, {seconds:.1} s");
    assert_eq!(jobs, complete, "every job ends");
    evening
}

fn main() {
    if let Some(jobs) = number("--jobs") {
        check_day(DAY, jobs, false);
    }
    if let Some(pods) = number("--pods") {
        let (ended, seconds) = play(flood(pods));
        println!("{ended} pods created, run and finished in {seconds:.1} s: {:.0} /s", f64::from(pods) / seconds);
        assert_eq!(ended, usize::try_from(pods).unwrap(), "every pod ends");
    }
    if number("--jobs").or(number("--pods")).is_none() {
        let (time, jobs) = MORNING;
        let (first, second) = (check_day(time, jobs, true), check_day(time, jobs, true));
        assert!(first.history.len() > 1000, "the day was kept");
        for (one, two) in first.history.iter().zip(&second.history) {
            assert_eq!(one, two, "the same seed, and another day");
        }
        assert_eq!(first.history.len(), second.history.len());
    }
    println!("test result: ok. 1 passed; 0 failed; 0 ignored");
}
