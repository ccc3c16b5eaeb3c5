use std::convert::Infallible;

use http::Request;
use kube::client::Body;
use kueue_apiserver::{ApiServer, Settings};
use kueue_core::base64;
use kueue_runtime::client::{Dependents, Limits};
use serde_json::{Value, json};

use super::*;

struct Bed {
    client: Client,
    clock: Clock,
    namespaces: watch::Sender<Option<Vec<String>>>,
    registered: watch::Sender<bool>,
}

impl Bed {
    async fn new() -> Self {
        let start = "2026-01-01T00:00:00Z".parse().unwrap();
        let server = ApiServer::start(Settings::new(kueue_apiserver::clock::Clock::starting_at(start), [7; 32]));
        let service = tower::service_fn(move |mut request: Request<Body>| {
            let token = format!("Bearer {}", server.admin_token());
            request.headers_mut().insert("authorization", token.parse().unwrap());
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.handle(request).await) }
        });
        let client = Client::new(kube::Client::new(service, "default"), Limits::new(8, None));
        let hook = |name: &str| {
            json!({"name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"service": {"name": "kueue-webhook-service", "namespace": "default", "path": "/x"}},
                "matchConditions": [{"name": "uses-queues", "expression": "true"}],
                "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["jobs"]}]})
        };
        let configuration = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "kueue-mutating-webhook-configuration"}, "webhooks": [hook("mjob.kb.io")]});
        let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
        client.post::<Value>(path, &configuration).await.unwrap();
        let namespaces = watch::Sender::new(Some(Vec::new()));
        Self { client, clock: Clock::starting_at(start), namespaces, registered: watch::Sender::default() }
    }

    fn keep(&self) -> (Certificate, tokio::task::JoinHandle<()>) {
        let certificate = Certificate::default();
        let keeper = Keeper {
            client: self.client.clone(),
            clock: self.clock,
            namespace: "default".to_owned(),
            service: "kueue-webhook-service".to_owned(),
            secret: Some("kueue-webhook-server-cert".to_owned()),
            certificate: certificate.clone(),
            default_namespaces: self.namespaces.subscribe(),
            registered: self.registered.clone(),
        };
        (certificate, tokio::spawn(keeper.run()))
    }

    async fn configuration(&self) -> Value {
        self.hooks().await[0].clone()
    }

    async fn hooks(&self) -> Vec<Value> {
        sleep(Duration::from_secs(5)).await;
        let key = Key::cluster("kueue-mutating-webhook-configuration");
        self.client.get::<MutatingWebhookConfiguration>(&key).await.unwrap().webhooks
    }

    async fn secret(&self) -> Secret {
        self.client.get(&Key::new("default", "kueue-webhook-server-cert")).await.unwrap()
    }
}

fn bundle_of(secret: &Secret) -> Value {
    json!(secret.data["ca.crt"])
}

#[tokio::test(start_paused = true)]
async fn the_api_server_learns_whom_to_trust_and_whom_to_ask_about() {
    let bed = Bed::new().await;
    let (certificate, _keeper) = bed.keep();
    let hook = bed.configuration().await;
    assert!(certificate.is_there());
    assert_eq!(hook["clientConfig"]["caBundle"], bundle_of(&bed.secret().await));
    bed.namespaces.send_replace(Some(vec!["team".to_owned()]));
    let hooks = bed.hooks().await;
    assert_eq!((hooks.len(), &hooks[0]), (2, &hook), "what was installed stays as it is");
    assert!(hooks[1]["matchConditions"][0]["expression"].as_str().unwrap().contains("request.namespace in ['team']"));
    bed.namespaces.send_replace(Some(Vec::new()));
    assert_eq!(bed.hooks().await, [hook]);
}

