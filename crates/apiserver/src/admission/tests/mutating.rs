//! What mutating webhooks change.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_patch_changes_what_is_stored_and_who_owns_it_stays() {
    let bed = Bed::new();
    bed.configure("Mutating", &[json!({"name": "m"})]).await;
    bed.respond(
        "m",
        patching(&json!([
            {"op": "add", "path": "/data/injected", "value": "yes"},
            {"op": "add", "path": "/metadata/labels", "value": {"by": "hook"}},
            {"op": "add", "path": "/bogus", "value": "x"},
        ])),
    );
    let told = bed.create("a").await;
    assert_eq!(told.body["data"], json!({"a": "1", "injected": "yes"}));
    assert_eq!((&told.body["metadata"]["labels"], told.body.get("bogus")), (&json!({"by": "hook"}), None));
    let owned = &told.body["metadata"]["managedFields"][0]["fieldsV1"];
    assert!(owned["f:data"].get("f:injected").is_none(), "nobody asked for it: {owned}");
    let (_, request) = bed.calls().remove(0);
    assert_eq!(request["object"]["metadata"].get("uid"), None, "it is not yet what would be stored");
}

#[tokio::test(start_paused = true)]
async fn each_sees_what_the_former_left_and_some_are_called_again() {
    let bed = Bed::new();
    let webhooks = [
        json!({"name": "a", "reinvocationPolicy": "IfNeeded"}),
        json!({"name": "n"}),
        json!({"name": "b", "reinvocationPolicy": "IfNeeded"}),
    ];
    bed.configure("Mutating", &webhooks).await;
    bed.respond("a", patching(&json!([{"op": "add", "path": "/metadata/labels", "value": {"one": "1"}}])));
    bed.respond("b", patching(&json!([{"op": "add", "path": "/data/two", "value": "2"}])));
    bed.create("x").await;
    let calls = bed.calls();
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a", "n", "b", "a"]);
    assert_eq!(calls[1].1["object"]["metadata"]["labels"], json!({"one": "1"}));
    assert_eq!(calls[3].1["object"]["data"]["two"], "2");
}

#[tokio::test(start_paused = true)]
async fn a_patch_that_cannot_be_is_told() {
    let patch =
        |text: &[u8]| json!({"allowed": true, "patchType": "JSONPatch", "patch": base64::STANDARD.encode(text)});
    let failed = |why: &str| (500, format!("Internal error occurred: failed calling webhook \"m.example.com\": {why}"));
    let internal = |why: &str| (500, format!("Internal error occurred: {why}"));
    let cases = [
        (
            patching(&json!([{"op": "remove", "path": "/data/none"}])),
            internal("error in remove for path: '/data/none': Unable to remove nonexistent key: none: missing value"),
        ),
        (
            patch(b"notjson"),
            failed(
                "received undecodable patch in webhook response: invalid character 'o' in literal null (expecting 'u')",
            ),
        ),
        (
            json!({"allowed": true, "patch": "W10="}),
            failed("received invalid webhook response: webhook returned response.patch but not response.patchType"),
        ),
        (
            json!({"allowed": true, "patch": "W3t9XQ==", "patchType": "Merge"}),
            failed("unsupported patch type \"Merge\""),
        ),
        (
            patching(&json!([{"op": "replace", "path": "/data", "value": {"a": 5}}])),
            internal("json: cannot unmarshal number into Go struct field ConfigMap.data of type string"),
        ),
    ];
    for (response, (code, message)) in cases {
        let bed = Bed::new();
        bed.configure("Mutating", &[json!({"name": "m"})]).await;
        bed.respond("m", response);
        let told = bed.create("a").await;
        assert_eq!((told.code, told.message()), (code, message.as_str()));
    }
    let bed = Bed::new();
    bed.configure("Mutating", &[json!({"name": "m"})]).await;
    bed.respond("m", patching(&json!([{"op": "add", "path": "/data/bad~1key", "value": "x"}])));
    assert_eq!(bed.create("a").await.body["reason"], "Invalid", "what a patch makes is judged like anything else");
}

#[tokio::test(start_paused = true)]
async fn a_deletion_cannot_be_patched() {
    let bed = Bed::new();
    bed.create("a").await;
    bed.configure("Mutating", &[json!({"name": "m", "rules": [rule("DELETE", "", "v1", "configmaps")]})]).await;
    bed.respond("m", patching(&json!([{"op": "add", "path": "/data/x", "value": "y"}])));
    let told = bed.ask(&format!("DELETE {CONFIG_MAPS}/a"), Value::Null).await;
    assert_eq!(
        told.message(),
        "Internal error occurred: admission webhook \"m.example.com\" attempted to modify the object, which is not supported for this operation"
    );
    assert_eq!(bed.ask(&format!("GET {CONFIG_MAPS}/a"), Value::Null).await.code, 200);
}

#[tokio::test(start_paused = true)]
async fn an_update_and_a_status_are_changed_as_well() {
    let bed = Bed::new();
    define_widgets(&bed).await;
    let widgets = "/apis/example.com/v1/namespaces/default/widgets";
    let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}});
    bed.ask(&format!("POST {widgets}"), widget).await;
    let of = |resource: &str| json!([rule("UPDATE", "example.com", "v1", resource)]);
    let webhooks =
        [json!({"name": "main", "rules": of("widgets")}), json!({"name": "status", "rules": of("widgets/status")})];
    bed.configure("Mutating", &webhooks).await;
    bed.respond("main", patching(&json!([{"op": "add", "path": "/spec/by", "value": "hook"}])));
    bed.respond("status", patching(&json!([{"op": "add", "path": "/status/by", "value": "hook"}])));
    let told = bed.ask(&format!("PATCH {widgets}/w"), json!({"spec": {"a": 1}})).await;
    assert_eq!(told.body["spec"], json!({"a": 1, "by": "hook"}));
    let told = bed.ask(&format!("PATCH {widgets}/w/status"), json!({"status": {"b": 1}})).await;
    assert_eq!(told.body["status"], json!({"b": 1, "by": "hook"}));
    assert_eq!(bed.called(), ["main", "status"]);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_with_side_effects_is_not_called_for_nothing() {
    let bed = Bed::new();
    let told = bed.configure("Mutating", &[json!({"name": "m", "sideEffects": "NoneOnDryRun"})]).await;
    assert_eq!(told.code, 201, "{told:?}");
    assert_eq!(bed.ask(&format!("POST {CONFIG_MAPS}?dryRun=All"), config_map("a")).await.code, 201);
    assert_eq!(bed.called(), ["m"]);
}

#[tokio::test(start_paused = true)]
async fn configurations_are_not_subject_to_webhooks() {
    let bed = Bed::new();
    bed.configure("Validating", &[json!({"name": "v", "rules": [rule("*", "*", "*", "*/*")]})]).await;
    bed.respond("v", json!({"allowed": false}));
    let told = bed.ask(&format!("DELETE {KINDS}/validatingwebhookconfigurations/c"), Value::Null).await;
    assert_eq!(told.code, 200, "{told:?}");
    assert_eq!(bed.create("a").await.code, 201);
}
