//! What the webhooks of a job kind do, in the world of a case.

use std::collections::BTreeSet;
use std::sync::Arc;

use kueue_api::core_v1::Namespace;
use kueue_api::kueue::v1beta2::{AdmissionCheck, ClusterQueue, LocalQueue, Workload, WorkloadPriorityClass};
use kueue_api::meta::ObjectMeta;
use kueue_jobs::ancestor::Search;
use kueue_jobs::integrations::Integrations;
use kueue_jobs::job::Job;
use kueue_jobs::step::Settings;
use kueue_jobs::webhook::{Around, dispatch};
use serde_json::{Value, json};

use super::field_errors::{Compared, same_errors};
use super::job_reconciler::selector;
use crate::compare::Rules;
use crate::corpus::{Case, Failure, decode};
use crate::objects::Objects;

/// An object that is recorded as a Go structure of its own.
pub(super) fn object(value: &Value) -> Value {
    if value["$type"].is_null() {
        return value.clone();
    }
    json!({"metadata": value["ObjectMeta"], "spec": value["Spec"], "status": value["Status"]})
}

/// The job in a field of the row.
pub(super) fn job<J: Job>(case: &Case, field: &str) -> Result<J, Failure> {
    let value = object(case.raw(field));
    decode(field, &value)?.ok_or_else(|| Failure(format!("the case has no {field}")))
}

/// Everything around a webhook of a case.
pub(super) struct World {
    pub(super) objects: Objects,
    pub(super) settings: Settings,
    pub(super) has_default_queue: bool,
}

impl World {
    /// As the usual fields of a row say. Only kinds are known that the test has registered.
    pub(super) fn of(case: &Case) -> Result<Self, Failure> {
        let mut objects = Objects::of_case(case)?;
        for field in ["objs", "namespaces", "queues", "clusterQueues", "admissionCheck", "wpcObjects"] {
            objects.add(case.raw(field))?;
        }
        let enabled: Vec<String> = case.arg("enableIntegrations")?;
        let mut integrations = Integrations::configured(enabled.iter().map(String::as_str), []);
        integrations.known.clone_from(&integrations.enabled);
        let settings = Settings {
            gates: case.gates()?,
            manages_without_queue: case.has("manageJobsWithoutQueueName") || case.has("manageAll"),
            namespaces: case.raw("managedJobsNamespaceSelector").as_str().map(selector),
            integrations,
            ..Settings::default()
        };
        Ok(Self { objects, settings, has_default_queue: case.arg("defaultLqExist")? })
    }

    /// Lets a webhook answer about an object with that metadata.
    pub(super) fn ask<T>(&self, about: &ObjectMeta, answer: impl FnOnce(&Around<'_>) -> T) -> Result<T, Failure> {
        let objects = &self.objects;
        let search = Search::of(about, &self.settings.integrations, self.settings.manages_without_queue);
        let namespace = &about.namespace;
        let (queues, checks) = (objects.all::<ClusterQueue>()?, objects.all::<AdmissionCheck>()?);
        let local_queues = objects.all::<LocalQueue>()?;
        let is_dispatched = |name: &str| {
            let near = |queue: &&LocalQueue| queue.metadata.namespace == *namespace && queue.metadata.name == name;
            let behind = local_queues.iter().find(near).map(|queue| queue.spec.cluster_queue.as_str());
            let queue = queues.iter().find(|queue| Some(queue.metadata.name.as_str()) == behind);
            queue.is_some_and(|queue| dispatch::is_dispatched(queue, checks.iter()))
        };
        Ok(answer(&Around {
            settings: &self.settings,
            namespace: objects.get::<Namespace>("", namespace)?.map(|namespace| namespace.metadata.labels),
            has_default_queue: self.has_default_queue,
            has_default_priority_class: objects.get::<WorkloadPriorityClass>("", "default")?.is_some(),
            ancestor: search.run(|owner| objects.metadata(&owner.kind, namespace, &owner.name)),
            is_dispatched: &is_dispatched,
            workload: &|name| objects.get::<Workload>(namespace, name).ok().flatten().map(Arc::new),
        }))
    }
}

/// `TestDefault`: what becomes of a new job.
pub(super) fn default<J: Job>(case: &Case) -> Result<(), Failure> {
    let mut job: J = job(case, "job")?;
    let meta = job.metadata().clone();
    let failure = World::of(case)?.ask(&meta, |around| job.complete(around))?.err();
    match (case.has("wantErr"), failure) {
        (true, None) => return Err(Failure(format!("expected an error: {}", case.raw("wantErr")))),
        (false, Some(failure)) => return Err(Failure(format!("failed: {failure}"))),
        _ => {}
    }
    let wanted: J = super::job_webhook::job(case, "want")?;
    Rules::equate_empty().same(&json!(wanted), &json!(job))
}

/// `TestValidateCreate`: what is refused about a new job.
pub(super) fn validate_create<J: Job>(case: &Case, wanted: &str, compared: Compared) -> Result<(), Failure> {
    let job: J = job(case, "job")?;
    let errors = World::of(case)?.ask(job.metadata(), |around| job.validate_create(around))?;
    same_errors(case.raw(wanted), &errors, compared)
}

/// `TestValidateUpdate`: what is refused about a change.
pub(super) fn validate_update<J: Job>(case: &Case, wanted: &str, compared: Compared) -> Result<(), Failure> {
    let (new, old): (J, J) = (job(case, "newJob")?, job(case, "oldJob")?);
    let errors = World::of(case)?.ask(new.metadata(), |around| new.validate_update(&old, around))?;
    same_errors(case.raw(wanted), &errors, compared)
}

/// The names in a list of the row.
pub(super) fn names(case: &Case, field: &str) -> Result<BTreeSet<String>, Failure> {
    Ok(case.arg::<Vec<String>>(field)?.into_iter().collect())
}
