//! Garbage collection by owner references, and the end of namespaces.

use serde_json::{Value, json};

use super::rig::{CONFIG_MAPS, NAMESPACES, Rig, blocking, owner, settings};
use kueue_apiserver::Settings;

const NOBODY: &str = "11111111-1111-4111-8111-111111111111";

fn collecting() -> Rig {
    Rig::start(Settings { collects: true, ..settings() })
}

async fn delete(rig: &Rig, name: &str, policy: &str) -> Value {
    rig.must(&format!("DELETE {CONFIG_MAPS}/{name}"), json!({"propagationPolicy": policy})).await
}

async fn held(rig: &Rig, name: &str, owners: Value) -> String {
    let uid = rig.config_map(name, owners).await;
    let finalizers = json!({"metadata": {"finalizers": ["example.com/slow"]}});
    rig.must(&format!("PATCH {CONFIG_MAPS}/{name}"), finalizers).await;
    uid
}

async fn release(rig: &Rig, name: &str) {
    rig.must(&format!("PATCH {CONFIG_MAPS}/{name}"), json!({"metadata": {"finalizers": null}})).await;
    rig.settle().await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_collected_unless_asked_for() {
    let rig = Rig::start(settings());
    rig.config_map("lost", json!([owner("x", NOBODY)])).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "lost");
}

#[tokio::test(start_paused = true)]
async fn dependents_go_after_their_owner_down_to_the_last() {
    let rig = collecting();
    let a = rig.config_map("a", json!([])).await;
    let b = rig.config_map("b", json!([owner("a", &a)])).await;
    rig.config_map("c", json!([owner("b", &b)])).await;
    rig.config_map("d", json!([])).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "a b c d");
    delete(&rig, "a", "Background").await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "d");
}

#[tokio::test(start_paused = true)]
async fn one_owner_left_keeps_an_object_and_the_others_are_struck_off() {
    let rig = collecting();
    let (a, b) = (rig.config_map("a", json!([])).await, rig.config_map("b", json!([])).await);
    rig.config_map("c", json!([owner("a", &a), owner("b", &b)])).await;
    delete(&rig, "a", "Background").await;
    rig.settle().await;
    let kept = rig.get(&format!("{CONFIG_MAPS}/c")).await.unwrap();
    assert_eq!(kept["metadata"]["ownerReferences"], json!([owner("b", &b)]));
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_never_was_owns_nothing() {
    let rig = collecting();
    let real = rig.config_map("real", json!([])).await;
    rig.config_map("other-uid", json!([owner("real", NOBODY)])).await;
    rig.config_map("absent", json!([owner("nowhere", NOBODY)])).await;
    rig.config_map("fine", json!([owner("real", &real)])).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "fine real");
}

#[tokio::test(start_paused = true)]
async fn an_owner_is_looked_for_in_the_namespace_of_its_dependent() {
    let rig = collecting();
    rig.must(&format!("POST {NAMESPACES}"), json!({"metadata": {"name": "other"}})).await;
    let a = rig.config_map("a", json!([])).await;
    let object = json!({"metadata": {"name": "b", "ownerReferences": [owner("a", &a)]}});
    rig.must("POST /api/v1/namespaces/other/configmaps", object).await;
    // What has no namespace cannot belong to what has one: that is a mistake, and nothing is done about it.
    let cluster = json!({"metadata": {"name": "c", "ownerReferences": [owner("a", &a)]}});
    rig.must("POST /apis/rbac.authorization.k8s.io/v1/clusterroles", cluster).await;
    rig.settle().await;
    assert!(rig.get("/api/v1/namespaces/other/configmaps/b").await.is_none());
    delete(&rig, "a", "Background").await;
    rig.settle().await;
    assert!(rig.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/c").await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_owner_without_namespace_may_own_in_any() {
    let rig = collecting();
    let role =
        rig.must("POST /apis/rbac.authorization.k8s.io/v1/clusterroles", json!({"metadata": {"name": "r"}})).await;
    let reference = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "name": "r", "uid": role["metadata"]["uid"],
    });
    rig.config_map("a", json!([reference])).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "a");
    rig.must("DELETE /apis/rbac.authorization.k8s.io/v1/clusterroles/r", Value::Null).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "");
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_an_owner_waits_for_who_blocks_it() {
    let rig = collecting();
    let a = rig.config_map("a", json!([])).await;
    held(&rig, "blocks", json!([blocking("a", &a)])).await;
    held(&rig, "does-not", json!([owner("a", &a)])).await;
    let told = delete(&rig, "a", "Foreground").await;
    assert_eq!(told["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "a blocks does-not");
    for name in ["blocks", "does-not"] {
        let dependent = rig.get(&format!("{CONFIG_MAPS}/{name}")).await.unwrap();
        assert!(dependent["metadata"]["deletionTimestamp"].is_string(), "{name} is told to go");
    }
    release(&rig, "blocks").await;
    assert_eq!(rig.config_maps().await, "does-not");
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_dependents_wait_for_theirs() {
    let rig = collecting();
    let a = rig.config_map("a", json!([])).await;
    let b = rig.config_map("b", json!([blocking("a", &a)])).await;
    held(&rig, "c", json!([blocking("b", &b)])).await;
    delete(&rig, "a", "Foreground").await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "a b c");
    release(&rig, "c").await;
    assert_eq!(rig.config_maps().await, "");
}

#[tokio::test(start_paused = true)]
async fn a_circle_of_owners_goes_in_the_foreground_too() {
    let rig = collecting();
    let a = rig.config_map("a", json!([])).await;
    let b = rig.config_map("b", json!([blocking("a", &a)])).await;
    let refer = json!({"metadata": {"ownerReferences": [blocking("b", &b)]}});
    rig.must(&format!("PATCH {CONFIG_MAPS}/a"), refer).await;
    delete(&rig, "a", "Foreground").await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "");
}

#[tokio::test(start_paused = true)]
async fn orphans_stay_and_no_longer_name_their_owner() {
    let rig = collecting();
    let a = rig.config_map("a", json!([])).await;
    rig.config_map("b", json!([blocking("a", &a)])).await;
    delete(&rig, "a", "Orphan").await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "b");
    let orphan = rig.get(&format!("{CONFIG_MAPS}/b")).await.unwrap();
    assert_eq!(orphan["metadata"].get("ownerReferences"), None);
}

