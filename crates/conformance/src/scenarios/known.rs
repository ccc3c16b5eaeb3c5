//! Where a recording shows what we do otherwise on purpose: recognised by what happened, never by a scenario's name.
//! Each has its line in `docs/compat.md`.

use super::state::Shown;

/// Why the step may differ from what was recorded, if it may.
pub(super) fn difference(recorded: &Shown) -> Option<&'static str> {
    let mut messages = recorded.events.values().flatten().map(|[_, _, message]| message.as_str());
    messages
        .any(|message| message == "A more favorable variant is already admitted")
        .then_some("a variant whose better sibling runs steps aside instead of holding up its queue")
}
