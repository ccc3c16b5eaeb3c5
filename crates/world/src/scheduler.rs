//! The scheduler: binds pods to nodes, one decision at a time.
//!
//! | pod | is |
//! |---|---|
//! | with gates, or of another scheduler | left alone |
//! | waiting | taken by priority, then age, then name |
//! | that fits somewhere | bound to the node that is emptiest after it, its preferences first |
//! | that fits nowhere | told so in `PodScheduled`, and tried again when a node changes or a pod goes |
//!
//! What makes a node fit is told in [`fit`]; who has which room in [`ledger`]. Nobody is pushed aside for another pod.

mod fit;
mod ledger;
mod spread;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard};

use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use serde_json::json;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tracing::debug;

use crate::feeds::{Feeds, View};
use crate::kinds::{Condition, Node, Pod, set_condition};
use crate::{Parts, SCHEDULER, Start};
use ledger::{Decision, Ledger};

pub(crate) use fit::{is_selected, tolerates};

/// How many bindings may be under way.
const AT_ONCE: usize = 32;

/// The ledger, and a bell that rings when something in it changed.
#[derive(Default)]
struct Desk {
    ledger: Mutex<Ledger>,
    changed: Notify,
}

impl Desk {
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("no one panics while holding the ledger")
    }
}

/// Whether all these pods would find a place on the nodes, beside those that are there or will be.
pub(crate) fn is_room(nodes: &[Arc<Node>], there: &[Arc<Pod>], wanted: Vec<Pod>) -> bool {
    let mut ledger = Ledger::default();
    for node in nodes {
        ledger.see_node(&node.metadata.name.as_str().into(), Some(Arc::clone(node)));
    }
    for pod in there {
        ledger.see_pod(&Key::of(&**pod), None, Some(pod));
    }
    while ledger.decide().is_some() {}
    for pod in wanted {
        ledger.see_pod(&Key::of(&pod), None, Some(&Arc::new(pod)));
    }
    std::iter::from_fn(|| ledger.decide()).all(|decision| matches!(decision, Decision::Bind { .. }))
}

struct Scheduler {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    pods: View<Pod>,
    desk: Arc<Desk>,
}

/// Listens to pods and nodes; returns what begins to bind.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let desk = Arc::new(Desk::default());
    let told = Arc::clone(&desk);
    feeds.pods.listen(move |delta| {
        let new = delta.new.as_ref().map(|new| &new.object);
        told.ledger().see_pod(&delta.key, delta.old.as_ref().map(|old| &old.object), new);
        told.changed.notify_one();
    });
    let told = Arc::clone(&desk);
    feeds.nodes.listen(move |delta| {
        told.ledger().see_node(&delta.key.name, delta.new.as_ref().map(|new| Arc::clone(&new.object)));
        told.changed.notify_one();
    });
    let scheduler = Arc::new(Scheduler {
        client: parts.client.clone(),
        clock: parts.clock,
        recorder: parts.recorder.named("default-scheduler"),
        pods: feeds.pods.view(),
        desk,
    });
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(scheduler.run())))
}

impl Scheduler {
    async fn run(self: Arc<Self>) {
        let mut writes = JoinSet::new();
        loop {
            while writes.len() >= AT_ONCE {
                writes.join_next().await;
            }
            while writes.try_join_next().is_some() {}
            let decision = self.desk.ledger().decide();
            match decision {
                None => self.desk.changed.notified().await,
                Some(decision) => {
                    let scheduler = Arc::clone(&self);
                    writes.spawn(async move { scheduler.carry_out(decision).await });
                }
            }
        }
    }

    async fn carry_out(&self, decision: Decision) {
        let outcome = match &decision {
            Decision::Bind { key, pod, node } => self.bind(key, pod, node).await,
            Decision::Wait { key, pod, why } => self.tell(key, pod, why).await,
        };
        if let Err(failure) = outcome {
            let (Decision::Bind { key, .. } | Decision::Wait { key, .. }) = &decision;
            debug!(pod = %key, error = %failure, "cannot schedule, trying again");
            // What is there now is looked at again.
            self.desk.ledger().take_back(key, self.pods.get(key).as_ref());
            self.desk.changed.notify_one();
        }
    }

    async fn bind(&self, key: &Key, pod: &Pod, node: &str) -> Result<(), Failure> {
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": &*key.name, "namespace": &*key.namespace, "uid": pod.metadata.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        });
        self.client.post_part::<Pod>(key, "binding", &binding).await?;
        let note = format!("Successfully assigned {key} to {node}");
        self.record(pod, false, "Scheduled", note);
        Ok(())
    }

    async fn tell(&self, key: &Key, pod: &Pod, why: &str) -> Result<(), Failure> {
        let known = pod.status.conditions.iter().find(|condition| condition.r#type == "PodScheduled");
        if known.is_some_and(|known| known.reason == "Unschedulable" && known.message == *why) {
            return Ok(());
        }
        self.record(pod, true, "FailedScheduling", why.to_owned());
        let mut new = pod.clone();
        let condition = Condition::new("PodScheduled", false, "Unschedulable", why, self.clock.time());
        set_condition(&mut new.status.conditions, condition);
        if let Some(patch) = Patch::between(pod, &new, SCHEDULER) {
            self.client.change::<Pod>(key, &patch.of_status()).await?;
        }
        Ok(())
    }

    fn record(&self, pod: &Pod, is_warning: bool, reason: &str, note: String) {
        self.recorder.record(Event { regarding: Regarding::of(pod), is_warning, reason: reason.to_owned(), note });
    }
}
