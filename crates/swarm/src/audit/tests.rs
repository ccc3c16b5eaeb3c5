use std::sync::Arc;

use kueue_apiserver::store::{Key, Store};
use serde_json::json;

use super::*;

/// A store whose changes are audited one by one.
struct Watched {
    store: Store,
    news: tokio::sync::mpsc::UnboundedReceiver<News>,
    audit: Audit,
}

impl Watched {
    fn new() -> Self {
        let store = Store::default();
        let news = store.follow();
        Self { store, news, audit: Audit::new(false) }
    }

    fn write(&mut self, collection: &str, name: &str, mut object: Value) {
        object["metadata"]["name"] = name.into();
        let (key, object) = (Key::new("", name), kueue_apiserver::json::Value::from(object));
        let written = match self.store.get(collection, &key) {
            Some(old) => self.store.update(collection, key, &old, object),
            None => self.store.create(collection, key, object),
        };
        drop::<Arc<_>>(written.unwrap());
        while let Ok(news) = self.news.try_recv() {
            self.audit.hear(&news);
        }
    }

    fn queue(&mut self, name: &str, cohort: &str, cpu: &Value) {
        let flavors = json!([{"name": "f", "resources": [cpu]}]);
        self.write(
            CLUSTER_QUEUES,
            name,
            json!({"spec": {"cohortName": cohort, "resourceGroups": [{"flavors": flavors}]}}),
        );
    }

    /// A job waits, and its Workload is admitted.
    fn admit(&mut self, name: &str, queue: &str, pods: u32, cpu: &str) {
        self.job(name, pods, true);
        let conditions = ["QuotaReserved", "Admitted"].map(|kind| json!({"type": kind, "status": "True"}));
        self.write(
            WORKLOADS,
            name,
            json!({
                "metadata": {"ownerReferences": [{"uid": format!("uid-of-{name}")}]},
                "status": {"conditions": conditions, "admission": {"clusterQueue": queue, "podSetAssignments": [
                    {"name": "main", "count": pods, "flavors": {"cpu": "f"}, "resourceUsage": {"cpu": cpu}}]}}}),
        );
    }

    /// The job of a Workload, stopped or not.
    fn job(&mut self, name: &str, pods: u32, is_stopped: bool) {
        let spec = json!({"suspend": is_stopped, "parallelism": pods, "template": {}});
        self.write(JOBS, name, json!({"metadata": {"uid": format!("uid-of-{name}")}, "spec": spec}));
    }

    fn rule(&self) -> &'static str {
        self.audit.problem().map_or("", |problem| problem.rule)
    }
}

fn cpu(nominal: u32) -> Value {
    json!({"name": "cpu", "nominalQuota": nominal})
}

#[tokio::test]
async fn a_queue_alone_gives_what_it_has() {
    let mut watched = Watched::new();
    watched.queue("a", "", &cpu(3));
    watched.admit("one", "a", 2, "2");
    watched.admit("two", "a", 1, "1");
    assert_eq!(watched.rule(), "");
    watched.admit("three", "a", 1, "1m");
    assert_eq!(watched.rule(), "quota over-committed");
}

#[tokio::test]
async fn a_job_that_ended_gives_back_what_its_workload_still_claims() {
    let mut watched = Watched::new();
    watched.queue("a", "", &cpu(3));
    watched.admit("one", "a", 3, "3");
    let status = json!({"conditions": [{"type": "Complete", "status": "True"}]});
    let spec = json!({"suspend": false, "parallelism": 3, "template": {}});
    watched.write(JOBS, "one", json!({"metadata": {"uid": "uid-of-one"}, "spec": spec, "status": status}));
    watched.admit("two", "a", 3, "3");
    assert_eq!(watched.rule(), "");
}

#[tokio::test]
async fn a_workload_gives_its_quota_back_when_its_job_has_stopped() {
    for (is_stopped, rule) in [(true, ""), (false, "runs without quota")] {
        let mut watched = Watched::new();
        watched.queue("a", "", &cpu(3));
        watched.admit("one", "a", 3, "3");
        watched.job("one", 3, false);
        watched.job("one", 3, is_stopped);
        let owners = json!([{"uid": "uid-of-one"}]);
        watched.write(WORKLOADS, "one", json!({"metadata": {"ownerReferences": owners}, "status": {}}));
        assert_eq!(watched.rule(), rule);
    }
}

#[tokio::test]
async fn a_workload_that_is_deactivated_has_nothing() {
    let mut watched = Watched::new();
    watched.queue("a", "", &cpu(3));
    watched.admit("one", "a", 3, "3");
    let key = Key::new("", "one");
    let mut one = watched.store.get(WORKLOADS, &key).map(|object| Value::from(&object.value)).unwrap();
    one["spec"]["active"] = false.into();
    watched.write(WORKLOADS, "one", one);
    watched.admit("two", "a", 3, "3");
    assert_eq!(watched.rule(), "");
}

