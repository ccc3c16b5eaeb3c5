//! Whether a configuration makes sense: every mistake, with field, value and reason, in Kueue's words and order.
//!
//! A pure function of the configuration and the feature gates. Whether a CEL expression compiles is asked of the caller.

mod devices;
mod integrations;
mod metrics;
mod multikueue;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use kueue_core::duration::Duration;
use kueue_core::field::{Error, Errors, Path};
use kueue_core::gates::{Gate, Gates};
use kueue_core::{label, name};
use serde::Serialize;
use serde_json::Value;

use super::blocks::{PreemptionStrategy, RequeuingTimestamp, TransformationStrategy};
use super::defaults::{NAMESPACE_NAME_LABEL, SYSTEM_NAMESPACE};
use super::tls::TlsSettings;
use super::v1beta2::{Configuration, QuotaCheckStrategy};

pub use devices::validate_device_class_mappings;
pub use metrics::validate_custom_labels;

/// Says why a CEL expression over a device does not compile.
pub type CompileCel<'a> = &'a dyn Fn(&str) -> Result<(), String>;

const NEGATIVE: &str = "must be greater than or equal to 0";

/// Every mistake in a configuration whose defaults are filled in.
pub fn validate(configuration: &Configuration, gates: Gates, compile_cel: CompileCel<'_>) -> Errors {
    let mut errors = Errors::new();
    errors.extend(validate_wait_for_pods_ready(configuration, gates));
    errors.extend(integrations::validate(configuration));
    errors.extend(multikueue::validate(configuration));
    errors.extend(validate_fair_sharing(configuration));
    errors.extend(validate_admission_fair_sharing(configuration));
    errors.extend(validate_internal_cert_management(configuration));
    errors.extend(validate_transformations(configuration));
    errors.extend(validate_device_class_mappings(configuration, gates, compile_cel));
    errors.extend(validate_namespace_selector(configuration));
    errors.extend(validate_object_retention(configuration));
    errors.extend(validate_tls(configuration));
    errors.extend(validate_visibility_server(configuration));
    errors.extend(validate_custom_labels(configuration));
    errors.extend(validate_quota_check_strategy(configuration, gates));
    errors
}

fn validate_wait_for_pods_ready(configuration: &Configuration, gates: Gates) -> Errors {
    let mut errors = Errors::new();
    let Some(block) = configuration.wait_for_pods_ready.as_ref().filter(|_| configuration.waits_for_pods_ready(gates))
    else {
        return errors;
    };
    let at = Path::new("waitForPodsReady");
    if block.timeout == Duration::ZERO {
        errors.push(Error::required(&at.child("timeout"), "must be specified"));
    }
    errors.extend(not_negative(Some(block.timeout), &at.child("timeout")));
    errors.extend(not_negative(block.recovery_timeout, &at.child("recoveryTimeout")));
    if let Some(strategy) = &block.requeuing_strategy {
        let at = at.child("requeuingStrategy");
        if let Some(RequeuingTimestamp::Other(unknown)) = &strategy.timestamp {
            errors.push(Error::not_supported(&at.child("timestamp"), unknown.as_str(), RequeuingTimestamp::VALUES));
        }
        for (field, value) in [
            ("backoffLimitCount", strategy.backoff_limit_count),
            ("backoffBaseSeconds", strategy.backoff_base_seconds),
            ("backoffMaxSeconds", strategy.backoff_max_seconds),
        ] {
            if let Some(value) = value.filter(|value| *value < 0) {
                errors.push(Error::invalid(&at.child(field), value, NEGATIVE));
            }
        }
    }
    errors
}

fn validate_fair_sharing(configuration: &Configuration) -> Errors {
    use PreemptionStrategy::{LessThanInitialShare, LessThanOrEqualToFinalShare};
    let Some(block) = &configuration.fair_sharing else { return Errors::new() };
    let at = Path::new("fairSharing").child("preemptionStrategies");
    match block.preemption_strategies.as_slice() {
        [] => vec![Error::required(&at, "must be specified")],
        [LessThanOrEqualToFinalShare]
        | [LessThanInitialShare]
        | [LessThanOrEqualToFinalShare, LessThanInitialShare] => Errors::new(),
        other => {
            let supported = [
                "LessThanOrEqualToFinalShare",
                "LessThanInitialShare",
                "LessThanOrEqualToFinalShare,LessThanInitialShare",
            ];
            vec![Error::not_supported(&at, shown(other), &supported)]
        }
    }
}

fn validate_admission_fair_sharing(configuration: &Configuration) -> Errors {
    let Some(block) = &configuration.admission_fair_sharing else { return Errors::new() };
    let at = Path::new("admissionFairSharing");
    let mut errors = not_negative(Some(block.usage_half_life_time), &at.child("usageHalfLifeTime"));
    if block.usage_sampling_interval <= Duration::ZERO {
        let value = shown(&block.usage_sampling_interval);
        errors.push(Error::invalid(&at.child("usageSamplingInterval"), value, "must be greater than 0"));
    }
    for (resource, weight) in block.resource_weights.iter().filter(|(_, weight)| weight.0 < 0.0) {
        errors.push(Error::invalid(&at.child("resourceWeights").key(resource), shown(weight), NEGATIVE));
    }
    errors
}

