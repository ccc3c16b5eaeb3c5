//! The loads, as `spec/loads.md` of the project describes them, with what Kueue reached and what we aim at.

mod clearing;
mod deep;
mod fill;
mod gangs;
mod preempt;
mod steady;
mod tree;

use serde::{Deserialize, Serialize};

/// One load.
#[derive(Debug)]
pub struct Load {
    pub name: &'static str,
    pub about: &'static str,
    /// What is counted.
    pub unit: &'static str,
    sizes: &'static [usize],
    quick_size: usize,
    /// How long it runs: cycles, or arrivals.
    rounds: usize,
    quick_rounds: usize,
    play: fn(usize, usize) -> Measured,
    /// Per size: Kueue's figure, and the one with finishing and requeueing.
    pub kueue: &'static [(usize, Figure)],
    pub aim: Aim,
    /// The most memory that each may take, where it is measured.
    pub aim_bytes: u64,
}

/// What Kueue reached: of the scheduler alone, and with finishing and requeueing.
pub type Figure = (f64, Option<f64>);

/// What we want to reach.
#[derive(Clone, Copy, Debug)]
pub enum Aim {
    /// So many per second of processor time, or more.
    PerSecond(f64),
    /// So many seconds for all that is loaded, or less.
    Seconds(f64),
    /// So many milliseconds for each, or less.
    MsEach(f64),
}

/// What a run came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Admissions, decisions or workloads.
    pub count: u64,
    pub cycles: u64,
    /// Processor seconds in cycles.
    pub scheduling_s: f64,
    /// Processor seconds in everything else that the engine was asked while it was measured.
    pub rest_s: f64,
    /// Processor seconds to load the pending workloads.
    pub load_s: f64,
    /// Memory that one pending workload takes, or a node per resource.
    pub bytes_each: u64,
}

/// The most that a pending workload may take.
const BYTES_PER_PENDING: u64 = 1024;

