use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::client::Body;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::json;

use super::*;

fn server() -> ApiServer {
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    ApiServer::start(Settings::new(kueue_apiserver::clock::Clock::starting_at(start), [7; 32]))
}

fn bearer(token: &str) -> HeaderMap {
    [(header::AUTHORIZATION, format!("Bearer {token}").parse().unwrap())].into_iter().collect()
}

/// Speaks to the server as its administrator, and counts how often.
fn client(server: &ApiServer, asked: &Arc<AtomicUsize>) -> kube::Client {
    let (api, asked) = (server.clone(), Arc::clone(asked));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        asked.fetch_add(1, Ordering::Relaxed);
        let token = format!("Bearer {}", api.admin_token());
        request.headers_mut().insert("authorization", token.parse().unwrap());
        let api = api.clone();
        async move { Ok::<_, Infallible>(api.handle(request).await) }
    });
    kube::Client::new(service, "default")
}

fn page(server: &ApiServer, asked: &Arc<AtomicUsize>) -> MetricsPage {
    let client = Client::new(client(server, asked), Limits::new(4, None));
    MetricsPage { observer: Observer::default(), access: Access::new(client) }
}

/// A token of a ServiceAccount that may do nothing.
async fn weak_token(server: &ApiServer) -> String {
    let post = async |path: &str, body: serde_json::Value| {
        let request = Request::post(path)
            .header("authorization", format!("Bearer {}", server.admin_token()))
            .header("content-type", "application/json");
        let answer = server.handle(request.body(body.to_string()).unwrap()).await;
        let bytes = http_body_util::BodyExt::collect(answer.into_body()).await.unwrap().to_bytes();
        serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()
    };
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    post(accounts, json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "weak"}})).await;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": []}});
    let granted = post(&format!("{accounts}/weak/token"), request).await;
    granted["status"]["token"].as_str().unwrap_or_default().to_owned()
}

#[tokio::test(start_paused = true)]
async fn metrics_are_for_those_who_may_read_them() {
    let (server, asked) = (server(), Arc::default());
    let page = page(&server, &asked);
    let weak = weak_token(&server).await;
    let code = async |headers: HeaderMap| page.answer("/metrics", &headers).await.status().as_u16();
    assert_eq!(code(HeaderMap::new()).await, 401);
    assert_eq!(code(bearer("nonsense")).await, 401);
    assert_eq!(code(bearer(&weak)).await, 403);
    assert_eq!(code(bearer(server.admin_token())).await, 503, "allowed, and no manager runs");
    assert_eq!(page.answer("/secrets", &bearer(server.admin_token())).await.status(), 404);
}

#[tokio::test(start_paused = true)]
async fn the_api_server_is_not_asked_about_everybody_every_time() {
    let (server, asked) = (server(), Arc::default());
    let page = page(&server, &asked);
    let headers = bearer(server.admin_token());
    for _ in 0..5 {
        page.answer("/metrics", &headers).await;
    }
    assert_eq!(asked.load(Ordering::Relaxed), 2, "who it is, and whether they may");
    tokio::time::sleep(Duration::from_secs(61)).await;
    page.answer("/metrics", &headers).await;
    assert_eq!(asked.load(Ordering::Relaxed), 4);
}

#[test]
fn probes_tell_life_from_readiness() {
    let (observer, certificate) = (Observer::default(), Certificate::default());
    let alive = path_of("", "healthz");
    let ready = path_of("/ready", "readyz");
    let registered = watch::Sender::new(false);
    let hooks = Some(Hooks { certificate: certificate.clone(), registered: registered.subscribe() });
    let probes = Probes { observer: observer.clone(), hooks, alive, ready };
    let code = |path: &str| probes.answer(path).status().as_u16();
    assert_eq!([code("/healthz"), code("/ready"), code("/readyz")], [200, 500, 404]);
    observer.set_ready();
    assert_eq!(code("/ready"), 500, "nobody could speak to the webhooks");
    show_own_certificate(&certificate).unwrap();
    assert_eq!(code("/ready"), 500, "nobody would believe them");
    registered.send_replace(true);
    assert_eq!(code("/ready"), 200);
}

/// Somebody who vouches for others.
struct Authority(rcgen::CertifiedIssuer<'static, rcgen::KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        Self(rcgen::CertifiedIssuer::self_signed(params, rcgen::KeyPair::generate().unwrap()).unwrap())
    }

    /// A client with a certificate of that name, of a server that is on this machine.
    fn client(&self, name: &str, port: u16) -> kube::Client {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.distinguished_name.push(rcgen::DnType::OrganizationName, "somebody");
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let encode = |pem: String| kueue_core::base64::STANDARD.encode(pem.as_bytes());
        let mut config = stranger(port);
        config.auth_info.client_certificate_data = Some(encode(certificate.pem()));
        config.auth_info.client_key_data = Some(encode(key.serialize_pem()).into());
        kube::Client::try_from(config).unwrap()
    }
}

fn stranger(port: u16) -> kube::Config {
    let mut config = kube::Config::new(format!("https://127.0.0.1:{port}").parse().unwrap());
    config.accept_invalid_certs = true;
    config
}

#[tokio::test]
async fn whoever_is_not_the_api_server_cannot_say_who_asks() {
    const QUEUE: &str = "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads?limit=x";
    let (server, front, other) = (server(), Authority::new(), Authority::new());
    let admin = client(&server, &Arc::default());
    let trust = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "extension-apiserver-authentication"},
        "data": {"requestheader-client-ca-file": front.0.pem(), "requestheader-allowed-names": "[\"front-proxy-client\"]",
            "requestheader-username-headers": "[\"X-Remote-User\"]", "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]"}});
    let request = Request::post("/api/v1/namespaces/kube-system/configmaps").header("content-type", "application/json");
    let made = admin.send(request.body(Body::from(trust.to_string().into_bytes())).unwrap()).await.unwrap();
    assert_eq!(made.status(), 201);

    let certificate = Certificate::default();
    show_own_certificate(&certificate).unwrap();
    let listener = server::listen("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let demands = Demands { asks_for_certificate: true, ..Demands::default() };
    let page = Visibility::new(&Observer::default(), admin, Clock::of_the_machine());
    tokio::spawn(serve_tls(listener, certificate, demands, Arc::new(page)));

    let code = async |client: &kube::Client, path: &str, group: &str| {
        let request = Request::get(path).header("x-remote-user", "ann").header("x-remote-group", group);
        client.send(request.body(Body::empty()).unwrap()).await.unwrap().status().as_u16()
    };
    let real = front.client("front-proxy-client", port);
    assert_eq!(code(&real, QUEUE, "system:masters").await, 400, "allowed, and no number");
    assert_eq!(code(&real, QUEUE, "users").await, 403);
    assert_eq!(code(&real, "/apis/visibility.kueue.x-k8s.io/v1beta2", "users").await, 200, "everybody may look around");
    assert_eq!(code(&real, "/apis/visibility.kueue.x-k8s.io/v1", "system:masters").await, 404);
    for liar in [
        front.client("somebody-else", port),
        other.client("front-proxy-client", port),
        kube::Client::try_from(stranger(port)).unwrap(),
    ] {
        assert_eq!(code(&liar, QUEUE, "system:masters").await, 401);
        assert_eq!(code(&liar, "/readyz", "system:masters").await, 200, "everybody may know whether it lives");
    }
}