#[tokio::test]
async fn a_cohort_gives_what_all_have_within_their_limits() {
    for (cpu_of_a, cpu_of_b, admitted, rule) in [
        (cpu(2), cpu(2), "4", ""),
        (cpu(2), cpu(2), "5", "quota over-committed"),
        (json!({"name": "cpu", "nominalQuota": 2, "borrowingLimit": 1}), cpu(2), "3", ""),
        (json!({"name": "cpu", "nominalQuota": 2, "borrowingLimit": 1}), cpu(2), "4", "quota over-committed"),
        (cpu(2), json!({"name": "cpu", "nominalQuota": 2, "lendingLimit": 1}), "4", "quota over-committed"),
    ] {
        let mut watched = Watched::new();
        watched.queue("a", "all", &cpu_of_a);
        watched.queue("b", "all", &cpu_of_b);
        watched.admit("one", "a", 1, admitted);
        assert_eq!(watched.rule(), rule, "{cpu_of_a} {cpu_of_b} {admitted}");
    }
}

#[tokio::test]
async fn a_job_starts_with_what_was_admitted() {
    for (pods, is_admitted, rule) in
        [(2, true, ""), (3, true, "started without admission"), (2, false, "started without admission")]
    {
        let mut watched = Watched::new();
        watched.queue("a", "", &cpu(9));
        if is_admitted {
            watched.admit("job", "a", 2, "2");
        }
        watched.job("job", pods, true);
        assert_eq!(watched.rule(), "");
        watched.job("job", pods, false);
        assert_eq!(watched.rule(), rule);
    }
}

#[tokio::test]
async fn a_pod_loses_its_gate_when_its_group_is_admitted() {
    for (is_admitted, rule) in [(true, ""), (false, "started without admission")] {
        let mut watched = Watched::new();
        watched.queue("a", "", &cpu(9));
        if is_admitted {
            watched.admit("group", "a", 2, "2");
        }
        let labels = json!({"kueue.x-k8s.io/pod-group-name": "group"});
        let gates = json!([{"name": "kueue.x-k8s.io/admission"}]);
        watched.write(PODS, "pod", json!({"metadata": {"labels": labels}, "spec": {"schedulingGates": gates}}));
        assert_eq!(watched.rule(), "");
        watched.write(PODS, "pod", json!({"metadata": {"labels": labels}, "spec": {}}));
        assert_eq!(watched.rule(), rule);
    }
}

#[tokio::test]
async fn only_the_leader_writes() {
    let Watched { store, audit, .. } = Watched::new();
    assert_eq!(holder(&store), None);
    let key = Key::new(LEASE.0, LEASE.1);
    let lease = json!({"metadata": {}, "spec": {"holderIdentity": "one"}});
    drop(store.create(LEASES, key, kueue_apiserver::json::Value::from(lease)));
    let leader = holder(&store);
    audit.arrives(leader.as_deref(), "one", &Method::PATCH, "/api/v1/pods/p");
    audit.arrives(leader.as_deref(), "two", &Method::GET, "/api/v1/pods/p");
    assert_eq!(audit.problem(), None);
    audit.arrives(leader.as_deref(), "two", &Method::PATCH, "/api/v1/pods/p");
    assert_eq!(audit.problem().map_or("", |problem| problem.rule), "written by a non-leader");
}

#[tokio::test]
async fn a_write_that_changes_nothing_is_for_those_who_did_not_learn_what_became_of_it() {
    let (watched, path) = (Watched::new(), "/api/v1/pods/p");
    drop(watched.audit.asks(&Method::PATCH, path));
    watched.audit.changed_nothing("one", &Method::PATCH, path);
    watched.audit.asks(&Method::PATCH, "/api/v1/pods/q").is_answered();
    assert_eq!(watched.rule(), "");
    watched.audit.changed_nothing("one", &Method::PATCH, "/api/v1/pods/q");
    assert_eq!(watched.rule(), "write that changes nothing");
}

#[tokio::test(start_paused = true)]
async fn what_is_done_of_a_job_needs_no_quota_again() {
    for (done, is_fine) in [(1, true), (0, false)] {
        let mut watched = Watched::new();
        watched.queue("q", "", &json!({"name": "cpu", "nominalQuota": "4"}));
        watched.admit("j", "q", 1, "1");
        let spec = json!({"suspend": false, "parallelism": 2, "completions": 2, "template": {}});
        let metadata = json!({"uid": "uid-of-j"});
        watched.write(JOBS, "j", json!({"metadata": metadata, "spec": spec, "status": {"succeeded": done}}));
        assert_eq!(watched.audit.problem().is_none(), is_fine, "{done}");
    }
}
