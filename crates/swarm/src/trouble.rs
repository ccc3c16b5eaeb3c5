//! What happens beside faults of requests: managers are killed, users change their minds.

use kueue_storm::Random;

use crate::load::Setup;

/// How long a manager is away, or cannot reach anybody.
const AWAY_MS_MAX: usize = 40_000;
/// By how much the clocks of two machines may differ.
const SKEW_S_MAX: usize = 90;

#[derive(Clone, Debug)]
pub struct Trouble {
    pub at_ms: u64,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// A manager ends in the middle of whatever it does; later another one begins, whose clock shows another time.
    Kill { replica: usize, away_ms: u64, skew_s: i64 },
    /// A manager is asked to end.
    Stop { replica: usize, away_ms: u64, skew_s: i64 },
    /// A manager reaches nobody.
    CutOff { replica: usize, away_ms: u64 },
    /// The machine of everybody stands still.
    StandStill { ms: u64 },
    /// A user deletes a job.
    Delete { job: usize },
    /// A user deletes the Workload of a job.
    DeleteWorkload { job: usize },
    /// A user takes the turn from a job, and gives it back later.
    Deactivate { job: usize, away_ms: u64 },
    /// A user stops a queue, and opens it later.
    StopQueue { queue: usize, drains: bool, away_ms: u64 },
    /// A user deletes one pod.
    DeletePod { dice: u64 },
}

impl Trouble {
    pub fn draw(setup: &Setup, jobs: usize, storm_ms: u64, random: &mut Random) -> Self {
        let at_ms = random.below(usize::try_from(storm_ms).unwrap_or(1)) as u64;
        let away_ms = random.below(AWAY_MS_MAX) as u64;
        let replica = random.below(setup.replicas);
        let job = random.below(jobs);
        let skew = |random: &mut Random| i64::try_from(random.below(2 * SKEW_S_MAX)).unwrap_or(0) - SKEW_S_MAX as i64;
        let what = match random.below(12) {
            0..=2 => What::Kill { replica, away_ms, skew_s: skew(random) },
            3 => What::Stop { replica, away_ms, skew_s: skew(random) },
            4 => What::CutOff { replica, away_ms },
            5 => What::StandStill { ms: away_ms },
            6 => What::Delete { job },
            7 => What::DeleteWorkload { job },
            8 => What::Deactivate { job, away_ms },
            9 => What::StopQueue { queue: random.below(setup.queues.len()), drains: random.once_in(2), away_ms },
            _ => What::DeletePod { dice: random.word() },
        };
        Self { at_ms, what }
    }
}
