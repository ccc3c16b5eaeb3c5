//! Puts into the server what `kubectl apply -f manifests.yaml` would.

use anyhow::{Context as _, Result, bail};
use http::{Method, Request};
use kube::client::Body;
use kueue_manifests::install::{Options, objects};
use serde_json::Value;

/// What stands for a server of the manager that does not exist yet: discovery would wait for it in vain.
const UNSERVED: &str = "APIService";

pub(crate) async fn install(client: &kube::Client) -> Result<()> {
    for object in objects(&Options::default()) {
        if object["kind"] != UNSERVED {
            create(client, &object).await?;
        }
    }
    // What KubeRay and an autoscaler bring themselves; the world plays both.
    for definition in kueue_world::crds::crds() {
        create(client, &definition).await?;
    }
    Ok(())
}

/// Creates an object, unless it is there already.
pub(crate) async fn create(client: &kube::Client, object: &Value) -> Result<()> {
    let path = path(object);
    let request = Request::builder().method(Method::POST).uri(&path).header("content-type", "application/json");
    let answer = client.send(request.body(Body::from(object.to_string().into_bytes()))?).await?;
    let code = answer.status();
    if code.is_success() || code == http::StatusCode::CONFLICT {
        return Ok(());
    }
    let bytes = answer.into_body().collect_bytes().await.context("the answer breaks off")?;
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    bail!("cannot create {} {}: {}", object["kind"], object["metadata"]["name"], status["message"])
}

/// Where objects of that kind are created. The plurals of all kinds that are installed are regular English.
fn path(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let plural = kind.clone() + if kind.ends_with('s') { "es" } else { "s" };
    let root = if version.contains('/') { "apis" } else { "api" };
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/{root}/{version}/{plural}"),
    }
}
