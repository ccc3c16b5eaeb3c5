use prometheus::TextEncoder;

use super::*;

/// The lines that begin with this.
fn lines(meters: &Meters, begin: &str) -> Vec<String> {
    let text = TextEncoder::new().encode_to_string(&meters.gather()).unwrap();
    text.lines().filter(|line| line.starts_with(begin)).map(str::to_owned).collect()
}

#[tokio::test(start_paused = true)]
async fn a_queue_counts_what_waits_and_how_long() {
    let meters = Meters::default();
    let queue: Arc<WorkQueue<&str>> = Arc::default();
    meters.follow(&queue, "jobs", 3);
    queue.add("a");
    queue.add("a");
    queue.add("b");
    tokio::time::sleep(Duration::from_secs(2)).await;
    let a = queue.next().await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let of = r#"{controller="jobs",name="jobs"}"#;
    assert_eq!(lines(&meters, "workqueue_adds"), [format!("workqueue_adds_total{of} 2")]);
    assert_eq!(lines(&meters, "workqueue_depth"), [r#"workqueue_depth{controller="jobs",name="jobs",priority=""} 1"#]);
    assert_eq!(
        lines(&meters, "workqueue_queue_duration_seconds_sum"),
        [format!("workqueue_queue_duration_seconds_sum{of} 2")]
    );
    assert_eq!(lines(&meters, "workqueue_longest"), [format!("workqueue_longest_running_processor_seconds{of} 3")]);
    assert_eq!(
        lines(&meters, "controller_runtime_active"),
        [r#"controller_runtime_active_workers{controller="jobs"} 1"#]
    );
    queue.retry(a, Duration::ZERO..=Duration::from_secs(1));
    queue.done(&a);
    assert_eq!(lines(&meters, "workqueue_retries"), [format!("workqueue_retries_total{of} 1")]);
    assert_eq!(
        lines(&meters, "workqueue_work_duration_seconds_sum"),
        [format!("workqueue_work_duration_seconds_sum{of} 3")]
    );
    assert_eq!(lines(&meters, "workqueue_unfinished"), [format!("workqueue_unfinished_work_seconds{of} 0")]);
}

#[tokio::test(start_paused = true)]
async fn whoever_looked_and_is_gone_is_no_longer_active() {
    let meters = Meters::default();
    let queue: Arc<WorkQueue<&str>> = Arc::default();
    meters.follow(&queue, "jobs", 1);
    queue.add("a");
    queue.next().await;
    queue.take_back();
    assert_eq!(
        lines(&meters, "controller_runtime_active"),
        [r#"controller_runtime_active_workers{controller="jobs"} 0"#]
    );
}

#[test]
fn requests_are_counted_by_their_answers() {
    let meters = Meters::default();
    meters.request("GET", Some(200));
    meters.request("PATCH", None);
    meters.webhook("/mutate--v1-pod", 200, Duration::from_millis(3));
    meters.set_leads("lease", true);
    let requests = [
        r#"rest_client_requests_total{code="200",method="GET"} 1"#,
        r#"rest_client_requests_total{code="<error>",method="PATCH"} 1"#,
    ];
    assert_eq!(lines(&meters, "rest_client"), requests);
    assert_eq!(lines(&meters, "leader_election"), [r#"leader_election_master_status{name="lease"} 1"#]);
    let hooks = [r#"controller_runtime_webhook_requests_total{code="200",webhook="/mutate--v1-pod"} 1"#];
    assert_eq!(lines(&meters, "controller_runtime_webhook_requests"), hooks);
}
