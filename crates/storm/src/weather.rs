//! What does not change while a storm lasts: settings of the engine, and how bad the world is.

use kueue_core::gates::{Gate, Gates};
use kueue_engine::{FairSharing, FairStrategy, RequeueOrder, Settings, WakePolicy};

use crate::random::Random;

/// The conditions of one storm.
#[derive(Clone, Debug)]
pub(crate) struct Weather {
    pub(crate) settings: Settings,
    /// Numbers may be negative, huge or overflow, and statuses may be anything.
    pub(crate) has_nonsense: bool,
    /// Decisions are written at once and always succeed; else they are late, lost or out of date.
    pub(crate) is_prompt: bool,
}

impl Weather {
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut gates = Gates::default();
        if random.once_in(2) {
            let switches: Vec<(Gate, bool)> =
                (0..=random.below(6)).map(|_| (*random.pick(Gate::ALL), random.once_in(2))).collect();
            gates = gates.with_all(switches);
        }
        let strategies = match random.below(3) {
            0 => vec![FairStrategy::LessThanOrEqualToFinalShare],
            1 => vec![FairStrategy::LessThanInitialShare],
            _ => vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare],
        };
        let settings = Settings {
            gates,
            requeue_order: if random.once_in(2) { RequeueOrder::Creation } else { RequeueOrder::Eviction },
            ignores_undeclared: random.once_in(8),
            fair_sharing: random.once_in(2).then_some(FairSharing { strategies }),
            wake: if random.once_in(2) { WakePolicy::Batched } else { WakePolicy::Targeted },
            ..Settings::default()
        };
        Self { settings, has_nonsense: random.once_in(3), is_prompt: random.once_in(2) }
    }
}
