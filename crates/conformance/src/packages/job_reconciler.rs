//! One look at a job of any kind, in the world of a case: what every `TestReconciler` of a job kind does.

use std::sync::Arc;

use kueue_api::core_v1::{Namespace, PriorityClass};
use kueue_api::kueue::v1beta2::{ResourceFlavor, Workload, WorkloadPriorityClass};
use kueue_api::meta::{ObjectMeta, OwnerReference};
use kueue_core::selector::{LabelSelector, Operator, Requirement};
use kueue_engine::Retention;
use kueue_jobs::ancestor::Search;
use kueue_jobs::integrations::Integrations;
use kueue_jobs::job::Job;
use kueue_jobs::step::{Action, Family, Outcome, Parent, Settings, Surroundings, step, step_gone, step_leaving};
use kueue_jobs::workload::prebuilt_name;
use serde_json::{Value, json};

use crate::corpus::{Case, Failure, decode};
use crate::objects::{Objects, same_events, same_object, same_objects};

/// What the options of a case set, by the names of Go's fields.
pub(super) fn options(case: &Case, field: &str) -> Value {
    let mut all = json!({});
    for option in case.raw(field).as_array().into_iter().flatten() {
        for (name, value) in option["sets"].as_object().into_iter().flatten() {
            all[name] = value.clone();
        }
    }
    all
}

pub(super) fn settings(case: &Case, framework: &str) -> Result<Settings, Failure> {
    let set = options(case, "reconcilerOptions");
    let namespaces = set["ManagedJobsNamespaceSelector"].as_str().map(selector);
    Ok(Settings {
        gates: case.gates()?,
        manages_without_queue: set["ManageJobsWithoutQueueName"] == true,
        namespaces,
        waits_for_pods: set["WaitForPodsReady"] == true,
        copied: kueue_jobs::workload::Copied {
            labels: decode("LabelKeysToCopy", &set["LabelKeysToCopy"])?.unwrap_or_default(),
            annotations: decode("AnnotationsToCopy", &set["AnnotationsToCopy"])?.unwrap_or_default(),
        },
        integrations: Integrations::configured([framework], []),
    })
}

pub(super) fn engine_settings(case: &Case) -> Result<kueue_engine::Settings, Failure> {
    let set = options(case, "reconcilerOptions");
    let deactivated = decode("AfterDeactivatedByKueue", &set["WorkloadRetentionPolicy"]["AfterDeactivatedByKueue"])?;
    let retention = Retention { deactivated, ..Retention::default() };
    Ok(kueue_engine::Settings { gates: case.gates()?, retention, ..kueue_engine::Settings::default() })
}

/// A selector as Go prints it: `key=value` or `key notin (value,…)`.
pub(super) fn selector(text: &str) -> LabelSelector {
    if let Some((key, values)) = text.split_once(" notin ") {
        let values = values.trim_matches(['(', ')']).split(',').map(str::to_owned).collect();
        let requirement = Requirement { key: key.to_owned(), operator: Operator::NotIn, values };
        return LabelSelector { match_expressions: vec![requirement], ..LabelSelector::default() };
    }
    let pairs = text.split(',').filter_map(|term| term.split_once('='));
    let match_labels = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    LabelSelector { match_labels, ..LabelSelector::default() }
}

/// Looks at the job once and compares what it came to.
pub(super) fn reconcile<J: Job>(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    let key = if case.has("reconcileKey") { case.raw("reconcileKey") } else { case.raw("job.metadata") };
    let part = |upper: &str, lower: &str| key[upper].as_str().or(key[lower].as_str()).unwrap_or_default().to_owned();
    let (namespace, name) = (part("Namespace", "namespace"), part("Name", "name"));
    let job: Option<J> = objects.get(&namespace, &name)?;
    let outcome = look(&objects, job.as_ref(), &namespace, &name, &settings(case, J::FRAMEWORK)?)?;
    objects.carry_out(job.as_ref(), &outcome, &engine_settings(case)?)?;
    same_failure(case, &outcome)?;
    let left: Option<J> = objects.get(&namespace, &name)?;
    if left.is_some() || !is_nothing(case.wanted("tc.wantJob")) {
        same_object(case, "tc.wantJob", left.as_ref())?;
    }
    same_objects(case, "tc.wantWorkloads", &objects.all::<Workload>()?)?;
    let looks_at_events =
        case.checks.as_array().into_iter().flatten().any(|check| check["expected"] == "tc.wantEvents");
    if looks_at_events { same_events(case, &objects.events) } else { Ok(()) }
}

