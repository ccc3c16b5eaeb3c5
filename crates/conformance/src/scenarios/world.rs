//! A cluster and those who act on it: users, jobs, check controllers, the clock.

mod setup;
mod steps;

use std::collections::BTreeMap;

use anyhow::Result;
use kueue_api::kueue::v1beta2::Workload;
use kueue_core::duration::Duration;
use kueue_engine::{Change, Decision, Effect, Key, Scope};
use serde_json::{Map, Value, json};

use crate::cluster::Cluster;

use super::state::{Shown, State, prune};

/// The cluster, and what a scenario remembers about it.
pub(super) struct World {
    pub(super) cluster: Cluster,
    /// Names of workloads that are gone.
    deleted: Vec<String>,
    has_fair_sharing: bool,
    cohorts: Vec<String>,
    /// Namespace and name of each LocalQueue.
    local_queues: Vec<(String, String)>,
    /// The node labels of each flavor with a topology.
    flavor_labels: Vec<Value>,
    /// Pods that belong to no workload, and the node of each.
    plain_pods: BTreeMap<String, String>,
}

impl World {
    /// Tells the engine how a workload is now, and lets everything come to rest.
    fn send(&mut self, key: &str, shown: &mut Shown) {
        let change = self.cluster.change_of(key);
        self.apply(change);
        self.settle(shown);
    }

    fn apply(&mut self, change: Change) {
        self.cluster.engine.apply(change, self.cluster.now);
    }

    fn settle(&mut self, shown: &mut Shown) {
        let effects = self.cluster.engine.settle(self.cluster.now);
        self.perform(&effects, shown);
    }

    /// Does what the engine decided, and tells it that it is done.
    fn perform(&mut self, effects: &[Effect], shown: &mut Shown) {
        for effect in effects {
            match effect {
                Effect::Status { workload, decision, .. } => note_decision(&workload.to_string(), decision, shown),
                Effect::Deactivate(_)
                | Effect::MarkParent(_)
                | Effect::Consumed { .. }
                | Effect::Unguard(_)
                | Effect::Delete(_)
                | Effect::DeleteJob(_) => {}
                Effect::Event(event) => {
                    let kind = if event.is_warning { "Warning" } else { "Normal" };
                    let events = shown.events.entry(event.workload.to_string()).or_default();
                    let message = self.without_member(&event.workload.to_string(), &without_waits(&event.message));
                    events.push([kind.to_owned(), event.reason.to_string(), message]);
                }
            }
        }
        self.cluster.perform(effects);
        // What comes back from the API server is what the engine knows already.
        let echo = self.cluster.engine.settle(self.cluster.now);
        assert!(echo.is_empty(), "the engine answered to its own decisions: {echo:?}");
    }

    /// Whether two flavors stand for the same nodes.
    pub(super) fn has_shared_nodes(&self) -> bool {
        self.flavor_labels.iter().enumerate().any(|(index, labels)| self.flavor_labels[..index].contains(labels))
    }

    /// Whether a pod that belongs to nobody runs there.
    pub(super) fn has_plain_pod(&self, namespace: &str, node: &str) -> bool {
        self.plain_pods.iter().any(|(key, on)| on == node && key.starts_with(&format!("{namespace}/")))
    }

    /// Which member of a group found no place is chance in Kueue, and not recorded.
    fn without_member(&self, key: &str, message: &str) -> String {
        self.cluster.workloads.get(key).map_or_else(|| message.to_owned(), |object| without_member(object, message))
    }

    pub(super) fn step(&mut self, step: &Value) -> Result<Shown> {
        let mut shown = Shown::default();
        self.play(step, &mut shown)?;
        for events in shown.events.values_mut() {
            sort_runs(events);
        }
        Ok(shown)
    }

    fn advance(&mut self, seconds: i64, shown: &mut Shown) {
        self.cluster.now = self.cluster.now + Duration::from_seconds(seconds);
        self.settle(shown);
    }

    fn sample(&mut self, shown: &mut Shown) {
        let effects = self.cluster.engine.sample(self.cluster.now);
        self.perform(&effects, shown);
    }

