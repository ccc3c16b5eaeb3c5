//! What the operator chose, as one value that never changes while the engine lives.

use kueue_core::gates::Gates;

/// Gates and configuration.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Feature gates.
    pub gates: Gates,
    /// Which time counts after an eviction because pods were not ready.
    pub requeue_order: RequeueOrder,
    /// Resources without quota anywhere in the queue are not counted.
    pub ignores_undeclared: bool,
    /// Fair sharing, when it is on.
    pub fair_sharing: Option<FairSharing>,
    /// When parked workloads are looked at again.
    pub wake: WakePolicy,
}

/// Which time orders a workload that was evicted because its pods were not ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RequeueOrder {
    /// The time of the eviction: it goes to the end.
    #[default]
    Eviction,
    /// Its creation: it keeps its turn.
    Creation,
}

/// When parked workloads are looked at again after something changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum WakePolicy {
    /// Before the next cycle.
    #[default]
    Targeted,
    /// When [`Engine::flush`](crate::Engine::flush) is called.
    Batched,
}

/// How shares are compared when room is made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FairSharing {
    /// Tried one after the other.
    pub strategies: Vec<FairStrategy>,
}

/// When a workload may be preempted for the sake of fairness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FairStrategy {
    /// The preemptor's share does not exceed what the victim's queue keeps.
    LessThanOrEqualToFinalShare,
    /// The preemptor's share is less than the victim's queue had.
    LessThanInitialShare,
}
