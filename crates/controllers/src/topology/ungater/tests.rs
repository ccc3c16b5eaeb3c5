//! Pods as words: `a#0` is gated with rank 0, `b=x1` was let go to the node x1, and `=>` says where the others go.

use super::*;
use serde_json::json;

struct Story {
    request: serde_json::Value,
    /// Nodes and how many pods go there.
    nodes: Vec<(&'static str, i32)>,
    failed: &'static [&'static str],
}

fn ranked() -> Story {
    Story { request: json!({"podIndexLabel": "index"}), nodes: vec![("x1", 1), ("x2", 2)], failed: &[] }
}

impl Story {
    fn workload(&self) -> Workload {
        let names: Vec<&str> = self.nodes.iter().map(|(node, _)| *node).collect();
        let counts: Vec<i32> = self.nodes.iter().map(|(_, count)| *count).collect();
        let all = counts.iter().fold(0_i32, |sum, count| sum.saturating_add(*count));
        let failed: Vec<_> = self.failed.iter().map(|name| json!({"name": name})).collect();
        serde_json::from_value(json!({
            "metadata": {"namespace": "ns", "name": "wl"},
            "spec": {"podSets": [{"name": "main", "count": all,
                "topologyRequest": self.request, "template": {"spec": {"containers": []}}}]},
            "status": {
                "conditions": [{"type": "Admitted", "status": "True", "reason": "Admitted", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z"}],
                "unhealthyNodes": failed,
                "admission": {"clusterQueue": "cq", "podSetAssignments": [{
                    "name": "main", "count": all,
                    "topologyAssignment": {"levels": ["kubernetes.io/hostname"], "slices": [{
                        "domainCount": names.len(), "podCounts": {"individual": counts},
                        "valuesPerLevel": [{"individual": {"roots": names}}]}]}}]},
            },
        }))
        .unwrap()
    }

    fn play(&self, pods: &str) -> Result<String, BadOffset> {
        let pods: Vec<Pod> = pods.split_whitespace().map(pod).collect();
        let pods: Vec<&Pod> = pods.iter().collect();
        let starts = pods_to_start(&self.workload(), &pods)?;
        let shown =
            starts.iter().map(|start| format!("{}:{}", start.pod.metadata.name, start.node_labels[HOSTNAME_LABEL]));
        Ok(shown.collect::<Vec<_>>().join(" "))
    }
}

fn pod(word: &str) -> Pod {
    let (word, offset) = word.split_once('+').map_or((word, None), |(word, offset)| (word, Some(offset)));
    let (word, node) = word.split_once('=').map_or((word, None), |(word, node)| (word, Some(node)));
    let (name, index) = word.split_once('#').map_or((word, None), |(name, index)| (name, Some(index)));
    let mut pod = json!({
        "metadata": {"namespace": "ns", "name": name, "uid": name, "labels": {"kueue.x-k8s.io/podset": "main"}},
        "spec": {"containers": []},
    });
    if let Some(index) = index {
        pod["metadata"]["labels"]["index"] = json!(index);
    }
    if let Some(offset) = offset {
        pod["metadata"]["annotations"] = json!({"kueue.x-k8s.io/pod-index-offset": offset});
    }
    match node {
        Some(node) => pod["spec"]["nodeSelector"] = json!({HOSTNAME_LABEL: node}),
        None => pod["spec"]["schedulingGates"] = json!([{"name": SCHEDULING_GATE_TOPOLOGY}]),
    }
    serde_json::from_value(pod).unwrap()
}

#[test]
fn ranks_say_which_pod_goes_where() {
    assert_eq!(ranked().play("a#2 b#0 c#1").as_deref(), Ok("b:x1 c:x2 a:x2"));
    assert_eq!(ranked().play("a#2 b#0=x1").as_deref(), Ok("a:x2"), "those that went are where their ranks say");
    assert_eq!(ranked().play("a#12+10 b#10").as_deref(), Ok("b:x1 a:x2"), "ranks may begin higher");
}

#[test]
fn ranks_that_cannot_be_trusted_do_not_count() {
    let as_they_come = Ok("a:x1 b:x2");
    for pods in ["a b#0", "a#0 b#0", "a#7 b#0", "a#no b#0", "a#-1 b#0"] {
        assert_eq!(ranked().play(pods).as_deref(), as_they_come, "{pods}");
    }
    assert_eq!(ranked().play("a#0=x2 b#1").as_deref(), Ok("b:x1"), "one runs elsewhere than its rank says");
    let more_pods_than_places = Story { nodes: vec![("x1", 1)], ..ranked() };
    assert_eq!(more_pods_than_places.play("a#0 b#1").as_deref(), Ok("a:x1"));
}

#[test]
fn without_ranks_domains_are_filled_one_after_the_other() {
    let story = Story { request: json!({}), ..ranked() };
    assert_eq!(story.play("a b c d").as_deref(), Ok("a:x1 b:x2 c:x2"), "nobody goes where there is no place left");
    assert_eq!(story.play("a=x2 b c").as_deref(), Ok("b:x1 c:x2"));
}

#[test]
fn nobody_is_sent_to_a_node_that_failed() {
    let story = Story { failed: &["x2"], ..ranked() };
    assert_eq!(story.play("a#0 b#1 c#2").as_deref(), Ok("a:x1"));
}

#[test]
fn an_offset_that_is_no_number_is_told() {
    let bad = ranked().play("a#0+some").unwrap_err();
    assert_eq!(bad.to_string(), "failed to parse offset annotation: \"some\" of pod ns/a is no number");
}

#[test]
fn a_count_beyond_all_bounds_is_only_a_count() {
    let story = Story { nodes: vec![("x1", i32::MAX), ("x2", i32::MAX)], request: json!({}), failed: &[] };
    assert_eq!(story.play("a b").as_deref(), Ok("a:x1 b:x1"));
}

#[test]
fn a_pod_that_goes_loses_its_gate_and_keeps_the_rest() {
    let mut pod = pod("a#0");
    pod.spec.node_selector.insert("pool".to_owned(), "blue".to_owned());
    let start = Start { pod: &pod, node_labels: BTreeMap::from([(HOSTNAME_LABEL.to_owned(), "x1".to_owned())]) };
    let started = started(&start);
    assert!(!is_gated(&started));
    assert_eq!(json!(started.spec.node_selector), json!({"pool": "blue", HOSTNAME_LABEL: "x1"}));
}

#[test]
fn who_was_let_go_is_waited_for() {
    let (expected, key) = (Expected::default(), Key::new("ns", "wl"));
    let (gated, gone) = (pod("a"), pod("a=x1"));
    expected.expect(&key, ["a"]);
    assert!(!expected.is_fulfilled(&key, &[&gated]));
    assert!(expected.is_fulfilled(&key, &[&gone]));
    expected.expect(&key, ["a"]);
    assert!(expected.is_fulfilled(&key, &[]), "a pod that is gone is not waited for");
}
