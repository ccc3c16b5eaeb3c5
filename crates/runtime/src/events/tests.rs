use kueue_apiserver::{ApiServer, Settings};

use super::*;
use crate::client::{Limits, Page};

fn regarding() -> Regarding {
    Regarding {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: "a".to_owned(),
        namespace: "default".to_owned(),
        uid: "u".to_owned(),
    }
}

fn event(reason: &str, note: &str) -> Event {
    Event { regarding: regarding(), is_warning: false, reason: reason.to_owned(), note: note.to_owned() }
}

/// A client of an embedded server, as its administrator.
fn client() -> Client {
    let clock = kueue_apiserver::clock::Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let server = ApiServer::start(Settings::new(clock, [1; 32]));
    let token: http::HeaderValue = format!("Bearer {}", server.admin_token()).parse().unwrap();
    let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
        request.headers_mut().insert("authorization", token.clone());
        let server = server.clone();
        async move { Ok::<_, std::convert::Infallible>(server.handle(request).await) }
    });
    Client::new(kube::Client::new(service, "default"), Limits::new(8, None))
}

async fn written(client: &Client) -> Vec<String> {
    let listed = client.list::<EventObject>(&Page::default()).await.unwrap();
    let items = listed.items.unwrap_or_default();
    let mut shown: Vec<String> = items
        .iter()
        .map(|item| {
            let event: serde_json::Value = serde_json::from_str(item.get()).unwrap();
            let text = |key: &str| event[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} x{}", text("reportingController"), text("reason"), text("note"), event["series"]["count"])
        })
        .collect();
    shown.sort();
    shown
}

#[tokio::test(start_paused = true)]
async fn the_same_event_is_written_once_and_counted() {
    let client = client();
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (recorder, writing) = Recorder::new(client.clone(), clock, "me-0".to_owned());
    tokio::spawn(writing);
    let recorder = recorder.named("queue");
    for _ in 0..5 {
        recorder.record(event("Pending", "waits"));
    }
    recorder.record(event("Admitted", "goes"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(written(&client).await, ["queue Admitted goes xnull", "queue Pending waits xnull"]);
    tokio::time::sleep(COUNT_EVERY).await;
    assert_eq!(written(&client).await, ["queue Admitted goes xnull", "queue Pending waits x5"]);
    tokio::time::sleep(SERIES_ENDS_AFTER + COUNT_EVERY).await;
    recorder.record(event("Pending", "waits"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(written(&client).await.len(), 3, "long after, it is another event");
    assert_eq!(recorder.dropped(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_there_is_no_room_for_is_counted() {
    let (recorder, _not_running) =
        Recorder::new(client(), Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap()), String::new());
    for _ in 0..BACKLOG + 3 {
        recorder.record(event("Pending", "waits"));
    }
    assert_eq!(recorder.dropped(), 3);
}

#[test]
fn long_texts_are_cut_between_characters() {
    assert_eq!(shorten("short".to_owned()), "short");
    let long = shorten("ä".repeat(600));
    assert!(long.len() <= NOTE_BYTES_MAX && long.ends_with("ä ..."), "{}", long.len());
}

#[tokio::test(start_paused = true)]
async fn the_form_of_old_names_its_source_and_counts_by_itself() {
    let client = client();
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (recorder, writing) = Recorder::new(client.clone(), clock, "me-0".to_owned());
    tokio::spawn(writing);
    let recorder = recorder.with_source().named("job-controller");
    recorder.record(event("Completed", "done"));
    recorder.record(event("Completed", "done"));
    tokio::time::sleep(COUNT_EVERY + Duration::from_secs(1)).await;
    let listed = client.list::<CoreEvent>(&Page::default()).await.unwrap();
    let items = listed.items.unwrap_or_default();
    let event: CoreEvent = serde_json::from_str(items[0].get()).unwrap();
    assert_eq!((event.source.component.as_str(), event.message.as_str(), event.count), ("job-controller", "done", 2));
    assert!(event.last_timestamp.is_some());
}

/// When events are written, in milliseconds, by a server that takes so long for each.
async fn written_at(answer_ms: u64) -> Vec<u128> {
    let (asked, mut requests) = mpsc::unbounded_channel();
    let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        asked.send(Instant::now()).unwrap();
        async move {
            tokio::time::sleep(Duration::from_millis(answer_ms)).await;
            Ok::<_, std::convert::Infallible>(http::Response::new(kube::client::Body::from(b"{}".to_vec())))
        }
    });
    let client = Client::new(kube::Client::new(service, "default"), Limits::new(8, None));
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (recorder, writing) = Recorder::new(client, clock, "me-0".to_owned());
    tokio::spawn(writing);
    let begin = Instant::now();
    for note in ["a", "b", "c", "d"] {
        recorder.record(event("Pending", note));
    }
    let mut times = Vec::new();
    for _ in 0..4 {
        times.push((requests.recv().await.unwrap() - begin).as_millis());
    }
    times
}

#[tokio::test(start_paused = true)]
async fn a_slow_server_rests_between_events() {
    assert_eq!(written_at(2).await, [0, 2, 4, 6]);
    assert_eq!(written_at(100).await, [0, 150, 300, 450]);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_written_late_tells_when_it_happened() {
    let client = client();
    let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().unwrap());
    let (recorder, writing) = Recorder::new(client.clone(), clock, "me-0".to_owned());
    recorder.named("queue").record(event("Admitted", "goes"));
    tokio::time::sleep(Duration::from_secs(90)).await;
    tokio::spawn(writing);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let listed = client.list::<EventObject>(&Page::default()).await.unwrap().items.unwrap_or_default();
    let event: serde_json::Value = serde_json::from_str(listed[0].get()).unwrap();
    assert_eq!(event["eventTime"], "2026-01-01T00:00:00.000000Z");
}
