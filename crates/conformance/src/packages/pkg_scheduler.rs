//! `pkg/scheduler`: whole cycles, and the small decisions inside them.

mod cycles;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestSchedule", cycles::schedule),
    ("TestScheduleForFairSharing", cycles::schedule),
    ("TestScheduleRecomputePreemptionTargets", cycles::schedule),
];
