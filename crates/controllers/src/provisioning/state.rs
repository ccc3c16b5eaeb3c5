//! What the autoscaler's answer means to a check.

use std::collections::BTreeMap;

use kueue_api::autoscaling::{
    ACCEPTED, BOOKING_EXPIRED, CAPACITY_REVOKED, CLASS_ANNOTATION, CONSUME_ANNOTATION, FAILED, PROVISIONED,
    ProvisioningRequest,
};
use kueue_api::kueue::names::condition;
use kueue_api::kueue::v1beta2::{
    AdmissionCheckState, CheckState, PodSetUpdate, ProvisioningRequestConfig, ProvisioningRequestRetryStrategy,
    Workload,
};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::time::Time;

use super::name::{attempt_of, template_name};

pub(super) const INACTIVE: &str = "the check is not active";
pub(super) const NOT_NEEDED: &str = "the provisioning request is not needed";
/// An autoscaler that knows a class accepts its requests within seconds.
const PATIENCE: Duration = Duration::from_seconds(60);

/// Whether a condition of the list holds.
pub(super) fn holds(conditions: &[Condition], kind: &str) -> bool {
    find(conditions, kind).is_some_and(|condition| condition.status == ConditionStatus::True)
}

fn find<'c>(conditions: &'c [Condition], kind: &str) -> Option<&'c Condition> {
    conditions.iter().find(|condition| condition.r#type == kind)
}

fn message(request: &ProvisioningRequest, kind: &str) -> String {
    find(&request.status.conditions, kind).map(|condition| condition.message.clone()).unwrap_or_default()
}

/// Whether the request came to nothing, so that another attempt may follow. Who runs already needs no booking.
pub(super) fn came_to_nothing(request: &ProvisioningRequest, workload: &Workload) -> bool {
    let is_admitted = holds(&workload.status.conditions, condition::ADMITTED);
    let said = |kind| holds(&request.status.conditions, kind);
    said(FAILED) || said(BOOKING_EXPIRED) && !is_admitted
}

/// The state of a check whose settings are missing.
pub(super) fn inactive(check: &mut AdmissionCheckState) {
    check.state = CheckState::Pending;
    INACTIVE.clone_into(&mut check.message);
}

/// The state of a check that has nothing to ask for.
pub(super) fn not_needed(check: &mut AdmissionCheckState) {
    if check.state != CheckState::Ready {
        check.state = CheckState::Ready;
        NOT_NEEDED.clone_into(&mut check.message);
        check.pod_set_updates.clear();
    }
}

/// Whether a check is ready though we never said so: then its pods would know their request.
pub(super) fn is_strange(check: &AdmissionCheckState) -> bool {
    let mut updates = check.pod_set_updates.iter();
    check.state == CheckState::Ready
        && check.message != NOT_NEEDED
        && !updates.any(|update| update.annotations.contains_key(CONSUME_ANNOTATION))
}

/// When it is worth saying that nobody answers a request. Who has no time was not made by a server.
pub(super) fn unanswered_at(request: &ProvisioningRequest) -> Option<Time> {
    let made = request.metadata.creation_timestamp;
    (request.status.conditions.is_empty() && !made.is_zero()).then(|| made + PATIENCE)
}

