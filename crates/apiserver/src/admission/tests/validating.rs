//! What validating webhooks are asked, when, and what their answers do.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_webhook_sees_what_would_be_stored() {
    let bed = Bed::new();
    let mut any = rule("*", "", "v1", "configmaps");
    any["operations"] = json!(["CREATE", "UPDATE", "DELETE"]);
    bed.configure("Validating", &[json!({"name": "v", "rules": [any]})]).await;
    bed.ask(&format!("POST {CONFIG_MAPS}?fieldManager=fm&dryRun=All"), config_map("dry")).await;
    let (_, request) = bed.calls().remove(0);
    assert_eq!(
        (&request["operation"], &request["dryRun"], &request["name"]),
        (&json!("CREATE"), &json!(true), &json!("dry"))
    );
    assert_eq!(request["kind"], json!({"group": "", "version": "v1", "kind": "ConfigMap"}));
    assert_eq!(request["resource"], json!({"group": "", "version": "v1", "resource": "configmaps"}));
    let options =
        json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "fm", "dryRun": ["All"]});
    assert_eq!((&request["options"], &request["oldObject"]), (&options, &Value::Null));
    assert_eq!(
        (&request["object"]["kind"], &request["object"]["metadata"]["namespace"]),
        (&json!("ConfigMap"), &json!("default"))
    );
    assert!(request["object"]["metadata"]["uid"].is_string());

    bed.create("a").await;
    bed.calls();
    bed.ask(&format!("PATCH {CONFIG_MAPS}/a"), json!({"data": {"a": "1"}})).await;
    let (_, request) = bed.calls().remove(0);
    assert_eq!(request["options"]["kind"], "UpdateOptions", "although nothing changes, it is asked");
    assert_eq!(request["oldObject"]["data"], json!({"a": "1"}));

    let options = json!({"propagationPolicy": "Background", "gracePeriodSeconds": 0});
    bed.ask(&format!("DELETE {CONFIG_MAPS}/a"), options).await;
    let (_, request) = bed.calls().remove(0);
    assert_eq!((&request["operation"], &request["object"]), (&json!("DELETE"), &Value::Null));
    assert_eq!(request["oldObject"]["metadata"]["name"], "a");
    assert_eq!(
        request["options"],
        json!({"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0, "propagationPolicy": "Background"})
    );
}

#[tokio::test(start_paused = true)]
async fn each_object_of_a_collection_is_asked_for() {
    let bed = Bed::new();
    bed.configure("Validating", &[json!({"name": "v", "rules": [rule("DELETE", "", "v1", "configmaps")]})]).await;
    for name in ["a", "b"] {
        bed.create(name).await;
    }
    bed.ask(&format!("DELETE {CONFIG_MAPS}"), Value::Null).await;
    let names: Vec<Value> =
        bed.calls().into_iter().map(|(_, request)| request["oldObject"]["metadata"]["name"].clone()).collect();
    assert_eq!(names, ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn rules_choose_by_operation_resource_subresource_and_scope() {
    let bed = Bed::new();
    let scoped = |scope: &str| {
        let mut rule = rule("*", "*", "*", "*/*");
        rule["scope"] = scope.into();
        json!([rule])
    };
    let webhooks = [
        json!({"name": "status", "rules": [rule("UPDATE", "", "v1", "*/status")]}),
        json!({"name": "main", "rules": [rule("UPDATE", "", "v1", "namespaces")]}),
        json!({"name": "cluster", "rules": scoped("Cluster")}),
        json!({"name": "namespaced", "rules": scoped("Namespaced")}),
    ];
    bed.configure("Validating", &webhooks).await;
    bed.ask("PATCH /api/v1/namespaces/default", json!({"metadata": {"labels": {"a": "b"}}})).await;
    assert_eq!(bed.called(), ["main", "cluster"]);
    bed.ask("PATCH /api/v1/namespaces/default/status", json!({"status": {"conditions": []}})).await;
    assert_eq!(bed.called(), ["status", "cluster"]);
    bed.create("a").await;
    assert_eq!(bed.called(), ["namespaced"]);
}

#[tokio::test(start_paused = true)]
async fn selectors_choose_by_the_labels_of_namespace_and_object() {
    let bed = Bed::new();
    let mut updates = rule("CREATE", "", "v1", "configmaps");
    updates["operations"] = json!(["CREATE", "UPDATE"]);
    let webhooks = [
        json!({"name": "object", "rules": [updates], "objectSelector": {"matchExpressions": [{"key": "q", "operator": "Exists"}]}}),
        json!({"name": "here", "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}),
        json!({"name": "elsewhere", "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "x"}}}),
        json!({"name": "nodes", "rules": [rule("CREATE", "", "v1", "nodes")], "namespaceSelector": {"matchLabels": {"a": "b"}}}),
    ];
    bed.configure("Validating", &webhooks).await;
    bed.create("a").await;
    assert_eq!(bed.called(), ["here"]);
    bed.ask(&format!("PATCH {CONFIG_MAPS}/a"), json!({"metadata": {"labels": {"q": "1"}}})).await;
    assert_eq!(bed.called(), ["object"], "the new one has the label");
    bed.ask(&format!("PATCH {CONFIG_MAPS}/a"), json!({"metadata": {"labels": {"q": null}}})).await;
    assert_eq!(bed.called(), ["object"], "the old one had it");
    bed.ask("POST /api/v1/nodes", json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})).await;
    assert_eq!(bed.called(), ["nodes"], "what is in no namespace is never left out by one");
}

#[tokio::test(start_paused = true)]
async fn conditions_choose_and_their_errors_follow_the_failure_policy() {
    let bed = Bed::new();
    let condition = |expression: &str| json!([{"name": "c", "expression": expression}]);
    let webhooks = [
        json!({"name": "yes", "matchConditions": condition("object.metadata.name == 'a' && request.operation == 'CREATE'")}),
        json!({"name": "no", "matchConditions": condition("request.userInfo.username == 'nobody'")}),
        json!({"name": "ignored", "failurePolicy": "Ignore", "matchConditions": condition("object.none == 1")}),
        json!({"name": "broken", "rules": [rule("CREATE", "", "v1", "secrets")],
               "matchConditions": condition("object.data.none == 'x'")}),
    ];
    let told = bed.configure("Validating", &webhooks).await;
    assert_eq!(told.code, 201, "{told:?}");
    assert_eq!(bed.create("a").await.code, 201);
    assert_eq!(bed.called(), ["yes"]);
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
    let told = bed.ask("POST /api/v1/namespaces/default/secrets", secret).await;
    assert_eq!(
        (told.code, told.message()),
        (403, "secrets \"x\" is forbidden: expression 'object.data.none == 'x'' resulted in error: no such key: data")
    );
    assert!(bed.called().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_equivalent_version_is_converted_and_an_exact_one_is_not() {
    let bed = Bed::new();
    define_widgets(&bed).await;
    let rules = json!([rule("CREATE", "example.com", "v1", "widgets")]);
    let webhooks =
        [json!({"name": "any", "rules": rules}), json!({"name": "exact", "rules": rules, "matchPolicy": "Exact"})];
    bed.configure("Validating", &webhooks).await;
    let widget = json!({"apiVersion": "example.com/v1beta1", "kind": "Widget", "metadata": {"name": "w"}});
    let told = bed.ask("POST /apis/example.com/v1beta1/namespaces/default/widgets", widget).await;
    assert_eq!(told.code, 201, "{told:?}");
    let calls = bed.calls();
    assert_eq!((calls.len(), calls[0].0.as_str()), (1, "any"));
    let request = &calls[0].1;
    assert_eq!((&request["kind"]["version"], &request["requestKind"]["version"]), (&json!("v1"), &json!("v1beta1")));
    assert_eq!(request["object"]["apiVersion"], "example.com/v1");
}

#[tokio::test(start_paused = true)]
async fn what_an_answer_does() {
    let long = "x".repeat(10 << 20);
    let status = |status: Value| Act::Respond(json!({"allowed": false, "status": status}));
    let failed = |why: &str| (500, format!("Internal error occurred: failed calling webhook \"v.example.com\": {why}"));
    let denied = |code: u16, why: &str| (code, format!("admission webhook \"v.example.com\" denied the request{why}"));
    let cases: Vec<(Act, (u16, String))> = vec![
        (Act::Respond(json!({"allowed": true})), (201, String::new())),
        (Act::Respond(json!({"allowed": false})), denied(400, " without explanation")),
        (status(json!({"message": "no", "code": 403, "reason": "Forbidden"})), denied(403, ": no")),
        (status(json!({"message": "odd", "code": 200})), denied(400, ": odd")),
        (
            Act::Send(500, b"boom".to_vec()),
            failed(
                "failed to call webhook: an error on the server (\"unknown\") has prevented the request from succeeding",
            ),
        ),
        (Act::Send(200, b"{}".to_vec()), failed("failed to call webhook: Object 'Kind' is missing in '{}'")),
        (Act::Send(200, long.into_bytes()), failed("failed to call webhook: the answer is larger than 8388608 bytes")),
        (
            Act::Hang,
            failed(
                "failed to call webhook: Post \"https://hooks.example.com/v?timeout=10s\": context deadline exceeded",
            ),
        ),
        (
            Act::Respond(json!({"allowed": true, "patchType": "JSONPatch"})),
            failed("received invalid webhook response: validating webhook may not return response.patchType"),
        ),
        (
            Act::Respond(json!({"allowed": "yes"})),
            failed(
                "failed to call webhook: json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
            ),
        ),
    ];
    for (act, (code, message)) in cases {
        let bed = Bed::new();
        bed.configure("Validating", &[json!({"name": "v"})]).await;
        bed.act("v", act);
        let told = bed.create("a").await;
        assert_eq!((told.code, told.message()), (code, message.as_str()));
    }
    let bed = Bed::new();
    bed.configure("Validating", &[json!({"name": "v"})]).await;
    bed.respond("v", json!({"allowed": true, "uid": "wrong"}));
    let told = bed.create("a").await;
    assert!(told.message().contains("received invalid webhook response: expected response.uid="), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_can_be_ignored_and_a_refusal_cannot() {
    for (act, code) in [
        (Act::Hang, 201),
        (Act::Send(200, b"garbage".to_vec()), 201),
        (Act::Respond(json!({"allowed": true, "uid": "wrong"})), 201),
        (Act::Respond(json!({"allowed": false})), 400),
    ] {
        let bed = Bed::new();
        bed.configure("Validating", &[json!({"name": "v", "failurePolicy": "Ignore", "timeoutSeconds": 1})]).await;
        bed.act("v", act);
        assert_eq!(bed.create("a").await.code, code);
    }
}

#[tokio::test(start_paused = true)]
async fn all_are_asked_at_once() {
    let bed = Bed::new();
    let slow = |name: &str| json!({"name": name, "failurePolicy": "Ignore", "timeoutSeconds": 5});
    bed.configure("Validating", &[slow("a"), slow("b"), slow("c")]).await;
    ["a", "b", "c"].iter().for_each(|name| bed.act(name, Act::Hang));
    let begin = tokio::time::Instant::now();
    assert_eq!(bed.create("x").await.code, 201);
    assert_eq!((bed.called().len(), begin.elapsed().as_secs()), (3, 5));
}

#[tokio::test(start_paused = true)]
async fn warnings_and_details_reach_the_client() {
    let bed = Bed::new();
    bed.configure("Validating", &[json!({"name": "v"})]).await;
    bed.respond(
        "v",
        json!({
            "allowed": false, "warnings": ["one", "two \"q\"", "one"],
            "status": {"code": 429, "reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}},
        }),
    );
    let told = bed.create("a").await;
    assert_eq!(told.warnings, ["299 - \"one\"", "299 - \"two \\\"q\\\"\""]);
    assert_eq!(told.body["details"], json!({"retryAfterSeconds": 7}));
}

#[tokio::test(start_paused = true)]
async fn a_missing_service_is_told() {
    let bed = Bed::new();
    let config = json!({"service": {"namespace": "default", "name": "hook", "path": "/v"}});
    bed.configure("Validating", &[json!({"name": "v", "clientConfig": config})]).await;
    let told = bed.create("a").await;
    assert!(
        told.message().ends_with("Post \"https://hook.default.svc:443/v?timeout=10s\": service \"hook\" not found"),
        "{told:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_old_review_is_sent_to_who_only_knows_that() {
    let bed = Bed::new();
    bed.configure("Validating", &[json!({"name": "v", "admissionReviewVersions": ["v2", "v1beta1"]})]).await;
    assert_eq!(bed.create("a").await.code, 201);
    assert_eq!(bed.called(), ["v"]);
}
