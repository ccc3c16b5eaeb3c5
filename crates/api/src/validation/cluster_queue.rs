//! Rules for ClusterQueues.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};

use super::quota::{Owner, validate_fair_sharing, validate_resource_groups};
use super::{immutable, shown};
use crate::kueue::v1beta2::{
    AdmissionCheckStrategyRule, BorrowWithinCohortPolicy, ClusterQueue, ClusterQueuePreemption, ClusterQueueSpec,
    ConcurrentAdmissionMigration, ConcurrentAdmissionMigrationMode, FlavorFungibility, FlavorFungibilityPolicy,
    PreemptionPolicy, QueueingStrategy, ResourceGroup,
};

const FLAVORS_MAX: usize = 256;
const COVERED_RESOURCES_MAX: usize = 256;
const COMBINATIONS_MAX: usize = 512;
const CONCURRENT_FLAVORS_MAX: usize = 16;

/// Every mistake in a new ClusterQueue.
pub fn validate(queue: &ClusterQueue, gates: Gates) -> Errors {
    let mut errors = validate_spec(&queue.spec, gates);
    errors.extend(validate_on_flavors(&queue.spec, &BTreeMap::new()));
    errors
}

/// Every mistake in a changed ClusterQueue.
pub fn validate_update(new: &ClusterQueue, old: &ClusterQueue, gates: Gates) -> Errors {
    let mut errors = validate_spec(&new.spec, gates);
    errors.extend(validate_on_flavors(&new.spec, &tolerated_on_flavors(&new.spec, &old.spec, gates)));
    let (new, old) = (&new.spec.concurrent_admission_policy, &old.spec.concurrent_admission_policy);
    errors.extend(immutable(new, old, &Path::new("spec").child("concurrentAdmissionPolicy")));
    errors
}

fn validate_spec(spec: &ClusterQueueSpec, gates: Gates) -> Errors {
    let at = Path::new("spec");
    let groups_at = at.child("resourceGroups");
    let owner = Owner { parent: "cohort", has_parent: !spec.cohort_name.is_empty(), lends_at_most_its_own: true };
    let mut errors = validate_resource_groups(&spec.resource_groups, owner, &groups_at);
    if let Some(selector) = &spec.namespace_selector {
        errors.extend(selector.validate(&at.child("namespaceSelector")));
    }
    errors.extend(spec.preemption.as_ref().and_then(|rules| validate_preemption(rules, &at.child("preemption"))));
    let fungibility = spec.flavor_fungibility.as_ref();
    errors.extend(fungibility.and_then(|rules| validate_fungibility(rules, &at.child("flavorFungibility"))));
    errors.extend(validate_fair_sharing(spec.fair_sharing.as_ref(), &at.child("fairSharing")));
    errors.extend(validate_totals(&spec.resource_groups, &groups_at));
    if gates.enabled(Gate::ConcurrentAdmission) {
        errors.extend(validate_concurrent_admission(spec, &at));
    }
    errors
}

fn validate_preemption(rules: &ClusterQueuePreemption, at: &Path) -> Option<Error> {
    let borrows = rules.borrow_within_cohort.as_ref();
    let contradicts = rules.reclaim_within_cohort == Some(PreemptionPolicy::Never)
        && borrows.is_some_and(|borrow| borrow.policy != Some(BorrowWithinCohortPolicy::Never));
    let why = "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never";
    contradicts.then(|| Error::invalid(at, shown(rules), why))
}

fn validate_fungibility(rules: &FlavorFungibility, at: &Path) -> Option<Error> {
    let preference = rules.preference.as_ref()?.as_str();
    let tries_next = Some(FlavorFungibilityPolicy::TryNextFlavor);
    let sees_all = rules.when_can_borrow == tries_next && rules.when_can_preempt == tries_next;
    let why = format!("preference {preference:?} requires both whenCanBorrow and whenCanPreempt to be TryNextFlavor");
    (!sees_all).then(|| Error::invalid(&at.child("preference"), preference, why))
}

/// Limits over all groups, and then those of each.
fn validate_totals(groups: &[ResourceGroup], at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut limit = |at: &Path, total: usize, max: usize, what: &str| {
        if total > max {
            errors.push(Error::invalid(at, total, format!("{what} must be ≤ {max}, got {total}")));
        }
    };
    let flavors = groups.iter().map(|group| group.flavors.len()).sum();
    limit(at, flavors, FLAVORS_MAX, "total number of flavors across all resourceGroups");
    let resources = groups.iter().map(|group| group.covered_resources.len()).sum();
    limit(at, resources, COVERED_RESOURCES_MAX, "total number of covered resources across all resourceGroups");
    for (index, group) in groups.iter().enumerate() {
        let combinations = group.flavors.iter().map(|flavor| flavor.resources.len()).sum();
        let what = "number of flavor-resource combinations in a resourceGroup";
        limit(&at.index(index), combinations, COMBINATIONS_MAX, what);
    }
    errors
}

