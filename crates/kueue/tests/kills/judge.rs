//! What an audit log of a real API server says about managers, by the rules of the swarm.

use std::collections::BTreeMap;

use http::Method;
use jiff::{SignedDuration, Timestamp};
use kueue_swarm::audit::{Audit, CLUSTER_QUEUES, JOBS, PODS, Problem, Seen, WORKLOADS};
use kueue_testbed::audit::{self, is_ours};
use serde_json::Value;

/// Whoever is gone so soon after a request may not have learned what became of it.
const UNHEARD: SignedDuration = SignedDuration::from_millis(1000);
/// So long after an API server came back requests are repeated that the one before may have served.
const REPEATED: SignedDuration = SignedDuration::from_secs(10);
/// Every replica looks after certificates and webhooks, and asks who reads its metrics.
const EVERYBODYS: [&str; 5] = [
    "/apis/admissionregistration.k8s.io/",
    "/apis/apiextensions.k8s.io/",
    "/apis/authentication.k8s.io/",
    "/apis/authorization.k8s.io/",
    "/api/v1/namespaces/kueue-system/secrets",
];

/// When something was done to the managers or to the API server.
#[derive(Debug, Default)]
pub struct Troubles {
    /// When each manager was killed, by its process.
    pub killed: Vec<(u32, Timestamp)>,
    /// When the API server or its store did not answer.
    pub silent: Vec<(Timestamp, Timestamp)>,
}

impl Troubles {
    /// Whether an API server was asked that had just begun, and did not know yet who may do what.
    fn is_of_a_new_server(&self, event: &Value) -> bool {
        let received = time(event, "requestReceivedTimestamp");
        self.silent.iter().any(|(from, until)| *from <= received && received <= *until)
    }
}

/// What managers may not do, though they need to.
pub fn forbidden(events: &[Value], troubles: &Troubles) -> Vec<String> {
    let known = events.iter().filter(|event| !troubles.is_of_a_new_server(event));
    audit::forbidden(known)
}

/// What was found.
#[derive(Debug)]
pub struct Verdict {
    pub problem: Option<Problem>,
    pub writes: usize,
    pub leaders: usize,
}

/// Collection, namespace and name.
type Key<'a> = (&'static str, &'a str, &'a str);
/// All objects as they are.
type Known<'a> = BTreeMap<Key<'a>, Value>;

/// One request that was answered.
struct Asked<'a> {
    event: &'a Value,
    received: Timestamp,
    answered: Timestamp,
    path: &'a str,
    /// Who of ours asked.
    manager: Option<&'a str>,
}

/// A change of the Lease.
struct Election<'a> {
    received: Timestamp,
    answered: Timestamp,
    holder: &'a str,
}

/// Judges all that was written down. Must be called inside a tokio runtime.
pub fn judge(events: &[Value], troubles: &Troubles) -> Verdict {
    let elections = elections(events);
    let managers = managers(events);
    let asked = events.iter().filter(|event| method(event).is_some()).map(|event| Asked::read(event, &managers));
    let audit = Audit::new(false);
    let mut known = Known::new();
    let asked = in_order(asked);
    for (position, one) in asked.iter().enumerate() {
        one.judge_writer(&audit, &elections, troubles);
        match one.key().filter(|_| !is_done(one.event)) {
            Some(key) => {
                let later = asked[position..].iter().filter(|later| later.key().as_ref() == Some(&key));
                let next = later.map(|later| &later.event["responseObject"]).find(|next| version(next).is_some());
                one.judge_unknown(&audit, &mut known, key, next);
            }
            None => one.judge_change(&audit, &mut known, troubles),
        }
    }
    let mut leaders: Vec<&str> = elections.iter().map(|election| election.holder).collect();
    leaders.dedup();
    Verdict { problem: audit.problem(), writes: audit.writes(), leaders: leaders.len() }
}

/// What was written into the Lease.
fn leases(events: &[Value]) -> impl Iterator<Item = &Value> {
    let is_change = |event: &&Value| is_ours(event) && method(event).is_some() && is_done(event);
    events.iter().filter(|event| event["objectRef"]["resource"] == "leases").filter(is_change)
}