#[tokio::test(start_paused = true)]
async fn what_others_change_is_mended() {
    let bed = Bed::new().await;
    let (_, _keeper) = bed.keep();
    let before = bed.configuration().await;
    let key = Key::cluster("kueue-mutating-webhook-configuration");
    let mut bare = before.clone();
    bare["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    let patch = Patch::merge(json!({"webhooks": [bare]}), "somebody");
    bed.client.patch::<MutatingWebhookConfiguration>(&key, &patch).await.unwrap();
    assert_eq!(bed.configuration().await, before);
    let key = Key::new("default", "kueue-webhook-server-cert");
    let patch = Patch::merge(json!({"data": {"tls.crt": "bm9uc2Vuc2U="}}), "somebody");
    bed.client.patch::<Secret>(&key, &patch).await.unwrap();
    let hook = bed.configuration().await;
    assert_ne!(hook["clientConfig"]["caBundle"], before["clientConfig"]["caBundle"]);
    assert_eq!(hook["clientConfig"]["caBundle"], bundle_of(&bed.secret().await));
}

#[tokio::test(start_paused = true)]
async fn replicas_agree_on_one_certificate() {
    let bed = Bed::new().await;
    let ((first, _a), (second, _b)) = (bed.keep(), bed.keep());
    let before = bed.configuration().await;
    assert!(first.is_there() && second.is_there());
    let version = bed.secret().await.metadata.resource_version;
    sleep(Duration::from_secs(13 * 3600)).await;
    assert_eq!(bed.secret().await.metadata.resource_version, version, "nobody writes what is good");
    assert_eq!(bed.configuration().await, before);
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_ends_soon_is_replaced() {
    let bed = Bed::new().await;
    let name = "kueue-webhook-service.default.svc";
    let old = Material::make(name, None, "2025-03-01T00:00:00Z".parse().unwrap()).unwrap();
    let metadata = ObjectMeta {
        namespace: "default".to_owned(),
        name: "kueue-webhook-server-cert".to_owned(),
        ..ObjectMeta::default()
    };
    bed.client.create(&Secret { metadata, data: old.to_data(), ..Secret::default() }).await.unwrap();
    let (_, _keeper) = bed.keep();
    bed.configuration().await;
    let material = Material::from_data(&bed.secret().await.data).unwrap();
    assert_ne!(material, old);
    assert!(material.is_good_for(name, bed.clock.time()));
    assert!(material.authorities.ends_with(&old.authorities), "replicas that still show the old one are believed");
}

/// Whether a client that trusts these authorities believes what it is shown.
fn is_trusted(shown: &[u8], authorities: &Value) -> bool {
    let pem = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64::STANDARD.encode(shown));
    let data =
        [("ca.crt", authorities.as_str().unwrap().to_owned()), ("tls.crt", base64::STANDARD.encode(pem.as_bytes()))];
    let data = data.into_iter().chain([("ca.key", String::new()), ("tls.key", String::new())]);
    let data = data.map(|(key, value)| (key.to_owned(), value)).collect();
    let start = "2026-01-01T00:00:00Z".parse().unwrap();
    Material::from_data(&data).unwrap().is_good_for("kueue-webhook-service.default.svc", start)
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_trusts_what_it_is_shown_while_certificates_change() {
    let bed = Bed::new().await;
    let (certificate, _keeper) = bed.keep();
    bed.configuration().await;
    assert!(*bed.registered.borrow());
    let hook = Key::cluster("kueue-mutating-webhook-configuration");
    let secret = Key::new("default", "kueue-webhook-server-cert");
    for _ in 0..3 {
        let before = certificate.der().unwrap();
        bed.client.delete::<Secret>(&secret, "", Dependents::Background).await.unwrap();
        for _ in 0..100 {
            sleep(Duration::from_millis(100)).await;
            let hooks = bed.client.get::<MutatingWebhookConfiguration>(&hook).await.unwrap().webhooks;
            assert!(is_trusted(&certificate.der().unwrap(), &hooks[0]["clientConfig"]["caBundle"]));
        }
        assert_ne!(certificate.der().unwrap(), before);
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_ready_before_the_api_server_knows_whom_to_trust() {
    let bed = Bed::new().await;
    let key = Key::cluster("kueue-mutating-webhook-configuration");
    let (certificate, _keeper) = bed.keep();
    let mut registered = bed.registered.subscribe();
    registered.wait_for(|registered| *registered).await.unwrap();
    let hooks = bed.client.get::<MutatingWebhookConfiguration>(&key).await.unwrap().webhooks;
    assert!(is_trusted(&certificate.der().unwrap(), &hooks[0]["clientConfig"]["caBundle"]));
}
