//! Which rules answer which requests: a path, and what is done about the kind behind it.

use std::collections::BTreeMap;

use kueue_api::config::frameworks::{FRAMEWORKS, GroupVersionKind};
use kueue_api::kueue::defaulting::{default_cluster_queue, default_resource_flavor, default_workload};
use kueue_api::kueue::v1beta2::{ClusterQueue, Cohort, ResourceFlavor, Workload};
use kueue_api::meta::Object;
use kueue_api::validation::{cluster_queue, cohort, resource_flavor, workload};
use kueue_core::field::Errors;
use kueue_core::gates::Gates;
use kueue_jobs::job::Job;
use kueue_jobs::kinds::deployment::{self, Deployment};
use kueue_jobs::kinds::pod::Pod;
use kueue_jobs::kinds::statefulset::{self, StatefulSet};
use kueue_jobs::kinds::{Visitor, visit_enabled};
use kueue_jobs::webhook::{Around, Unanswerable};

use crate::review::{Request, Verdict};

/// What the API server calls a change of an object.
const UPDATE: &str = "UPDATE";

/// What answers a request.
#[derive(Clone, Copy)]
pub(crate) enum Rule {
    /// Kinds of our own depend on nothing else.
    Own(fn(&Request, Gates) -> Result<Verdict, Verdict>),
    /// Jobs depend on what is around them.
    Job(fn(&Request, &Around<'_>) -> Result<Verdict, Verdict>),
    /// Kinds that are not enabled are let through: the API server asks about them all the same.
    LetThrough,
}

/// The rules by path, for the frameworks that are enabled.
pub(crate) fn rules<'n>(enabled: impl IntoIterator<Item = &'n str>) -> BTreeMap<String, Rule> {
    let mut rules = BTreeMap::new();
    for framework in FRAMEWORKS {
        for verb in ["mutate", "validate"] {
            rules.insert(path(verb, &framework.kind), Rule::LetThrough);
        }
    }
    let enabled: Vec<&str> = enabled.into_iter().collect();
    visit_enabled(enabled.iter().copied(), &mut Adding(&mut rules));
    add_pods(&enabled, &mut rules);
    let mut own = |verb: &str, kind: &'static str, rule| {
        let kind = GroupVersionKind { group: ClusterQueue::GROUP, version: ClusterQueue::VERSION, kind };
        rules.insert(path(verb, &kind), Rule::Own(rule));
    };
    own("mutate", ClusterQueue::KIND, |request, _| mutate(request, default_cluster_queue));
    own("mutate", ResourceFlavor::KIND, |request, _| mutate(request, default_resource_flavor));
    own("mutate", Workload::KIND, |request, gates| mutate(request, |workload| default_workload(workload, gates)));
    own("validate", ClusterQueue::KIND, |request, gates| {
        validate(
            request,
            |new| cluster_queue::validate(new, gates),
            |new, old| cluster_queue::validate_update(new, old, gates),
        )
    });
    own("validate", Cohort::KIND, |request, _| validate(request, cohort::validate, |new, _| cohort::validate(new)));
    own("validate", ResourceFlavor::KIND, |request, _| {
        validate(request, resource_flavor::validate, |new, _| resource_flavor::validate(new))
    });
    own("validate", Workload::KIND, |request, gates| {
        validate(request, |new| workload::validate(new, gates), |new, old| workload::validate_update(new, old, gates))
    });
    rules
}

struct Adding<'r>(&'r mut BTreeMap<String, Rule>);

impl Visitor for Adding<'_> {
    fn visit<J: Job>(&mut self) {
        add_job::<J>(self.0);
    }
}

fn add_job<J: Job>(rules: &mut BTreeMap<String, Rule>) {
    let kind = GroupVersionKind { group: J::GROUP, version: J::VERSION, kind: J::KIND };
    let mutate = |request: &Request, around: &Around<'_>| complete(request, |job: &mut J| job.complete(around));
    rules.insert(path("mutate", &kind), Rule::Job(mutate));
    let validate = |request: &Request, around: &Around<'_>| {
        let (create, update) =
            (|new: &J| new.validate_create(around), |new: &J, old: &J| new.validate_update(old, around));
        let warnings = request.new_object::<J>()?.warnings(request.operation == UPDATE, around);
        Ok(validate(request, create, update)?.warning(warnings))
    };
    rules.insert(path("validate", &kind), Rule::Job(validate));
}

/// Pods, and what only lets its pods wait. Where that is enabled, pods are looked at as well.
fn add_pods(enabled: &[&str], rules: &mut BTreeMap<String, Rule>) {
    let has = |framework: &str| enabled.contains(&framework);
    let mut add = |verb: &str, kind: &'static str, rule| {
        let kind = GroupVersionKind { group: Deployment::GROUP, version: Deployment::VERSION, kind };
        rules.insert(path(verb, &kind), Rule::Job(rule));
    };
    if has(deployment::FRAMEWORK) {
        add("mutate", Deployment::KIND, |request, around| {
            complete(request, |new: &mut Deployment| new.complete(around))
        });
        add("validate", Deployment::KIND, |request, around| {
            let gates = around.settings.gates;
            let update = |new: &Deployment, old: &Deployment| new.validate_update(old, gates);
            validate(request, |new: &Deployment| new.validate_create(gates), update)
        });
    }
    if has(statefulset::FRAMEWORK) {
        add("mutate", StatefulSet::KIND, |request, around| {
            complete(request, |new: &mut StatefulSet| new.complete(around))
        });
        add("validate", StatefulSet::KIND, |request, around| {
            if request.operation != UPDATE {
                return Ok(Verdict::of(&request.new_object::<StatefulSet>()?.validate_create(around)));
            }
            let (new, old): (StatefulSet, StatefulSet) = (request.new_object()?, request.old_object()?);
            let errors = new.validate_update(&old, around);
            errors.map(|errors| Verdict::of(&errors)).map_err(|error| Verdict::denied(error.to_string()))
        });
    }
    if [Pod::FRAMEWORK, deployment::FRAMEWORK, statefulset::FRAMEWORK].into_iter().any(has) {
        add_job::<Pod>(rules);
    }
}

/// Completes a job, or says why that cannot be done.
fn complete<T: Object + Clone>(
    request: &Request,
    complete: impl FnOnce(&mut T) -> Result<(), Unanswerable>,
) -> Result<Verdict, Verdict> {
    let before: T = request.new_object()?;
    let mut after = before.clone();
    complete(&mut after).map_err(|error| Verdict::denied(error.to_string()))?;
    Ok(Verdict::changed(&before, &after))
}

/// Where the API server asks about a kind.
fn path(verb: &str, kind: &GroupVersionKind<'_>) -> String {
    format!("/{verb}-{}-{}-{}", kind.group.replace('.', "-"), kind.version, kind.kind.to_lowercase())
}

fn mutate<T: Object + Clone>(request: &Request, complete: impl Fn(&mut T)) -> Result<Verdict, Verdict> {
    let before: T = request.new_object()?;
    let mut after = before.clone();
    complete(&mut after);
    Ok(Verdict::changed(&before, &after))
}

fn validate<T: Object>(
    request: &Request,
    create: impl Fn(&T) -> Errors,
    update: impl Fn(&T, &T) -> Errors,
) -> Result<Verdict, Verdict> {
    let new = request.new_object()?;
    let errors = match request.operation.as_str() {
        UPDATE => update(&new, &request.old_object()?),
        _ => create(&new),
    };
    Ok(Verdict::of(&errors))
}
