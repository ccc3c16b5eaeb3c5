//! The install: every object in the order in which `kubectl apply` creates them, and the files made of them.
//!
//! Applying the files twice changes nothing: no field is written that the API server would store differently.

use serde_json::{Value, json};

use crate::{crds, manager, rbac, webhooks, yaml};

/// The namespace that everything namespaced is installed in.
pub const NAMESPACE: &str = "kueue-system";

/// What may differ between installs.
#[derive(Clone, Debug)]
pub struct Options {
    /// The image of the manager.
    pub image: String,
}

impl Default for Options {
    fn default() -> Self {
        Self { image: format!("kueue:{}", env!("CARGO_PKG_VERSION")) }
    }
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative to the output folder.
    pub path: String,
    pub text: String,
}

/// Everything that is installed: what others refer to comes first, and the webhooks, which hold up requests until the
/// manager answers, come last.
pub fn objects(options: &Options) -> Vec<Value> {
    let mut objects = vec![manager::namespace()];
    objects.extend(crds::kinds().iter().map(crate::crd::Kind::to_crd));
    objects.extend(rbac::objects());
    objects.extend(manager::objects(options));
    objects.extend(webhooks::configurations());
    objects
}

/// The files of `dist/`: the whole install, and each CustomResourceDefinition on its own.
pub fn files(options: &Options) -> Vec<File> {
    const HEADER: &str = "# Written by `cargo xtask manifests`; edit crates/manifests instead.\n";
    let mut files = vec![File {
        path: "manifests.yaml".to_owned(),
        text: format!("{HEADER}{}", yaml::documents(&objects(options))),
    }];
    files.extend(crds::kinds().iter().map(|kind| File {
        path: format!("crds/{}.yaml", kind.plural),
        text: format!("{HEADER}{}", yaml::document(&kind.to_crd())),
    }));
    files
}

/// Metadata with the labels that all our objects have.
pub(crate) fn metadata(name: &str) -> Value {
    json!({"name": name, "labels": {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}})
}

/// The same for an object in our namespace.
pub(crate) fn namespaced(name: &str) -> Value {
    let mut metadata = metadata(name);
    metadata["namespace"] = NAMESPACE.into();
    metadata
}

#[cfg(test)]
mod tests;
