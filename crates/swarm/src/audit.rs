//! What must hold at every moment, whatever goes wrong: checked at every change of the store and every request of a manager.

mod quota;
pub mod starts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Mutex, MutexGuard};

use http::Method;
use kueue_apiserver::store::{News, Object, Store};
use serde_json::Value;
use tokio::time::Instant;

use quota::Quotas;

pub const WORKLOADS: &str = "workloads.kueue.x-k8s.io";
pub const CLUSTER_QUEUES: &str = "clusterqueues.kueue.x-k8s.io";
pub const LOCAL_QUEUES: &str = "localqueues.kueue.x-k8s.io";
pub const JOBS: &str = "jobs.batch";
pub const PODS: &str = "pods";
pub const LEASES: &str = "leases.coordination.k8s.io";
/// The Lease of the leader, as the configuration names it where nobody says anything.
const LEASE: (&str, &str) = ("kueue-system", "c1f6bfd2.kueue.x-k8s.io");
/// Every replica keeps the registration of its webhooks up to date, as its certificate is for all of them.
const EVERYBODYS: &str = "/apis/admissionregistration.k8s.io/";
/// Events tell what was done by somebody who led, and may come later; nobody decides by them.
const EVENTS: &str = "/apis/events.k8s.io/";
/// More requests of managers than this in one plan mean that somebody goes in circles.
const REQUESTS_MAX: usize = 200_000;

/// What an object is called in its collection: namespace and name.
pub type Name = (String, String);
/// All Workloads, as they are now.
type Workloads = BTreeMap<Name, Value>;
/// Jobs and pods by their uid.
type Owners = BTreeMap<String, Value>;

/// One change of one object.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    pub collection: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    pub revision: u64,
    pub old: Option<&'a Value>,
    /// Nothing when it was deleted.
    pub new: Option<&'a Value>,
}

/// Something that must hold and does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// Which rule is broken.
    pub rule: &'static str,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.what)
    }
}

/// Watches one cluster. Copies watch the same one.
#[derive(Clone, Debug)]
pub struct Audit(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    began: Instant,
    problem: Option<Problem>,
    quotas: Quotas,
    workloads: Workloads,
    owners: Owners,
    /// Paths that somebody wrote to without learning what became of it.
    doubtful: BTreeSet<String>,
    requests: usize,
    writes: usize,
    /// Stands for everything that happened, in order.
    fingerprint: DefaultHasher,
    /// Whether somebody wants to read what happens.
    tells: bool,
}

/// A request of a manager whose answer has not come.
#[derive(Debug)]
pub struct Asked {
    audit: Audit,
    /// Missing for requests that change nothing.
    path: Option<String>,
    is_answered: bool,
}

impl Audit {
    /// Must be called inside a tokio runtime.
    pub fn new(tells: bool) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            began: Instant::now(),
            problem: None,
            quotas: Quotas::default(),
            workloads: BTreeMap::new(),
            owners: BTreeMap::new(),
            doubtful: BTreeSet::new(),
            requests: 0,
            writes: 0,
            fingerprint: DefaultHasher::new(),
            tells,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nobody panics while auditing")
    }

    /// The first thing that did not hold.
    pub fn problem(&self) -> Option<Problem> {
        self.inner().problem.clone()
    }

    pub fn fail(&self, rule: &'static str, what: impl Into<String>) {
        self.inner().fail(rule, &what.into());
    }

    /// How many requests of managers changed something, or might have.
    pub fn writes(&self) -> usize {
        self.inner().writes
    }

    pub fn fingerprint(&self) -> u64 {
        self.inner().fingerprint.finish()
    }

    /// Prints a line, if somebody wants to read it.
    pub fn tell(&self, line: impl FnOnce() -> String) {
        self.inner().tell(line);
    }

    /// One change, in the order in which they happened.
    pub fn see(&self, seen: Seen<'_>) {
        self.inner().see(seen);
    }

    /// The same, as a store tells it.
    pub fn hear(&self, News { collection, change }: &News) {
        let plain = |object: &Arc<Object>| Value::from(&object.value);
        let (old, new) = (change.old.as_ref().map(plain), change.new.as_ref().map(plain));
        self.see(Seen {
            collection,
            namespace: &change.key.namespace,
            name: &change.key.name,
            revision: change.revision,
            old: old.as_ref(),
            new: new.as_ref(),
        });
    }

    /// A manager sends a request.
    pub fn asks(&self, method: &Method, path: &str) -> Asked {
        let mut inner = self.inner();
        inner.requests += 1;
        if inner.requests > REQUESTS_MAX {
            inner.fail("goes in circles", &format!("managers sent more than {REQUESTS_MAX} requests"));
        }
        drop(inner);
        let path = (*method != Method::GET).then(|| path.to_owned());
        Asked { audit: self.clone(), path, is_answered: false }
    }

    /// A request of a manager arrives while `holder` has the Lease.
    pub fn arrives(&self, holder: Option<&str>, manager: &str, method: &Method, path: &str) {
        if *method == Method::GET || path.starts_with(EVERYBODYS) || path.contains("/leases") {
            return;
        }
        let mut inner = self.inner();
        inner.writes += 1;
        if holder != Some(manager) && !path.starts_with(EVENTS) {
            let holder = holder.unwrap_or("nobody");
            inner.fail("written by a non-leader", &format!("{manager} sent {method} {path} while {holder} led"));
        }
    }

    /// A request was answered well, and no revision came of it.
    pub fn changed_nothing(&self, manager: &str, method: &Method, path: &str) {
        let mut inner = self.inner();
        // Who does not know what became of a request has to send it again.
        if !inner.doubtful.contains(path) {
            inner.fail("write that changes nothing", &format!("{manager} sent {method} {path}"));
        }
    }
}

