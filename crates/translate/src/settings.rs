//! What the configuration file says, as far as the engine and its requests depend on it.

use kueue_api::config::Configuration;
use kueue_api::config::blocks::{PreemptionStrategy, RequeuingTimestamp, TransformationStrategy};
use kueue_api::config::v1beta2::QuotaCheckStrategy;
use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::gates::Gates;
use kueue_engine::{FairSharing, FairStrategy, PodsReady, RequeueOrder, Retention, Settings, WakePolicy};

use crate::fair_sharing::admission_fair_sharing;
use crate::requests::{ResourceRules, Transformation};

/// How the engine is to decide.
pub fn settings(config: &Configuration, gates: Gates) -> Settings {
    let resources = config.resources.as_ref();
    let requeuing = config.wait_for_pods_ready.as_ref().and_then(|wait| wait.requeuing_strategy.as_ref());
    let timestamp = requeuing.and_then(|strategy| strategy.timestamp.as_ref());
    let kept = config.object_retention_policies.as_ref().and_then(|policies| policies.workloads.as_ref());
    Settings {
        gates,
        pods_ready: pods_ready(config, gates),
        retention: Retention {
            finished: kept.and_then(|kept| kept.after_finished),
            deactivated: kept.and_then(|kept| kept.after_deactivated_by_kueue),
        },
        requeue_order: match timestamp {
            Some(RequeuingTimestamp::Creation) => RequeueOrder::Creation,
            _ => RequeueOrder::Eviction,
        },
        ignores_undeclared: resources
            .is_some_and(|resources| resources.quota_check_strategy == Some(QuotaCheckStrategy::IgnoreUndeclared)),
        fair_sharing: config.fair_sharing.as_ref().map(|sharing| FairSharing {
            strategies: sharing.preemption_strategies.iter().filter_map(strategy).collect(),
        }),
        admission_fair_sharing: config.admission_fair_sharing.as_ref().map(admission_fair_sharing),
        wake: WakePolicy::Targeted,
    }
}

fn pods_ready(config: &Configuration, gates: Gates) -> Option<PodsReady> {
    let wait = config.wait_for_pods_ready.as_ref().filter(|_| config.waits_for_pods_ready(gates))?;
    let requeuing = wait.requeuing_strategy.clone().unwrap_or_default();
    let seconds = |value: Option<i32>, default: i64| Duration::from_seconds(value.map_or(default, i64::from));
    let (base, limit) = (seconds(requeuing.backoff_base_seconds, 60), seconds(requeuing.backoff_max_seconds, 3600));
    Some(PodsReady {
        timeout: wait.timeout,
        recovery_timeout: wait.recovery_timeout.filter(|timeout| *timeout > Duration::ZERO),
        backoff: Backoff::new(base, 2.0, limit),
        most_attempts: requeuing.backoff_limit_count,
        blocks_admission: wait.block_admission.unwrap_or(false),
    })
}

fn strategy(strategy: &PreemptionStrategy) -> Option<FairStrategy> {
    match strategy {
        PreemptionStrategy::LessThanOrEqualToFinalShare => Some(FairStrategy::LessThanOrEqualToFinalShare),
        PreemptionStrategy::LessThanInitialShare => Some(FairStrategy::LessThanInitialShare),
        PreemptionStrategy::Other(_) => None,
    }
}

/// How what pods ask for becomes what counts.
pub fn resource_rules(config: &Configuration) -> ResourceRules {
    let Some(resources) = &config.resources else { return ResourceRules::default() };
    let transformations = resources.transformations.iter().map(|rule| {
        let multiply_by = Some(rule.multiply_by.clone()).filter(|name| !name.is_empty());
        let replaces = rule.strategy == Some(TransformationStrategy::Replace);
        let outputs = rule.outputs.iter().map(|(name, quantity)| (name.clone(), quantity.clone())).collect();
        (rule.input.clone(), Transformation { replaces, multiply_by, outputs })
    });
    ResourceRules {
        excluded_prefixes: resources.exclude_resource_prefixes.clone(),
        transformations: transformations.collect(),
    }
}

#[cfg(test)]
mod tests {
    use kueue_api::config::{DEFAULT_NAMESPACE, load};
    use kueue_core::gates::Gate;

    use super::*;

    fn read(text: &str) -> Configuration {
        let head = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";
        load(&format!("{head}{text}"), DEFAULT_NAMESPACE).unwrap()
    }

    #[test]
    fn waiting_for_pods_is_read_with_its_defaults() {
        let config = read(
            "waitForPodsReady:\n  timeout: 3m\n  requeuingStrategy:\n    backoffLimitCount: 2\n    timestamp: Creation\n",
        );
        let gates = Gates::default().with(Gate::DisableWaitForPodsReady, false);
        let settings = settings(&config, gates);
        let wait = settings.pods_ready.expect("it is on");
        assert_eq!((wait.timeout, wait.most_attempts), (Duration::from_seconds(180), Some(2)));
        assert_eq!(wait.backoff.wait(1), Duration::from_seconds(60));
        assert_eq!(settings.requeue_order, RequeueOrder::Creation);
        let off = Gates::default().with(Gate::DisableWaitForPodsReady, true);
        assert!(super::settings(&config, off).pods_ready.is_none());
    }

    #[test]
    fn resources_are_left_out_and_turned_into_others() {
        let text = "resources:\n  excludeResourcePrefixes: [x.io/]\n  transformations:\n  - {input: a, strategy: Replace, outputs: {b: 2}}\n";
        let rules = resource_rules(&read(text));
        assert_eq!(rules.excluded_prefixes, ["x.io/"]);
        assert!(rules.transformations["a"].replaces && rules.transformations["a"].outputs.contains_key("b"));
    }
}
