//! What a scrape shows of an engine, and of what happened to Workloads.

use std::collections::BTreeMap;

use kueue_api::config::v1beta2::Metrics as Configured;
use kueue_api::kueue::v1beta2::{ClusterQueue, Cohort, LocalQueue, ResourceFlavor, Workload};
use kueue_api::limit_range::Summary;
use kueue_api::meta::ObjectMeta;
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;
use kueue_engine::{Change, Engine, Settings};
use kueue_metrics::{Build, Event, LocalQueueState, Lookup, Metrics, Role, Subject, gauges};
use kueue_translate::{MetricLabels, ResourceRules, Surroundings};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("an object of that kind")
}

fn now() -> Time {
    "2026-01-01T00:00:10Z".parse().expect("a time")
}

/// Every queue belongs to team `a`.
struct TeamA;

impl Lookup for TeamA {
    fn find(&self, subject: &Subject) -> Option<ObjectMeta> {
        let labels = [("team".to_owned(), "a".to_owned())].into();
        (*subject != Subject::LocalQueue("ns".into(), "hidden".into()))
            .then(|| ObjectMeta { labels, ..ObjectMeta::default() })
    }
}

fn workload(name: &str, cpu: &str) -> Workload {
    let template = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]}});
    object(json!({
        "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"queueName": "lq", "podSets": [{"name": "main", "count": 1, "template": template}]}}))
}

/// Two CPUs in a queue below cohort `team`, below `org`; one workload of one CPU holds quota, a larger one waits.
fn engine(gates: Gates) -> Engine {
    let mut engine = Engine::new(Settings { gates, ..Settings::default() });
    let flavors = json!([{"name": "blue", "resources": [{"name": "cpu", "nominalQuota": "2"}]}]);
    let groups = json!([{"coveredResources": ["cpu"], "flavors": flavors}]);
    let queue: ClusterQueue = object(json!({"metadata": {"name": "cq"}, "spec": {
        "cohortName": "team", "namespaceSelector": {}, "resourceGroups": groups}}));
    let cohort: Cohort = object(json!({"metadata": {"name": "team"}, "spec": {"parentName": "org"}}));
    let flavor: ResourceFlavor = object(json!({"metadata": {"name": "blue"}, "spec": {}}));
    let local: LocalQueue =
        object(json!({"metadata": {"name": "lq", "namespace": "ns"}, "spec": {"clusterQueue": "cq"}}));
    let rules = ResourceRules::default();
    let around = Surroundings {
        resources: &rules,
        limits: &Summary::default(),
        metric_labels: &MetricLabels::default(),
        overheads: &BTreeMap::new(),
    };
    for change in [
        Change::Namespace { name: "ns".into(), labels: BTreeMap::new() },
        kueue_translate::flavor(&flavor),
        kueue_translate::cohort(&cohort),
        kueue_translate::cluster_queue(&queue),
        kueue_translate::local_queue(&local),
        kueue_translate::workload(&workload("first", "1"), &around),
        kueue_translate::workload(&workload("second", "2"), &around),
    ] {
        engine.apply(change, now());
    }
    for _ in 0..3 {
        engine.settle(now());
        engine.cycle(now());
    }
    engine
}

fn metrics(configured: Value, gates: Gates) -> Metrics {
    let configured: Configured = object(configured);
    let build = Build { version: "v1".to_owned(), ..Build::default() };
    Metrics::new(&configured, true, gates, Box::new(TeamA), build)
}

/// The lines of a scrape whose names begin like that, without the common prefix.
fn lines(text: &str, prefix: &str) -> String {
    let lines = text.lines().filter_map(|line| line.strip_prefix("kueue_"));
    let lines: Vec<&str> = lines.filter(|line| line.starts_with(prefix)).collect();
    lines.join("\n")
}

fn scrape(metrics: &Metrics, gates: Gates) -> String {
    let local = LocalQueueState {
        namespace: "ns".into(),
        name: "lq".into(),
        cluster_queue: "cq".into(),
        active: "True".into(),
        finished: 3,
    };
    let finished = BTreeMap::from([("cq".into(), 3)]);
    metrics.text(&gauges(&engine(gates), metrics.shown(), &[local], &finished), Vec::new())
}

#[test]
fn gauges_show_what_is_so() {
    let gates = Gates::default();
    let metrics = metrics(json!({"enableClusterQueueResources": true}), gates);
    let text = scrape(&metrics, gates);
    for (prefix, expected) in [
        (
            "pending_workloads",
            "pending_workloads{cluster_queue=\"cq\",replica_role=\"standalone\",status=\"active\"} 0\npending_workloads{cluster_queue=\"cq\",replica_role=\"standalone\",status=\"inadmissible\"} 1",
        ),
        ("reserving_active", "reserving_active_workloads{cluster_queue=\"cq\",replica_role=\"standalone\"} 1"),
        ("finished_workloads{", "finished_workloads{cluster_queue=\"cq\",replica_role=\"standalone\"} 3"),
        (
            "cluster_queue_resource_reservation",
            "cluster_queue_resource_reservation{cluster_queue=\"cq\",cohort=\"team\",flavor=\"blue\",replica_role=\"standalone\",resource=\"cpu\"} 1",
        ),
        (
            "cluster_queue_borrowing_limit",
            "cluster_queue_borrowing_limit{cluster_queue=\"cq\",cohort=\"team\",flavor=\"blue\",replica_role=\"standalone\",resource=\"cpu\"} +Inf",
        ),
        (
            "cluster_queue_resource_pending",
            "cluster_queue_resource_pending{cluster_queue=\"cq\",replica_role=\"standalone\",resource=\"cpu\"} 2",
        ),
        (
            "cluster_queue_info",
            "cluster_queue_info{cluster_queue=\"cq\",parent_cohort=\"team\",replica_role=\"standalone\",root_cohort=\"org\"} 1",
        ),
        (
            "cohort_subtree_resource",
            "cohort_subtree_resource_reservations{cohort=\"org\",flavor=\"blue\",replica_role=\"standalone\",resource=\"cpu\"} 1\ncohort_subtree_resource_reservations{cohort=\"team\",flavor=\"blue\",replica_role=\"standalone\",resource=\"cpu\"} 1",
        ),
        (
            "build_info",
            "build_info{build_date=\"\",compiler=\"\",git_commit=\"\",git_version=\"v1\",go_version=\"\",platform=\"\"} 1",
        ),
        (
            "unadmitted",
            "unadmitted_workloads{cluster_queue=\"cq\",reason=\"NoReservation\",replica_role=\"standalone\",underlying_cause=\"WaitingForQuota\"} 1",
        ),
    ] {
        assert_eq!(lines(&text, prefix), expected, "{text}");
    }
    let active = lines(&text, "local_queue_status");
    assert!(active.contains("active=\"True\",name=\"lq\",namespace=\"ns\",replica_role=\"standalone\"} 1"), "{active}");
    let status = lines(&text, "cluster_queue_status");
    assert!(status.contains("status=\"active\"} 1") && status.contains("status=\"pending\"} 0"), "{status}");
}

#[test]
fn what_is_switched_off_is_not_shown() {
    let gates = Gates::default().with(Gate::LocalQueueMetrics, false).with(Gate::MetricsForCohorts, false);
    let text = scrape(&metrics(json!({}), gates), gates);
    for prefix in ["local_queue", "cohort", "cluster_queue_nominal", "cluster_queue_info"] {
        assert_eq!(lines(&text, prefix), "");
    }
}

#[test]
fn what_happens_is_counted_for_the_queue_and_its_cohorts() {
    let gates = Gates::default().with(Gate::CustomMetricLabels, true);
    let labels = json!([{"name": "team"}, {"name": "team", "sourceKind": "LocalQueue"}]);
    let metrics = metrics(json!({"customLabels": labels}), gates);
    metrics.set_role(Role::Leader);
    let mut workload = workload("w", "1");
    workload.spec.priority_class_ref = Some(object(json!({"group": "g", "kind": "k", "name": "high"})));
    workload.status.admission = Some(object(json!({"clusterQueue": "cq", "podSetAssignments": []})));
    let events = [Event::Reserved { queued_for: 3.0 }, Event::Admitted { queued_for: 3.0, checks_took: None }];
    metrics.record(&workload, &events, |queue| vec![queue.into(), "org".into()]);
    metrics.preempted("cq", "InClusterQueue");
    let text = metrics.text(&[], Vec::new());
    let expected = "admitted_workloads_total{cluster_queue=\"cq\",custom_team=\"a\",priority_class=\"high\",replica_role=\"leader\"} 1";
    assert_eq!(lines(&text, "admitted_workloads_total"), expected);
    let local = lines(&text, "local_queue_quota_reserved_workloads_total");
    assert_eq!(
        local,
        "local_queue_quota_reserved_workloads_total{custom_team=\"a\",name=\"lq\",namespace=\"ns\",priority_class=\"high\",replica_role=\"leader\"} 1"
    );
    assert_eq!(lines(&text, "cohort_subtree_admitted_workloads_total").lines().count(), 2);
    let waits = lines(&text, "admission_wait_time_seconds_bucket");
    assert!(waits.contains("le=\"2.5\"} 0") && waits.contains("le=\"5\"} 1"), "{waits}");
    assert_eq!(lines(&text, "admission_checks_wait"), "");
    assert!(lines(&text, "preempted").ends_with(" 1"), "{text}");
}

#[test]
fn local_queues_are_counted_as_selected() {
    let selector = json!({"matchLabels": {"team": "a"}});
    let metrics =
        metrics(json!({"localQueueMetrics": {"enable": true, "localQueueSelector": selector}}), Gates::default());
    assert!(metrics.shows_local_queue(&"ns".into(), &"lq".into()));
    assert!(!metrics.shows_local_queue(&"ns".into(), &"hidden".into()), "it does not exist");
}
