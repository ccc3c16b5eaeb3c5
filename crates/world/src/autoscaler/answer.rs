//! What a request is told.

use std::time::Duration;

use jiff::SignedDuration;
use kueue_api::autoscaling::{ACCEPTED, BOOKING_EXPIRED, CAPACITY_REVOKED, FAILED, PROVISIONED, ProvisioningRequest};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::duration::Duration as GoDuration;
use kueue_core::time::Time;

/// How long whoever finds no room waits before looking again.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The sorts of requests that are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    CheckCapacity,
    ScaleUp,
    Queued,
}

impl Class {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "check-capacity.autoscaling.x-k8s.io" => Some(Self::CheckCapacity),
            "best-effort-atomic-scale-up.autoscaling.x-k8s.io" => Some(Self::ScaleUp),
            "queued-provisioning.gke.io" => Some(Self::Queued),
            _ => None,
        }
    }

    fn accepted(self) -> (&'static str, &'static str) {
        match self {
            Self::Queued => ("SuccessfullyQueued", "Provisioning Request was successfully queued."),
            Self::CheckCapacity | Self::ScaleUp => {
                ("Accepted", "ProvisioningRequest is accepted by ClusterAutoscaler.")
            }
        }
    }

    fn waits(self) -> (&'static str, &'static str) {
        match self {
            Self::Queued => (
                "ResourcePoolExhausted",
                "Waiting for resources. Currently there are not enough resources available to fulfill the request.",
            ),
            Self::CheckCapacity => ("CapacityIsNotFound", "Capacity is not found, CA will try to find it later."),
            Self::ScaleUp => ("CapacityIsNotFound", "Capacity is not found, retrying to provision."),
        }
    }

    fn provisioned(self) -> (&'static str, &'static str) {
        match self {
            Self::Queued => ("Provisioned", "Provisioning Request was successfully provisioned."),
            Self::CheckCapacity => ("CapacityIsFound", "Capacity is found in the cluster."),
            Self::ScaleUp => ("CapacityIsProvisioned", "Capacity is provisioned by ClusterAutoscaler."),
        }
    }
}

/// What there is for a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Room,
    NoRoom,
    Wrong(String),
}

/// What a request is answered by.
pub(super) struct Told {
    pub(super) class: Class,
    pub(super) found: Found,
    pub(super) now: Time,
}

pub(super) fn is_provisioned(request: &ProvisioningRequest) -> bool {
    holds(&request.status.conditions, PROVISIONED)
}

fn holds(conditions: &[Condition], kind: &str) -> bool {
    conditions.iter().any(|known| known.r#type == kind && known.status == ConditionStatus::True)
}

/// The conditions of a request, and when to look again.
pub(super) fn answer(request: &ProvisioningRequest, told: &Told) -> (Vec<Condition>, Option<Duration>) {
    let mut conditions = request.status.conditions.clone();
    if holds(&conditions, FAILED) {
        return (conditions, None);
    }
    let mut say = |kind: &str, is_so: bool, (reason, message): (&str, &str)| {
        let status = if is_so { ConditionStatus::True } else { ConditionStatus::False };
        let told = Condition {
            r#type: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: told.now,
            observed_generation: request.metadata.generation,
        };
        match conditions.iter_mut().find(|known| known.r#type == kind) {
            Some(known) if known.status == told.status => {
                *known = Condition { last_transition_time: known.last_transition_time, ..told };
            }
            Some(known) => *known = told,
            None => conditions.push(told),
        }
    };
    if let Found::Wrong(why) = &told.found {
        say(FAILED, true, ("FailedToCreatePods", why));
        return (conditions, None);
    }
    if is_provisioned(request) {
        return after(request, told.now, conditions);
    }
    say(ACCEPTED, true, told.class.accepted());
    if attempt(request) <= failures(request) {
        say(FAILED, true, ("OutOfResources", "the parameter failures tells this attempt to fail"));
        return (conditions, None);
    }
    say(FAILED, false, ("NotFailed", ""));
    match (stock_out(request, told.now), &told.found) {
        (Some(left), _) => {
            say(PROVISIONED, false, told.class.waits());
            (conditions, left)
        }
        (None, Found::Room) => {
            say(PROVISIONED, true, told.class.provisioned());
            let again =
                ["booking-expires-after", "revoked-after"].iter().filter_map(|key| duration(request, key)).min();
            (conditions, again)
        }
        (None, _) => {
            say(PROVISIONED, false, told.class.waits());
            (conditions, Some(LOOK_AGAIN))
        }
    }
}

/// What becomes of capacity that was given.
fn after(
    request: &ProvisioningRequest,
    now: Time,
    mut conditions: Vec<Condition>,
) -> (Vec<Condition>, Option<Duration>) {
    let given =
        conditions.iter().find(|known| known.r#type == PROVISIONED).map_or(now, |known| known.last_transition_time);
    let mut again: Option<Duration> = None;
    for (key, kind, message) in [
        ("booking-expires-after", BOOKING_EXPIRED, "Capacity reservation has expired."),
        ("revoked-after", CAPACITY_REVOKED, "The capacity was taken back."),
    ] {
        let Some(time) = duration(request, key).filter(|_| !holds(&conditions, kind)) else { continue };
        let left = remaining(time, given, now);
        if left.is_zero() {
            conditions.push(Condition {
                r#type: kind.to_owned(),
                status: ConditionStatus::True,
                reason: kind.to_owned(),
                message: message.to_owned(),
                last_transition_time: now,
                observed_generation: request.metadata.generation,
            });
        } else {
            again = Some(again.map_or(left, |again| again.min(left)));
        }
    }
    (conditions, again)
}

/// How long there is nothing to be had: none when there is, and no end when there never will be.
fn stock_out(request: &ProvisioningRequest, now: Time) -> Option<Option<Duration>> {
    let text = request.spec.parameters.get("stock-out")?;
    if text == "forever" {
        return Some(None);
    }
    let left = remaining(duration(request, "stock-out")?, request.metadata.creation_timestamp, now);
    (!left.is_zero()).then_some(Some(left))
}

fn remaining(time: Duration, begin: Time, now: Time) -> Duration {
    let passed = now.timestamp().duration_since(begin.timestamp());
    let time = SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    Duration::try_from(time - passed).unwrap_or_default()
}

fn duration(request: &ProvisioningRequest, key: &str) -> Option<Duration> {
    let nanos = request.spec.parameters.get(key)?.parse::<GoDuration>().ok()?.nanos();
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

fn failures(request: &ProvisioningRequest) -> u32 {
    request.spec.parameters.get("failures").and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Requests of one workload end in their number.
fn attempt(request: &ProvisioningRequest) -> u32 {
    request.metadata.name.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(1)
}
