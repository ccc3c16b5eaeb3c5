//! Events are forgotten after an hour, as the servers of real clusters do.

use std::time::Duration;

use http::Request;
use kube::client::Body;
use kueue_core::time::Time;
use kueue_runtime::clock::Clock;
use serde_json::Value;

const KEPT: Duration = Duration::from_secs(3600);
const EVERY: Duration = Duration::from_secs(300);
const PATH: &str = "/api/v1/events";

/// Runs until it is dropped.
pub(crate) async fn forget(client: kube::Client, clock: Clock) {
    loop {
        tokio::time::sleep(clock.wait(EVERY)).await;
        for event in list(&client).await.unwrap_or_default() {
            let meta = &event["metadata"];
            let last = [&event["series"]["lastObservedTime"], &event["lastTimestamp"], &meta["creationTimestamp"]];
            let told = last.into_iter().find_map(Value::as_str);
            let told: Option<Time> = told.and_then(|text| text.parse().ok());
            let age = told.map(|told| clock.now().duration_since(told.timestamp()));
            if let (Some(age), Some(namespace), Some(name)) = (age, meta["namespace"].as_str(), meta["name"].as_str())
                && Duration::try_from(age).unwrap_or_default() > KEPT
            {
                let path = format!("/api/v1/namespaces/{namespace}/events/{name}");
                if let Ok(request) = Request::delete(path).body(Body::empty()) {
                    // One that is gone already is fine, and any other is looked at again.
                    drop(client.send(request).await);
                }
            }
        }
    }
}

async fn list(client: &kube::Client) -> Option<Vec<Value>> {
    let answer = client.send(Request::get(PATH).body(Body::empty()).ok()?).await.ok()?;
    let mut list: Value = serde_json::from_slice(&answer.into_body().collect_bytes().await.ok()?).ok()?;
    Some(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default())
}
