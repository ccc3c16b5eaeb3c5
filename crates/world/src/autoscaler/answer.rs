//! What a request is told.

use std::time::Duration;

use kueue_api::autoscaling::{ACCEPTED, BOOKING_EXPIRED, CAPACITY_REVOKED, FAILED, PROVISIONED, ProvisioningRequest};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::time::Time;

use super::fate::{Fate, Span, remaining};

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
    pub(super) fate: Fate,
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
    let mut said = Said { conditions: request.status.conditions.clone(), request, now: told.now };
    let created = request.metadata.creation_timestamp;
    if said.holds(FAILED) {
        return (said.conditions, None);
    }
    if let Some(left) = told.fate.silent.and_then(|silent| silent.left(created, told.now)) {
        return (said.conditions, left.end());
    }
    if let Found::Wrong(why) = &told.found {
        said.say(FAILED, true, ("FailedToCreatePods", why));
        return (said.conditions, None);
    }
    let away = told.fate.away(request, told.now);
    if said.holds(PROVISIONED) && away.is_none() {
        return after(said, told);
    }
    said.say(ACCEPTED, true, told.class.accepted());
    if told.fate.is_failing(request) {
        said.say(FAILED, true, ("OutOfResources", "No machine could be had."));
        return (said.conditions, None);
    }
    said.say(FAILED, false, ("NotFailed", ""));
    let sold_out = told.fate.stock_out.and_then(|span| span.left(created, told.now));
    let wait = match (sold_out, away, &told.found) {
        (Some(left), _, _) => left.end(),
        (None, Some(left), _) => Some(left),
        (None, None, Found::Room) => {
            said.say(PROVISIONED, true, told.class.provisioned());
            return after(said, told);
        }
        (None, None, _) => Some(LOOK_AGAIN),
    };
    said.say(PROVISIONED, false, told.class.waits());
    (said.conditions, wait)
}

/// What was said so far.
struct Said<'a> {
    conditions: Vec<Condition>,
    request: &'a ProvisioningRequest,
    now: Time,
}

impl Said<'_> {
    fn holds(&self, kind: &str) -> bool {
        holds(&self.conditions, kind)
    }

    fn say(&mut self, kind: &str, is_so: bool, (reason, message): (&str, &str)) {
        let status = if is_so { ConditionStatus::True } else { ConditionStatus::False };
        let told = Condition {
            r#type: kind.to_owned(),
            status,
            reason: reason.to_owned(),
            message: message.to_owned(),
            last_transition_time: self.now,
            observed_generation: self.request.metadata.generation,
        };
        match self.conditions.iter_mut().find(|known| known.r#type == kind) {
            Some(known) if known.status == told.status => {
                *known = Condition { last_transition_time: known.last_transition_time, ..told };
            }
            Some(known) => *known = told,
            None => self.conditions.push(told),
        }
    }
}

/// What becomes of capacity that was given.
fn after(mut said: Said<'_>, told: &Told) -> (Vec<Condition>, Option<Duration>) {
    let given = provisioned_at(&said.conditions).unwrap_or(told.now);
    let machines = told.fate.lie.and_then(|lie| lie.left(given, told.now)).and_then(Span::end);
    let mut again: Vec<Duration> = machines.into_iter().chain(told.fate.goes(said.request, told.now)).collect();
    for (time, kind, message) in [
        (told.fate.expires, BOOKING_EXPIRED, "Capacity reservation has expired."),
        (told.fate.revoked, CAPACITY_REVOKED, "The capacity was taken back."),
    ] {
        let Some(time) = time.filter(|_| !said.holds(kind)) else { continue };
        match remaining(time, given, told.now) {
            Duration::ZERO => said.say(kind, true, (kind, message)),
            left => again.push(left),
        }
    }
    (said.conditions, again.into_iter().min())
}

/// When capacity was given.
pub(super) fn provisioned_at(conditions: &[Condition]) -> Option<Time> {
    let is_meant = |known: &&Condition| known.r#type == PROVISIONED && known.status == ConditionStatus::True;
    conditions.iter().find(is_meant).map(|known| known.last_transition_time)
}
