//! Rules for ResourceFlavors. An update is checked as if it were new.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;

use super::shown;
use crate::core_v1::{Taint, Toleration};
use crate::kueue::v1beta2::ResourceFlavor;

/// Every mistake in a new or changed ResourceFlavor.
pub fn validate(flavor: &ResourceFlavor) -> Errors {
    let at = Path::new("spec");
    let mut errors = label::validate_labels(&flavor.spec.node_labels, &at.child("nodeLabels"));
    errors.extend(validate_taints(&flavor.spec.node_taints, &at.child("nodeTaints")));
    errors.extend(validate_tolerations(&flavor.spec.tolerations, &at.child("tolerations")));
    errors
}

fn validate_taints(taints: &[Taint], at: &Path) -> Errors {
    let mut errors = Errors::new();
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let at = at.index(index);
        errors.extend(label::validate_key(&taint.key, &at.child("key")));
        let messages = label::value(&taint.value);
        if !messages.is_empty() {
            errors.push(Error::invalid(&at.child("value"), taint.value.as_str(), messages.join(";")));
        }
        if !seen.insert((&taint.effect, &taint.key)) {
            let detail = "taints must be unique by key and effect pair".to_owned();
            errors.push(Error { detail, ..Error::duplicate(&at, shown(taint)) });
        }
    }
    errors
}

/// A toleration without a key tolerates every taint.
pub(super) fn validate_tolerations(tolerations: &[Toleration], at: &Path) -> Errors {
    let keyed = tolerations.iter().enumerate().filter(|(_, toleration)| !toleration.key.is_empty());
    keyed.flat_map(|(index, toleration)| label::validate_key(&toleration.key, &at.index(index).child("key"))).collect()
}
