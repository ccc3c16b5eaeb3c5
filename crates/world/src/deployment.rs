//! The Deployment controller: a replica set per template, and a rollout from one to the next.
//!
//! | deployment | gets |
//! |---|---|
//! | a template that no replica set has | a new one, named after a hash of the template, with the next revision |
//! | `RollingUpdate` | new pods as far as the surge allows, old ones gone as far as availability allows |
//! | `Recreate` | new pods when the last old one is gone |
//! | paused | its number of pods, but no rollout |
//! | more old replica sets than it remembers | the oldest deleted |
//! | whatever happens | its counts, `Available`, `Progressing` |

mod rollout;
mod status;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{Deployment, ReplicaSet, controller_of, owned_by};
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};
use rollout::{HASH_LABEL, is_of_template, plan, revision};

pub(crate) use rollout::hash;

const REVISION: &str = "deployment.kubernetes.io/revision";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
/// Annotations of the deployment that its replica sets do not inherit.
const OWN_ANNOTATIONS: [&str; 4] = ["kubectl.kubernetes.io/last-applied-configuration", REVISION, DESIRED, MAX];

struct Deployments {
    client: Client,
    clock: Clock,
    recorder: Recorder,
    deployments: View<Deployment>,
    owned: Owned<ReplicaSet>,
}

/// Listens to deployments and their replica sets; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.deployments.line_up(&line);
    feeds.replica_sets.line_up_owners::<Deployment>(&line);
    let deployments = Deployments {
        client: parts.client.clone(),
        clock: parts.clock,
        recorder: parts.recorder.named("deployment-controller"),
        deployments: feeds.deployments.view(),
        owned: feeds.owned_replica_sets(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(deployments), AT_ONCE))))
}

impl Reconciler<Key> for Deployments {
    fn name(&self) -> &'static str {
        "deployment"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(deployment) = self.deployments.get(key) else { return Ok(Next::Done) };
        if deployment.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Done);
        }
        let mut sets = self.owned.named("Deployment", key);
        sets.retain(|set| controller_of(&**set).is_some_and(|owner| owner.uid == deployment.metadata.uid));
        let is_current = |set: &Arc<ReplicaSet>| is_of_template(set, &deployment.spec.template);
        let (mut current, old): (Vec<_>, Vec<_>) = sets.into_iter().partition(is_current);
        let newest = old.iter().map(|set| revision(set)).max().unwrap_or(0);
        if current.is_empty() && !deployment.spec.paused {
            current.push(Arc::new(self.create(&deployment, newest + 1).await?));
        }
        let current = current.into_iter().next();
        if let Some(set) = &current {
            let own = revision(set).max(newest + 1);
            self.number(&deployment, set, own).await?;
        }
        for (set, replicas) in plan(&deployment, current.as_ref(), &old) {
            self.scale(&deployment, &set, replicas).await?;
        }
        self.forget(&deployment, &old).await?;
        self.show(key, &deployment, current.as_deref(), &old).await
    }
}

impl Deployments {
    async fn create(&self, deployment: &Deployment, revision: i64) -> Result<ReplicaSet, Failure> {
        let hash = hash(&deployment.spec.template);
        let name = format!("{}-{hash}", deployment.metadata.name);
        let mut template = deployment.spec.template.clone();
        template["metadata"]["labels"][HASH_LABEL] = json!(hash);
        let mut selector = deployment.spec.selector.clone();
        selector.match_labels.insert(HASH_LABEL.to_owned(), hash);
        let mut set = ReplicaSet::default();
        set.metadata.name.clone_from(&name);
        set.metadata.namespace.clone_from(&deployment.metadata.namespace);
        set.metadata.owner_references = vec![owned_by(deployment)];
        set.metadata.labels = serde_json::from_value(template["metadata"]["labels"].clone()).unwrap_or_default();
        let inherited =
            deployment.metadata.annotations.iter().filter(|(key, _)| !OWN_ANNOTATIONS.contains(&key.as_str()));
        set.metadata.annotations = inherited.map(|(key, value)| (key.clone(), value.clone())).collect();
        set.metadata.annotations.insert(REVISION.to_owned(), revision.to_string());
        set.spec.replicas = Some(0);
        set.spec.min_ready_seconds = deployment.spec.min_ready_seconds;
        set.spec.selector = selector;
        set.spec.template = template;
        let made = self.client.create(&set).await?;
        self.owned.view.until_seen(&made.metadata.resource_version).await;
        Ok(made)
    }