impl Asked {
    /// The manager knows what became of its request.
    pub fn is_answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(path) = self.path.take().filter(|_| !self.is_answered) {
            self.audit.inner().doubtful.insert(path);
        }
    }
}

impl Inner {
    fn fail(&mut self, rule: &'static str, what: &str) {
        let at = self.began.elapsed();
        self.tell(|| format!("BROKEN {rule}: {what}"));
        self.problem.get_or_insert(Problem { rule, what: format!("{what} at {:.3} s", at.as_secs_f64()) });
    }

    fn tell(&self, line: impl FnOnce() -> String) {
        if self.tells {
            println!("{:9.3} {}", self.began.elapsed().as_secs_f64(), line());
        }
    }

    fn see(&mut self, Seen { collection, namespace, name, revision, old, new }: Seen<'_>) {
        (collection, namespace, name, revision, new.is_some()).hash(&mut self.fingerprint);
        self.tell(|| format!("        {collection} {namespace}/{name} {}", shown(new)));
        if collection == JOBS || collection == PODS {
            let uid = new.or(old).and_then(|object| object["metadata"]["uid"].as_str()).unwrap_or_default();
            match new {
                Some(owner) => drop(self.owners.insert(uid.to_owned(), owner.clone())),
                None => drop(self.owners.remove(uid)),
            }
        }
        let broken = match collection {
            CLUSTER_QUEUES => {
                self.quotas.set(name, new);
                None
            }
            WORKLOADS => {
                let key = (namespace.to_owned(), name.to_owned());
                match new {
                    Some(workload) => drop(self.workloads.insert(key, workload.clone())),
                    None => drop(self.workloads.remove(&key)),
                }
                let why = new.and_then(|new| self.quotas.overcommitted_by(old, new, &self.workloads, &self.owners));
                let runs = || new.and_then(|new| quota::runs_without_quota(old, new, &self.owners));
                why.map(|why| ("quota over-committed", why)).or_else(|| runs().map(|why| ("runs without quota", why)))
            }
            JOBS => starts::job(old, new, &self.workloads).map(|why| ("started without admission", why)),
            PODS => starts::pod(old, new, &self.workloads).map(|why| ("started without admission", why)),
            _ => None,
        };
        if let Some((rule, why)) = broken {
            self.fail(rule, &why);
        }
    }
}

/// Who has the Lease of the leader.
pub fn holder(store: &Store) -> Option<String> {
    let lease = store.get(LEASES, &kueue_apiserver::store::Key::new(LEASE.0, LEASE.1))?;
    lease.value["spec"]["holderIdentity"].as_str().map(str::to_owned)
}

/// Whether a condition of an object is true.
pub fn is_true(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

/// What matters of an object, in a line.
fn shown(object: Option<&Value>) -> String {
    let Some(object) = object else { return "gone".to_owned() };
    let list = |value: &Value, key: &str| {
        let items = value.as_array().into_iter().flatten().filter_map(|item| match key {
            "" => item.as_str().map(str::to_owned),
            key => item[key].as_str().map(str::to_owned),
        });
        items.collect::<Vec<_>>().join(",")
    };
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let conditions = conditions.map(|condition| {
        let mark = if condition["status"] == "True" { "+" } else { "-" };
        let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
        format!("{mark}{}({})", text("type"), text("reason"))
    });
    let mut words: Vec<String> = conditions.collect();
    for (name, value) in [
        ("suspend", &object["spec"]["suspend"]),
        ("parallelism", &object["spec"]["parallelism"]),
        ("active", &object["spec"]["active"]),
        ("pods", &object["status"]["active"]),
        ("phase", &object["status"]["phase"]),
        ("node", &object["spec"]["nodeName"]),
        ("holder", &object["spec"]["holderIdentity"]),
        ("deleted", &object["metadata"]["deletionTimestamp"]),
        ("queue", &object["status"]["admission"]["clusterQueue"]),
        ("reason", &object["reason"]),
        ("note", &object["note"]),
    ] {
        if !value.is_null() {
            words.push(format!("{name}={value}"));
        }
    }
    for (name, text) in [
        ("gates", list(&object["spec"]["schedulingGates"], "name")),
        ("finalizers", list(&object["metadata"]["finalizers"], "")),
    ] {
        if !text.is_empty() {
            words.push(format!("{name}={text}"));
        }
    }
    words.join(" ")
}
