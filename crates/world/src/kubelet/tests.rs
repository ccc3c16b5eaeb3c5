//! The lives of pods, step by step.

use serde_json::json;

use super::*;

const PLACE: Place<'static> = Place { host_ip: "10.0.0.1", pod_ip: "10.128.0.1" };

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).unwrap()
}

fn pod(policy: &str) -> Pod {
    serde_json::from_value(json!({"metadata": {"name": "p", "namespace": "n"}, "spec": {
        "restartPolicy": policy, "nodeName": "a", "containers": [{"name": "c", "image": "i"}]}}))
    .unwrap()
}

fn behaviour(start: u64, run: u64, exit_code: i32) -> Behaviour {
    Behaviour {
        start_after: Some(Duration::from_secs(start)),
        ready_after: Duration::ZERO,
        run_for: Some(Duration::from_secs(run)),
        exit_code,
        stop_after: Duration::from_secs(2),
        can_pull: true,
    }
}

/// Lets a pod live for so many seconds; one line per status that is written.
fn live(pod: &mut Pod, behaviour: &Behaviour, seconds: std::ops::Range<i64>) -> Vec<String> {
    let mut lines = Vec::new();
    for second in seconds {
        loop {
            match look(pod, behaviour, PLACE, at(second)).act {
                Act::Rest => break,
                Act::Remove => {
                    lines.push(format!("{second}: removed"));
                    return lines;
                }
                Act::Write(status) => {
                    assert_ne!(pod.status, *status, "a write changes something");
                    pod.status = *status;
                    lines.push(format!("{second}: {}", shown(pod)));
                }
            }
        }
    }
    lines
}

fn shown(pod: &Pod) -> String {
    let container = &pod.status.container_statuses[0];
    let state = match (&container.state.waiting, &container.state.running, &container.state.terminated) {
        (Some(waiting), _, _) => waiting.reason.clone(),
        (_, Some(_), _) => "running".to_owned(),
        (_, _, Some(end)) => format!("{} {}", end.reason, end.exit_code),
        _ => "nothing".to_owned(),
    };
    let ready = if pod.is_ready() { " ready" } else { "" };
    format!("{} {state}{ready} {}", pod.status.phase, container.restart_count)
}

#[test]
fn a_pod_starts_runs_and_succeeds() {
    let lines = live(&mut pod("Never"), &behaviour(2, 10, 0), 0..100);
    assert_eq!(lines, ["0: Pending ContainerCreating 0", "2: Running running ready 0", "12: Succeeded Completed 0 0"]);
}

#[test]
fn a_pod_that_starts_at_once_is_written_once() {
    let lines = live(&mut pod("Never"), &behaviour(0, 10, 3), 0..100);
    assert_eq!(lines, ["0: Running running ready 0", "10: Failed Error 3 0"]);
}

#[test]
fn readiness_comes_when_it_is_its_time() {
    let slow = Behaviour { ready_after: Duration::from_secs(4), ..behaviour(0, 10, 0) };
    let lines = live(&mut pod("Never"), &slow, 0..100);
    assert_eq!(lines, ["0: Running running 0", "4: Running running ready 0", "10: Succeeded Completed 0 0"]);
}

#[test]
fn containers_are_restarted_later_and_later() {
    let lines = live(&mut pod("OnFailure"), &behaviour(0, 1, 1), 0..60);
    assert_eq!(
        lines,
        [
            "0: Running running ready 0",
            "1: Running CrashLoopBackOff 1",
            "11: Running running ready 1",
            "12: Running CrashLoopBackOff 2",
            "32: Running running ready 2",
            "33: Running CrashLoopBackOff 3",
        ]
    );
    assert_eq!(live(&mut pod("OnFailure"), &behaviour(0, 1, 0), 0..9).len(), 2, "code 0 is no failure");
}

#[test]
fn an_image_that_cannot_be_pulled_keeps_a_pod_pending() {
    let broken = Behaviour { can_pull: false, ..behaviour(0, 1, 0) };
    let lines = live(&mut pod("Never"), &broken, 0..9);
    assert_eq!(lines, ["0: Pending ContainerCreating 0", "0: Pending ImagePullBackOff 0"]);
    let never = Behaviour { start_after: None, ..behaviour(0, 1, 0) };
    assert_eq!(live(&mut pod("Never"), &never, 0..9), ["0: Pending ContainerCreating 0"]);
}

#[test]
fn a_deleted_pod_fails_and_goes_within_its_grace() {
    for (grace, ends) in [(30, 12), (1, 11)] {
        let mut pod = pod("Never");
        live(&mut pod, &behaviour(0, 100, 0), 0..10);
        pod.metadata.deletion_timestamp = Some(Time::new(at(10 + grace)));
        pod.metadata.deletion_grace_period_seconds = Some(grace);
        let lines = live(&mut pod, &behaviour(0, 100, 0), 10..60);
        assert_eq!(lines, [format!("{ends}: Failed Error 143 0"), format!("{ends}: removed")], "grace {grace}");
    }
}

#[test]
fn a_deadline_ends_a_pod() {
    let mut pod = pod("Never");
    pod.spec.rest.insert("activeDeadlineSeconds".to_owned(), json!(5));
    let lines = live(&mut pod, &behaviour(0, 100, 0), 0..60);
    assert_eq!(lines, ["0: Running running ready 0", "5: Failed Error 143 0"]);
    assert_eq!(pod.status.reason, "DeadlineExceeded");
}

#[test]
fn a_look_says_when_the_next_one_is_due() {
    let mut pod = pod("Never");
    live(&mut pod, &behaviour(0, 100, 0), 0..2);
    assert_eq!(look(&pod, &behaviour(0, 100, 0), PLACE, at(3)), Look::at(at(100)));
}
