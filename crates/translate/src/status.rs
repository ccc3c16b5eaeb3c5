//! A Workload's status, both ways. What the engine does not decide stays as it is.

use std::sync::Arc;

use kueue_api::kueue::names::condition;
use kueue_api::kueue::topology_assignment::{self, TopologyDomainAssignment};
use kueue_api::kueue::v1beta2 as api;
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::field::Error;
use kueue_core::gates::Gates;
use kueue_core::resource::{Formatter, base_units};
use kueue_engine as engine;
use kueue_engine::{CheckProgress, ConditionKind, Delayed, DomainShare, PodSetUpdate, TopologyAssignment, Verdict};

use crate::placement::{names, toleration};

const KINDS: [(ConditionKind, &str); 10] = [
    (ConditionKind::QuotaReserved, condition::QUOTA_RESERVED),
    (ConditionKind::Admitted, condition::ADMITTED),
    (ConditionKind::Evicted, condition::EVICTED),
    (ConditionKind::Preempted, condition::PREEMPTED),
    (ConditionKind::Requeued, condition::REQUEUED),
    (ConditionKind::Finished, condition::FINISHED),
    (ConditionKind::PodsReady, condition::PODS_READY),
    (ConditionKind::DeactivationTarget, condition::DEACTIVATION_TARGET),
    (ConditionKind::BlockedOnPreemptionGates, condition::BLOCKED_ON_PREEMPTION_GATES),
    (ConditionKind::WaitingForReplacementPods, condition::WAITING_FOR_REPLACEMENT_PODS),
];

/// What a status says to the engine.
pub fn status_to_engine(status: &api::WorkloadStatus) -> engine::Status {
    engine::Status {
        conditions: status.conditions.iter().filter_map(condition_to_engine).collect(),
        admission: status.admission.as_ref().map(|admission| Arc::new(admission_to_engine(admission))),
        cluster: status.cluster_name.as_deref().map(Into::into),
        requests: status.resource_requests.iter().map(requests_to_engine).collect(),
        checks: status.admission_checks.iter().map(check_to_engine).collect(),
        requeue: status
            .requeue_state
            .as_ref()
            .map(|requeue| engine::Requeue { count: requeue.count, at: requeue.requeue_at }),
        reclaimable: status.reclaimable_pods.iter().map(|pods| (pods.name.as_str().into(), pods.count)).collect(),
        past_execution_s: status.accumulated_past_execution_time_seconds,
        evictions: status
            .scheduling_stats
            .iter()
            .flat_map(|stats| &stats.evictions)
            .map(|eviction| engine::EvictionCount {
                reason: eviction.reason.clone().into(),
                cause: eviction.underlying_cause.clone().into(),
                count: eviction.count,
            })
            .collect(),
        nominated_clusters: status.nominated_cluster_names.iter().map(|name| name.as_str().into()).collect(),
        unhealthy_nodes: status.unhealthy_nodes.iter().map(|node| node.name.as_str().into()).collect(),
        preemption_gates: status
            .preemption_gates
            .iter()
            .map(|gate| engine::PreemptionGate {
                name: gate.name.as_str().into(),
                is_open: gate.position != api::PreemptionGatePosition::Closed,
                since: gate.last_transition_time,
            })
            .collect(),
    }
}

