//! Who may do what, as clients meet it: tokens, roles, impersonation and reviews, in process and under virtual time.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use jiff::Timestamp;
use kueue_apiserver::auth::StaticUser;
use kueue_apiserver::clock::Clock;
use kueue_apiserver::{ApiServer, Settings};
use serde_json::{Value, json};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const DEFAULT: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";

/// A server with one more user, `eve`, who has nothing yet.
fn server() -> ApiServer {
    let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
    let eve = StaticUser { name: "eve".into(), groups: vec!["people".into()], token: "eve-token".into() };
    ApiServer::start(Settings { users: vec![eve], ..Settings::new(Clock::starting_at(start), [1; 32]) })
}

/// Sends a request with these headers: code and body of the answer.
async fn send(server: &ApiServer, line: &str, headers: &[(&str, &str)], body: Value) -> (u16, Value) {
    let (method, path) = line.split_once(' ').expect("a method and a path");
    let mut request = http::Request::builder().method(method).uri(path).header("Content-Type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let request = request.body(Full::<Bytes>::from(text)).expect("a request that can be sent");
    let answer = server.handle(request).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("answers do not fail").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

/// Asks as the bearer of a token.
async fn ask(server: &ApiServer, token: &str, line: &str, body: Value) -> (u16, Value) {
    send(server, line, &[("Authorization", &format!("Bearer {token}"))], body).await
}

async fn admin(server: &ApiServer, line: &str, body: Value) -> (u16, Value) {
    ask(server, server.admin_token(), line, body).await
}

/// Asks as the administrator who acts as somebody else.
async fn acting(server: &ApiServer, user: &str, line: &str, body: Value) -> (u16, Value) {
    let bearer = format!("Bearer {}", server.admin_token());
    send(server, line, &[("Authorization", &bearer), ("Impersonate-User", user)], body).await
}

/// Gives a user a new role in the namespace `default`.
async fn grant(server: &ApiServer, user: &str, name: &str, rules: Value) {
    let role = json!({"metadata": {"name": name}, "rules": rules});
    assert_eq!(admin(server, &format!("POST {DEFAULT}/roles"), role).await.0, 201);
    let binding = json!({
        "metadata": {"name": name}, "roleRef": {"kind": "Role", "name": name},
        "subjects": [{"kind": "User", "name": user}],
    });
    let (code, answer) = admin(server, &format!("POST {DEFAULT}/rolebindings"), binding).await;
    assert_eq!(code, 201, "{answer}");
}

/// A token for a new ServiceAccount in `default`.
async fn account_token(server: &ApiServer, name: &str, spec: Value) -> String {
    let accounts = "POST /api/v1/namespaces/default/serviceaccounts";
    admin(server, accounts, json!({"metadata": {"name": name}})).await;
    let (code, answer) = admin(server, &format!("{accounts}/{name}/token"), json!({"spec": spec})).await;
    assert_eq!(code, 201, "{answer}");
    answer["status"]["token"].as_str().expect("a token").to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_user_may_what_a_binding_gives() {
    let server = server();
    let pods = "GET /api/v1/namespaces/default/pods";
    let (code, answer) = ask(&server, "eve-token", pods, Value::Null).await;
    assert_eq!(
        (code, answer["message"].as_str().unwrap()),
        (
            403,
            "pods is forbidden: User \"eve\" cannot list resource \"pods\" in API group \"\" in the namespace \"default\""
        )
    );
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]);
    grant(&server, "eve", "r", rules).await;
    assert_eq!(ask(&server, "eve-token", pods, Value::Null).await.0, 200);
    assert_eq!(ask(&server, "eve-token", "GET /api/v1/pods", Value::Null).await.0, 403);
    assert_eq!(ask(&server, "eve-token", "GET /apis", Value::Null).await.0, 200, "everybody known sees discovery");
    assert_eq!(ask(&server, "wrong", pods, Value::Null).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn a_name_in_a_rule_allows_a_list_of_that_name() {
    let server = server();
    let rules =
        json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get", "list"]}]);
    grant(&server, "eve", "r", rules).await;
    let secrets = "GET /api/v1/namespaces/default/secrets";
    let cases = [("/a", 404), ("/b", 403), ("", 403), ("?fieldSelector=metadata.name%3Da", 200)];
    for (ending, expected) in cases {
        let (code, _) = ask(&server, "eve-token", &format!("{secrets}{ending}"), Value::Null).await;
        assert_eq!(code, expected, "{ending}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_account_shows_a_token_until_it_ends() {
    let server = server();
    let token = account_token(&server, "robot", json!({"expirationSeconds": 600})).await;
    let review = |token: &str| json!({"spec": {"token": token}});
    let reviews = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    let (_, answer) = admin(&server, reviews, review(&token)).await;
    let user = &answer["status"]["user"];
    assert_eq!(
        (&answer["status"]["authenticated"], &user["username"]),
        (&json!(true), &json!("system:serviceaccount:default:robot"))
    );
    let groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
    assert_eq!(user["groups"], json!(groups));
    assert_eq!(ask(&server, &token, "GET /version", Value::Null).await.0, 200);
    tokio::time::advance(Duration::from_secs(661)).await;
    assert_eq!(ask(&server, &token, "GET /version", Value::Null).await.0, 401);
    let (_, answer) = admin(&server, reviews, review(&token)).await;
    let error = "[invalid bearer token, service account token has expired]";
    assert_eq!(answer["status"], json!({"user": {}, "error": error}));
}

#[tokio::test(start_paused = true)]
async fn a_token_is_for_its_audience_and_dies_with_its_account() {
    let server = server();
    let other = account_token(&server, "robot", json!({"audiences": ["vault"]})).await;
    assert_eq!(ask(&server, &other, "GET /version", Value::Null).await.0, 401);
    let reviews = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    let (_, answer) = admin(&server, reviews, json!({"spec": {"token": other, "audiences": ["vault", "x"]}})).await;
    assert_eq!(answer["status"]["audiences"], json!(["vault"]));
    let token = account_token(&server, "robot", json!({})).await;
    assert_eq!(ask(&server, &token, "GET /version", Value::Null).await.0, 200);
    let account = "/api/v1/namespaces/default/serviceaccounts/robot";
    admin(&server, &format!("DELETE {account}"), Value::Null).await;
    assert_eq!(ask(&server, &token, "GET /version", Value::Null).await.0, 401);
    account_token(&server, "robot", json!({})).await;
    assert_eq!(ask(&server, &token, "GET /version", Value::Null).await.0, 401, "another account of the same name");
}

#[tokio::test(start_paused = true)]
async fn a_bound_token_dies_with_its_pod() {
    let server = server();
    let pods = "/api/v1/namespaces/default/pods";
    let spec = json!({"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]});
    admin(&server, &format!("POST {pods}"), json!({"metadata": {"name": "p"}, "spec": spec})).await;
    let bound = json!({"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}});
    let token = account_token(&server, "robot", bound).await;
    let (_, me) = ask(&server, &token, "POST /apis/authentication.k8s.io/v1/selfsubjectreviews", json!({})).await;
    let extra = &me["status"]["userInfo"]["extra"];
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], json!(["p"]), "{me}");
    admin(&server, &format!("DELETE {pods}/p"), Value::Null).await;
    assert_eq!(ask(&server, &token, "GET /version", Value::Null).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn impersonation_needs_a_right_of_its_own() {
    let server = server();
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]);
    grant(&server, "bob", "r", rules).await;
    let list = "GET /api/v1/namespaces/default/configmaps";
    assert_eq!(acting(&server, "bob", list, Value::Null).await.0, 200);
    assert_eq!(acting(&server, "eve", list, Value::Null).await.0, 403);
    let as_bob = [("Authorization", "Bearer eve-token"), ("Impersonate-User", "bob")];
    let (code, answer) = send(&server, list, &as_bob, Value::Null).await;
    assert_eq!(code, 403);
    assert!(answer["message"].as_str().unwrap().contains("cannot impersonate-on:user-info:list resource"), "{answer}");
    let role = json!({"metadata": {"name": "be-bob"}, "rules": [
        {"apiGroups": [""], "resources": ["users"], "resourceNames": ["bob"], "verbs": ["impersonate"]},
    ]});
    admin(&server, &format!("POST {RBAC}/clusterroles"), role).await;
    let binding = json!({
        "metadata": {"name": "be-bob"}, "roleRef": {"kind": "ClusterRole", "name": "be-bob"},
        "subjects": [{"kind": "Group", "name": "people"}],
    });
    admin(&server, &format!("POST {RBAC}/clusterrolebindings"), binding).await;
    assert_eq!(send(&server, list, &as_bob, Value::Null).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn nobody_gives_what_they_do_not_have() {
    let server = server();
    let write = json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
    ]);
    grant(&server, "eve", "w", write).await;
    let role = |name: &str, verbs: Value| json!({"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]});
    let roles = format!("POST {DEFAULT}/roles");
    let (code, answer) = acting(&server, "eve", &roles, role("more", json!(["get", "delete"]))).await;
    assert_eq!(code, 201, "`*` on roles holds `escalate`: {answer}");
    grant(
        &server,
        "bob",
        "narrow",
        json!([
            {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create"]},
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        ]),
    )
    .await;
    assert_eq!(acting(&server, "bob", &roles, role("same", json!(["get"]))).await.0, 201);
    let (code, answer) = acting(&server, "bob", &roles, role("bobs", json!(["get", "delete"]))).await;
    assert_eq!(
        (code, answer["message"].as_str().unwrap()),
        (
            403,
            "roles.rbac.authorization.k8s.io \"bobs\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is \
             attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], \
             Verbs:[\"delete\"]}"
        )
    );
    let bind = |name: &str, role: &str| json!({"metadata": {"name": name}, "roleRef": {"kind": "Role", "name": role}, "subjects": []});
    let bindings = format!("POST {DEFAULT}/rolebindings");
    assert_eq!(acting(&server, "bob", &bindings, bind("b", "more")).await.0, 403);
    assert_eq!(acting(&server, "bob", &bindings, bind("b", "same")).await.0, 201);
    let (code, answer) = acting(&server, "bob", &bindings, bind("c", "none")).await;
    let message = "rolebindings.rbac.authorization.k8s.io \"none\" not found";
    assert_eq!((code, answer["message"].as_str().unwrap()), (404, message));
    assert_eq!(acting(&server, "eve", &bindings, bind("d", "more")).await.0, 201, "`*` on roles holds `bind`");
}

#[tokio::test(start_paused = true)]
async fn reviews_answer_what_requests_would() {
    let server = server();
    grant(&server, "eve", "r", json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])).await;
    let place = json!({"namespace": "default", "verb": "get", "resource": "pods"});
    let access = "POST /apis/authorization.k8s.io/v1";
    let (_, answer) = admin(
        &server,
        &format!("{access}/subjectaccessreviews"),
        json!({"spec": {"user": "eve", "resourceAttributes": place}}),
    )
    .await;
    let reason = "RBAC: allowed by RoleBinding \"r/default\" of Role \"r\" to User \"eve\"";
    assert_eq!(answer["status"], json!({"allowed": true, "reason": reason}));
    let own = format!("{access}/selfsubjectaccessreviews");
    let (_, answer) = ask(&server, "eve-token", &own, json!({"spec": {"resourceAttributes": place}})).await;
    assert_eq!(answer["status"]["allowed"], true);
    let rules = format!("{access}/selfsubjectrulesreviews");
    let (_, answer) = ask(&server, "eve-token", &rules, json!({"spec": {"namespace": "default"}})).await;
    let found = answer["status"]["resourceRules"].as_array().unwrap();
    assert!(found.contains(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]})), "{answer}");
    let (code, _) = ask(&server, "eve-token", &format!("{access}/subjectaccessreviews"), json!({})).await;
    assert_eq!(code, 403, "asking about others is a right");
}

#[tokio::test(start_paused = true)]
async fn tokens_can_be_checked_by_others() {
    let server = server();
    let (_, found) = admin(&server, "GET /.well-known/openid-configuration", Value::Null).await;
    assert_eq!(found["issuer"], "https://kubernetes.default.svc.cluster.local");
    let (_, keys) = admin(&server, "GET /openid/v1/jwks", Value::Null).await;
    assert_eq!((keys["keys"].as_array().unwrap().len(), &keys["keys"][0]["crv"]), (1, &json!("Ed25519")));
}