#[tokio::test(start_paused = true)]
async fn an_owner_of_an_unknown_kind_is_waited_for() {
    let rig = collecting();
    let reference = json!({"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": NOBODY});
    rig.config_map("a", json!([reference])).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "a");
    let crd = json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true,
                               "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    });
    rig.must("POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await;
    rig.settle().await;
    assert_eq!(rig.config_maps().await, "", "now the kind is known, and no such owner is there");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_goes_with_its_content_when_finalizers_let_it() {
    let rig = collecting();
    rig.must(&format!("POST {NAMESPACES}"), json!({"metadata": {"name": "x"}})).await;
    let content = format!("{NAMESPACES}/x/configmaps");
    rig.must(&format!("POST {content}"), json!({"metadata": {"name": "a"}})).await;
    rig.must(&format!("POST {content}"), json!({"metadata": {"name": "held", "finalizers": ["example.com/f"]}})).await;
    rig.must(&format!("DELETE {NAMESPACES}/x"), Value::Null).await;
    rig.settle().await;
    assert!(rig.get(&format!("{content}/a")).await.is_none());
    let namespace = rig.get(&format!("{NAMESPACES}/x")).await.unwrap();
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    let told: Vec<String> = conditions
        .iter()
        .map(|told| ["type", "status", "reason", "message"].map(|field| told[field].as_str().unwrap()).join(" | "))
        .collect();
    assert_eq!(
        told,
        [
            "NamespaceDeletionDiscoveryFailure | False | ResourcesDiscovered | All resources successfully discovered",
            "NamespaceDeletionGroupVersionParsingFailure | False | ParsedGroupVersions | All legacy kube types successfully parsed",
            "NamespaceDeletionContentFailure | False | ContentDeleted | All content successfully deleted, may be waiting on finalization",
            "NamespaceContentRemaining | True | SomeResourcesRemain | Some resources are remaining: configmaps. has 1 resource instances",
            "NamespaceFinalizersRemaining | True | SomeFinalizersRemain | Some content in the namespace has finalizers remaining: example.com/f in 1 resource instances",
        ]
    );
    rig.must(&format!("PATCH {content}/held"), json!({"metadata": {"finalizers": null}})).await;
    rig.settle().await;
    assert!(rig.get(&format!("{NAMESPACES}/x")).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_honours_finalizers_of_its_own() {
    let rig = collecting();
    let namespace = json!({"metadata": {"name": "x", "finalizers": ["example.com/f"]}});
    rig.must(&format!("POST {NAMESPACES}"), namespace).await;
    rig.must(&format!("DELETE {NAMESPACES}/x"), Value::Null).await;
    rig.settle().await;
    let kept = rig.get(&format!("{NAMESPACES}/x")).await.unwrap();
    assert_eq!(kept["spec"].get("finalizers"), None);
    rig.must(&format!("PATCH {NAMESPACES}/x"), json!({"metadata": {"finalizers": null}})).await;
    assert!(rig.get(&format!("{NAMESPACES}/x")).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_same_seed_collects_in_the_same_order() {
    let mut versions = Vec::new();
    for _ in 0..2 {
        let rig = collecting();
        let a = rig.config_map("a", json!([])).await;
        for name in ["b", "c", "d", "e"] {
            rig.config_map(name, json!([owner("a", &a)])).await;
        }
        delete(&rig, "a", "Background").await;
        rig.settle().await;
        versions.push((a, rig.get(CONFIG_MAPS).await.unwrap()));
    }
    assert_eq!(versions[0], versions[1]);
}