pub const ALL: [Load; 16] = [
    Load {
        name: "L1",
        about: "steady: 1,000 queues in 100 cohorts, admitted ones finish after 5 cycles",
        unit: "admissions",
        sizes: &[10_000, 100_000, 1_000_000],
        quick_size: 10_000,
        rounds: 100,
        quick_rounds: 5,
        play: steady::uncontended,
        kueue: &[
            (10_000, (6_379.0, Some(5_025.0))),
            (100_000, (5_404.0, Some(3_747.0))),
            (1_000_000, (835.0, Some(518.0))),
        ],
        aim: Aim::PerSecond(100_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L1c",
        about: "contended: as L1, life times of 1 to 59 cycles, most heads wait",
        unit: "admissions",
        sizes: &[100_000],
        quick_size: 10_000,
        rounds: 100,
        quick_rounds: 5,
        play: steady::contended,
        kueue: &[(100_000, (2_380.0, Some(1_875.0)))],
        aim: Aim::PerSecond(100_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L2",
        about: "deep fair: 40 queues below 13 cohorts, one of them deep",
        unit: "admissions",
        sizes: &[500],
        quick_size: 500,
        rounds: 600,
        quick_rounds: 20,
        play: deep::draining,
        kueue: &[(500, (2_183.0, Some(1_923.0)))],
        aim: Aim::PerSecond(50_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L2r",
        about: "deep fair, refilled",
        unit: "admissions",
        sizes: &[500, 50_000],
        quick_size: 500,
        rounds: 500,
        quick_rounds: 20,
        play: deep::refilled,
        kueue: &[(500, (2_435.0, Some(2_257.0)))],
        aim: Aim::PerSecond(50_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L3",
        about: "preempt: one arrival at a time among running workloads of 100 queues",
        unit: "decisions",
        sizes: &[500, 5_000, 50_000],
        quick_size: 500,
        rounds: 2_000,
        quick_rounds: 50,
        play: preempt::one_by_one,
        kueue: &[(5_000, (18.0, None))],
        aim: Aim::PerSecond(10_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L3x10",
        about: "preempt: ten arrivals at once",
        unit: "decisions",
        sizes: &[5_000],
        quick_size: 500,
        rounds: 200,
        quick_rounds: 5,
        play: preempt::ten_at_once,
        kueue: &[(5_000, (12.8, None))],
        aim: Aim::PerSecond(10_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L4",
        about: "topology: gangs in racks of one block, 30 queues",
        unit: "placements",
        sizes: &[100],
        quick_size: 20,
        rounds: 1_000,
        quick_rounds: 20,
        play: gangs::one_block,
        kueue: &[(100, (1_032.0, Some(977.0)))],
        aim: Aim::PerSecond(50_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L5",
        about: "topology preempt: half a rack of whole hosts among running gangs",
        unit: "decisions",
        sizes: &[700],
        quick_size: 700,
        rounds: 200,
        quick_rounds: 2,
        play: clearing::half_a_rack,
        kueue: &[(700, (151.0, None))],
        aim: Aim::MsEach(1.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L5h",
        about: "topology preempt: a whole rack",
        unit: "decisions",
        sizes: &[700],
        quick_size: 700,
        rounds: 200,
        quick_rounds: 2,
        play: clearing::a_whole_rack,
        kueue: &[(700, (635.0, None))],
        aim: Aim::MsEach(3.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L6",
        about: "topology fair: gangs in 65 racks, 30 queues, fair sharing",
        unit: "placements",
        sizes: &[500],
        quick_size: 20,
        rounds: 2_000,
        quick_rounds: 20,
        play: gangs::fair,
        kueue: &[(500, (466.0, Some(406.0)))],
        aim: Aim::PerSecond(30_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L6s",
        about: "topology fair: half of the queues borrow",
        unit: "placements",
        sizes: &[500],
        quick_size: 20,
        rounds: 2_000,
        quick_rounds: 20,
        play: gangs::fair_skewed,
        kueue: &[(500, (522.0, Some(460.0)))],
        aim: Aim::PerSecond(30_000.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "L7",
        about: "load: workloads into an empty engine, half of them admitted",
        unit: "workloads",
        sizes: &[100_000],
        quick_size: 10_000,
        rounds: 1,
        quick_rounds: 1,
        play: fill::half_admitted,
        kueue: &[(100_000, (7.5, None))],
        aim: Aim::Seconds(0.3),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "T-load",
        about: "nodes in five levels, and a first placement",
        unit: "nodes",
        sizes: &[40_000],
        quick_size: 640,
        rounds: 1,
        quick_rounds: 1,
        play: tree::load,
        kueue: &[],
        aim: Aim::Seconds(1.0),
        aim_bytes: 200,
    },
    Load {
        name: "T-place",
        about: "a gang of a known shape among nodes in five levels",
        unit: "placements",
        sizes: &[640, 40_000],
        quick_size: 640,
        rounds: 5_000,
        quick_rounds: 20,
        play: tree::placements,
        kueue: &[],
        aim: Aim::MsEach(1.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "T-after",
        about: "the same after a node changed, went and came back",
        unit: "placements",
        sizes: &[40_000],
        quick_size: 640,
        rounds: 1_000,
        quick_rounds: 20,
        play: tree::placements_after_events,
        kueue: &[],
        aim: Aim::MsEach(1.0),
        aim_bytes: BYTES_PER_PENDING,
    },
    Load {
        name: "T-event",
        about: "a node changes, goes or comes back",
        unit: "events",
        sizes: &[40_000],
        quick_size: 640,
        rounds: 1_000,
        quick_rounds: 20,
        play: tree::events,
        kueue: &[],
        aim: Aim::MsEach(0.02),
        aim_bytes: BYTES_PER_PENDING,
    },
];

impl Load {
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|load| load.name == name)
    }

    pub fn sizes(&self, quick: bool) -> Vec<usize> {
        if quick { vec![self.quick_size] } else { self.sizes.to_vec() }
    }

    pub fn rounds(&self, quick: bool) -> usize {
        if quick { self.quick_rounds } else { self.rounds }
    }

    pub fn run(&self, size: usize, rounds: usize) -> Measured {
        (self.play)(size, rounds)
    }
}
