//! A cluster autoscaler that answers ProvisioningRequests.
//!
//! | request | gets |
//! |---|---|
//! | of a class that it does not know | nothing, as from any autoscaler |
//! | `check-capacity.autoscaling.x-k8s.io` | `Accepted`, and `Provisioned` while all its pods fit on what is free; asked again until they do |
//! | `best-effort-atomic-scale-up.autoscaling.x-k8s.io` | `Accepted`, a new node for each pod, `Provisioned` |
//! | `queued-provisioning.gke.io` | the same, in the words of GKE |
//! | whose PodTemplate is missing | `Failed` |
//! | that was provisioned and is gone | its nodes deleted, when no pod is there any more, ended or not |
//!
//! There is no cloud that could run out of machines, so requests tell by their parameters what it does:
//!
//! | parameter | example | |
//! |---|---|---|
//! | `stock-out` | `30s`, `forever` | no machine is to be had so long |
//! | `failures` | `2` | so many attempts fail before one does not |
//! | `silent-for` | `1m`, `forever` | nobody answers so long |
//! | `flaps-for` | `1m` | what is provisioned is taken back and given again every few seconds, so long |
//! | `machines-after` | `30s`, `forever` | a lie: it is provisioned, and the machines come so much later; what does not fit is said to fit |
//! | `booking-expires-after` | `10m` | `BookingExpired` so long after it was provisioned |
//! | `revoked-after` | `1m` | `CapacityRevoked` so long after it was provisioned |
//!
//! A [`Temper`] lets it do all that of its own accord, from a seed.

mod answer;
mod fate;
mod machines;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use kueue_api::autoscaling::{CONSUME_ANNOTATION, ProvisioningRequest};
use kueue_api::core_v1::PodTemplate;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use tokio::task::JoinSet;

use crate::behaviour::Defaults;
use crate::feeds::{Feeds, Line, View};
use crate::kinds::{Node, Pod};
use crate::{AT_ONCE, Parts, Start, gone_is_fine, scheduler};
use answer::{Class, Found, Told, answer, is_provisioned, provisioned_at};
use fate::Fate;
pub use fate::Temper;
use machines::{machines, request_of};

const MANAGER: &str = "cluster-autoscaler";
/// How long a template may be missing.
const PATIENCE: SignedDuration = SignedDuration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

struct Requests {
    client: Client,
    clock: Clock,
    defaults: Arc<Defaults>,
    temper: Temper,
    requests: View<ProvisioningRequest>,
    templates: View<PodTemplate>,
    nodes: View<Node>,
    pods: View<Pod>,
}

/// Listens to requests, and to what may be free for them; returns what begins to answer.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.requests.line_up(&line);
    let (concerned, requests) = (Arc::clone(&line), feeds.requests.view());
    // Whoever checks capacity is asked again when a pod goes or a node comes.
    let again = move || {
        for request in requests.store.all().iter().filter(|request| !is_provisioned(request)) {
            concerned.add(Key::of(&**request));
        }
    };
    let on_node = again.clone();
    feeds.nodes.listen(move |delta| {
        if delta.old.is_none() {
            on_node();
        }
    });
    let left = Arc::clone(&line);
    feeds.pods.listen(move |delta| {
        if delta.new.as_ref().is_some_and(|pod| !pod.object.is_terminal()) {
            return;
        }
        again();
        // A node whose last pod is gone may go, if its request is.
        let request =
            delta.old.as_ref().and_then(|pod| pod.object.metadata.annotations.get(CONSUME_ANNOTATION).cloned());
        if let Some(request) = request {
            left.add(Key::new(Arc::clone(&delta.key.namespace), request.as_str()));
        }
    });
    let requests = Requests {
        client: parts.client.clone(),
        clock: parts.clock,
        defaults: Arc::clone(&parts.defaults),
        temper: parts.temper.clone(),
        requests: feeds.requests.view(),
        templates: feeds.pod_templates.view(),
        nodes: feeds.nodes.view(),
        pods: feeds.pods.view(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(requests), AT_ONCE))))
}

