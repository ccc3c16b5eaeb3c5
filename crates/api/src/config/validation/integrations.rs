//! `integrations`: which kinds of jobs are managed.

use kueue_core::field::{Error, Errors, Path};

use crate::config::frameworks::{FRAMEWORKS, Framework, GroupVersionKind, POD};
use crate::config::v1beta2::Configuration;

pub(super) fn validate(configuration: &Configuration) -> Errors {
    let at = Path::new("integrations");
    let Some(block) = &configuration.integrations else { return vec![Error::required(&at, "cannot be empty")] };
    if block.frameworks.is_empty() {
        return vec![Error::required(&at.child("frameworks"), "cannot be empty")];
    }
    let mut errors = Errors::new();
    let mut kinds = Vec::new();
    for (index, name) in block.frameworks.iter().enumerate() {
        let at = at.child("frameworks").index(index);
        match Framework::named(name) {
            None => {
                let names: Vec<&str> = FRAMEWORKS.iter().map(|framework| framework.name).collect();
                errors.push(Error::not_supported(&at, name.as_str(), &names));
            }
            Some(framework) if kinds.contains(&framework.kind) => {
                errors.push(Error::duplicate(&at, name.as_str()));
            }
            Some(framework) => kinds.push(framework.kind),
        }
    }
    for (index, name) in block.external_frameworks.iter().enumerate() {
        let at = at.child("externalFrameworks").index(index);
        match GroupVersionKind::parse(name) {
            None => errors.push(Error::invalid(&at, name.as_str(), "must be format, 'Kind.version.group.com'")),
            Some(kind) if kinds.contains(&kind) => errors.push(Error::duplicate(&at, name.as_str())),
            Some(kind) => kinds.push(kind),
        }
    }
    if block.frameworks.iter().any(|name| name == POD) && configuration.managed_jobs_namespace_selector.is_none() {
        let why = "cannot be empty when pod integration is enabled";
        errors.push(Error::required(&Path::new("managedJobsNamespaceSelector"), why));
    }
    errors
}
