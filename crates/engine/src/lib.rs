//! The engine: decides when a workload may start, when it must wait and when it must stop.
//!
//! Pure and synchronous: no I/O, no clock, no Kubernetes types. [`Change`]s go in, [`Effect`]s come out; time, gates
//! and configuration are arguments. The same changes at the same times give the same effects, bit for bit.

mod apply;
mod ask;
mod assign;
mod change;
mod class;
mod cycle;
mod effect;
mod engine;
mod explain;
mod few;
mod id;
mod invariants;
mod journal;
mod ledger;
mod lifecycle;
mod names;
mod pending;
mod placement;
mod preempt;
mod queue;
mod quota;
mod reserving;
mod second_pass;
mod settings;
mod slice;
mod status;
#[cfg(test)]
mod tests;
mod text;
mod topology;
mod trace;
mod unadmitted;
mod unsettled;
mod variant;
mod view;
mod workload;

pub use ask::{
    AssignmentView, AttemptView, FairStep, FairTurn, FlavorView, PlaceAnswer, PlaceQuestion, PodSetAssignmentView,
    Priority, Turn, Victim, WantedFlavor, WantedPodSet,
};
pub use assign::{Grade, Mode, Oracle, Outlook};
pub use change::*;
pub use cycle::{CycleSummary, Recomputation};
#[cfg(feature = "by-hand")]
pub use cycle::{Handover, RequeueReason, Told};
pub use effect::{Decision, Effect, Event, Key};
pub use engine::{Engine, Scope};
pub use explain::{Explanation, FlavorLook, Look, PlaceLook, PlacedLook, PodSetLook, Shortage, Spared, Standing};
pub use id::Name;
pub use journal::{Call, Journal, JournalError, Step};
pub use ledger::{Ledger, Usage, entry_penalty, weighted_usage};
pub use pending::PendingCount;
pub use placement::{
    FlavorNodes, NODE_NAME_FIELD, NodeOperator, NodeRequirement, PodPlacement, Taint, TaintEffect, Toleration,
    TolerationOperator,
};
pub use settings::{
    AdmissionFairSharing, FairSharing, FairStrategy, PodsReady, RequeueOrder, Retention, Settings, WakePolicy,
};
pub use status::admitted::Stamp;
pub use status::eviction::Eviction;
pub use status::history::{OrderTime, Release};
pub use status::{
    Admission, CheckProgress, CheckState, Condition, ConditionKind, Delayed, EvictionCount, PodSetAdmission,
    PodSetRequests, PodSetUpdate, PreemptionGate, Reason, Requeue, Stage, Status, Verdict,
};
pub use text::{condition_message, preempted_message};
pub use topology::{DomainShare, NodeSpec, PlainPodSpec, SliceSpec, TopologyAssignment, TopologyRequest, TopologySpec};
#[cfg(feature = "by-hand")]
pub use topology::{Sketch, SketchRoom, Wish};
pub use unadmitted::UnadmittedCount;
pub use view::{
    CohortCycle, DomainView, FlavorUsageView, PendingView, PodSetDemand, PoolView, Position, Readiness,
    ResourceUsageView, ShareView, UsageView,
};
