//! The statuses that a kubelet writes.

use kueue_api::core_v1::Container;
use kueue_core::time::Time;
use serde_json::{Value, json};

use super::Place;
use crate::kinds::{
    Condition, ContainerState, ContainerStatus, Pod, PodStatus, StateRunning, StateTerminated, StateWaiting,
    set_condition,
};

/// What a process that is told to end ends with.
const TERMINATED: i32 = 143;

pub(super) fn creating(pod: &Pod, place: Place<'_>, now: Time) -> PodStatus {
    let mut status = placed(pod, place, now);
    status.container_statuses = each(pod, &pod.spec.containers, || waiting("ContainerCreating", String::new()));
    let waits = if pod.spec.init_containers.is_empty() { "ContainerCreating" } else { "PodInitializing" };
    status.init_container_statuses = each(pod, &pod.spec.init_containers, || waiting(waits, String::new()));
    conditions(&mut status, Some(("ContainersNotReady", &unready(pod))), now);
    status
}

pub(super) fn running(pod: &Pod, place: Place<'_>, is_ready: bool, now: Time) -> PodStatus {
    let mut status = placed(pod, place, now);
    status.phase = "Running".to_owned();
    status.pod_ip = place.pod_ip.to_owned();
    status.pod_ips = vec![json!({"ip": place.pod_ip})];
    let running = pod.status.container_statuses.first().and_then(|first| first.state.running.clone());
    // A pod that becomes ready runs already.
    let running = running.unwrap_or(StateRunning { started_at: Some(now) });
    let state = || ContainerState { running: Some(running.clone()), ..ContainerState::default() };
    status.container_statuses = each(pod, &pod.spec.containers, state);
    for container in &mut status.container_statuses {
        (container.ready, container.started) = (is_ready, Some(true));
    }
    status.init_container_statuses = each(pod, &pod.spec.init_containers, || terminated(0, Some(now), now));
    for (container, init) in pod.spec.init_containers.iter().zip(&mut status.init_container_statuses) {
        init.ready = true;
        if container.restart_policy.as_deref() == Some("Always") {
            (init.state, init.started) = (state(), Some(true));
        }
    }
    let why = unready(pod);
    conditions(&mut status, (!is_ready).then_some(("ContainersNotReady", &why)), now);
    status
}

/// The containers started, and ended at once with these words.
pub(super) fn refused(started: &Pod, words: &str, now: Time) -> PodStatus {
    let mut status = ended(started, 1, now);
    for container in &mut status.container_statuses {
        let ends = [&mut container.state.terminated, &mut container.last_state.terminated];
        for end in ends.into_iter().flatten() {
            end.message = words.to_owned();
        }
    }
    status
}

/// All containers ended with that code: the end of the pod, or a wait for the next try.
pub(super) fn ended(pod: &Pod, exit_code: i32, now: Time) -> PodStatus {
    let policy = pod.spec.restart_policy.as_str();
    if policy == "Always" || policy == "OnFailure" && exit_code != 0 {
        return restarting(pod, exit_code, now);
    }
    let (phase, why) = match exit_code {
        0 => ("Succeeded", "PodCompleted"),
        _ => ("Failed", "PodFailed"),
    };
    finished(pod, exit_code, phase, why, now)
}

pub(super) fn killed(pod: &Pod, now: Time) -> PodStatus {
    finished(pod, TERMINATED, "Failed", "PodFailed", now)
}

pub(super) fn past_deadline(pod: &Pod, now: Time) -> PodStatus {
    PodStatus {
        reason: "DeadlineExceeded".to_owned(),
        message: "Pod was active on the node longer than the specified deadline".to_owned(),
        ..killed(pod, now)
    }
}

pub(super) fn pull_failed(pod: &Pod) -> PodStatus {
    let mut status = pod.status.clone();
    status.container_statuses = each(pod, &pod.spec.containers, || waiting("ImagePullBackOff", String::new()));
    for container in &mut status.container_statuses {
        let message = format!("Back-off pulling image {:?}", container.image);
        container.state = waiting("ImagePullBackOff", message);
    }
    status
}

