//! ClusterQueues, LocalQueues, cohorts and admission checks.

use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::{
    AdmissionCheck, AdmissionMode, BorrowWithinCohortPolicy, ClusterQueue, ClusterQueuePreemption, Cohort, FairSharing,
    FlavorFungibility, FlavorFungibilityPolicy, FlavorFungibilityPreference, LocalQueue, PreemptionPolicy,
    QueueingStrategy, ResourceGroup, StopPolicy, Topology,
};
use kueue_api::meta::ConditionStatus;
use kueue_core::amount::Amount;
use kueue_engine as engine;
use kueue_engine::{
    Change, CheckController, CheckSpec, CohortSpec, ConcurrentAdmission, LocalQueueSpec, Name, QueueCheckSpec,
    QueueSpec, TopologySpec,
};

use crate::workload::hash_of;

/// The controllers whose checks a queue must not mix freely.
const PROVISIONING: &str = "kueue.x-k8s.io/provisioning-request";
const MULTI_KUEUE: &str = "kueue.x-k8s.io/multikueue";

/// What a ClusterQueue says.
pub fn cluster_queue(object: &ClusterQueue) -> Change {
    let spec = &object.spec;
    let checks = spec.admission_checks_strategy.iter().flat_map(|strategy| &strategy.admission_checks);
    Change::Queue(Box::new(QueueSpec {
        name: object.metadata.name.as_str().into(),
        cohort: name(&spec.cohort_name),
        groups: groups(&spec.resource_groups),
        strategy: match spec.queueing_strategy {
            Some(QueueingStrategy::StrictFIFO) => engine::QueueingStrategy::StrictFifo,
            _ => engine::QueueingStrategy::BestEffortFifo,
        },
        namespaces: spec.namespace_selector.clone(),
        preemption: spec.preemption.as_ref().map(preemption).unwrap_or_default(),
        fungibility: spec.flavor_fungibility.as_ref().map(fungibility).unwrap_or_default(),
        checks: checks
            .map(|rule| QueueCheckSpec {
                name: rule.name.as_str().into(),
                flavors: rule.on_flavors.iter().map(|flavor| flavor.as_str().into()).collect(),
            })
            .collect(),
        stop: stop(spec.stop_policy.as_ref()),
        is_terminating: object.metadata.deletion_timestamp.is_some(),
        weight: weight(spec.fair_sharing.as_ref()),
        concurrent: spec.concurrent_admission_policy.as_ref().map(|policy| ConcurrentAdmission {
            last_acceptable_flavor: policy
                .migration
                .constraints
                .as_ref()
                .and_then(|constraints| constraints.last_acceptable_flavor_name.as_deref())
                .map(Into::into),
        }),
        is_usage_based: spec
            .admission_scope
            .as_ref()
            .is_some_and(|scope| scope.admission_mode == AdmissionMode::UsageBasedAdmissionFairSharing),
        revision: hash_of(spec),
    }))
}

/// What a LocalQueue says.
pub fn local_queue(object: &LocalQueue) -> Change {
    let sharing =
        object.status.fair_sharing.as_ref().and_then(|sharing| sharing.admission_fair_sharing_status.as_ref());
    Change::LocalQueue(LocalQueueSpec {
        namespace: object.metadata.namespace.as_str().into(),
        name: object.metadata.name.as_str().into(),
        queue: object.spec.cluster_queue.as_str().into(),
        stop: stop(object.spec.stop_policy.as_ref()),
        is_terminating: object.metadata.deletion_timestamp.is_some(),
        weight: weight(object.spec.fair_sharing.as_ref()),
        consumed: sharing.map(|sharing| sharing.consumed_resources.clone()),
    })
}

/// What a Cohort says.
pub fn cohort(object: &Cohort) -> Change {
    Change::Cohort(CohortSpec {
        name: object.metadata.name.as_str().into(),
        parent: name(&object.spec.parent_name),
        groups: groups(&object.spec.resource_groups),
        weight: weight(object.spec.fair_sharing.as_ref()),
        revision: hash_of(&object.spec),
    })
}

/// What a Topology says.
pub fn topology(object: &Topology) -> Change {
    let levels = object.spec.levels.iter().map(|level| level.node_label.as_str().into()).collect();
    Change::Topology(TopologySpec { name: object.metadata.name.as_str().into(), levels })
}

