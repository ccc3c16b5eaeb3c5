//! What came of the last look at a workload: why it waits, kept as values.
//!
//! Reasons and messages are made from the same values when the look is over; the trace is what remains of them, so
//! that the question can be answered again, in more detail, without asking the API server or looking once more.

use kueue_core::time::Time;

use crate::assign::Attempt;
use crate::effect::Key;
use crate::text::refusal::Refusal;

/// One look. What was found about a class is kept once for all its members.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) at: Time,
    /// In the order of the workload's pod sets, up to the one that failed.
    pub(crate) pod_sets: Vec<PodSetTrace>,
    /// Who has to leave first, and by which rule.
    pub(crate) victims: Vec<(Key, &'static str)>,
    /// Who got in its way in the same cycle.
    pub(crate) taken_by: Option<Key>,
}

/// What was tried for one pod set.
#[derive(Debug)]
pub(crate) struct PodSetTrace {
    /// By flavor name.
    pub(crate) attempts: Vec<Attempt>,
    /// What spoke against it whatever the flavor.
    pub(crate) refusals: Vec<Refusal>,
}
