//! What the API server does with an object, as far as our CustomResourceDefinitions decide it.

use kueue_manifests::crd::{GROUP, Kind, Version};
use kueue_manifests::crds;
use serde_json::Value;

use crate::structural;

/// The kind and version that an object says it is of.
pub fn kind_of(object: &Value) -> (Kind, Version) {
    let api_version = object["apiVersion"].as_str().expect("an object has an apiVersion");
    let kind = crds::kinds().into_iter().find(|kind| object["kind"] == kind.name);
    let kind = kind.unwrap_or_else(|| panic!("{} is none of our kinds", object["kind"]));
    let version = kind.versions.iter().copied().find(|version| api_version == format!("{GROUP}/{}", version.name()));
    let version = version.unwrap_or_else(|| panic!("{} has no version {api_version}", kind.name));
    (kind, version)
}

/// Everything that is wrong with a new object, or with a change when there is an old one, as `field: reason`.
///
/// As in the API server: defaults first, then the schema, and the rules only for what has the right shape.
pub fn problems(old: Option<&Value>, new: &Value) -> Vec<String> {
    let (kind, version) = kind_of(new);
    let schema = kind.full_schema(version);
    let new = with_defaults(&schema, new);
    let old = old.map(|old| with_defaults(&schema, old));
    let mut problems = structural::problems(&schema, &new);
    if problems.is_empty() {
        let result = kube_cel::Validator::new().validate(&schema, &new, old.as_ref());
        let errors = result.err().map(kube_cel::ValidationErrors::into_vec).unwrap_or_default();
        problems = errors.iter().map(|error| error.to_string().trim_start_matches('.').to_owned()).collect();
    }
    problems
}

/// Fills in defaults, and the defaults inside of defaults, which the library leaves for the next time.
fn with_defaults(schema: &Value, object: &Value) -> Value {
    let filled = kube_cel::apply_defaults(schema, object);
    if filled == *object { filled } else { with_defaults(schema, &filled) }
}