fn validate_internal_cert_management(configuration: &Configuration) -> Errors {
    let mut errors = Errors::new();
    let Some(block) = configuration.internal_cert_management.as_ref().filter(|block| block.enable == Some(true)) else {
        return errors;
    };
    let at = Path::new("internalCertManagement");
    if let Some(service) = &block.webhook_service_name {
        errors.extend(one_error(&at.child("webhookServiceName"), service, &name::dns1035_label(service), ","));
    }
    if let Some(secret) = &block.webhook_secret_name {
        errors.extend(one_error(&at.child("webhookSecretName"), secret, &name::dns1123_subdomain(secret), ","));
    }
    errors
}

fn validate_transformations(configuration: &Configuration) -> Errors {
    let mut errors = Errors::new();
    let transformations = configuration.resources.iter().flat_map(|resources| &resources.transformations);
    let mut inputs = Vec::new();
    for (index, transformation) in transformations.enumerate() {
        let at = Path::new("resources").child("transformations").index(index);
        let strategy = transformation.strategy.clone().unwrap_or_default();
        if let TransformationStrategy::Other(unknown) = strategy {
            errors.push(Error::not_supported(&at.child("strategy"), unknown, TransformationStrategy::VALUES));
        }
        match inputs.contains(&&transformation.input) {
            true => errors.push(Error::duplicate(&at.child("input"), transformation.input.as_str())),
            false => inputs.push(&transformation.input),
        }
    }
    errors
}

/// Kueue must not manage the cluster's own pods nor its own: they could not start any more.
fn validate_namespace_selector(configuration: &Configuration) -> Errors {
    let Some(selector) = &configuration.managed_jobs_namespace_selector else { return Errors::new() };
    let at = Path::new("managedJobsNamespaceSelector");
    let mut errors = selector.validate(&at);
    if errors.is_empty() {
        let own = configuration.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        for namespace in [SYSTEM_NAMESPACE].into_iter().chain(own) {
            let labels = BTreeMap::from([(NAMESPACE_NAME_LABEL.to_owned(), namespace.to_owned())]);
            if selector.matches(&labels) {
                let why = format!("should not match the {namespace:?} namespace");
                errors.push(Error::invalid(&at, shown(selector), why));
            }
        }
    }
    errors
}

fn validate_object_retention(configuration: &Configuration) -> Errors {
    let policies = configuration.object_retention_policies.as_ref();
    let Some(policy) = policies.and_then(|policies| policies.workloads.as_ref()) else { return Errors::new() };
    let at = Path::new("objectRetentionPolicies").child("workloads");
    let mut errors = not_negative(policy.after_finished, &at.child("afterFinished"));
    errors.extend(not_negative(policy.after_deactivated_by_kueue, &at.child("afterDeactivatedByKueue")));
    errors
}

fn validate_tls(configuration: &Configuration) -> Errors {
    let Some(options) = &configuration.tls else { return Errors::new() };
    let at = Path::new("tls");
    match TlsSettings::parse(options) {
        Err(errors) => vec![Error::invalid(&at, shown(options), errors.to_string())],
        Ok(_) if options.min_version == "VersionTLS13" && !options.cipher_suites.is_empty() => {
            let why = "may not be specified when `minVersion` is 'VersionTLS13'";
            vec![Error::invalid(&at.child("cipherSuites"), shown(&options.cipher_suites), why)]
        }
        Ok(_) => Errors::new(),
    }
}

fn validate_visibility_server(configuration: &Configuration) -> Errors {
    let mut errors = Errors::new();
    let Some(block) = &configuration.visibility_server else { return errors };
    let at = Path::new("visibilityServer");
    if let Some(address) = block.bind_address.as_ref().filter(|address| address.parse::<IpAddr>().is_err()) {
        errors.push(Error::invalid(&at.child("bindAddress"), address.as_str(), "must be a valid IP address"));
    }
    if let Some(port) = block.bind_port.filter(|port| !(1..=65535).contains(port)) {
        errors.push(Error::invalid(&at.child("bindPort"), port, "must be a valid port number (1-65535)"));
    }
    errors
}

fn validate_quota_check_strategy(configuration: &Configuration, gates: Gates) -> Errors {
    let Some(resources) = configuration.resources.as_ref().filter(|_| gates.enabled(Gate::QuotaCheckStrategy)) else {
        return Errors::new();
    };
    let at = Path::new("resources").child("quotaCheckStrategy");
    match &resources.quota_check_strategy {
        Some(strategy @ QuotaCheckStrategy::IgnoreUndeclared) if !resources.exclude_resource_prefixes.is_empty() => {
            let why = "excludeResourcePrefixes is not allowed when quotaCheckStrategy is IgnoreUndeclared";
            vec![Error::invalid(&at, strategy.as_str(), why)]
        }
        Some(QuotaCheckStrategy::Other(unknown)) => {
            vec![Error::not_supported(&at, unknown.as_str(), QuotaCheckStrategy::VALUES)]
        }
        _ => Errors::new(),
    }
}

fn not_negative(duration: Option<Duration>, at: &Path) -> Errors {
    let negative = duration.filter(|duration| *duration < Duration::ZERO);
    negative.into_iter().map(|duration| Error::invalid(at, shown(&duration), NEGATIVE)).collect()
}

/// The messages of a grammar check as the one error that Kueue makes of them.
fn one_error(at: &Path, value: &str, messages: &[String], separator: &str) -> Option<Error> {
    (!messages.is_empty()).then(|| Error::invalid(at, value, messages.join(separator)))
}

fn label_key_error(at: &Path, key: &str) -> Option<Error> {
    one_error(at, key, &label::qualified_name(key), "; ")
}

/// A value as it stands in the file.
fn shown<T: Serialize + ?Sized>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
