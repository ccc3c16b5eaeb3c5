//! `pkg/scheduler`: whole cycles, and the small decisions inside them.

pub(super) mod afs;
mod context;
mod cycles;
mod places;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestEntryOrdering", context::entry_ordering),
    ("TestLastSchedulingContext", context::last_scheduling_context),
    ("TestResourcesToReserve", context::resources_to_reserve),
    ("TestSchedule", cycles::schedule),
    ("TestScheduleForAFS", afs::schedule),
    ("TestScheduleConcurrentAdmission", cycles::cycle),
    ("TestScheduleForFairSharing", cycles::schedule),
    ("TestScheduleForTAS", places::schedule),
    ("TestScheduleForTASCohorts", places::schedule),
    ("TestScheduleForTASPreemption", places::schedule),
    ("TestScheduleRecomputePreemptionTargets", cycles::schedule),
    ("TestSchedulerWhenWorkloadModifiedConcurrently", context::modified_concurrently),
    ("TestShouldApplyEntryPenalty", afs::charges),
];
