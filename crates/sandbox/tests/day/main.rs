//! A day of a busy cluster under virtual time: the whole sandbox, and jobs that come all day and all end.
//!
//! Run as a test it is only a morning, played twice, and both must be the same to the last byte. With a number it is a day
//! of so many jobs, with figures: `cargo test --release -p kueue-sandbox --test day -- --jobs 10000`.

#![allow(clippy::unwrap_used, reason = "a sandbox that cannot be made fails its test")]

use std::time::{Duration, Instant};

use http::Request;
use kube::client::Body;
use kueue_sandbox::{Defaults, NODES, Options, Sandbox};
use serde_json::{Value, json};

const JOBS: &str = "/apis/batch/v1/namespaces/team-a/jobs";
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A morning that tests have the time for, and the jobs that come in it.
const MORNING: (Duration, u32) = (Duration::from_secs(300), 40);
/// How long everything may take to end after the last job came.
const EVENING: Duration = Duration::from_secs(600);

/// What was left at the end of a day.
struct Evening {
    jobs: usize,
    complete: usize,
    revision: u64,
    /// Every object that is left, with all it says.
    everything: Vec<u8>,
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

/// Lets so many jobs come, evenly over the time.
async fn day(time: Duration, jobs: u32) -> Evening {
    let options = Options {
        start: "2026-01-01T00:00:00Z".parse().unwrap(),
        speed: 1.0,
        seed: [3; 32],
        pods: Defaults::default(),
        nodes: kueue_world::fleet::nodes(NODES).unwrap(),
        has_demo: false,
        state: None,
    };
    let mut sandbox = Sandbox::start(options).await.unwrap();
    sandbox.ready().await;
    let client = sandbox.client().unwrap();
    let teams: Vec<Value> = serde_saphyr::from_multiple(include_str!("../../../../examples/two-teams.yaml")).unwrap();
    for object in &teams {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
        let plural = kind.clone() + if kind.ends_with('s') { "es" } else { "s" };
        let root = if version.contains('/') { "apis" } else { "api" };
        let space = object["metadata"]["namespace"].as_str().map(|space| format!("/namespaces/{space}"));
        let path = format!("/{root}/{version}{}/{plural}", space.unwrap_or_default());
        send(&client, Request::post(path), object).await;
    }
    for number in 0..jobs {
        send(&client, Request::post(JOBS), &job(number)).await;
        tokio::time::sleep(time / jobs).await;
    }
    tokio::time::sleep(EVENING).await;
    let all = send(&client, Request::get(JOBS), &Value::Null).await;
    let all = all["items"].as_array().unwrap();
    let is_complete = |job: &&Value| job["status"]["completionTime"].is_string();
    let (mut everything, image) = (Vec::new(), sandbox.server().image());
    image.write(&mut everything).unwrap();
    let revision = sandbox.server().server().store.revision();
    Evening { jobs: all.len(), complete: all.iter().filter(is_complete).count(), revision, everything }
}

fn play(time: Duration, jobs: u32) -> Evening {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(day(time, jobs))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let jobs = arguments.iter().position(|argument| argument == "--jobs");
    let jobs = jobs.and_then(|at| arguments.get(at + 1)?.parse().ok());
    let begin = Instant::now();
    let (time, count) = jobs.map_or(MORNING, |jobs| (DAY, jobs));
    let first = play(time, count);
    let seconds = begin.elapsed().as_secs_f64();
    let Evening { jobs: all, complete, revision, .. } = first;
    println!("{time:?} with {all} jobs: {complete} complete, {revision} writes, {seconds:.1} s");
    assert_eq!(all, complete, "every job ends");
    if jobs.is_none() {
        let second = play(time, count);
        let (one, two) = (String::from_utf8(first.everything).unwrap(), String::from_utf8(second.everything).unwrap());
        for (one, two) in one.lines().zip(two.lines()) {
            assert_eq!(one, two, "the same seed, and another day");
        }
        assert_eq!(revision, second.revision);
    }
    println!("test result: ok. 1 passed; 0 failed; 0 ignored");
}
