//! The kubelets of all pretend nodes: pods that are bound to one run, end and go as their manifest says
//! ([`behaviour`](crate::behaviour)).
//!
//! | pod | becomes |
//! |---|---|
//! | bound | `Pending`, its containers `ContainerCreating` |
//! | start time over | `Running`, and ready when it is its time |
//! | image cannot be pulled | stays `Pending` with `ImagePullBackOff` |
//! | run time over, exit code 0, not `restartPolicy: Always` | `Succeeded` |
//! | run time over, another code, `restartPolicy: Never` | `Failed` |
//! | run time over, to be restarted | `CrashLoopBackOff` for 10 s, doubled up to 5 min, then `Running` again |
//! | `activeDeadlineSeconds` over | `Failed` with `DeadlineExceeded` |
//! | being deleted | `Failed` after its stop time or its grace, then removed |
//! | on a node that failed | stays as it is |
//!
//! A pod that stands for a [`Program`] runs as long as that does: who refuses to start ends with code 1.
//!
//! What a pod does next depends on the times in its status alone: kubelets can be restarted at any time.

mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::informer::Index;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::behaviour::{Behaviour, Defaults};
use crate::feeds::{Feeds, Line, View};
use crate::kinds::{Node, Pod, PodStatus};
use crate::node::{has_failed, internal_ip, is_pretend};
use crate::program::Program;
use crate::{AT_ONCE, KUBELET, Parts, Start};

const FIRST_RESTART: Duration = Duration::from_secs(10);
const LAST_RESTART: Duration = Duration::from_secs(300);

/// What is to be done about a pod now.
#[derive(Debug, PartialEq)]
enum Act {
    Rest,
    Write(Box<PodStatus>),
    Remove,
}

/// The next thing to do, and when to look again if nothing changes.
#[derive(Debug, PartialEq)]
struct Look {
    act: Act,
    again: Option<Timestamp>,
}

impl Look {
    fn write(status: PodStatus) -> Self {
        Self { act: Act::Write(Box::new(status)), again: None }
    }

    fn remove() -> Self {
        Self { act: Act::Remove, again: None }
    }

    fn rest() -> Self {
        Self { act: Act::Rest, again: None }
    }

    fn at(time: Timestamp) -> Self {
        Self { act: Act::Rest, again: Some(time) }
    }
}

/// Where a pod runs.
#[derive(Clone, Copy)]
struct Place<'a> {
    host_ip: &'a str,
    pod_ip: &'a str,
}

/// What to do about a pod that is bound to a node that works.
fn look(pod: &Pod, behaviour: &Behaviour, place: Place<'_>, now: Timestamp) -> Look {
    let time = Time::new(now);
    if pod.is_going() {
        return stop(pod, behaviour, now);
    }
    if pod.is_terminal() {
        return Look::rest();
    }
    let Some(started) = pod.status.start_time else {
        let starts_at_once = behaviour.start_after == Some(Duration::ZERO) && behaviour.can_pull;
        return Look::write(match starts_at_once {
            true => status::running(pod, place, behaviour.ready_after.is_zero(), time),
            false => status::creating(pod, place, time),
        });
    };
    let deadline = pod.spec.rest.get("activeDeadlineSeconds").and_then(Value::as_u64);
    let deadline = deadline.map(|seconds| after(started, Duration::from_secs(seconds)));
    if deadline.is_some_and(|deadline| now >= deadline) {
        return Look::write(status::past_deadline(pod, time));
    }
    let mut next = proceed(pod, started, behaviour, place, now);
    if next.act == Act::Rest {
        next.again = next.again.into_iter().chain(deadline).min();
    }
    next
}

