//! Does what is planned, and keeps the checks' own conditions.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::autoscaling::ProvisioningRequest;
use kueue_api::core_v1::PodTemplate;
use kueue_api::kueue::names::{
    CONTROLLER_PROVISIONING_REQUEST, FIELD_MANAGER_KUEUE, FIELD_MANAGER_PROVISIONING_REQUEST, event,
};
use kueue_api::kueue::v1beta2::{AdmissionCheck, ProvisioningRequestConfig, ResourceFlavor, Workload};
use kueue_api::meta::{Object, OwnerReference};
use kueue_core::duration::Duration;
use kueue_core::gates::Gates;
use kueue_core::time::Time;
use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::informer::{Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};
use kueue_runtime::watch;

use super::check::{NoConfig, config_of, decided_by, judged};
use super::plan::{Plan, Question, Unaskable, World, plan, unasked};

/// How long the autoscaler's API may take to be listed before its absence is told.
const PATIENCE: Duration = Duration::from_seconds(30);

/// Asks the autoscaler for what Workloads need.
#[derive(Debug)]
pub struct Provisioning {
    pub client: Client,
    pub clock: Clock,
    pub recorder: Recorder,
    pub gates: Gates,
    pub workloads: Arc<Store<Workload>>,
    pub flavors: Arc<Store<ResourceFlavor>>,
    pub checks: Arc<Store<AdmissionCheck>>,
    pub configs: Arc<Store<ProvisioningRequestConfig>>,
    pub requests: Arc<Store<ProvisioningRequest>>,
    /// Finds requests by [`owner_values`].
    pub by_owner: Index,
    pub templates: Arc<Store<PodTemplate>>,
    /// Whether the autoscaler's API is there; it may come later than we do.
    pub is_served: watch::Receiver<bool>,
}

/// By what requests are found: namespace and name of their owners.
pub fn owner_values(request: &ProvisioningRequest) -> Vec<String> {
    let meta = &request.metadata;
    meta.owner_references.iter().map(|owner| format!("{}/{}", meta.namespace, owner.name)).collect()
}

/// The Workloads that a request may belong to.
pub fn owners(request: &ProvisioningRequest) -> Vec<Key> {
    let key = |owner: &OwnerReference| Key::new(request.metadata.namespace.as_str(), owner.name.as_str());
    request.metadata.owner_references.iter().filter(|owner| owner.kind == Workload::KIND).map(key).collect()
}

impl Reconciler<Key> for Provisioning {
    fn name(&self) -> &'static str {
        "provisioning_workload"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let workload = self.workloads.get(key).map(|stored| stored.object);
        let Some(workload) = workload.filter(|_| *self.is_served.borrow()) else { return Ok(Next::Done) };
        // What does not fit together now may do so when something else was seen.
        let planned = self.planned(&workload).map_err(Failure::Missing)?;
        let again = planned.again;
        self.carry_out(&workload, planned).await?;
        Ok(again.map_or(Next::Done, |time| Next::After(self.clock.until(time))))
    }
}

impl Provisioning {
    fn planned(&self, workload: &Workload) -> Result<Plan, String> {
        let namespace = workload.metadata.namespace.as_str();
        let template = |name: &str| self.templates.get(&Key::new(namespace, name)).map(|stored| stored.object);
        let request = |name: &str| self.requests.get(&Key::new(namespace, name)).map(|stored| stored.object);
        let is_own = |request: &Arc<ProvisioningRequest>| {
            request.metadata.owner_references.iter().any(|owner| owner.uid == workload.metadata.uid)
        };
        let world = World {
            workload,
            checks: self.checks_of(workload),
            requests: self
                .requests
                .find(self.by_owner, &format!("{namespace}/{}", workload.metadata.name))
                .into_iter()
                .map(|(_, stored)| stored.object)
                .filter(is_own)
                .collect(),
            request: &request,
            template: &template,
            flavor: &|name| self.flavors.named(name),
            gates: self.gates,
            now: self.clock.time(),
        };
        plan(&world).map_err(|why| why.to_string())
    }

    fn checks_of(&self, workload: &Workload) -> BTreeMap<String, Option<Arc<ProvisioningRequestConfig>>> {
        let states = &workload.status.admission_checks;
        let checks = decided_by(CONTROLLER_PROVISIONING_REQUEST, states, |name| self.checks.named(name));
        let config = |check: &AdmissionCheck| config_of(check, |name| self.configs.named(name)).ok();
        checks.iter().map(|check| (check.metadata.name.clone(), config(check))).collect()
    }

