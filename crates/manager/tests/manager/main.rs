//! The whole manager on the embedded API server, in one process and under virtual time.

mod bed;
mod failure_recovery;
mod placement;
mod pods;
mod provisioning;
mod replicas;
mod scenarios;
mod trouble;
mod webhooks;

use bed::Bed;
use serde_json::json;

#[tokio::test(start_paused = true)]
async fn a_job_goes_from_submission_to_its_end() {
    let bed = Bed::with_queue("2").await;
    bed.submit("first", 2, "1").await;
    let workload = bed.workload_of("first").await;
    assert_eq!(workload["metadata"]["ownerReferences"][0]["kind"], "Job");
    assert!(workload["metadata"]["name"].as_str().unwrap().starts_with("job-first-"));
    assert_eq!(bed.condition("first", "QuotaReserved").await, "True QuotaReserved: Quota reserved in ClusterQueue cq");
    assert_eq!(bed.condition("first", "Admitted").await, "True Admitted: The workload is admitted");
    let job = bed.job("first").await;
    assert_eq!(job["spec"]["suspend"], false);
    assert_eq!(job["spec"]["template"]["spec"]["nodeSelector"], json!({"pool": "blue"}));
    bed.end("first", "Complete").await;
    assert_eq!(bed.condition("first", "Finished").await, "True Succeeded: Job finished");
    assert_eq!(bed.workload_of("first").await["metadata"]["finalizers"], json!(null), "nothing holds it any more");
}

#[tokio::test(start_paused = true)]
async fn a_job_over_quota_waits_and_starts_when_there_is_room() {
    let bed = Bed::with_queue("3").await;
    bed.submit("first", 2, "1").await;
    bed.submit("second", 2, "1").await;
    let waits = "False WaitingForQuota: couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor blue, 1 more needed";
    assert_eq!(bed.condition("second", "QuotaReserved").await, waits);
    assert_eq!(bed.job("second").await["spec"]["suspend"], true);
    bed.end("first", "Complete").await;
    assert_eq!(bed.job("second").await["spec"]["suspend"], false);
    assert_eq!(bed.condition("second", "Admitted").await, "True Admitted: The workload is admitted");
}

