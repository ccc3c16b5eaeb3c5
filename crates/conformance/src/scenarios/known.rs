//! Where a recording shows what we do otherwise on purpose: recognised by what happened, never by a scenario's name.
//! Each has its line in `docs/compat.md`.

use serde_json::Value;

use super::state::{Shown, State};
use crate::known::{SIBLING_ADMITTED, STEPS_ASIDE};

/// Why the step may differ from what was recorded, if it may: `before` is the recorded state that it started from.
pub(super) fn difference(before: &State, recorded: &Shown, ours: &Shown) -> Option<&'static str> {
    let mut messages = recorded.events.values().flatten().map(|[_, _, message]| message.as_str());
    if messages.any(|message| message == SIBLING_ADMITTED) {
        Some(STEPS_ASIDE)
    } else if is_out_of_order(before, recorded, ours) {
        Some("with admission fair sharing the order that is shown is the order that is served")
    } else {
        None
    }
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
