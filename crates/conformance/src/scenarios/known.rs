//! Where a recording shows what we do otherwise on purpose: recognised by what happened, never by a scenario's name.
//! Each has its line in `docs/compat.md`.

use serde_json::Value;

use super::state::{Shown, State};
use crate::known::{SIBLING_ADMITTED, STEPS_ASIDE};

const SLICE_REPLACED: &str = "WorkloadSliceReplaced";
const NO_LONGER_FITS: &str = "Workload no longer fits after processing another workload";

/// Why the step may differ from what was recorded, if it may: `before` is the recorded state that it started from.
pub(super) fn difference(before: &State, recorded: &Shown, ours: &Shown) -> Option<&'static str> {
    let mut messages = recorded.events.values().flatten().map(|[_, _, message]| message.as_str());
    if messages.any(|message| message == SIBLING_ADMITTED) {
        Some(STEPS_ASIDE)
    } else if is_out_of_order(before, recorded, ours) {
        Some("with admission fair sharing the order that is shown is the order that is served")
    } else if is_given_twice(recorded, ours) {
        Some("what a slice held is given out once")
    } else {
        None
    }
}

/// Kueue admitted a workload in a cycle in which it also replaced a slice, and to us it no longer fitted there.
fn is_given_twice(recorded: &Shown, ours: &Shown) -> bool {
    let has =
        |events: Option<&Vec<[String; 3]>>, is: &dyn Fn(&[String; 3]) -> bool| events.into_iter().flatten().any(is);
    let is_replacing =
        recorded.events.values().any(|events| has(Some(events), &|[_, reason, _]| reason == SLICE_REPLACED));
    is_replacing
        && recorded.order.iter().any(|started| {
            !ours.order.contains(started)
                && has(ours.events.get(started), &|[_, _, message]| message.starts_with(NO_LONGER_FITS))
        })
}

/// Kueue said who would be served next, served another one of the queue, and we served the one that it had named.
fn is_out_of_order(before: &State, recorded: &Shown, ours: &Shown) -> bool {
    let part = |name: &str| before.0.get(name).and_then(Value::as_object);
    if part("localQueueUsage").is_none() {
        return false;
    }
    let queues = part("queues").into_iter().flat_map(|queues| queues.values());
    queues.filter_map(|queue| queue["active"].as_array()).any(|active| {
        let mut names = active.iter().filter_map(Value::as_str);
        let Some(first) = names.next() else { return false };
        !recorded.events.contains_key(first)
            && ours.events.contains_key(first)
            && names.any(|other| recorded.events.contains_key(other))
    })
}