/// Who held the Lease, one after the other.
fn elections(events: &[Value]) -> Vec<Election<'_>> {
    let read = |event| {
        let holder = holder(event);
        Election { received: time(event, "requestReceivedTimestamp"), answered: time(event, "stageTimestamp"), holder }
    };
    leases(events).map(read).collect()
}

/// The name of each manager by its credential: it calls itself so in the Lease.
fn managers(events: &[Value]) -> BTreeMap<&str, &str> {
    leases(events).map(|event| (credential(event), holder(event))).collect()
}

fn holder(event: &Value) -> &str {
    text(&event["responseObject"]["spec"]["holderIdentity"])
}

fn credential(event: &Value) -> &str {
    text(&event["user"]["extra"]["authentication.kubernetes.io/credential-id"][0])
}

/// In the order in which the store was changed, which is not that of the answers. What has no version, because it
/// failed or is gone, comes after what was answered before it.
fn in_order<'a>(asked: impl Iterator<Item = Asked<'a>>) -> Vec<Asked<'a>> {
    let mut newest = 0;
    let mut ordered: Vec<(u64, Asked<'a>)> = Vec::new();
    for asked in asked {
        let version = version(&asked.event["responseObject"]);
        newest = newest.max(version.unwrap_or_default());
        ordered.push((version.unwrap_or(newest), asked));
    }
    ordered.sort_by_key(|(version, _)| *version);
    ordered.into_iter().map(|(_, asked)| asked).collect()
}

impl<'a> Asked<'a> {
    fn read(event: &'a Value, managers: &BTreeMap<&str, &'a str>) -> Self {
        let path = text(&event["requestURI"]);
        Self {
            event,
            received: time(event, "requestReceivedTimestamp"),
            answered: time(event, "stageTimestamp"),
            path: path.split_once('?').map_or(path, |(path, _)| path),
            // One that never led is known by nothing, and must not write.
            manager: is_ours(event).then(|| managers.get(credential(event)).copied().unwrap_or("one that never led")),
        }
    }

    /// Whether whoever leads wrote it.
    fn judge_writer(&self, audit: &Audit, elections: &[Election<'_>], troubles: &Troubles) {
        let (Some(manager), Some(method)) = (self.manager, method(self.event)) else { return };
        if self.is_doubtful(manager, troubles) {
            drop(audit.asks(&method, self.path));
        }
        if EVERYBODYS.iter().any(|path| self.path.starts_with(path)) {
            return;
        }
        // While the Lease changes hands it is with both.
        let changing =
            |election: &&Election<'_>| election.received <= self.received && self.received <= election.answered;
        let is_taking = elections.iter().filter(changing).any(|election| election.holder == manager);
        let last = elections.iter().rev().find(|election| election.answered <= self.received);
        let holder = if is_taking { Some(manager) } else { last.map(|election| election.holder) };
        audit.arrives(holder, manager, &method, self.path);
    }

    /// Whether its sender may not know what became of it.
    fn is_doubtful(&self, manager: &str, troubles: &Troubles) -> bool {
        let is_of = |process: u32| manager.contains(&format!("_{process}-"));
        let mut killed = troubles.killed.iter();
        killed.any(|(process, at)| is_of(*process) && self.answered > *at - UNHEARD)
            || troubles.silent.iter().any(|(from, until)| *from - UNHEARD < self.answered && self.received < *until)
            || self.event["responseStatus"]["code"].as_u64().is_some_and(|code| code >= 500)
    }

    /// The object that a rule is about.
    fn key(&self) -> Option<Key<'a>> {
        let (reference, new) = (&self.event["objectRef"], &self.event["responseObject"]);
        let name = text(&reference["name"]);
        let name = if name.is_empty() { text(&new["metadata"]["name"]) } else { name };
        collection(reference).map(|collection| (collection, text(&reference["namespace"]), name))
    }