/// The state of a check after what its latest request says; the first thing that holds counts.
pub(super) fn answered(
    check: &mut AdmissionCheckState,
    workload: &Workload,
    request: &ProvisioningRequest,
    config: &ProvisioningRequestConfig,
    now: Time,
) {
    let said = |kind| holds(&request.status.conditions, kind);
    if said(FAILED) {
        refused(check, workload, request, config, FAILED, "Retrying after failure: ");
    } else if said(CAPACITY_REVOKED) {
        let is_finished = holds(&workload.status.conditions, condition::FINISHED);
        // New pods would wait for ever for nodes that are gone.
        if workload.spec.active != Some(false) && !is_finished {
            check.state = CheckState::Rejected;
            check.message = message(request, CAPACITY_REVOKED);
        }
    } else if said(BOOKING_EXPIRED) {
        if came_to_nothing(request, workload) {
            refused(check, workload, request, config, BOOKING_EXPIRED, "Retrying after booking expired: ");
        }
    } else if said(PROVISIONED) {
        if check.state != CheckState::Ready {
            check.state = CheckState::Ready;
            check.pod_set_updates = pod_set_updates(workload, request, config);
            check.message = message(request, PROVISIONED);
        }
    } else if said(ACCEPTED) {
        // What is told about nodes on their way is passed on.
        if find(&request.status.conditions, PROVISIONED).is_some() {
            check.state = CheckState::Pending;
            check.message = message(request, PROVISIONED);
        }
    } else {
        check.state = CheckState::Pending;
        check.message = match unanswered_at(request).is_some_and(|time| time <= now) {
            true => format!(
                "no autoscaler has answered the ProvisioningRequest {:?}: is there one that knows the class {:?}?",
                request.metadata.name, request.spec.provisioning_class_name
            ),
            false => String::new(),
        };
    }
}

/// Another attempt follows after a while, unless there were enough.
fn refused(
    check: &mut AdmissionCheckState,
    workload: &Workload,
    request: &ProvisioningRequest,
    config: &ProvisioningRequestConfig,
    kind: &str,
    retrying: &str,
) {
    let retry = Retry::of(config.spec.retry_strategy.as_ref());
    let attempt = attempt_of(&request.metadata.name, &workload.metadata.name, &check.name).unwrap_or(1);
    if attempt > retry.most {
        check.state = CheckState::Rejected;
        check.message = message(request, kind);
        return;
    }
    check.message = format!("{retrying}{}", message(request, kind));
    // An attempt whose failure was counted already is old news.
    let counted = check.retry_count.unwrap_or(0);
    if attempt > counted {
        check.state = CheckState::Retry;
        let wait = retry.backoff.wait(i64::from(counted).saturating_add(1));
        check.requeue_after_seconds = Some(i32::try_from(wait.nanos() / 1_000_000_000).unwrap_or(i32::MAX));
    }
}

/// How often to ask again, and when.
struct Retry {
    most: i32,
    backoff: Backoff,
}

impl Retry {
    fn of(strategy: Option<&ProvisioningRequestRetryStrategy>) -> Self {
        let strategy = strategy.cloned().unwrap_or_default();
        let seconds = |given: Option<i32>, or: i32| Duration::from_seconds(given.unwrap_or(or).into());
        Self {
            most: strategy.backoff_limit_count.unwrap_or(3),
            backoff: Backoff::new(
                seconds(strategy.backoff_base_seconds, 60),
                2.0,
                seconds(strategy.backoff_max_seconds, 1800),
            ),
        }
    }
}

/// What tells the scheduler that the pods may use the nodes of the request.
fn pod_set_updates(
    workload: &Workload,
    request: &ProvisioningRequest,
    config: &ProvisioningRequestConfig,
) -> Vec<PodSetUpdate> {
    let details = &request.status.provisioning_class_details;
    let selectors = config.spec.pod_set_updates.iter().flat_map(|updates| &updates.node_selector);
    // A detail that the autoscaler does not tell selects nothing.
    let node_selector: BTreeMap<String, String> = selectors
        .filter_map(|selector| {
            let value = details.get(&selector.value_from_provisioning_class_detail)?;
            Some((selector.key.clone(), value.clone()))
        })
        .collect();
    let annotations = BTreeMap::from([
        (CONSUME_ANNOTATION.to_owned(), request.metadata.name.clone()),
        (CLASS_ANNOTATION.to_owned(), request.spec.provisioning_class_name.clone()),
    ]);
    let name_of = |template: &str| {
        let mut names = workload.spec.pod_sets.iter().map(|pod_set| &pod_set.name);
        names.find(|name| template_name(&request.metadata.name, name) == template).cloned().unwrap_or_default()
    };
    let update = |template: &str| PodSetUpdate {
        name: name_of(template),
        annotations: annotations.clone(),
        node_selector: node_selector.clone(),
        ..PodSetUpdate::default()
    };
    request.spec.pod_sets.iter().map(|asked| update(&asked.pod_template_ref.name)).collect()
}
