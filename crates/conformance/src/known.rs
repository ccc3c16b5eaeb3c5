//! Where a recorded case shows what we do otherwise on purpose: recognised by what it expects, never by its name.
//! Each has its line in `docs/compat.md`.

use crate::corpus::Case;

/// What a variant is told whose better sibling runs. Kueue sends it back to the head of its queue, we let it step aside.
pub(crate) const SIBLING_ADMITTED: &str = "A more favorable variant is already admitted";
/// Why a recording with that message may differ.
pub(crate) const STEPS_ASIDE: &str = "a variant whose better sibling runs steps aside instead of holding up its queue";

/// Why the case may have another outcome than the recorded one, if it may.
pub(crate) fn difference(case: &Case) -> Option<&'static str> {
    case.row().to_string().contains(SIBLING_ADMITTED).then_some(STEPS_ASIDE)
}