/// The way from the first container's start to its end.
fn proceed(pod: &Pod, started: Time, behaviour: &Behaviour, place: Place<'_>, now: Timestamp) -> Look {
    let time = Time::new(now);
    let Some(first) = pod.status.container_statuses.first() else { return Look::rest() };
    if let Some(running) = first.state.running.as_ref().and_then(|running| running.started_at) {
        let ready_at = after(running, behaviour.ready_after);
        let ends_at = behaviour.run_for.map(|run_for| after(running, run_for));
        return match ends_at {
            Some(ends_at) if now >= ends_at => Look::write(status::ended(pod, behaviour.exit_code, time)),
            _ if pod.is_ready() => ends_at.map_or_else(Look::rest, Look::at),
            _ if now >= ready_at => Look::write(status::running(pod, place, true, time)),
            Some(ends_at) => Look::at(ready_at.min(ends_at)),
            None => Look::at(ready_at),
        };
    }
    let begins_at = match (&first.last_state.terminated, behaviour.start_after) {
        (Some(last), _) => after(last.finished_at.unwrap_or(started), restart_wait(first.restart_count)),
        (None, Some(wait)) => after(started, wait),
        (None, None) => return Look::rest(),
    };
    if now < begins_at {
        return Look::at(begins_at);
    }
    match behaviour.can_pull {
        true => Look::write(status::running(pod, place, behaviour.ready_after.is_zero(), time)),
        false if status::is_backing_off(pod) => Look::rest(),
        false => Look::write(status::pull_failed(pod)),
    }
}

fn stop(pod: &Pod, behaviour: &Behaviour, now: Timestamp) -> Look {
    if pod.is_terminal() {
        return Look::remove();
    }
    let ends = pod.metadata.deletion_timestamp.unwrap_or_default();
    let grace = u64::try_from(pod.metadata.deletion_grace_period_seconds.unwrap_or(0)).unwrap_or(0);
    // The timestamp is the end of the grace.
    let longest = Duration::from_secs(grace).saturating_sub(behaviour.stop_after);
    let stops_at = after_signed(ends, -(i64::try_from(longest.as_millis()).unwrap_or(0)));
    match now >= stops_at {
        true => Look::write(status::killed(pod, Time::new(now))),
        false => Look::at(stops_at),
    }
}

fn restart_wait(restarts: i32) -> Duration {
    let doublings = u32::try_from(restarts - 1).unwrap_or(0);
    FIRST_RESTART.saturating_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX)).min(LAST_RESTART)
}

fn after(time: Time, wait: Duration) -> Timestamp {
    after_signed(time, i64::try_from(wait.as_millis()).unwrap_or(i64::MAX))
}

fn after_signed(time: Time, millis: i64) -> Timestamp {
    time.timestamp().saturating_add(jiff::SignedDuration::from_millis(millis)).unwrap_or(Timestamp::MAX)
}

struct Kubelets {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    defaults: Arc<Defaults>,
    pods: View<Pod>,
    nodes: View<Node>,
    program: Option<Arc<dyn Program>>,
    /// How many pods got an address.
    addresses: AtomicU32,
}

/// Listens to pods and nodes; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    let by_node: Index = feeds.pods.view().store.index(|pod: &Pod| vec![pod.spec.node_name.clone()]);
    feeds.pods.line_up(&line);
    let (again, pods, defaults) = (Arc::clone(&line), feeds.pods.view(), Arc::clone(&parts.defaults));
    feeds.nodes.listen(move |delta| {
        let failed = |side: Option<&Arc<Node>>| side.map(|node| has_failed(node, &defaults));
        let (old, new) = (delta.old.as_ref().map(|side| &side.object), delta.new.as_ref().map(|side| &side.object));
        // A node that works again, or is only now known, has its pods looked at.
        if failed(old) != failed(new) {
            for (key, _) in pods.store.find(by_node, &delta.key.name) {
                again.add(key);
            }
        }
    });
    let kubelets = Kubelets {
        client: parts.client.clone(),
        clock: parts.clock,
        recorder: parts.recorder.named(KUBELET),
        defaults: Arc::clone(&parts.defaults),
        pods: feeds.pods.view(),
        nodes: feeds.nodes.view(),
        program: parts.program.clone(),
        addresses: AtomicU32::new(0),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(kubelets), AT_ONCE))))
}

impl Kubelets {
    fn next_address(&self) -> String {
        if let Some(address) = &self.defaults.pod_address {
            return address.clone();
        }
        let number = self.addresses.fetch_add(1, Ordering::Relaxed) + 1;
        let [_, high, middle, low] = number.to_be_bytes();
        format!("10.{}.{middle}.{low}", 128_u8.wrapping_add(high % 64))
    }

    fn program_of(&self, pod: &Pod) -> Option<&dyn Program> {
        self.program.as_deref().filter(|program| program.is_in(pod))
    }

    fn stop(&self, pod: &Pod, key: &Key) {
        if let Some(program) = self.program_of(pod) {
            program.stop(key);
        }
    }

