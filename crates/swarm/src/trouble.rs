//! What happens beside faults of requests: managers are killed, users change their minds.

use kueue_storm::Random;

use crate::load::{Job, Kind, PRIORITIES, Setup};

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
    /// A user changes a job.
    Edit { job: usize, edit: Edit },
}

/// What a user changes about a Job.
#[derive(Clone, Copy, Debug)]
pub enum Edit {
    Parallelism(usize),
    Queue(usize),
    Priority(&'static str),
}

impl Edit {
    /// A change after which a Job still fits into its queue; none for other kinds.
    fn draw(job: &Job, setup: &Setup, random: &mut Random) -> Option<Self> {
        if !matches!(job.kind, Kind::Job | Kind::PartialJob) {
            return None;
        }
        let edit = match random.below(3) {
            0 => Self::Parallelism(1 + random.below(job.pods)),
            1 => Self::Queue(random.below(setup.queues.len())),
            _ => Self::Priority(random.pick(&PRIORITIES).0),
        };
        let fits = |queue: usize| setup.queues[queue].room() >= job.pods * job.cpu;
        Some(edit).filter(|edit| !matches!(edit, Self::Queue(queue) if !fits(*queue)))
    }
}

impl Trouble {
    pub fn draw(setup: &Setup, jobs: &[Job], storm_ms: u64, random: &mut Random) -> Self {
        let at_ms = random.below(usize::try_from(storm_ms).unwrap_or(1)) as u64;
        let away_ms = random.below(AWAY_MS_MAX) as u64;
        let replica = random.below(setup.replicas);
        let job = random.below(jobs.len());
        let skew = |random: &mut Random| i64::try_from(random.below(2 * SKEW_S_MAX)).unwrap_or(0) - SKEW_S_MAX as i64;
        let what = match random.below(15) {
            0..=2 => What::Kill { replica, away_ms, skew_s: skew(random) },
            3 => What::Stop { replica, away_ms, skew_s: skew(random) },
            4 => What::CutOff { replica, away_ms },
            5 => What::StandStill { ms: away_ms },
            6 => What::Delete { job },
            7 => What::DeleteWorkload { job },
            8 => What::Deactivate { job, away_ms },
            9 => What::StopQueue { queue: random.below(setup.queues.len()), drains: random.once_in(2), away_ms },
            10 | 11 => What::DeletePod { dice: random.word() },
            _ => match Edit::draw(&jobs[job], setup, random) {
                Some(edit) => What::Edit { job, edit },
                None => What::Delete { job },
            },
        };
        Self { at_ms, what }
    }
}
