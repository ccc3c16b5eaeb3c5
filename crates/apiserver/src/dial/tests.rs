//! Where calls go, without a socket; one test opens one, because certificates can only be shown on it.

use std::net::{Ipv4Addr, SocketAddr};

use jiff::Timestamp;

use super::*;
use crate::clock::Clock;
use crate::json::json;
use crate::socket::{Identity, Socket};
use crate::{ApiServer, Settings};

fn store(objects: &[(&str, &str, Value)]) -> Store {
    let store = Store::default();
    for (collection, name, value) in objects {
        store.create(collection, Key::new("ns", *name), value.clone()).expect("a new object");
    }
    store
}

fn service(spec: &Value) -> (&'static str, &'static str, Value) {
    ("services", "hook", json!({"metadata": {"name": "hook", "namespace": "ns"}, "spec": spec}))
}

#[test]
fn a_service_leads_where_a_real_server_would_go_or_to_this_machine() {
    let plain =
        || service(&json!({"clusterIP": "10.0.0.9", "type": "ClusterIP", "ports": [{"name": "h", "port": 443}]}));
    let slice = |address: &str| {
        let value = json!({
            "metadata": {"labels": {"kubernetes.io/service-name": "hook"}},
            "endpoints": [{"addresses": [address]}], "ports": [{"name": "h", "port": 9443}],
        });
        ("endpointslices.discovery.k8s.io", "hook-x", value)
    };
    let endpoints = json!({"subsets": [{"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "h", "port": 8443}]}]});
    let cases: Vec<(Vec<_>, &str)> = vec![
        (vec![], "service \"hook\" not found"),
        (vec![service(&json!({"ports": [{"port": 8443}]}))], "no service port 443 found for service \"hook\""),
        (vec![service(&json!({"clusterIP": "None"}))], "cannot route to service with ClusterIP \"None\""),
        (vec![service(&json!({"type": "ExternalName", "externalName": "a.example.com"}))], "a.example.com:443"),
        (vec![plain()], "10.0.0.9:443"),
        (vec![plain(), slice("10.1.1.1")], "10.0.0.9:443"),
        (vec![plain(), slice("127.0.0.1")], "127.0.0.1:9443"),
        (vec![plain(), ("endpoints", "hook", endpoints)], "127.0.0.1:8443"),
    ];
    for (objects, wanted) in cases {
        let found = resolve(&store(&objects), "ns", "hook", 443);
        assert_eq!(found.unwrap_or_else(|why| why), wanted);
    }
}

#[test]
fn the_address_is_that_of_the_configuration() {
    let of = |config: Value| Client::of_config(&config).url("?timeout=10s");
    let service = |more: Value| {
        let mut service = json!({"namespace": "ns", "name": "hook"});
        service.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"service": service})
    };
    assert_eq!(of(json!({"url": "https://127.0.0.1:9/v"})), "https://127.0.0.1:9/v?timeout=10s");
    assert_eq!(of(json!({"url": "https://a.example.com"})), "https://a.example.com/?timeout=10s");
    assert_eq!(of(service(json!({}))), "https://hook.ns.svc:443/?timeout=10s");
    assert_eq!(of(service(json!({"path": "/v", "port": 8443}))), "https://hook.ns.svc:8443/v?timeout=10s");
}

#[tokio::test(start_paused = true)]
async fn a_routed_service_answers_in_this_process_within_its_time() {
    let dialer = Dialer::default();
    let echo = tower::service_fn(|request: Request| async move {
        if request.uri().path() == "/slow" {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
        let size = if request.uri().path() == "/large" { 10 << 20 } else { 2 };
        Ok::<_, Infallible>(http::Response::new(Full::from(vec![b'x'; size])))
    });
    dialer.route_to_service("a.example.com:443", echo);
    let post = async |path: &str| {
        let client = Client::of_config(&json!({"url": format!("https://a.example.com{path}")}));
        let answer = dialer.post(&store(&[]), &client, Vec::new(), Duration::from_secs(3)).await;
        answer.map_or_else(|why| why, |answer| String::from_utf8_lossy(&answer.body).into_owned())
    };
    assert_eq!(post("/").await, "xx");
    assert_eq!(post("/slow").await, "Post \"https://a.example.com/slow?timeout=3s\": context deadline exceeded");
    assert_eq!(post("/large").await, "the answer is larger than 8388608 bytes");
}

#[tokio::test]
async fn a_server_on_a_socket_is_believed_only_with_its_certificate() {
    let identity = Identity::generate().unwrap();
    let socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), &identity).await.unwrap();
    let port = socket.address().unwrap().port();
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    tokio::spawn(socket.serve(ApiServer::start(Settings::new(clock, [1; 32]))));
    let pem = base64::STANDARD.encode(identity.certificate_pem.as_bytes());
    let dialer = Dialer::default();
    dialer.route_to_port("other.example.com:443", port);
    let post = async |host: &str, bundle: &str| {
        let client = Client::of_config(&json!({"url": format!("https://{host}/healthz"), "caBundle": bundle}));
        let answer = dialer.post(&store(&[]), &client, Vec::new(), Duration::from_secs(10)).await;
        answer.map_or_else(|why| why, |answer| String::from_utf8_lossy(&answer.body).into_owned())
    };
    let url = format!("127.0.0.1:{port}");
    let answer = post(&url, &pem).await;
    assert!(answer.contains("User \\\"system:anonymous\\\" cannot post path"), "{answer}");
    let unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority";
    assert_eq!(post(&url, "").await, format!("Post \"https://{url}/healthz?timeout=10s\": {unknown}"));
    let wrong = post("other.example.com", &pem).await;
    assert!(
        wrong.contains("x509: certificate is valid for localhost, kubernetes.default.svc, not other.example.com"),
        "{wrong}"
    );
}

#[tokio::test]
async fn nobody_at_a_port_is_told_as_go_tells_it() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let client = Client::of_config(&json!({"url": format!("https://{address}/v")}));
    let why = Dialer::default().post(&store(&[]), &client, Vec::new(), Duration::from_secs(10)).await.unwrap_err();
    assert_eq!(
        why,
        format!("Post \"https://{address}/v?timeout=10s\": dial tcp {address}: connect: connection refused")
    );
}