    /// Starts and stops the program behind a pod as its containers do; what it says is what they say.
    async fn run_program(&self, old: &Pod, new: Pod, key: &Key) -> Pod {
        let Some(program) = self.program_of(&new) else { return new };
        match (status::runs(old), status::runs(&new)) {
            (false, true) => match program.start(&new).await {
                Ok(()) => new,
                Err(words) => Pod { status: status::refused(&new, &words, self.clock.time()), ..new },
            },
            (true, false) => {
                program.stop(key);
                new
            }
            _ => new,
        }
    }

    /// Containers run that nobody started here: the machine was switched off and on again meanwhile.
    async fn start_again(&self, pod: &Arc<Pod>, key: &Key) -> Option<PodStatus> {
        let program =
            self.program_of(pod).filter(|program| status::runs(pod) && !pod.is_going() && !program.runs(key))?;
        let refusal = program.start(pod).await.err()?;
        Some(status::refused(pod, &refusal, self.clock.time()))
    }

    fn tell(&self, pod: &Pod, is_warning: bool, reason: &str, note: String) {
        self.recorder.record(Event { regarding: Regarding::of(pod), is_warning, reason: reason.to_owned(), note });
    }

    fn tell_of(&self, pod: &Pod, status: &PodStatus) {
        let names = status.container_statuses.iter();
        for (container, known) in names.map(|now| {
            let known = pod.status.container_statuses.iter().find(|known| known.name == now.name);
            (now, known.map(|known| &known.state))
        }) {
            let name = &container.name;
            let is_new = known != Some(&container.state);
            match (&container.state.running, &container.state.waiting) {
                (Some(_), _) if is_new => self.tell(pod, false, "Started", format!("Started container {name}")),
                (_, Some(waiting)) if is_new && waiting.reason != "ContainerCreating" => {
                    self.tell(pod, true, "BackOff", waiting.message.clone());
                }
                _ => {}
            }
        }
    }
}

impl Reconciler<Key> for Kubelets {
    fn name(&self) -> &'static str {
        KUBELET
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(mut pod) = self.pods.get(key).filter(|pod| !pod.spec.node_name.is_empty()) else {
            self.program.iter().for_each(|program| program.stop(key));
            return Ok(Next::Done);
        };
        let node = self.nodes.get(&Key::cluster(pod.spec.node_name.as_str()));
        let Some(node) = node.filter(|node| is_pretend(node, &self.defaults) && !has_failed(node, &self.defaults))
        else {
            return Ok(Next::Done);
        };
        let (mut behaviour, problems) = Behaviour::of(&pod, &self.defaults);
        if self.program_of(&pod).is_some() {
            behaviour.start_after = Some(Duration::ZERO);
        }
        if pod.status.start_time.is_none() {
            problems.into_iter().for_each(|problem| self.tell(&pod, true, "BadAnnotation", problem));
        }
        loop {
            let pod_ip = if pod.status.pod_ip.is_empty() { self.next_address() } else { pod.status.pod_ip.clone() };
            let place = Place { host_ip: internal_ip(&node), pod_ip: &pod_ip };
            let now = self.clock.now();
            let Look { act, again } = match self.start_again(&pod, key).await {
                Some(refused) => Look::write(refused),
                None => look(&pod, &behaviour, place, now),
            };
            match act {
                Act::Rest => {
                    let wait = again.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
                    return Ok(wait.map_or(Next::Done, |wait| Next::After(self.clock.wait(wait))));
                }
                Act::Remove => {
                    self.stop(&pod, key);
                    let removed = self.client.delete_now::<Pod>(key, &pod.metadata.uid).await;
                    return crate::gone_is_fine(removed).map(|()| Next::Done);
                }
                Act::Write(status) => {
                    let new = self.run_program(&pod, Pod { status: *status, ..(*pod).clone() }, key).await;
                    self.tell_of(&pod, &new.status);
                    let patch = Patch::of_statuses(&*pod, &pod.status, &new.status, KUBELET);
                    let Some(patch) = patch else { return Ok(Next::Done) };
                    let written = self.client.change::<Pod>(key, &patch).await?;
                    self.pods.until_seen(&written.version).await;
                    let Some(seen) = self.pods.get(key) else { return Ok(Next::Done) };
                    pod = seen;
                }
            }
        }
    }
}