/// What a look at the job of that name comes to.
pub(super) fn look<J: Job>(
    objects: &Objects,
    job: Option<&J>,
    namespace: &str,
    name: &str,
    settings: &Settings,
) -> Result<Outcome<J>, Failure> {
    let all: Vec<Arc<Workload>> = objects.all::<Workload>()?.into_iter().map(Arc::new).collect();
    let owned_by = |api_version: &str, kind: &str, name: &str| -> Vec<Arc<Workload>> {
        let is_owner =
            |owner: &OwnerReference| owner.kind == kind && owner.api_version == api_version && owner.name == name;
        let near = all.iter().filter(|workload| workload.metadata.namespace == namespace);
        near.filter(|workload| workload.metadata.owner_references.iter().any(is_owner)).cloned().collect()
    };
    let workloads = owned_by(&J::api_version(), J::KIND, name);
    let Some(job) = job else { return Ok(step_gone(&workloads, settings.gates)) };
    if job.metadata().deletion_timestamp.is_some() {
        return Ok(step_leaving(job, &workloads, settings.gates));
    }
    let search = Search::of(job.metadata(), &settings.integrations, settings.manages_without_queue);
    let family = match job.waits_by_itself() {
        true => Ok(None),
        false => search.run(|owner| objects.metadata(&owner.kind, namespace, &owner.name)),
    };
    let family = match family {
        Err(lost) => Family::Lost(lost),
        Ok(None) => Family::TopLevel,
        Ok(Some(ancestor)) => {
            let workloads = owned_by(&ancestor.owner.api_version, &ancestor.owner.kind, &ancestor.owner.name);
            Family::Child(Box::new(Parent { ancestor, workloads }))
        }
    };
    surrounded(objects, job.metadata(), (workloads, family), settings, |around| step(job, around))
}

/// Looks at something that has these Workloads and belongs to those, with what is around it.
pub(super) fn surrounded<R>(
    objects: &Objects,
    meta: &ObjectMeta,
    (workloads, family): (Vec<Arc<Workload>>, Family),
    settings: &Settings,
    look: impl FnOnce(&Surroundings<'_>) -> R,
) -> Result<R, Failure> {
    let flavors: Vec<Arc<ResourceFlavor>> = objects.all::<ResourceFlavor>()?.into_iter().map(Arc::new).collect();
    let flavor = |name: &str| flavors.iter().find(|flavor| flavor.metadata.name == name).cloned();
    let prebuilt = prebuilt_name(meta, settings.gates);
    let prebuilt = prebuilt.map(|name| objects.get::<Workload>(&meta.namespace, name)).transpose()?.flatten();
    let around = Surroundings {
        settings,
        family,
        namespace: objects.get::<Namespace>("", &meta.namespace)?.map(|namespace| namespace.metadata.labels),
        prebuilt: prebuilt.map(Arc::new),
        workloads,
        flavor: &flavor,
        workload_priority_classes: objects.all::<WorkloadPriorityClass>()?.into_iter().map(Arc::new).collect(),
        priority_classes: objects.all::<PriorityClass>()?.into_iter().map(Arc::new).collect(),
        ray_cluster: None,
    };
    Ok(look(&around))
}

/// Go's zero value of a job stands for none.
fn is_nothing(object: &Value) -> bool {
    object.is_null() || object["metadata"]["name"].as_str().unwrap_or_default().is_empty()
}

/// Kueue ends a look with an error when it wants another one. Ours only fails when nothing else leads to one: the end of
/// a Workload that is deleted does.
fn same_failure<J: Job>(case: &Case, outcome: &Outcome<J>) -> Result<(), Failure> {
    let is_deleting = outcome.actions.iter().any(|action| matches!(action, Action::DeleteWorkload(_)));
    fails_as_recorded(case, outcome.failure.as_deref(), is_deleting)
}

pub(super) fn fails_as_recorded(case: &Case, failure: Option<&str>, is_deleting: bool) -> Result<(), Failure> {
    match (case.has("wantErr"), failure) {
        (true, None) if !is_deleting => Err(Failure(format!("expected an error: {}", case.raw("wantErr")))),
        (false, Some(failure)) => Err(Failure(format!("failed: {failure}"))),
        _ => Ok(()),
    }
}