#[tokio::test(start_paused = true)]
async fn queues_show_what_is_used_and_who_waits() {
    let bed = Bed::with_queue("3").await;
    bed.submit("first", 2, "1").await;
    bed.submit("second", 2, "1").await;
    bed.pass(5).await;
    let queue = bed.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq").await;
    let status = &queue["status"];
    assert_eq!((&status["pendingWorkloads"], &status["admittedWorkloads"]), (&json!(1), &json!(1)));
    let usage = json!([{"name": "blue", "resources": [{"name": "cpu", "total": "2", "borrowed": "0"}]}]);
    assert_eq!(status["flavorsUsage"], usage);
    assert_eq!(status["conditions"][0]["message"], "Can admit new workloads");
    let queue = bed.get("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/lq").await;
    assert_eq!(queue["status"]["pendingWorkloads"], 1);
    assert_eq!(queue["status"]["conditions"][0]["message"], "Can submit new workloads to localQueue");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_nothing_happens() {
    let bed = Bed::with_queue("3").await;
    bed.submit("first", 2, "1").await;
    bed.submit("second", 2, "1").await;
    bed.pass(10).await;
    bed.run_pods("first", 2).await;
    let before = bed.writes();
    bed.pass(3 * 3600).await;
    assert_eq!(bed.writes(), before);
}

#[tokio::test(start_paused = true)]
async fn a_higher_priority_takes_the_place_of_a_lower_one() {
    let bed = Bed::with_queue("2").await;
    bed.create(
        "/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses",
        &json!({
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"}, "value": 100}),
    )
    .await;
    bed.submit("low", 2, "1").await;
    bed.run_pods("low", 2).await;
    bed.submit_labelled("high", 2, "1", json!({"kueue.x-k8s.io/priority-class": "high"})).await;
    assert_eq!(bed.job("low").await["spec"]["suspend"], true, "{}", bed.workload_of("low").await);
    assert_eq!(bed.job("high").await["spec"]["suspend"], true, "its victim still has pods");
    let selector = &bed.job("low").await["spec"]["template"]["spec"]["nodeSelector"];
    assert_eq!(*selector, json!({"pool": "blue"}), "API servers let nobody change it while there are pods");
    bed.run_pods("low", 0).await;
    assert_eq!(bed.job("high").await["spec"]["suspend"], false);
    assert_eq!(bed.job("low").await["spec"]["template"]["spec"]["nodeSelector"], json!(null), "templates are restored");
    let preempted = bed.condition("low", "Preempted").await;
    assert!(preempted.starts_with("True InClusterQueue: Preempted to accommodate a workload"), "{preempted}");
    bed.end("high", "Complete").await;
    assert_eq!(bed.job("low").await["spec"]["suspend"], false);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_queue_lets_its_jobs_go_and_takes_them_back() {
    let bed = Bed::with_queue("2").await;
    bed.submit("job", 2, "1").await;
    let path = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq";
    bed.merge(path, &json!({"spec": {"stopPolicy": "HoldAndDrain"}})).await;
    assert_eq!(bed.job("job").await["spec"]["suspend"], true);
    assert_eq!(bed.condition("job", "Evicted").await, "True ClusterQueueStopped: The ClusterQueue is stopped");
    bed.merge(path, &json!({"spec": {"stopPolicy": "None"}})).await;
    assert_eq!(bed.job("job").await["spec"]["suspend"], false);
}

#[tokio::test(start_paused = true)]
async fn a_deleted_job_gives_its_quota_back() {
    let bed = Bed::with_queue("2").await;
    bed.submit("first", 2, "1").await;
    bed.submit("second", 2, "1").await;
    bed.delete_job("first").await;
    assert_eq!(bed.job("second").await["spec"]["suspend"], false);
    let left = bed.get("/apis/kueue.x-k8s.io/v1beta2/workloads").await;
    let names: Vec<&str> = left["items"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|item| item["metadata"]["ownerReferences"][0]["name"].as_str())
        .collect();
    assert_eq!(names, ["second"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_manager_goes_on_where_the_last_one_stopped() {
    let mut bed = Bed::with_queue("3").await;
    bed.submit("first", 2, "1").await;
    bed.submit("second", 2, "1").await;
    bed.stop_manager();
    bed.end("first", "Complete").await;
    assert_eq!(bed.job("second").await["spec"]["suspend"], true, "nobody is there to start it");
    bed.start_manager();
    bed.pass(5).await;
    assert_eq!(bed.job("second").await["spec"]["suspend"], false);
    assert_eq!(bed.condition("first", "Finished").await, "True Succeeded: Job finished");
}

#[tokio::test(start_paused = true)]
async fn a_flavor_stays_while_a_queue_offers_it() {
    let bed = Bed::with_queue("3").await;
    bed.pass(5).await;
    let flavor = "/apis/kueue.x-k8s.io/v1beta2/resourceflavors/blue";
    bed.delete(flavor).await;
    bed.pass(5).await;
    assert_ne!(bed.get(flavor).await["metadata"]["deletionTimestamp"], json!(null));
    bed.delete("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq").await;
    bed.pass(5).await;
    assert_eq!(bed.get(flavor).await["code"], 404);
    assert_eq!(bed.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq").await["code"], 404);
}

#[tokio::test(start_paused = true)]
async fn what_happened_is_counted() {
    let bed = Bed::with_queue("2").await;
    bed.submit("first", 2, "1").await;
    bed.submit("second", 2, "1").await;
    bed.end("first", "Complete").await;
    bed.pass(5).await;
    assert!(bed.observer.is_ready());
    let text = bed.observer.metrics().await.unwrap_or_default();
    let value = |name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
    };
    for (name, expected) in [
        ("kueue_quota_reserved_workloads_total", "2"),
        ("kueue_admitted_workloads_total{", "2"),
        ("kueue_admission_wait_time_seconds_count", "2"),
        ("kueue_local_queue_finished_workloads_total", "1"),
        ("kueue_execution_time_seconds_count", "1"),
        ("kueue_admitted_active_workloads", "1"),
        ("kueue_finished_workloads{", "1"),
        ("kueue_local_queue_finished_workloads{", "1"),
        ("kueue_local_queue_status{active=\"True\"", "1"),
    ] {
        assert_eq!(value(name).as_deref(), Some(expected), "{name}\n{text}");
    }
    assert!(value("kueue_admission_attempts_total{replica_role=\"standalone\",result=\"success\"}").is_some());
}

#[tokio::test(start_paused = true)]
async fn a_job_of_the_same_name_does_not_run_on_what_another_was_granted() {
    let mut bed = Bed::with_queue("2").await;
    bed.submit("job", 2, "1").await;
    let old = bed.workload_of("job").await;
    assert_eq!(bed.condition("job", "Admitted").await, "True Admitted: The workload is admitted");
    // Nobody sees that the first one goes; the second one pretends that it was let run.
    bed.stop_manager();
    let path = "/apis/batch/v1/namespaces/default/jobs";
    let first = bed.job("job").await;
    bed.delete(&format!("{path}/job")).await;
    let mut second = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "job",
        "labels": first["metadata"]["labels"]}, "spec": first["spec"]});
    for made in ["selector", "manualSelector"] {
        second["spec"].as_object_mut().unwrap().remove(made);
    }
    let labels = second["spec"]["template"]["metadata"]["labels"].as_object_mut().unwrap();
    labels.retain(|key, _| !key.ends_with("controller-uid"));
    second["spec"]["parallelism"] = json!(3);
    second["spec"]["completions"] = json!(3);
    bed.create(path, &second).await;
    bed.start_manager();
    bed.pass(5).await;
    assert_eq!(bed.job("job").await["spec"]["suspend"], true);
    let new = bed.workload_of("job").await;
    assert_ne!(new["metadata"]["name"], old["metadata"]["name"]);
    assert!(bed.condition("job", "QuotaReserved").await.starts_with("False ExceedsMaxQuota"));
    let queue = bed.get("/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq").await;
    assert_eq!(queue["status"]["reservingWorkloads"], 0);
}