/// Writes what the engine decided into a status.
pub fn status_from_engine(
    decided: &engine::Status,
    formatter: &Formatter,
    gates: Gates,
    status: &mut api::WorkloadStatus,
) {
    let is_known = |condition: &Condition| KINDS.iter().any(|(_, name)| *name == condition.r#type);
    let mut conditions: Vec<Condition> = decided.conditions.iter().map(condition_from_engine).collect();
    conditions.extend(status.conditions.drain(..).filter(|condition| !is_known(condition)));
    status.conditions = conditions;
    let old = status.admission.take();
    let written =
        |admission: &Arc<engine::Admission>| admission_from_engine(admission, old.as_deref(), formatter, gates);
    status.admission = decided.admission.as_ref().map(written).map(Arc::new);
    status.cluster_name = decided.cluster.as_ref().map(ToString::to_string);
    status.resource_requests =
        decided.requests.iter().map(|pod_set| requests_from_engine(pod_set, formatter)).collect();
    status.admission_checks = decided
        .checks
        .iter()
        .map(|check| {
            let old = status.admission_checks.iter().find(|old| *old.name == *check.name);
            check_from_engine(check, old)
        })
        .collect();
    status.requeue_state =
        decided.requeue.as_ref().map(|requeue| api::RequeueState { count: requeue.count, requeue_at: requeue.at });
    status.accumulated_past_execution_time_seconds = decided.past_execution_s;
    let evictions: Vec<_> = decided
        .evictions
        .iter()
        .map(|eviction| api::WorkloadSchedulingStatsEviction {
            reason: eviction.reason.to_string(),
            underlying_cause: eviction.cause.to_string(),
            count: eviction.count,
        })
        .collect();
    status.scheduling_stats = (!evictions.is_empty()).then_some(api::SchedulingStats { evictions });
    status.nominated_cluster_names = decided.nominated_clusters.iter().map(ToString::to_string).collect();
    status.unhealthy_nodes =
        decided.unhealthy_nodes.iter().map(|name| api::UnhealthyNode { name: name.to_string() }).collect();
    status.preemption_gates = decided
        .preemption_gates
        .iter()
        .map(|gate| api::PreemptionGateState {
            name: gate.name.to_string(),
            position: match gate.is_open {
                true => api::PreemptionGatePosition::Open,
                false => api::PreemptionGatePosition::Closed,
            },
            last_transition_time: gate.since,
        })
        .collect();
}

fn condition_to_engine(condition: &Condition) -> Option<engine::Condition> {
    let (kind, _) = KINDS.iter().find(|(_, name)| *name == condition.r#type)?;
    Some(engine::Condition {
        kind: *kind,
        verdict: match condition.status {
            ConditionStatus::True => Verdict::True,
            ConditionStatus::False => Verdict::False,
            _ => Verdict::Unknown,
        },
        reason: condition.reason.clone().into(),
        message: condition.message.as_str().into(),
        since: condition.last_transition_time,
        generation: condition.observed_generation,
    })
}

fn condition_from_engine(condition: &engine::Condition) -> Condition {
    let name = KINDS.iter().find(|(kind, _)| *kind == condition.kind).map_or("", |(_, name)| name);
    Condition {
        r#type: name.to_owned(),
        status: match condition.verdict {
            Verdict::True => ConditionStatus::True,
            Verdict::False => ConditionStatus::False,
            Verdict::Unknown => ConditionStatus::Unknown,
        },
        observed_generation: condition.generation,
        last_transition_time: condition.since,
        reason: condition.reason.to_string(),
        message: condition.message.to_string(),
    }
}

fn admission_to_engine(admission: &api::Admission) -> engine::Admission {
    let pod_sets = admission.pod_set_assignments.iter().map(|assigned| {
        let (topology, unreadable) = match assigned.topology_assignment.as_ref().map(topology_to_engine).transpose() {
            Ok(topology) => (topology.map(Arc::new), None),
            Err(why) => (None, Some(why.to_string().as_str().into())),
        };
        engine::PodSetAdmission {
            name: assigned.name.as_str().into(),
            count: assigned.count,
            flavors: assigned
                .flavors
                .iter()
                .map(|(resource, flavor)| (resource.as_str().into(), flavor.as_str().into()))
                .collect(),
            usage: assigned
                .resource_usage
                .iter()
                .map(|(resource, quantity)| (resource.as_str().into(), base_units(resource, quantity)))
                .collect(),
            topology,
            unreadable,
            delayed: match assigned.delayed_topology_request {
                Some(api::DelayedTopologyRequestState::Pending) => Some(Delayed::Pending),
                Some(api::DelayedTopologyRequestState::Ready) => Some(Delayed::Ready),
                _ => None,
            },
        }
    });
    engine::Admission { queue: admission.cluster_queue.as_str().into(), pod_sets: pod_sets.collect() }
}

/// The domains one by one, or why they cannot be read.
pub fn topology_to_engine(compact: &api::TopologyAssignment) -> Result<TopologyAssignment, Error> {
    let domains = topology_assignment::decode(compact)?;
    Ok(TopologyAssignment {
        levels: compact.levels.iter().map(|level| level.as_str().into()).collect(),
        domains: domains
            .iter()
            .map(|domain| DomainShare {
                values: domain.values.iter().map(|value| value.as_str().into()).collect(),
                count: domain.count,
            })
            .collect(),
    })
}

fn topology_from_engine(assignment: &TopologyAssignment, gates: Gates) -> Option<api::TopologyAssignment> {
    let levels: Vec<String> = assignment.levels.iter().map(ToString::to_string).collect();
    let domain = |share: &DomainShare| TopologyDomainAssignment {
        values: share.values.iter().map(ToString::to_string).collect(),
        count: share.count,
    };
    let domains: Vec<TopologyDomainAssignment> = assignment.domains.iter().map(domain).collect();
    topology_assignment::encode(&levels, &domains, gates).ok()
}

fn admission_from_engine(
    admission: &engine::Admission,
    old: Option<&api::Admission>,
    formatter: &Formatter,
    gates: Gates,
) -> api::Admission {
    // An assignment that says the same, or that nobody can read, stays as it was written.
    let placed = |assigned: &engine::PodSetAdmission| {
        let written = old?.pod_set_assignments.iter().find(|written| *written.name == *assigned.name);
        let written = written.and_then(|written| written.topology_assignment.clone());
        let is_same = |written: &api::TopologyAssignment| match topology_to_engine(written) {
            Ok(written) => assigned.topology.as_deref() == Some(&written),
            Err(_) => assigned.unreadable.is_some(),
        };
        written.filter(is_same)
    };
    let encoded = |assigned: &engine::PodSetAdmission| topology_from_engine(assigned.topology.as_deref()?, gates);
    let assignments = admission.pod_sets.iter().map(|assigned| api::PodSetAssignment {
        name: assigned.name.to_string(),
        flavors: assigned.flavors.iter().map(|(resource, flavor)| (resource.to_string(), flavor.to_string())).collect(),
        resource_usage: assigned
            .usage
            .iter()
            .map(|(resource, amount)| (resource.to_string(), formatter.quantity(resource, *amount)))
            .collect(),
        count: assigned.count,
        topology_assignment: placed(assigned).or_else(|| encoded(assigned)),
        delayed_topology_request: assigned.delayed.map(|delayed| match delayed {
            Delayed::Pending => api::DelayedTopologyRequestState::Pending,
            Delayed::Ready => api::DelayedTopologyRequestState::Ready,
        }),
    });
    api::Admission { cluster_queue: admission.queue.to_string(), pod_set_assignments: assignments.collect() }
}

fn requests_to_engine(pod_set: &api::PodSetRequest) -> engine::PodSetRequests {
    let units = |(resource, quantity): (&String, _)| (resource.as_str().into(), base_units(resource, quantity));
    engine::PodSetRequests {
        name: pod_set.name.as_str().into(),
        requests: pod_set.resources.iter().map(units).collect(),
    }
}

fn requests_from_engine(pod_set: &engine::PodSetRequests, formatter: &Formatter) -> api::PodSetRequest {
    let quantities =
        pod_set.requests.iter().map(|(resource, amount)| (resource.to_string(), formatter.quantity(resource, *amount)));
    api::PodSetRequest { name: pod_set.name.to_string(), resources: quantities.collect() }
}

fn check_to_engine(check: &api::AdmissionCheckState) -> engine::CheckState {
    engine::CheckState {
        name: check.name.as_str().into(),
        progress: match check.state {
            api::CheckState::Ready => CheckProgress::Ready,
            api::CheckState::Retry => CheckProgress::Retry,
            api::CheckState::Rejected => CheckProgress::Rejected,
            api::CheckState::Pending | api::CheckState::Other(_) => CheckProgress::Pending,
        },
        message: check.message.as_str().into(),
        since: check.last_transition_time,
        requeue_after_s: check.requeue_after_seconds,
        retries: check.retry_count,
        pod_set_updates: check
            .pod_set_updates
            .iter()
            .map(|update| PodSetUpdate {
                name: update.name.as_str().into(),
                node_selector: names(&update.node_selector),
                tolerations: update.tolerations.iter().map(toleration).collect(),
            })
            .collect(),
    }
}

fn check_from_engine(check: &engine::CheckState, old: Option<&api::AdmissionCheckState>) -> api::AdmissionCheckState {
    let state = match check.progress {
        CheckProgress::Ready => api::CheckState::Ready,
        CheckProgress::Retry => api::CheckState::Retry,
        CheckProgress::Rejected => api::CheckState::Rejected,
        CheckProgress::Pending => api::CheckState::Pending,
    };
    // A check that was reset has nothing to add to the pods any more.
    let updates = old.filter(|old| old.state == state).map(|old| old.pod_set_updates.clone());
    api::AdmissionCheckState {
        name: check.name.to_string(),
        state,
        last_transition_time: check.since,
        message: check.message.to_string(),
        requeue_after_seconds: check.requeue_after_s,
        retry_count: check.retries,
        pod_set_updates: updates.unwrap_or_default(),
    }
}
