//! Requests that were sent to this server and to a real one, and answered differently once: now they are not.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::rig::{CONFIG_MAPS, Rig, settings};

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";

/// Code and message of the answer; of an object, nothing.
async fn told(rig: &Rig, line: &str, kind: &str, body: &str) -> (u16, String) {
    let mut request = rig.request(line, body);
    request.headers_mut().insert("Content-Type", kind.parse().unwrap());
    let answer = rig.server.handle(request).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    let value: Value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    (code, value["message"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test(start_paused = true)]
async fn mistakes_are_told_in_the_words_of_a_real_server() {
    let rig = Rig::start(settings());
    rig.config_map("x", json!([])).await;
    let one = format!("{CONFIG_MAPS}/x");
    let (post, patch) = (format!("POST {CONFIG_MAPS}"), format!("PATCH {one}?fieldManager=m"));
    let cases = [
        (
            format!("{post}?fieldValidation=Odd"),
            JSON,
            r#"{"metadata": {"name": "y"}}"#,
            422,
            "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"Odd\": supported values: \
             \"\", \"Ignore\", \"Strict\", \"Warn\"",
        ),
        (
            post,
            JSON,
            r#"{"metadata": {"name": "y", "finalizers": ["a/b", "c"]}}"#,
            422,
            "ConfigMap \"y\" is invalid: metadata.finalizers[1]: Invalid value: \"c\": name is neither a standard \
             finalizer name nor is it fully qualified",
        ),
        (
            patch.clone(),
            "application/strategic-merge-patch+json",
            r#"{"$patch": "delete"}"#,
            400,
            "the name of the object (x based on URL) was undeterminable: name must be provided",
        ),
        (
            patch.clone(),
            APPLY,
            r#"{"apiVersion": "v1", "kind": "ConfigMap", "nope": 1}"#,
            500,
            "failed to create typed patch object (/; /v1, Kind=ConfigMap): .nope: field not declared in schema",
        ),
        (
            patch,
            APPLY,
            r#"{"apiVersion": "v1", "kind": "ConfigMap"}"#,
            400,
            "the name of the object (x based on URL) was undeterminable: name must be provided",
        ),
        (
            format!("GET {CONFIG_MAPS}?limit=1&continue=abc"),
            JSON,
            "",
            400,
            "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value",
        ),
        (format!("GET {CONFIG_MAPS}/.."), JSON, "", 400, "Name parameter invalid: \"..\": may not be '..'"),
        (format!("GET {CONFIG_MAPS}/a%2Fb"), JSON, "", 404, "the server could not find the requested resource"),
        (format!("GET /{CONFIG_MAPS}"), JSON, "", 404, ""),
    ];
    for (line, kind, body, code, message) in cases {
        assert_eq!(told(&rig, &line, kind, body).await, (code, message.to_owned()), "{line} {body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_a_body_is_not_asked_for_in_the_query() {
    let rig = Rig::start(settings());
    for (body, stays) in [("", true), ("null", false), (r#"{"gracePeriodSeconds": 1}"#, false)] {
        rig.config_map("x", json!([])).await;
        assert_eq!(told(&rig, &format!("DELETE {CONFIG_MAPS}/x?dryRun=All"), JSON, body).await.0, 200, "{body}");
        assert_eq!(rig.get(&format!("{CONFIG_MAPS}/x")).await.is_some(), stays, "{body}");
        if stays {
            rig.must(&format!("DELETE {CONFIG_MAPS}/x"), Value::Null).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_accepts_some_application_is_not_guessed_at() {
    let rig = Rig::start(settings());
    for (accept, code) in [("application/*", 406), ("*/*", 200), ("text/html,*/*;q=0.1", 200)] {
        let mut request = rig.request(&format!("GET {CONFIG_MAPS}"), "");
        request.headers_mut().insert("Accept", accept.parse().unwrap());
        assert_eq!(rig.server.handle(request).await.status().as_u16(), code, "{accept}");
    }
}