    async fn carry_out(&self, workload: &Arc<Workload>, plan: Plan) -> Result<(), Failure> {
        let Plan {
            workload: judged,
            events,
            contested,
            deleted,
            dropped,
            claimed,
            asked,
            unaskable,
            adopted,
            again: _,
        } = plan;
        // What is written later is based on the version that was written before.
        let mut current = Arc::clone(workload);
        if let Some(judged) = judged {
            current = self.write(&current, &judged).await?;
        }
        for (reason, note) in events {
            self.tell(workload, false, reason, note);
        }
        for (reason, note) in contested {
            self.tell(workload, true, reason, note);
        }
        // Templates first: whoever is stopped between the two finds them by their request.
        for template in dropped {
            self.delete(&*template).await?;
        }
        for request in deleted {
            self.delete(&*request).await?;
        }
        for (lost, own) in claimed {
            self.hand_over(&*lost, &own).await?;
        }
        for question in asked {
            self.ask(&current, question).await?;
        }
        for (template, adopted) in adopted {
            let handed = self.hand_over(&*template, &adopted).await;
            handed.or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })?;
        }
        // One after the other: each is tried again.
        let Some(Unaskable { check, template, why }) = unaskable.into_iter().next() else { return Ok(()) };
        let what = format!("{} {template:?}", PodTemplate::KIND);
        self.refuse(&current, &check, &what, &why.to_string()).await?;
        Err(Failure::Missing(why.to_string()))
    }

    async fn delete<T: Object>(&self, known: &T) -> Result<(), Failure> {
        let gone = self.client.delete::<T>(&Key::of(known), &known.metadata().uid, Dependents::Background).await;
        gone.or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })
    }

    async fn write(&self, known: &Workload, wanted: &Workload) -> Result<Arc<Workload>, Failure> {
        let patch = Patch::between(known, wanted, FIELD_MANAGER_PROVISIONING_REQUEST).map(Patch::of_status);
        let Some(patch) = patch else { return Ok(Arc::new(known.clone())) };
        self.client.patch::<Workload>(&Key::of(known), &patch).await.map(Arc::new)
    }

    fn tell(&self, workload: &Workload, is_warning: bool, reason: &str, note: String) {
        let reason = reason.to_owned();
        self.recorder.record(Event { regarding: Regarding::of(workload), is_warning, reason, note });
    }

    async fn ask(&self, workload: &Workload, question: Question) -> Result<(), Failure> {
        let Question { check, templates, kept, request } = question;
        // One that is gone meanwhile is made again by the next look.
        for (left, own) in &kept {
            self.hand_over(&**left, own).await?;
        }
        for template in &templates {
            let made = self.client.create(template).await;
            if let Err(failure) = made {
                return self.give_up(workload, &check, template, &self.templates, failure).await;
            }
        }
        let request = match self.client.create(&request).await {
            Ok(made) => made,
            Err(failure) => return self.give_up(workload, &check, &request, &self.requests, failure).await,
        };
        let note = format!("Created ProvisioningRequest: {:?}", request.metadata.name);
        self.tell(workload, false, event::workload::PROVISIONING_REQUEST_CREATED, note);
        // Its templates go with it from the next look on, which the request itself brings about.
        Ok(())
    }

    /// Says why nobody could be asked, and fails. What exists and was not seen yet is no failure worth a word.
    async fn give_up<T: Object>(
        &self,
        workload: &Workload,
        check: &str,
        object: &T,
        seen: &Store<T>,
        failure: Failure,
    ) -> Result<(), Failure> {
        if is_unseen(seen.get(&Key::of(object)).is_some(), &failure) {
            return Err(failure);
        }
        let why = match &failure {
            Failure::Refused { message, .. } => message.clone(),
            other => other.to_string(),
        };
        let what = format!("{} {:?}", T::KIND, object.metadata().name);
        self.refuse(workload, check, &what, &why).await?;
        Err(failure)
    }

    async fn refuse(&self, workload: &Workload, check: &str, what: &str, why: &str) -> Result<(), Failure> {
        let (note, shown) = unasked(workload, check, what, why);
        self.tell(workload, true, event::workload::FAILED_CREATE, note);
        self.write(workload, &shown).await.map(drop)
    }

    /// Lets something belong to somebody else.
    async fn hand_over<T: Object>(&self, known: &T, handed: &T) -> Result<(), Failure> {
        let Some(patch) = Patch::between(known, handed, FIELD_MANAGER_KUEUE) else { return Ok(()) };
        self.client.patch::<T>(&Key::of(known), &patch).await.map(drop)
    }
}

/// Whether an object could not be made because it exists, and nobody here has seen it yet.
pub fn is_unseen(is_seen: bool, failure: &Failure) -> bool {
    failure.is_conflict() && !is_seen
}

/// Says of checks whether they work.
#[derive(Debug)]
pub struct Checks {
    pub client: Client,
    pub clock: Clock,
    pub checks: Arc<Store<AdmissionCheck>>,
    pub configs: Arc<Store<ProvisioningRequestConfig>>,
    /// Whether the autoscaler's API is there: before, no check works.
    pub is_served: watch::Receiver<bool>,
    /// Since when it is looked for.
    pub since: Time,
}

impl Reconciler<Key> for Checks {
    fn name(&self) -> &'static str {
        "provisioning_admissioncheck"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(check) = self.checks.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let missed = self.since + PATIENCE;
        let config = match *self.is_served.borrow() {
            true => config_of(&check, |name| self.configs.named(name)).map(drop),
            false if missed <= self.clock.time() => Err(NoConfig::NotServed),
            false => return Ok(Next::After(self.clock.until(missed))),
        };
        if let Some(judged) = judged(&check, &config, self.clock.time())
            && let Some(patch) = Patch::between(&*check, &judged, FIELD_MANAGER_KUEUE)
        {
            let written = self.client.patch::<AdmissionCheck>(key, &patch.of_status()).await;
            written.map(drop).or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })?;
        }
        Ok(Next::Done)
    }
}
