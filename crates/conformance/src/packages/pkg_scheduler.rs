//! `pkg/scheduler`: whole cycles, and the small decisions inside them.

pub(super) mod afs;
mod by_hand;
mod context;
pub(super) mod cycles;
mod places;

use super::Runners;

pub const RUNNERS: Runners = &[
    ("TestEntryComparerLess", by_hand::entry_comparer),
    ("TestEntryOrdering", context::entry_ordering),
    ("TestLastAssignmentOutdated", by_hand::last_assignment_outdated),
    ("TestLastSchedulingContext", context::last_scheduling_context),
    ("TestRequeueAndUpdate", by_hand::requeue_and_update),
    ("TestResourcesToReserve", context::resources_to_reserve),
    ("TestSchedule", cycles::schedule),
    ("TestScheduleForAFS", afs::schedule),
    ("TestScheduleConcurrentAdmission", cycles::cycle),
    ("TestScheduleForFairSharing", cycles::schedule),
    ("TestScheduleForPreserveFlavorScanProgress", places::keeps_progress),
    ("TestScheduleForTAS", places::schedule),
    ("TestScheduleForTASCohorts", places::schedule),
    ("TestScheduleForTASPreemption", places::schedule),
    ("TestScheduleForTASWhenWorkloadModifiedConcurrently", places::modified_concurrently),
    ("TestScheduleRecomputePreemptionTargets", cycles::schedule),
    ("TestSchedulerWhenWorkloadModifiedConcurrently", context::modified_concurrently),
    ("TestSecondPassSkipsWaitForPodsReadyBlock", places::despite_block),
    ("TestShouldApplyEntryPenalty", afs::charges),
];