/// Whether its containers run.
pub(super) fn runs(pod: &Pod) -> bool {
    pod.status.container_statuses.iter().any(|container| container.state.running.is_some())
}

pub(super) fn is_backing_off(pod: &Pod) -> bool {
    let waits = pod.status.container_statuses.iter().filter_map(|container| container.state.waiting.as_ref());
    waits.into_iter().any(|waiting| waiting.reason == "ImagePullBackOff")
}

fn restarting(pod: &Pod, exit_code: i32, now: Time) -> PodStatus {
    let mut status = pod.status.clone();
    for container in &mut status.container_statuses {
        let since = container.state.running.as_ref().and_then(|running| running.started_at);
        container.last_state = terminated(exit_code, since, now);
        container.restart_count += 1;
        let message = format!("Back-off restarting failed container {}", container.name);
        container.state = waiting("CrashLoopBackOff", message);
        (container.ready, container.started) = (false, Some(false));
    }
    conditions(&mut status, Some(("ContainersNotReady", &unready(pod))), now);
    status
}

fn finished(pod: &Pod, exit_code: i32, phase: &str, why: &str, now: Time) -> PodStatus {
    let mut status = pod.status.clone();
    status.phase = phase.to_owned();
    for container in status.container_statuses.iter_mut().chain(&mut status.init_container_statuses) {
        (container.ready, container.started) = (false, Some(false));
        if container.state.terminated.is_none() {
            let since = container.state.running.as_ref().and_then(|running| running.started_at);
            container.state = terminated(exit_code, since, now);
        }
    }
    conditions(&mut status, Some((why, "")), now);
    status
}

/// What every status of a pod on a node says.
fn placed(pod: &Pod, place: Place<'_>, now: Time) -> PodStatus {
    let mut status = pod.status.clone();
    status.phase = "Pending".to_owned();
    status.host_ip = place.host_ip.to_owned();
    status.host_ips = vec![json!({"ip": place.host_ip})];
    status.start_time = status.start_time.or(Some(now));
    status
}

fn conditions(status: &mut PodStatus, unready: Option<(&str, &str)>, now: Time) {
    let has_address = !status.pod_ip.is_empty() && !crate::kinds::is_terminal(&status.phase);
    let (reason, message) = unready.unwrap_or_default();
    for (kind, holds, reason, message) in [
        ("PodReadyToStartContainers", has_address, "", ""),
        ("Initialized", true, "", ""),
        ("Ready", unready.is_none(), reason, message),
        ("ContainersReady", unready.is_none(), reason, message),
    ] {
        set_condition(&mut status.conditions, Condition::new(kind, holds, reason, message, now));
    }
}

fn unready(pod: &Pod) -> String {
    let names: Vec<&str> = pod.spec.containers.iter().map(|container| container.name.as_str()).collect();
    format!("containers with unready status: [{}]", names.join(" "))
}

/// The statuses of these containers with a new state; what they went through is kept.
fn each(pod: &Pod, containers: &[Container], state: impl Fn() -> ContainerState) -> Vec<ContainerStatus> {
    let known = |name: &str| {
        let mut known = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
        known.find(|status| status.name == name).cloned()
    };
    let status = |container: &Container| {
        let image = container.rest.get("image").and_then(Value::as_str).unwrap_or_default().to_owned();
        let new = || ContainerStatus { name: container.name.clone(), image, ..ContainerStatus::default() };
        ContainerStatus { state: state(), ..known(&container.name).unwrap_or_else(new) }
    };
    containers.iter().map(status).collect()
}

fn waiting(reason: &str, message: String) -> ContainerState {
    let waiting = StateWaiting { reason: reason.to_owned(), message };
    ContainerState { waiting: Some(waiting), ..ContainerState::default() }
}

fn terminated(exit_code: i32, started_at: Option<Time>, now: Time) -> ContainerState {
    let reason = if exit_code == 0 { "Completed" } else { "Error" }.to_owned();
    let end = StateTerminated { exit_code, reason, message: String::new(), started_at, finished_at: Some(now) };
    ContainerState { terminated: Some(end), ..ContainerState::default() }
}
