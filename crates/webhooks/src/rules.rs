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
use kueue_jobs::kinds::{Visitor, visit_enabled};
use kueue_jobs::webhook::Around;

use crate::review::{Request, Verdict};

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
    visit_enabled(enabled, &mut Adding(&mut rules));
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
    let mutate = |request: &Request, around: &Around<'_>| {
        let before: J = request.new_object()?;
        let mut after = before.clone();
        after.complete(around).map_err(|error| Verdict::Denied(error.to_string()))?;
        Ok(Verdict::changed(&before, &after))
    };
    rules.insert(path("mutate", &kind), Rule::Job(mutate));
    let validate = |request: &Request, around: &Around<'_>| {
        let (create, update) =
            (|new: &J| new.validate_create(around), |new: &J, old: &J| new.validate_update(old, around));
        validate(request, create, update)
    };
    rules.insert(path("validate", &kind), Rule::Job(validate));
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
        "UPDATE" => update(&new, &request.old_object()?),
        _ => create(&new),
    };
    Ok(Verdict::of(&errors))
}
