//! Resource groups and fair sharing, which ClusterQueues and Cohorts have in common.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;
use kueue_core::quantity::Quantity;

use super::NEGATIVE;
use crate::kueue::v1beta2::{FairSharing, FlavorQuotas, ResourceGroup, ResourceQuota};

/// What a ClusterQueue and a Cohort do not have in common.
#[derive(Clone, Copy)]
pub(super) struct Owner {
    /// What it calls that from which it borrows: `cohort` or `parent`.
    pub(super) parent: &'static str,
    pub(super) has_parent: bool,
    /// A Cohort may lend what its members have.
    pub(super) lends_at_most_its_own: bool,
}

pub(super) fn validate_resource_groups(groups: &[ResourceGroup], owner: Owner, at: &Path) -> Errors {
    let mut errors = Errors::new();
    let (mut resources, mut flavors) = (BTreeSet::new(), BTreeSet::new());
    for (index, group) in groups.iter().enumerate() {
        let at = at.index(index);
        for (index, name) in group.covered_resources.iter().enumerate() {
            let at = at.child("coveredResources").index(index);
            errors.extend(label::validate_key(name, &at));
            if !resources.insert(name) {
                errors.push(Error::duplicate(&at, name.as_str()));
            }
        }
        for (index, flavor) in group.flavors.iter().enumerate() {
            let at = at.child("flavors").index(index);
            errors.extend(validate_flavor(flavor, &group.covered_resources, owner, &at));
            if !flavors.insert(&flavor.name) {
                errors.push(Error::duplicate(&at.child("name"), flavor.name.as_str()));
            }
        }
    }
    errors
}

/// The schema says that there is one quota per covered resource; those beyond are not looked at.
fn validate_flavor(flavor: &FlavorQuotas, covered: &[String], owner: Owner, at: &Path) -> Errors {
    let mut errors = Errors::new();
    for (index, (quota, covered)) in flavor.resources.iter().zip(covered).enumerate() {
        let at = at.child("resources").index(index);
        if quota.name != *covered {
            errors.push(Error::invalid(
                &at.child("name"),
                quota.name.as_str(),
                "must match the name in coveredResources",
            ));
        }
        errors.extend(validate_quota(quota, owner, &at));
    }
    errors
}

fn validate_quota(quota: &ResourceQuota, owner: Owner, at: &Path) -> Errors {
    let mut errors = Errors::new();
    errors.extend(not_negative(&quota.nominal_quota, &at.child("nominalQuota")));
    if let Some(limit) = &quota.borrowing_limit {
        let at = at.child("borrowingLimit");
        errors.extend(needs_parent(limit, owner, &at));
        errors.extend(not_negative(limit, &at));
    }
    if let Some(limit) = &quota.lending_limit {
        let at = at.child("lendingLimit");
        errors.extend(not_negative(limit, &at));
        errors.extend(needs_parent(limit, owner, &at));
        if owner.lends_at_most_its_own && *limit > quota.nominal_quota {
            errors.push(Error::invalid(&at, limit.to_string(), "must be less than or equal to the nominalQuota"));
        }
    }
    errors
}

/// The error for a quantity below zero.
pub(super) fn not_negative(quantity: &Quantity, at: &Path) -> Option<Error> {
    (quantity.sign() < 0).then(|| Error::invalid(at, quantity.to_string(), NEGATIVE))
}

fn needs_parent(limit: &Quantity, owner: Owner, at: &Path) -> Option<Error> {
    let why = || format!("must be nil when {} is empty", owner.parent);
    (!owner.has_parent).then(|| Error::invalid(at, limit.to_string(), why()))
}

pub(super) fn validate_fair_sharing(fair_sharing: Option<&FairSharing>, at: &Path) -> Errors {
    let Some(weight) = fair_sharing.and_then(|fair_sharing| fair_sharing.weight.as_ref()) else {
        return Errors::new();
    };
    let mut errors: Errors = not_negative(weight, at).into_iter().collect();
    // Shares are divided by the weight, and so small a one would count as zero.
    if weight.sign() > 0 && *weight <= smallest() {
        errors.push(Error::invalid(at, weight.to_string(), "When not 0, weight must be > 10e-9"));
    }
    errors
}

fn smallest() -> Quantity {
    "1n".parse().expect("1n is a quantity")
}
