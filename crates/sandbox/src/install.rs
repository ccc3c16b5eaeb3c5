//! Puts into the server what `kubectl apply --server-side -f manifests.yaml` would.

use anyhow::{Context as _, Result, bail};
use http::{Request, StatusCode};
use kube::client::Body;
use kueue_manifests::install::{Options, objects};
use serde_json::Value;

/// Who owns what is installed.
const MANAGER: &str = "kueue-sandbox";

/// Installs everything. What somebody else changed since the last time stays as they want it.
pub async fn install(client: &kube::Client) -> Result<()> {
    for object in objects(&Options::default()) {
        apply(client, &object).await?;
    }
    // What KubeRay and an autoscaler bring themselves; the world plays both.
    for definition in kueue_world::crds::crds() {
        apply(client, &definition).await?;
    }
    Ok(())
}

/// Applies an object, unless that would take something from somebody.
pub(crate) async fn apply(client: &kube::Client, object: &Value) -> Result<()> {
    let request = Request::patch(path(object)).header("content-type", "application/apply-patch+yaml");
    let answer = client.send(request.body(Body::from(object.to_string().into_bytes()))?).await?;
    let code = answer.status();
    if code.is_success() || code == StatusCode::CONFLICT {
        return Ok(());
    }
    let bytes = answer.into_body().collect_bytes().await.context("the answer breaks off")?;
    let status: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    bail!("cannot apply {} {}: {}", object["kind"], object["metadata"]["name"], status["message"])
}

/// Where the object is. The plurals of all kinds that are installed are regular English.
fn path(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&object["apiVersion"]), text(&object["kind"]).to_lowercase());
    let plural = kind.clone() + if kind.ends_with('s') { "es" } else { "s" };
    let root = if version.contains('/') { "apis" } else { "api" };
    let name = text(&object["metadata"]["name"]);
    let folder = match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{plural}"),
        None => format!("/{root}/{version}/{plural}"),
    };
    format!("{folder}/{name}?fieldManager={MANAGER}")
}
