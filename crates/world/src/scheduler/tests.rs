//! Decisions, told in lines.

use std::sync::Arc;

use kueue_runtime::key::Key;
use serde_json::{Value, json};

use super::ledger::{Decision, Ledger};
use crate::kinds::{Node, Pod};

fn node(ledger: &mut Ledger, name: &str, zone: &str, cpu: &str, more: Value) {
    let mut node: Node = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": {"zone": zone}},
        "status": {"allocatable": {"cpu": cpu, "pods": "10"}, "conditions": [{"type": "Ready", "status": "True"}]}}))
    .unwrap();
    node.spec = serde_json::from_value(more).unwrap();
    ledger.see_node(&name.into(), Some(Arc::new(node)));
}

fn pod(name: &str, cpu: &str, more: &Value) -> Arc<Pod> {
    let mut pod = json!({"metadata": {"name": name, "namespace": "n", "uid": name, "labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
    for (key, value) in more.as_object().unwrap() {
        pod["spec"][key] = value.clone();
    }
    Arc::new(serde_json::from_value(pod).unwrap())
}

fn submit(ledger: &mut Ledger, name: &str, cpu: &str, more: &Value) -> Arc<Pod> {
    let pod = pod(name, cpu, more);
    ledger.see_pod(&Key::new("n", name), None, Some(&pod));
    pod
}

/// What is decided until nothing is left.
fn decide(ledger: &mut Ledger) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(decision) = ledger.decide() {
        lines.push(match decision {
            Decision::Bind { key, node, .. } => format!("{} on {node}", key.name),
            Decision::Wait { key, why, .. } => format!("{}: {why}", key.name),
        });
    }
    lines
}

#[test]
fn pods_go_where_there_is_most_room() {
    let mut ledger = Ledger::default();
    node(&mut ledger, "a", "x", "4", json!({}));
    node(&mut ledger, "b", "x", "4", json!({}));
    submit(&mut ledger, "p1", "1", &json!({}));
    submit(&mut ledger, "p2", "1", &json!({}));
    submit(&mut ledger, "p3", "3", &json!({"priority": 5}));
    submit(&mut ledger, "p4", "4", &json!({}));
    let why = "p4: 0/2 nodes are available: 2 Insufficient cpu.";
    assert_eq!(decide(&mut ledger), ["p3 on a", "p1 on b", "p2 on b", why]);
}

#[test]
fn who_fits_nowhere_is_tried_again_when_somebody_goes() {
    let mut ledger = Ledger::default();
    node(&mut ledger, "a", "x", "1", json!({}));
    let first = submit(&mut ledger, "first", "1", &json!({}));
    let second = submit(&mut ledger, "second", "1", &json!({}));
    assert_eq!(decide(&mut ledger).len(), 2);
    // What we told the pod ourselves is no reason to look again.
    ledger.see_pod(&Key::new("n", "second"), Some(&second), Some(&second));
    assert!(decide(&mut ledger).is_empty());
    ledger.see_pod(&Key::new("n", "first"), Some(&first), None);
    assert_eq!(decide(&mut ledger), ["second on a"]);
}

#[test]
fn gates_and_other_schedulers_are_respected() {
    let mut ledger = Ledger::default();
    node(&mut ledger, "a", "x", "9", json!({}));
    let gated = submit(&mut ledger, "gated", "1", &json!({"schedulingGates": [{"name": "g"}]}));
    submit(&mut ledger, "other", "1", &json!({"schedulerName": "mine"}));
    assert!(decide(&mut ledger).is_empty());
    let free = pod("gated", "1", &json!({}));
    ledger.see_pod(&Key::new("n", "gated"), Some(&gated), Some(&free));
    assert_eq!(decide(&mut ledger), ["gated on a"]);
}

#[test]
fn refusals_are_told_and_counted() {
    let mut ledger = Ledger::default();
    node(&mut ledger, "a", "x", "9", json!({"unschedulable": true}));
    node(&mut ledger, "b", "x", "9", json!({"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]}));
    node(&mut ledger, "c", "x", "1", json!({}));
    submit(&mut ledger, "p", "2", &json!({}));
    let why = "p: 0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {gpu: yes}, 1 node(s) were unschedulable.";
    assert_eq!(decide(&mut ledger), [why]);
    submit(&mut ledger, "q", "2", &json!({"tolerations": [{"key": "gpu", "operator": "Exists"}]}));
    submit(&mut ledger, "r", "1", &json!({"nodeSelector": {"zone": "y"}}));
    let told = decide(&mut ledger);
    assert_eq!(told[0], "q on b");
    assert!(told[1].starts_with("r: 0/3 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, "));
}

#[test]
fn affinity_to_nodes_is_required_or_preferred() {
    let term = |zone: &str| json!({"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]});
    let mut ledger = Ledger::default();
    node(&mut ledger, "a", "x", "9", json!({}));
    node(&mut ledger, "b", "y", "2", json!({}));
    let required = json!({"nodeSelectorTerms": [term("y")]});
    let required = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}});
    submit(&mut ledger, "must", "1", &json!({"affinity": required}));
    let preferred = json!([{"weight": 10, "preference": term("y")}]);
    let preferred = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}});
    submit(&mut ledger, "would", "1", &json!({"affinity": preferred}));
    submit(&mut ledger, "would-too", "1", &json!({"affinity": preferred}));
    assert_eq!(decide(&mut ledger), ["must on b", "would on b", "would-too on a"]);
}

#[test]
fn pods_keep_together_apart_or_evenly_spread() {
    let near = |key: &str| json!({"topologyKey": key, "labelSelector": {"matchLabels": {"app": "a"}}});
    let with = |kind: &str, key: &str| json!({"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [near(key)]}}});
    let nodes = |ledger: &mut Ledger| {
        node(ledger, "a", "x", "9", json!({}));
        node(ledger, "b", "x", "9", json!({}));
        node(ledger, "c", "y", "9", json!({}));
    };
    let mut ledger = Ledger::default();
    nodes(&mut ledger);
    for name in ["p1", "p2", "p3"] {
        submit(&mut ledger, name, "1", &with("podAntiAffinity", "zone"));
    }
    let why = "p3: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.";
    assert_eq!(decide(&mut ledger), ["p1 on a", "p2 on c", why]);
    submit(&mut ledger, "plain", "1", &json!({}));
    assert!(decide(&mut ledger)[0].starts_with("plain: 0/3"), "those that run keep others away too");

    let mut ledger = Ledger::default();
    nodes(&mut ledger);
    for name in ["p1", "p2", "p3"] {
        submit(&mut ledger, name, "1", &with("podAffinity", "zone"));
    }
    assert_eq!(decide(&mut ledger), ["p1 on a", "p2 on b", "p3 on a"]);

    let mut ledger = Ledger::default();
    nodes(&mut ledger);
    let spread = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}}});
    for name in ["p1", "p2", "p3", "p4"] {
        submit(&mut ledger, name, "1", &json!({"topologySpreadConstraints": [spread]}));
    }
    assert_eq!(decide(&mut ledger), ["p1 on a", "p2 on c", "p3 on b", "p4 on c"]);
}

#[test]
fn a_binding_that_failed_is_taken_back() {
    let mut ledger = Ledger::default();
    node(&mut ledger, "a", "x", "1", json!({}));
    let pod = submit(&mut ledger, "p", "1", &json!({}));
    assert_eq!(decide(&mut ledger), ["p on a"]);
    // An old event does not undo what is under way.
    ledger.see_pod(&Key::new("n", "p"), Some(&pod), Some(&pod));
    assert!(decide(&mut ledger).is_empty());
    ledger.take_back(&Key::new("n", "p"), Some(&pod));
    assert_eq!(decide(&mut ledger), ["p on a"]);
}