    /// What can be seen now.
    pub(super) fn state(&self) -> State {
        let mut state = Map::new();
        let mut queues = Map::new();
        let mut usage = Map::new();
        let mut shares = Map::new();
        for name in self.cluster.engine.queue_names() {
            let pending = self.cluster.engine.pending(name);
            let keys = |keys: &[Key]| keys.iter().map(Key::to_string).collect::<Vec<_>>();
            queues.insert(
                name.to_string(),
                json!({"active": keys(&pending.active), "inadmissible": keys(&pending.parked)}),
            );
            let used: Map<String, Value> = self
                .cluster
                .engine
                .usage(name)
                .into_iter()
                .map(|(flavor, resource, amount)| (format!("{flavor}/{resource}"), json!(amount.get())))
                .collect();
            usage.insert(name.to_string(), Value::Object(used));
            if self.has_fair_sharing {
                shares.insert(
                    name.to_string(),
                    json!(self.cluster.engine.queue_share(name, &[]).map(|share| share.rounded)),
                );
            }
        }
        state.insert("queues".to_owned(), Value::Object(queues));
        state.insert("usage".to_owned(), Value::Object(usage));
        if self.has_fair_sharing {
            state.insert("shares".to_owned(), Value::Object(shares));
            let share = |name: &String| self.cluster.engine.cohort_share(name, &[]).map(|share| share.rounded);
            let shares = self.cohorts.iter().map(|name| (name.clone(), json!(share(name))));
            state.insert("cohortShares".to_owned(), Value::Object(shares.collect()));
        }
        state.insert("localQueueUsage".to_owned(), Value::Object(self.local_queue_usage()));
        let mut workloads: Map<String, Value> =
            self.cluster.workloads.iter().map(|(key, object)| (key.clone(), shown_workload(object))).collect();
        workloads.extend(self.deleted.iter().map(|key| (key.clone(), json!({"deleted": true}))));
        state.insert("workloads".to_owned(), Value::Object(workloads));
        state.insert("notified".to_owned(), self.notified());
        let returning: Vec<String> = self.cluster.engine.second_pass().map(ToString::to_string).collect();
        state.insert("secondPass".to_owned(), json!(returning));
        prune(&mut state);
        State(state)
    }

    fn local_queue_usage(&self) -> Map<String, Value> {
        let ledgers = self.local_queues.iter().filter_map(|(namespace, name)| {
            let ledger = self.cluster.engine.ledger(namespace, name)?;
            let shown = json!({"consumed": ledger.consumed(), "penalty": ledger.penalty()});
            Some((format!("{namespace}/{name}"), shown))
        });
        ledgers.collect()
    }

    fn notified(&self) -> Value {
        let mut cohorts = Vec::new();
        let mut queues = Vec::new();
        for scope in self.cluster.engine.scopes() {
            match scope {
                Scope::Cohort(name) => cohorts.push(name.to_string()),
                Scope::Queue(name) => queues.push(name.to_string()),
            }
        }
        json!({"cohorts": cohorts, "clusterQueues": queues})
    }
}

fn shown_workload(object: &Workload) -> Value {
    let status = &object.status;
    let conditions: Map<String, Value> = status
        .conditions
        .iter()
        .map(|condition| {
            let message = without_member(object, &condition.message);
            (condition.r#type.clone(), json!([condition.status.as_str(), condition.reason, message]))
        })
        .collect();
    let checks: Map<String, Value> = status
        .admission_checks
        .iter()
        .map(|check| (check.name.clone(), json!([check.state.as_str(), check.message])))
        .collect();
    let requeue = status.requeue_state.as_ref();
    json!({
        "admission": status.admission,
        "conditions": conditions,
        "admissionChecks": checks,
        "requeueAt": requeue.and_then(|requeue| requeue.requeue_at),
        "requeueCount": requeue.and_then(|requeue| requeue.count).map(|count| count.to_string()),
        "unhealthyNodes": unhealthy_nodes(object),
        "inactive": (object.spec.active == Some(false)).then_some("true"),
    })
}

fn without_member(object: &Workload, message: &str) -> String {
    let in_group = object.spec.pod_sets.iter().filter(|pod_set| {
        pod_set.topology_request.as_ref().is_some_and(|request| request.pod_set_group_name.is_some())
    });
    in_group.fold(message.to_owned(), |message, member| {
        message.replace(&format!("pod set {}: topology", member.name), "pod set *: topology")
    })
}

fn unhealthy_nodes(object: &Workload) -> Option<String> {
    let mut names: Vec<&str> = object.status.unhealthy_nodes.iter().map(|node| node.name.as_str()).collect();
    names.sort_unstable();
    (!names.is_empty()).then(|| names.join(","))
}

fn note_decision(key: &str, decision: &Decision, shown: &mut Shown) {
    let winner = match decision {
        Decision::Reserved => key.to_owned(),
        Decision::Preempted { reason, preemptor } => {
            shown.preempted.insert(key.to_owned(), reason.to_string());
            preemptor.to_string()
        }
        Decision::Placed
        | Decision::Waiting
        | Decision::Replaced { .. }
        | Decision::Evicted(_)
        | Decision::Released(_)
        | Decision::LifeCycle => {
            return;
        }
    };
    if !shown.order.contains(&winner) {
        shown.order.push(winner);
    }
}

/// Leaves out how long something waited, as the recordings do.
fn without_waits(message: &str) -> String {
    let mut message = message.to_owned();
    for phrase in [", wait time since queued was ", ", wait time since reservation was "] {
        if let Some(start) = message.find(phrase) {
            let rest = &message[start + phrase.len()..];
            let end = rest.find('s').map_or(rest.len(), |end| end + 1);
            message = format!("{}{}", &message[..start], &rest[end..]);
        }
    }
    message
}

/// Victims are written in parallel, so the order of the events about them says nothing.
fn sort_runs(events: &mut [[String; 3]]) {
    for run in events.chunk_by_mut(|a, b| a[1] == "PreemptedWorkload" && b[1] == "PreemptedWorkload") {
        run.sort();
    }
}