    /// Writes the revision on both the replica set and the deployment.
    async fn number(&self, deployment: &Deployment, set: &ReplicaSet, revision: i64) -> Result<(), Failure> {
        let annotation = |revision: i64| json!({"metadata": {"annotations": {REVISION: revision.to_string()}}});
        let says = |annotations: &std::collections::BTreeMap<String, String>| {
            annotations.get(REVISION).is_some_and(|text| *text == revision.to_string())
        };
        if !says(&set.metadata.annotations) {
            let patch = Patch::merge(annotation(revision), MANAGER);
            let written = self.client.change::<ReplicaSet>(&Key::of(set), &patch).await?;
            self.owned.view.until_seen(&written.version).await;
        }
        if !says(&deployment.metadata.annotations) {
            let patch = Patch::merge(annotation(revision), MANAGER);
            let written = self.client.change::<Deployment>(&Key::of(deployment), &patch).await?;
            self.deployments.until_seen(&written.version).await;
        }
        Ok(())
    }

    async fn scale(&self, deployment: &Deployment, set: &ReplicaSet, replicas: i32) -> Result<(), Failure> {
        let (surge, _) = rollout::limits(deployment);
        let desired = deployment.spec.replicas.unwrap_or(1);
        let annotations = json!({DESIRED: desired.to_string(), MAX: (desired + surge).to_string()});
        let known = |key: &str| set.metadata.annotations.get(key).map(String::as_str);
        let is_noted = [DESIRED, MAX].iter().all(|key| known(key) == annotations[key].as_str());
        let from = set.spec.replicas.unwrap_or(0);
        if from == replicas && is_noted {
            return Ok(());
        }
        let mut body = json!({"metadata": {"annotations": annotations}});
        if from != replicas {
            body["spec"] = json!({"replicas": replicas});
            let (name, verb) = (&set.metadata.name, if replicas > from { "up" } else { "down" });
            let note = format!("Scaled {verb} replica set {name} from {from} to {replicas}");
            self.tell(deployment, "ScalingReplicaSet", note);
        }
        let written = self.client.change::<ReplicaSet>(&Key::of(set), &Patch::merge(body, MANAGER)).await?;
        self.owned.view.until_seen(&written.version).await;
        Ok(())
    }

    /// Deletes old replica sets beyond those that are remembered.
    async fn forget(&self, deployment: &Deployment, old: &[Arc<ReplicaSet>]) -> Result<(), Failure> {
        let limit = deployment.spec.revision_history_limit.unwrap_or(10);
        let mut empty: Vec<&Arc<ReplicaSet>> = old.iter().filter(|set| rollout::is_empty(set)).collect();
        empty.sort_by_key(|set| revision(set));
        let too_many = empty.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        for set in empty.into_iter().take(too_many) {
            let key = Key::of(&**set);
            gone_is_fine(self.client.delete::<ReplicaSet>(&key, &set.metadata.uid, Dependents::Background).await)?;
        }
        Ok(())
    }

    async fn show(
        &self,
        key: &Key,
        deployment: &Arc<Deployment>,
        current: Option<&ReplicaSet>,
        old: &[Arc<ReplicaSet>],
    ) -> Result<Next, Failure> {
        // What was just written about the object itself must not look like somebody else's write.
        let deployment = self.deployments.get(key).unwrap_or_else(|| Arc::clone(deployment));
        let current = current.and_then(|set| self.owned.view.get(&Key::of(set)));
        let (status, again) = status::status(&deployment, current.as_deref(), old, self.clock.time());
        let shown = Deployment { status, ..(*deployment).clone() };
        if let Some(patch) = Patch::between(&*deployment, &shown, MANAGER) {
            let written = self.client.change::<Deployment>(key, &patch.of_status()).await?;
            self.deployments.until_seen(&written.version).await;
        }
        let wait = |seconds: i64| self.clock.wait(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)));
        Ok(again.map_or(Next::Done, |seconds| Next::After(wait(seconds))))
    }

    fn tell(&self, deployment: &Deployment, reason: &str, note: String) {
        let regarding = Regarding::of(deployment);
        self.recorder.record(Event { regarding, is_warning: false, reason: reason.to_owned(), note });
    }
}

/// A template without what belongs to one replica set only.
fn plain(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH_LABEL);
    }
    template
}