fn validate_concurrent_admission(spec: &ClusterQueueSpec, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let Some(policy) = &spec.concurrent_admission_policy else { return errors };
    let groups_at = at.child("resourceGroups");
    match spec.resource_groups.as_slice() {
        [group] if group.flavors.len() > CONCURRENT_FLAVORS_MAX => errors.push(Error::invalid(
            &groups_at.index(0).child("flavors"),
            group.flavors.len(),
            "cannot have more than 16 resource flavors in the ResourceGroup when ConcurrentAdmissionPolicy is defined",
        )),
        [_] => {}
        groups => errors.push(Error::invalid(
            &groups_at,
            groups.len(),
            "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
        )),
    }
    let migration_at = at.child("concurrentAdmissionPolicy").child("migration");
    errors.extend(validate_migration(&policy.migration, &spec.resource_groups, &migration_at));
    if let Some(strategy @ QueueingStrategy::StrictFIFO) = &spec.queueing_strategy {
        errors.push(Error::invalid(
            &at.child("queueingStrategy"),
            strategy.as_str(),
            "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
        ));
    }
    errors
}

fn validate_migration(migration: &ConcurrentAdmissionMigration, groups: &[ResourceGroup], at: &Path) -> Option<Error> {
    let at = at.child("constraints");
    let constraints = migration.constraints.as_ref()?;
    let (mode, preferred) = (&migration.mode, ConcurrentAdmissionMigrationMode::TryPreferredFlavors);
    if !mode.as_str().is_empty() && *mode != preferred {
        let (mode, preferred) = (mode.as_str(), preferred.as_str());
        let why = format!("may only be set when migration.mode is {preferred:?} (got {mode:?})");
        return Some(Error::forbidden(&at, why));
    }
    let last = constraints.last_acceptable_flavor_name.as_deref()?;
    let flavors = all_flavors(groups);
    let names = || flavors.iter().copied().collect::<Vec<_>>().join(" ");
    let why = || format!("must be one of the flavors defined in the ClusterQueue: [{}]", names());
    (!flavors.contains(last)).then(|| Error::invalid(&at.child("lastAcceptableFlavorName"), last, why()))
}

/// The flavors each check is restricted to, as far as a queue that already refers to missing ones may keep doing so:
/// an unrelated change of an old queue is not held up by them.
fn tolerated_on_flavors<'q>(
    new: &ClusterQueueSpec,
    old: &'q ClusterQueueSpec,
    gates: Gates,
) -> BTreeMap<&'q str, BTreeSet<&'q str>> {
    if gates.enabled(Gate::RejectUpdatesToCQWithInvalidOnFlavors)
        || all_flavors(&old.resource_groups) != all_flavors(&new.resource_groups)
    {
        return BTreeMap::new();
    }
    checks(old).iter().map(|check| (check.name.as_str(), on_flavors(check))).collect()
}

fn validate_on_flavors(spec: &ClusterQueueSpec, tolerated: &BTreeMap<&str, BTreeSet<&str>>) -> Errors {
    let at = Path::new("spec").child("admissionChecksStrategy").child("admissionChecks");
    let flavors = all_flavors(&spec.resource_groups);
    let supported: Vec<&str> = flavors.iter().copied().collect();
    let mut errors = Errors::new();
    for (index, check) in checks(spec).iter().enumerate() {
        if tolerated.get(check.name.as_str()) == Some(&on_flavors(check)) {
            continue;
        }
        let at = at.index(index).child("onFlavors");
        for (index, flavor) in check.on_flavors.iter().enumerate() {
            if !flavors.contains(flavor.as_str()) {
                errors.push(Error::not_supported(&at.index(index), flavor.as_str(), &supported));
            }
        }
    }
    errors
}

fn checks(spec: &ClusterQueueSpec) -> &[AdmissionCheckStrategyRule] {
    spec.admission_checks_strategy.as_ref().map_or(&[], |strategy| &strategy.admission_checks)
}

fn on_flavors(check: &AdmissionCheckStrategyRule) -> BTreeSet<&str> {
    check.on_flavors.iter().map(String::as_str).collect()
}

fn all_flavors(groups: &[ResourceGroup]) -> BTreeSet<&str> {
    groups.iter().flat_map(|group| &group.flavors).map(|flavor| flavor.name.as_str()).collect()
}
