//! L4, L6 and L6s: gangs of pods that belong into one rack, a steady coming and going in queues of one cohort.

use std::collections::VecDeque;

use kueue_engine::{FairSharing, FairStrategy, Preemption, Settings, Status};

use super::Measured;
use crate::jobs::{Gang, Job, Jobs, Random};
use crate::nodes::Nodes;
use crate::stage::{QueueShape, Stage};

const QUEUES: u32 = 30;
const LIFETIME: usize = 10;

pub fn one_block(depth: usize, cycles: usize) -> Measured {
    play(Settings::default(), Nodes(&[1, 10, 64]), |_| 170, depth, cycles)
}

pub fn fair(depth: usize, cycles: usize) -> Measured {
    play(fair_settings(), Nodes(&[5, 13, 20]), |_| 346, depth, cycles)
}

/// Every other queue has to borrow.
pub fn fair_skewed(depth: usize, cycles: usize) -> Measured {
    play(fair_settings(), Nodes(&[5, 13, 20]), |queue| if queue % 2 == 0 { 652 } else { 40 }, depth, cycles)
}

fn fair_settings() -> Settings {
    let strategies = vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare];
    Settings { fair_sharing: Some(FairSharing { strategies }), ..Settings::default() }
}

fn play(settings: Settings, nodes: Nodes, nominal: impl Fn(u32) -> u32, depth: usize, cycles: usize) -> Measured {
    let mut stage = Stage::new(settings);
    stage.apply(nodes.topology());
    stage.apply(nodes.all());
    for number in 0..QUEUES {
        stage.add_queue(&QueueShape {
            number,
            cohort: "all".to_owned(),
            nominal: nominal(number),
            borrowing_limit: None,
            preemption: Preemption::default(),
        });
    }
    let mut random = Random(4);
    let mut jobs = Jobs::default();
    let arrivals = (0..depth).flat_map(|_| 0..QUEUES).map(|queue| {
        let pods = 2 + i32::try_from(random.below(7)).unwrap_or(0);
        let gang = Gang { pods, is_required: random.below(2) == 0 };
        let number = jobs.add(Job { queue, cpu: 1 << random.below(3), priority: 0, gang: Some(gang) });
        jobs.change(number, Status::default())
    });
    let arrivals: Vec<_> = arrivals.collect();
    let mut left = arrivals.len();
    stage.reset();
    let effects = stage.apply(arrivals);
    stage.echo(&jobs, effects);
    let load_s = stage.rest.as_secs_f64();
    stage.reset();
    let mut running: VecDeque<Vec<(usize, Status)>> = VecDeque::new();
    let (mut admitted, mut played) = (0, 0);
    while played < cycles && left > 0 {
        played += 1;
        let effects = stage.cycle();
        let written = stage.echo(&jobs, effects);
        let started: Vec<_> = written.into_iter().filter(|(_, status)| status.admission.is_some()).collect();
        admitted += started.len();
        left -= started.len();
        running.push_back(started);
        if running.len() >= LIFETIME {
            let over = running.pop_front().unwrap_or_default();
            let ends = jobs.ends(over, stage.now).collect();
            let effects = stage.apply(ends);
            stage.echo(&jobs, effects);
        }
    }
    Measured {
        count: admitted as u64,
        cycles: played as u64,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: stage.rest.as_secs_f64(),
        load_s,
        bytes_each: 0,
    }
}
