//! Clients that mean no good, or cannot do better: never a panic, never without an end, and the server goes on.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::BodyExt as _;
use kueue_apiserver::socket::serve_connection;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

use super::rig::{CONFIG_MAPS, Rig, settings};

/// Everything the server says to what is written on one connection, until it closes it.
async fn on_the_wire(rig: &Rig, written: &[u8]) -> String {
    let (mut client, server) = duplex(64 << 10);
    let serving = tokio::spawn(serve_connection(server, rig.server.clone()));
    let mut answer = Vec::new();
    let (mut reader, mut writer) = tokio::io::split(&mut client);
    let write = async {
        // The server may hang up before everything is written.
        let _ = writer.write_all(written).await;
        let _ = writer.shutdown().await;
    };
    let ((), read) = tokio::join!(write, reader.read_to_end(&mut answer));
    read.unwrap();
    serving.await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn is_alive(rig: &Rig) -> bool {
    rig.ask("GET /healthz", Value::Null).await.0 == 200
}

#[tokio::test(start_paused = true)]
async fn what_is_no_http_ends_one_connection_and_nothing_else() {
    let rig = Rig::start(settings());
    let endless_header = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(1 << 20));
    let many_headers = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(10_000));
    let endless_path = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(1 << 20));
    for written in [
        "",
        "\0\0\0\0",
        "nonsense\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "GET  HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nabcdef",
        "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\0\0\0\0",
        &endless_header,
        &many_headers,
        &endless_path,
    ] {
        let answer = on_the_wire(&rig, written.as_bytes()).await;
        let shown: String = written.chars().take(40).collect();
        assert!(!answer.starts_with("HTTP/1.1 5"), "{shown:?}: {answer}");
        assert!(is_alive(&rig).await, "{shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_sends_no_head_is_not_waited_for_for_ever() {
    let rig = Rig::start(settings());
    let (mut client, server) = duplex(1024);
    let begin = tokio::time::Instant::now();
    let serving = tokio::spawn(serve_connection(server, rig.server.clone()));
    client.write_all(b"GET / HTTP/1.1\r\nhost").await.unwrap();
    serving.await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(120), "{:?}", begin.elapsed());
}

/// A body of which nothing comes any more.
struct Endless;

impl http_body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_does_not_end_is_not_waited_for_for_ever() {
    let rig = Rig::start(settings());
    let (parts, _) = rig.request(&format!("POST {CONFIG_MAPS}"), "").into_parts();
    let answer = rig.server.handle(http::Request::from_parts(parts, Endless)).await;
    assert_eq!(answer.status(), 504);
}

#[tokio::test(start_paused = true)]
async fn ten_megabytes_are_too_much() {
    let rig = Rig::start(settings());
    let head = format!("POST {CONFIG_MAPS} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", 10 << 20);
    let answer = on_the_wire(&rig, &[head.as_bytes(), &vec![b'x'; 10 << 20]].concat()).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{}", answer.lines().next().unwrap_or_default());
    assert!(is_alive(&rig).await);
}

#[tokio::test(start_paused = true)]
async fn depth_and_width_are_refused_or_borne() {
    let rig = Rig::start(settings());
    rig.config_map("x", json!([])).await;
    let deep = |open: &str, close: &str| format!("{}1{}", open.repeat(100_000), close.repeat(100_000));
    let laughs: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1)).collect();
    let laughs = format!("a0: &a0 x\n{laughs}");
    let wide = format!(
        "{{\"data\": {{{}\"z\": \"1\"}}}}",
        (0..100_000).map(|n| format!("\"k{n}\": \"\",")).collect::<String>()
    );
    let one = format!("{CONFIG_MAPS}/x");
    let cases = [
        ("POST", CONFIG_MAPS, "application/json", deep("[", "]")),
        ("POST", CONFIG_MAPS, "application/json", deep("{\"a\":", "}")),
        ("POST", CONFIG_MAPS, "application/yaml", deep("[", "]")),
        ("POST", CONFIG_MAPS, "application/yaml", deep("- ", "")),
        ("POST", CONFIG_MAPS, "application/yaml", laughs.clone()),
        ("POST", CONFIG_MAPS, "application/json", wide),
        ("PATCH", &one, "application/merge-patch+json", deep("{\"data\":", "}")),
        ("PATCH", &one, "application/strategic-merge-patch+json", deep("{\"data\":", "}")),
        ("PATCH", &one, "application/json-patch+json", deep("[", "]")),
        ("PATCH", &format!("{one}?fieldManager=m"), "application/apply-patch+yaml", deep("{\"data\":", "}")),
        ("PATCH", &format!("{one}?fieldManager=m"), "application/apply-patch+yaml", laughs),
        ("DELETE", &one, "application/json", deep("[", "]")),
        ("POST", CONFIG_MAPS, "application/vnd.kubernetes.protobuf", deep("k8s\0", "")),
    ];
    for (method, path, kind, body) in cases {
        let mut request = rig.request(&format!("{method} {path}"), &body);
        request.headers_mut().insert("Content-Type", kind.parse().unwrap());
        let code = rig.server.handle(request).await.status().as_u16();
        let shown: String = body.chars().take(20).collect();
        assert!((400..500).contains(&code), "{method} {kind} {shown}…: {code}");
    }
    assert!(is_alive(&rig).await);
}

#[tokio::test(start_paused = true)]
async fn selectors_of_any_size_are_read_or_refused() {
    let rig = Rig::start(settings());
    rig.config_map("x", json!([])).await;
    let terms = |term: &str, count: usize| vec![term; count].join(",");
    for (query, code) in [
        (format!("labelSelector={}", terms("a!=b", 10_000)), 200),
        (format!("labelSelector=a+in+({})", terms("b", 30_000)), 200),
        (format!("labelSelector={}", "!".repeat(60_000)), 400),
        (format!("labelSelector={}", "(".repeat(60_000)), 400),
        (format!("fieldSelector={}", terms("metadata.name=x", 4_000)), 200),
        (format!("fieldSelector={}", "%5C".repeat(20_000)), 400),
        (format!("continue={}", "A".repeat(60_000)), 400),
        ("limit=-1".to_owned(), 200),
        ("limit=99999999999999999999".to_owned(), 400),
        ("timeoutSeconds=x".to_owned(), 400),
        ("resourceVersion=x".to_owned(), 400),
        ("labelSelector=%FF%FE".to_owned(), 400),
        ("labelSelector=%".to_owned(), 400),
    ] {
        let (found, told) = rig.ask(&format!("GET {CONFIG_MAPS}?{query}"), Value::Null).await;
        let shown: String = query.chars().take(40).collect();
        assert_eq!(found, code, "{shown}: {}", told["message"]);
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_watchers_each_see_what_happens() {
    let rig = Rig::start(settings());
    let mut watches = Vec::new();
    for _ in 0..10_000 {
        let path = format!("GET {CONFIG_MAPS}?watch=1&resourceVersion=1");
        watches.push(rig.server.handle(rig.request(&path, "")).await.into_body());
    }
    rig.config_map("x", json!([])).await;
    for watch in &mut watches {
        assert!(watch.frame().await.unwrap().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_does_not_read_holds_nobody_up() {
    let rig = Rig::start(settings());
    let path = format!("GET {CONFIG_MAPS}?watch=1");
    let lazy = rig.server.handle(rig.request(&path, "")).await;
    for number in 0..200 {
        rig.config_map(&format!("c{number}"), json!([])).await;
    }
    assert_eq!(rig.config_maps().await.split(' ').count(), 200);
    drop(lazy);
}
