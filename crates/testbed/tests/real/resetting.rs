//! A control plane is clean again within a second.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use kueue_testbed::Bed;
use kueue_testbed::http::Request;
use serde_json::{Value, json};

#[test]
fn a_reset_deletes_what_a_test_made_finalizers_or_not() {
    let _alone = crate::ALONE.write().unwrap_or_else(PoisonError::into_inner);
    let plane = crate::plane();
    let before = plane.snapshot().unwrap();
    let post =
        |path: &str, body: Value| plane.send(&Request::post(path, body)).unwrap().success("cannot create").unwrap();

    post("/api/v1/namespaces", json!({"metadata": {"name": "messy"}}));
    for number in 0..20 {
        let meta = json!({"name": format!("thing-{number}"), "finalizers": ["test.example.com/keep"]});
        post("/api/v1/namespaces/messy/configmaps", json!({"metadata": meta}));
    }
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job =
        json!({"metadata": {"name": "job"}, "spec": {"parallelism": 10, "completions": 10, "template": template}});
    // The account comes a moment after the namespace; the Job's pods need it, and the controller tries again only later.
    let account = "/api/v1/namespaces/messy/serviceaccounts/default";
    wait(|| plane.send(&Request::get(account)).unwrap().is_success());
    post("/apis/batch/v1/namespaces/messy/jobs", job);
    post("/apis/rbac.authorization.k8s.io/v1/clusterroles", json!({"metadata": {"name": "messy"}, "rules": []}));
    let count = |path: &str| {
        let list = plane.send(&Request::get(path)).unwrap().success("cannot list").unwrap();
        list["items"].as_array().map_or(0, Vec::len)
    };
    wait(|| count("/api/v1/namespaces/messy/pods?fieldSelector=status.phase%3DRunning") == 10);

    let begin = Instant::now();
    let deleted = plane.reset(&before).unwrap();
    let took = begin.elapsed();
    eprintln!("reset of {deleted} objects took {took:?}");
    assert!(deleted > 30, "only {deleted} deleted");
    // It takes 0.7 s on two cores with a load of 15; the limit leaves room for worse.
    assert!(took < Duration::from_secs(4), "{took:?}");
    for path in ["/api/v1/pods", "/apis/batch/v1/jobs"] {
        wait(|| count(path) == 0);
    }
    let role = plane.send(&Request::get("/apis/rbac.authorization.k8s.io/v1/clusterroles/messy")).unwrap();
    assert_eq!(role.status, 404);
    assert_eq!(count("/api/v1/nodes"), 1, "what was there before stays");
    wait(|| count("/api/v1/namespaces/messy/configmaps") == 0);
}

/// Waits for what controllers do.
fn wait(is_so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(30), "in vain");
        crate::plane().pass(Duration::from_millis(50));
    }
}
