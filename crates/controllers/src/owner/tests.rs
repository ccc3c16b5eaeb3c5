//! The owner without an API server.

use std::convert::Infallible;

use kube::client::Body;
use kueue_api::config::v1beta2::Metrics as MetricsConfiguration;
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::Gates;
use kueue_engine::QueueSpec;
use kueue_metrics::{Build, Lookup, Subject};
use kueue_runtime::client::Limits;
use tokio::sync::mpsc::unbounded_channel;

use super::*;

struct Nothing;

impl Lookup for Nothing {
    fn find(&self, _: &Subject) -> Option<ObjectMeta> {
        None
    }
}

/// A client of a server that has nothing.
fn client() -> Client {
    let service = tower::service_fn(|_: http::Request<Body>| async {
        Ok::<_, Infallible>(http::Response::builder().status(404).body(Body::empty()).unwrap())
    });
    Client::new(kube::Client::new(service, "default"), Limits::new(1, None))
}

/// A client of a server that has nothing, needs a second to find that out, and tells when it was asked.
fn slow_client(asked: UnboundedSender<Instant>) -> Client {
    let service = tower::service_fn(move |_: http::Request<Body>| {
        let asked = asked.clone();
        async move {
            asked.send(Instant::now()).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(http::Response::builder().status(404).body(Body::empty()).unwrap())
        }
    });
    Client::new(kube::Client::new(service, "default"), Limits::new(100, None))
}

fn start(client: Client, look_again: &watch::Sender<u64>) -> UnboundedSender<Input> {
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (recorder, _) = Recorder::new(client.clone(), clock, "test".to_owned());
    let gates = Gates::default();
    let parts = Parts {
        client,
        clock,
        recorder,
        settings: Settings::default(),
        rules: ResourceRules::default(),
        metric_labels: MetricLabels::new(&[], gates),
        facts: unbounded_channel().1,
        touched: unbounded_channel().0,
        jobs: kueue_jobs::kinds::Deleters::default(),
        metrics: Metrics::new(&MetricsConfiguration::default(), false, gates, Box::new(Nothing), Build::default()),
        look_again: look_again.clone(),
    };
    let (sender, inputs) = unbounded_channel();
    tokio::spawn(Owner::new(parts, inputs).run());
    sender
}

fn queue(name: &str) -> Change {
    Change::Queue(Box::new(QueueSpec { name: name.into(), ..QueueSpec::default() }))
}

#[tokio::test(start_paused = true)]
async fn an_engine_that_breaks_is_told_everything_anew() {
    let look_again = watch::Sender::new(0);
    let inputs = start(client(), &look_again);
    let tell = |input| inputs.send(input).unwrap();
    let engine = Handle::new(inputs.clone());
    let names = || engine.ask(|engine| engine.queue_names().map(ToString::to_string).collect::<Vec<_>>());
    tell(Input::Source(Source::new(|| vec![queue("kept")])));
    tell(Input::Changed(queue("kept")));
    tell(Input::Changed(queue("of a bad dream")));
    assert_eq!(names().await.unwrap(), ["kept", "of a bad dream"]);
    assert_eq!(engine.ask(|_| -> u8 { panic!("a rule was broken, as this test wants it") }).await, None);
    assert_eq!(names().await.unwrap(), ["kept"], "what the informers know, and no more");
    assert_eq!(*look_again.borrow(), 1, "jobs report again");
    tell(Input::Changed(queue("next")));
    assert_eq!(names().await.unwrap(), ["kept", "next"]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_is_told_one_after_the_other_why_workloads_wait() {
    let (asked, mut requests) = unbounded_channel();
    let inputs = start(slow_client(asked), &watch::Sender::new(0));
    for number in 0..7 {
        let metadata = ObjectMeta {
            name: format!("w{number}"),
            namespace: "team".to_owned(),
            uid: format!("{number}"),
            ..ObjectMeta::default()
        };
        let object = Workload { metadata, ..Workload::default() };
        inputs.send(Input::Workload(Key::of(&object), Arc::new(object))).unwrap();
    }
    inputs.send(Input::Synced).unwrap();
    let begin = Instant::now();
    inputs.send(Input::Leads(true)).unwrap();
    let mut seconds = Vec::new();
    for _ in 0..7 {
        seconds.push((requests.recv().await.unwrap() - begin).as_secs());
    }
    assert_eq!(seconds, [0, 0, 0, 0, 1, 2, 3], "until it is known to be slow, some at once");
}

#[tokio::test(start_paused = true)]
async fn decisions_pause_longer_each_time_the_engine_breaks() {
    let mut mending = Mending::new(watch::Sender::new(0));
    assert_eq!(mending.wait(), None);
    let mut waits = Vec::new();
    for _ in 0..8 {
        mending.note_break();
        waits.push(mending.wait().unwrap().as_secs());
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert_eq!(mending.wait(), None);
    mending.note_break();
    assert_eq!(mending.wait().unwrap().as_secs(), 1, "forgiven");
}
