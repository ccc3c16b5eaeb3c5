//! What does not change while a storm lasts: settings of the engine, and how bad the world is.

use std::collections::BTreeMap;

use kueue_core::backoff::Backoff;
use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use kueue_engine::{
    AdmissionFairSharing, FairSharing, FairStrategy, PodsReady, RequeueOrder, Retention, Settings, WakePolicy,
};

use crate::random::Random;

/// Gates that are closed by default, of what a storm makes.
const CLOSED: &[Gate] = &[Gate::ConcurrentAdmission, Gate::MultiKueueOrchestratedPreemption];

/// Jobs of the mended world end within this time; with a shorter limit they would be evicted before.
const AT_ONCE: Duration = Duration::from_seconds(5);

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
        let opened: Vec<(Gate, bool)> = CLOSED.iter().map(|gate| (*gate, random.once_in(2))).collect();
        let mut gates = Gates::default().with_all(opened);
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
            pods_ready: random.once_in(3).then(|| pods_ready(random)),
            retention: Retention {
                finished: random.once_in(4).then(|| seconds(random, 100)),
                deactivated: random.once_in(4).then(|| seconds(random, 100)),
            },
            admission_fair_sharing: random.once_in(3).then(|| admission_fair_sharing(random)),
            wake: if random.once_in(2) { WakePolicy::Batched } else { WakePolicy::Targeted },
            ..Settings::default()
        };
        Self { settings, has_nonsense: random.once_in(3), is_prompt: random.once_in(2) }
    }
}

fn seconds(random: &mut Random, most: usize) -> Duration {
    Duration::from_seconds(i64::try_from(random.below(most)).expect("a small number"))
}

fn pods_ready(random: &mut Random) -> PodsReady {
    PodsReady {
        timeout: seconds(random, 300).max(AT_ONCE),
        recovery_timeout: random.once_in(2).then(|| seconds(random, 100).max(AT_ONCE)),
        backoff: Backoff::new(seconds(random, 60), 2.0, Duration::from_seconds(600)),
        most_attempts: random.once_in(2).then(|| i32::try_from(random.below(4)).expect("a small number")),
        blocks_admission: random.once_in(2),
    }
}

fn admission_fair_sharing(random: &mut Random) -> AdmissionFairSharing {
    AdmissionFairSharing {
        half_life: if random.once_in(4) { Duration::ZERO } else { seconds(random, 600) },
        sampling_interval: seconds(random, 600).max(AT_ONCE),
        resource_weights: BTreeMap::from([("cpu".to_owned(), 2.0), ("memory".to_owned(), 0.0)]),
    }
}