/// What an AdmissionCheck says.
pub fn admission_check(object: &AdmissionCheck) -> Change {
    let active = object.status.conditions.iter().find(|active| active.r#type == condition::ACTIVE);
    Change::Check(CheckSpec {
        name: object.metadata.name.as_str().into(),
        controller: match object.spec.controller_name.as_str() {
            PROVISIONING => CheckController::Provisioning,
            MULTI_KUEUE => CheckController::MultiKueue,
            _ => CheckController::Other,
        },
        is_active: active.is_some_and(|active| active.status == ConditionStatus::True),
    })
}

fn name(text: &str) -> Option<Name> {
    (!text.is_empty()).then(|| text.into())
}

fn groups(groups: &[ResourceGroup]) -> Vec<engine::ResourceGroupSpec> {
    groups
        .iter()
        .map(|group| engine::ResourceGroupSpec {
            resources: group.covered_resources.iter().map(|resource| resource.as_str().into()).collect(),
            flavors: group.flavors.iter().map(flavor_quota).collect(),
        })
        .collect()
}

fn flavor_quota(flavor: &kueue_api::kueue::v1beta2::FlavorQuotas) -> engine::FlavorQuotaSpec {
    let resources = flavor.resources.iter().map(|quota| {
        let amount = |quantity| Amount::from_quantity(&quota.name, quantity);
        engine::QuotaSpec {
            resource: quota.name.as_str().into(),
            nominal: amount(&quota.nominal_quota),
            borrowing_limit: quota.borrowing_limit.as_ref().map(amount),
            lending_limit: quota.lending_limit.as_ref().map(amount),
        }
    });
    engine::FlavorQuotaSpec { flavor: flavor.name.as_str().into(), resources: resources.collect() }
}

fn preemption(preemption: &ClusterQueuePreemption) -> engine::Preemption {
    let borrow = preemption.borrow_within_cohort.as_ref();
    let borrow =
        borrow.filter(|borrow| borrow.policy.as_ref().is_some_and(|policy| *policy != BorrowWithinCohortPolicy::Never));
    engine::Preemption {
        within_queue: policy(preemption.within_cluster_queue.as_ref()),
        reclaim_within_cohort: policy(preemption.reclaim_within_cohort.as_ref()),
        borrow_within_cohort: borrow
            .map(|borrow| engine::BorrowWithinCohort { max_priority: borrow.max_priority_threshold }),
    }
}

fn policy(policy: Option<&PreemptionPolicy>) -> engine::PreemptionPolicy {
    match policy {
        Some(PreemptionPolicy::Any) => engine::PreemptionPolicy::Any,
        Some(PreemptionPolicy::LowerPriority) => engine::PreemptionPolicy::LowerPriority,
        Some(PreemptionPolicy::LowerOrNewerEqualPriority) => engine::PreemptionPolicy::LowerOrNewerEqualPriority,
        Some(PreemptionPolicy::Never | PreemptionPolicy::Other(_)) | None => engine::PreemptionPolicy::Never,
    }
}

fn fungibility(fungibility: &FlavorFungibility) -> engine::Fungibility {
    let tries_next = |policy: &Option<FlavorFungibilityPolicy>, default| match policy {
        Some(FlavorFungibilityPolicy::TryNextFlavor) => true,
        Some(FlavorFungibilityPolicy::MayStopSearch) => false,
        _ => default,
    };
    let default = engine::Fungibility::default();
    engine::Fungibility {
        try_next_before_borrowing: tries_next(&fungibility.when_can_borrow, default.try_next_before_borrowing),
        try_next_before_preempting: tries_next(&fungibility.when_can_preempt, default.try_next_before_preempting),
        prefers_preemption: fungibility.preference == Some(FlavorFungibilityPreference::PreemptionOverBorrowing),
    }
}

fn stop(policy: Option<&StopPolicy>) -> engine::StopPolicy {
    match policy {
        Some(StopPolicy::Hold) => engine::StopPolicy::Hold,
        Some(StopPolicy::HoldAndDrain) => engine::StopPolicy::HoldAndDrain,
        _ => engine::StopPolicy::None,
    }
}

fn weight(sharing: Option<&FairSharing>) -> f64 {
    sharing.and_then(|sharing| sharing.weight.as_ref()).map_or(1.0, kueue_core::quantity::Quantity::as_f64)
}
