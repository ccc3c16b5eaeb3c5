//! Webhooks in the same process: one that adds a label, one that looks and agrees.

use std::convert::Infallible;

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use kueue_apiserver::dial::Request;
use serde_json::{Value, json};

use super::subject::{JSON, Subject};

const HOST: &str = "hooks.example.com";
/// `[{"op":"add","path":"/metadata/labels/example.com~1seen","value":"yes"}]`.
const PATCH: &str = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscy9leGFtcGxlLmNvbX4xc2VlbiIsInZhbHVlIjoieWVzIn1d";

/// Answers reviews at `/mutate` and `/validate`.
async fn answer(request: Request) -> http::Response<Full<Bytes>> {
    let mutates = request.uri().path() == "/mutate";
    let body = request.into_body().collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).unwrap_or_default();
    let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
    if mutates {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = PATCH.into();
    }
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    http::Response::new(Full::new(review.to_string().into()))
}

/// Puts both webhooks before every write of the custom kind.
pub async fn add(subject: &Subject) -> Result<()> {
    let service = tower::service_fn(|request: Request| async { Ok::<_, Infallible>(answer(request).await) });
    subject.server.server().dialer.route_to_service(format!("{HOST}:443"), service);
    for (kind, path) in [("Mutating", "mutate"), ("Validating", "validate")] {
        let webhook = json!({
            "name": format!("{path}.example.com"), "clientConfig": {"url": format!("https://{HOST}/{path}")},
            "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "rules": [{"apiGroups": ["bench.example.com"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
                       "resources": ["widgets", "widgets/status"]}],
        });
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": {"name": path}, "webhooks": [webhook],
        });
        let plural = format!("{}webhookconfigurations", kind.to_lowercase());
        let at = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
        subject.must("POST", &at, JSON, &configuration).await?;
    }
    Ok(())
}
