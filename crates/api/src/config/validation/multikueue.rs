//! `multiKueue`: sending workloads to other clusters.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label;

use super::{not_negative, one_error, shown};
use crate::config::frameworks::{Framework, GroupVersionKind};
use crate::config::v1beta2::{AccessProvider, Configuration, DISPATCHER_INCREMENTAL, InteractiveMode, MultiKueue};

pub(super) fn validate(configuration: &Configuration) -> Errors {
    let Some(block) = &configuration.multi_kueue else { return Errors::new() };
    let at = Path::new("multiKueue");
    let mut errors = not_negative(block.gc_interval, &at.child("gcInterval"));
    errors.extend(not_negative(block.worker_lost_timeout, &at.child("workerLostTimeout")));
    if let Some(origin) = &block.origin {
        errors.extend(one_error(&at.child("origin"), origin, &label::value(origin), ","));
    }
    errors.extend(validate_external_frameworks(configuration, block, &at.child("externalFrameworks")));
    if let Some(profile) = &block.cluster_profile {
        let at = at.child("clusterProfile");
        let old_at = at.child("credentialsProviders");
        if profile.access_providers.is_empty() {
            errors.extend(validate_access_providers(&profile.credentials_providers, &old_at));
        } else {
            if !profile.credentials_providers.is_empty() {
                errors.push(Error::forbidden(&old_at, "must not be specified when accessProviders is specified"));
            }
            errors.extend(validate_access_providers(&profile.access_providers, &at.child("accessProviders")));
        }
    }
    if let Some(dispatcher) = &block.incremental_dispatcher_config {
        let at = at.child("incrementalDispatcherConfig");
        if block.dispatcher_name.as_deref() != Some(DISPATCHER_INCREMENTAL) {
            let why =
                "incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental dispatcher";
            errors.push(Error::invalid(&at, shown(dispatcher), why));
        }
        if let Some(size) = dispatcher.step_size.filter(|size| *size < 1) {
            errors.push(Error::invalid(&at.child("stepSize"), size, "must be greater than or equal to 1"));
        }
    }
    errors
}

/// Kinds that the generic adapter handles; those with an adapter of their own are not among them.
fn validate_external_frameworks(configuration: &Configuration, block: &MultiKueue, at: &Path) -> Errors {
    let enabled = configuration.integrations.iter().flat_map(|integrations| &integrations.frameworks);
    let built_in: Vec<GroupVersionKind<'_>> = enabled
        .filter_map(|name| Framework::named(name))
        .filter(|framework| framework.is_dispatched)
        .map(|framework| framework.kind)
        .collect();
    let mut errors = Errors::new();
    let mut kinds = Vec::new();
    for (index, framework) in block.external_frameworks.iter().enumerate() {
        let at = at.index(index).child("name");
        let name = framework.name.as_str();
        let Some(kind) = GroupVersionKind::parse(name) else {
            errors.push(Error::invalid(&at, name, "must be in 'kind.version.group' format"));
            continue;
        };
        match kinds.contains(&kind) {
            true => errors.push(Error::duplicate(&at, name)),
            false => kinds.push(kind),
        }
        if built_in.contains(&kind) {
            errors.push(Error::invalid(&at, name, "conflicts with a built-in MultiKueue adapter"));
        }
    }
    errors
}

/// The paths name no index, as in Kueue.
fn validate_access_providers(providers: &[AccessProvider], at: &Path) -> Errors {
    let mut errors = Errors::new();
    let exec_at = at.child("execConfig");
    for provider in providers {
        let exec = &provider.exec_config;
        errors.extend(required(&provider.name, &at.child("name")));
        errors.extend(required(&exec.command, &exec_at.child("command")));
        errors.extend(required(&exec.api_version, &exec_at.child("apiVersion")));
        for variable in exec.env.iter().flatten() {
            errors.extend(required(&variable.name, &exec_at.child("env").child("name")));
        }
        let mode_at = exec_at.child("interactiveMode");
        match &exec.interactive_mode {
            InteractiveMode::Other(unknown) if !unknown.is_empty() => {
                errors.push(Error::not_supported(&mode_at, unknown.as_str(), InteractiveMode::VALUES));
            }
            mode => errors.extend(required(mode.as_str(), &mode_at)),
        }
    }
    errors
}

fn required(text: &str, at: &Path) -> Option<Error> {
    text.is_empty().then(|| Error::required(at, "must be specified"))
}