impl Reconciler<Key> for Requests {
    fn name(&self) -> &'static str {
        "provisioningrequest"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let now = self.clock.time();
        if let Some(left) = self.temper.dead_for(now) {
            return Ok(Next::After(self.clock.wait(left)));
        }
        let request = self.requests.get(key).filter(|request| request.metadata.deletion_timestamp.is_none());
        let Some(request) = request else {
            self.scale_down(key).await?;
            return Ok(Next::Done);
        };
        let Some(class) = Class::named(&request.spec.provisioning_class_name) else { return Ok(Next::Done) };
        let age = self.clock.now().duration_since(request.metadata.creation_timestamp.timestamp());
        let fate = Fate::of(&request, &self.temper);
        let found = match (self.pods_of(&request), class) {
            // Templates are made before the request, but may be seen after it.
            (Err(_), _) if age < PATIENCE => return Ok(Next::After(self.clock.wait(LOOK_AGAIN))),
            (Err(missing), _) => Found::Wrong(missing),
            (Ok(pods), Class::CheckCapacity) if !is_provisioned(&request) && fate.lie.is_none() => {
                self.look_for_room(&request, pods)
            }
            (Ok(_), _) => Found::Room,
        };
        let lie = fate.lie;
        let (conditions, again) = answer(&request, &Told { class, found, fate, now });
        let mut answered = (*request).clone();
        answered.status.conditions = conditions;
        let is_late = |given| lie.is_some_and(|lie| lie.left(given, now).is_some());
        if class != Class::CheckCapacity
            && provisioned_at(&answered.status.conditions).is_some_and(|given| !is_late(given))
        {
            self.scale_up(&request).await?;
        }
        if let Some(patch) = Patch::between(&*request, &answered, MANAGER) {
            let written = self.client.change::<ProvisioningRequest>(key, &patch.of_status()).await?;
            self.requests.until_seen(&written.version).await;
        }
        Ok(again.map_or(Next::Done, |wait| Next::After(self.clock.wait(wait))))
    }
}

impl Requests {
    /// The pods that the request is for, one by one.
    fn pods_of(&self, request: &ProvisioningRequest) -> Result<Vec<Pod>, String> {
        let mut all = Vec::new();
        for pod_set in &request.spec.pod_sets {
            let name = &pod_set.pod_template_ref.name;
            let key = Key::new(request.metadata.namespace.as_str(), name.as_str());
            let template = self.templates.get(&key).ok_or_else(|| format!("PodTemplate {name} was not found"))?;
            for number in 0..pod_set.count {
                let mut pod = Pod { spec: template.template.spec.clone(), ..Pod::default() };
                pod.metadata.name = format!("{}-{name}-{number}", request.metadata.name);
                pod.metadata.namespace.clone_from(&request.metadata.namespace);
                // What is asked for now waits behind nothing.
                pod.spec.scheduling_gates.clear();
                all.push(pod);
            }
        }
        Ok(all)
    }

    /// Whether the pods fit on what is free, and on what was not promised to others.
    fn look_for_room(&self, request: &ProvisioningRequest, wanted: Vec<Pod>) -> Found {
        let mut pods = self.pods.store.all();
        for other in self.requests.store.all().iter().filter(|other| is_booked(other, request)) {
            let name = &other.metadata.name;
            let uses = |pod: &&Arc<Pod>| pod.metadata.annotations.get(CONSUME_ANNOTATION) == Some(name);
            let there = pods.iter().filter(uses).count();
            let promised = self.pods_of(other).unwrap_or_default();
            pods.extend(promised.into_iter().skip(there).map(Arc::new));
        }
        match scheduler::is_room(&self.nodes.store.all(), &pods, wanted) {
            true => Found::Room,
            false => Found::NoRoom,
        }
    }

    async fn scale_up(&self, request: &ProvisioningRequest) -> Result<(), Failure> {
        let all = machines(request, &self.pods_of(request).unwrap_or_default(), &self.defaults);
        for node in all.into_iter().filter(|node| self.nodes.get(&Key::of(node)).is_none()) {
            match self.client.make(&node).await {
                Err(failure) if !failure.is_conflict() => return Err(failure),
                _ => {}
            }
        }
        Ok(())
    }

    /// Takes nodes away that nobody asks for any more and nobody uses.
    async fn scale_down(&self, request: &Key) -> Result<(), Failure> {
        let all = self.nodes.store.all();
        for node in all.iter().filter(|node| request_of(node).as_deref() == Some(request.to_string().as_str())) {
            let name = &node.metadata.name;
            let is_used = self.pods.store.all().iter().any(|pod| pod.spec.node_name == *name);
            if !is_used {
                let key = Key::of(&**node);
                let deleted = self.client.delete::<Node>(&key, &node.metadata.uid, Dependents::Background).await;
                gone_is_fine(deleted)?;
            }
        }
        Ok(())
    }
}

/// Whether room was promised to another request.
fn is_booked(other: &ProvisioningRequest, request: &ProvisioningRequest) -> bool {
    let is_other = other.metadata.uid != request.metadata.uid;
    let is_check = Class::named(&other.spec.provisioning_class_name) == Some(Class::CheckCapacity);
    is_other && is_check && is_provisioned(other)
}
