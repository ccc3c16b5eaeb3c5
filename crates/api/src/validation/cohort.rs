//! Rules for Cohorts. An update is checked as if it were new.

use kueue_core::field::{Errors, Path};

use super::quota::{Owner, validate_fair_sharing, validate_resource_groups};
use crate::kueue::v1beta2::Cohort;

/// Every mistake in a new or changed Cohort.
pub fn validate(cohort: &Cohort) -> Errors {
    let at = Path::new("spec");
    let spec = &cohort.spec;
    let owner = Owner { parent: "parent", has_parent: !spec.parent_name.is_empty(), lends_at_most_its_own: false };
    let mut errors = validate_fair_sharing(spec.fair_sharing.as_ref(), &at.child("fairSharing"));
    errors.extend(validate_resource_groups(&spec.resource_groups, owner, &at.child("resourceGroups")));
    errors
}