    /// Whoever asks and is gone before it is answered leaves an error behind, though its change may have been made: then
    /// the next one shows it.
    fn judge_unknown(&self, audit: &Audit, known: &mut Known<'a>, key: Key<'a>, next: Option<&Value>) {
        let (Some(old), Some(next), true) = (known.get(&key), next, self.event["verb"] == "patch") else { return };
        let mut new = old.clone();
        merge(&mut new, &self.event["requestObject"]);
        if came_true(old, &new, next) {
            let (collection, namespace, name) = key;
            let revision = version(old).unwrap_or_default();
            audit.see(Seen { collection, namespace, name, revision, old: Some(old), new: Some(&new) });
            known.insert(key, new);
        }
    }

    /// Whether what came of it may be so.
    fn judge_change(&self, audit: &Audit, known: &mut Known<'a>, troubles: &Troubles) {
        let new = &self.event["responseObject"];
        let Some(key) = self.key() else { return };
        let (collection, namespace, name) = key;
        let old = known.get(&key).cloned();
        let see = |new: Option<&Value>, old: Option<&Value>| {
            audit.see(Seen {
                collection,
                namespace,
                name,
                revision: new.and_then(version).unwrap_or_default(),
                old,
                new,
            });
        };
        let Some(revision) = version(new) else {
            // Deleted, unless somebody still holds it. A binding says no more than that it was done.
            let is_held = |old: &Value| !old["metadata"]["finalizers"].is_null();
            if self.event["verb"] == "delete" && old.as_ref().is_some_and(|old| !is_held(old)) {
                see(None, old.as_ref());
                known.remove(&key);
            }
            return;
        };
        if old.as_ref().and_then(version) == Some(revision) {
            let is_after =
                |(_, until): &(Timestamp, Timestamp)| *until <= self.answered && self.received < *until + REPEATED;
            if let (Some(manager), Some(method)) = (self.manager, method(self.event))
                && !troubles.silent.iter().any(is_after)
            {
                audit.changed_nothing(manager, &method, self.path);
            }
            return;
        }
        let is_gone = !new["metadata"]["deletionTimestamp"].is_null() && new["metadata"]["finalizers"].is_null();
        if is_gone && collection == WORKLOADS {
            see(None, old.as_ref());
            known.remove(&key);
        } else {
            see(Some(new), old.as_ref());
            known.insert(key, new.clone());
        }
    }
}

/// Whether a condition that was to change is found afterwards, of the same time; others may have changed again.
fn came_true(old: &Value, new: &Value, next: &Value) -> bool {
    let conditions = |object: &Value| object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let (before, after) = (conditions(old), conditions(next));
    conditions(new).iter().any(|condition| !before.contains(condition) && after.contains(condition))
}

fn merge(target: &mut Value, patch: &Value) {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => {
            for (key, value) in patch {
                match value.is_null() {
                    true => drop(target.remove(key)),
                    false => merge(target.entry(key.clone()).or_insert(Value::Null), value),
                }
            }
        }
        // Conditions are applied one by one.
        (Value::Array(target), Value::Array(patch)) if patch.iter().all(|item| item["type"].is_string()) => {
            target.retain(|item| patch.iter().all(|new| new["type"] != item["type"]));
            target.extend_from_slice(patch);
        }
        (target, patch) => patch.clone_into(target),
    }
}

/// The collections that rules are about.
fn collection(reference: &Value) -> Option<&'static str> {
    match (text(&reference["apiGroup"]), text(&reference["resource"])) {
        ("kueue.x-k8s.io", "workloads") => Some(WORKLOADS),
        ("kueue.x-k8s.io", "clusterqueues") => Some(CLUSTER_QUEUES),
        ("batch", "jobs") => Some(JOBS),
        ("", "pods") => Some(PODS),
        _ => None,
    }
}

/// How a change was asked for; none when it is no change.
fn method(event: &Value) -> Option<Method> {
    match text(&event["verb"]) {
        "create" => Some(Method::POST),
        "update" => Some(Method::PUT),
        "patch" => Some(Method::PATCH),
        "delete" | "deletecollection" => Some(Method::DELETE),
        _ => None,
    }
}

fn is_done(event: &Value) -> bool {
    event["responseStatus"]["code"].as_u64().is_some_and(|code| code < 300)
}

fn version(object: &Value) -> Option<u64> {
    object["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn time(event: &Value, key: &str) -> Timestamp {
    text(&event[key]).parse().unwrap_or_default()
}
