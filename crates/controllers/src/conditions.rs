//! Conditions of objects whose status is ours.

use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::time::Time;

/// Sets a condition; its time moves with its status only.
pub(crate) fn set(conditions: &mut Vec<Condition>, mut new: Condition, now: Time) {
    let known = conditions.iter_mut().find(|known| known.r#type == new.r#type);
    new.last_transition_time = match &known {
        Some(known) if known.status == new.status => known.last_transition_time,
        _ => now,
    };
    match known {
        Some(known) => *known = new,
        None => conditions.push(new),
    }
}

pub(crate) fn status_of(is_so: bool) -> ConditionStatus {
    if is_so { ConditionStatus::True } else { ConditionStatus::False }
}
