//! L1 and L1c: many queues in flat cohorts, many pending workloads, a steady coming and going.

use std::collections::VecDeque;

use kueue_engine::{Preemption, Settings, Status};

use super::Measured;
use crate::jobs::{Job, Jobs, Random};
use crate::meter::{cpu_time, resident_bytes};
use crate::stage::{QueueShape, Stage};

const QUEUES: u32 = 1_000;
const QUEUES_PER_COHORT: u32 = 10;
/// How many workloads are handed over at once while loading: a page of a list, more or less.
pub const BATCH: usize = 1_000;

pub fn uncontended(pending: usize, cycles: usize) -> Measured {
    play(pending, cycles, |_| 5)
}

pub fn contended(pending: usize, cycles: usize) -> Measured {
    let mut random = Random(1);
    play(pending, cycles, move |_| 1 + random.below(59) as usize)
}

/// The queues of L1 with this much quota each.
pub fn add_queues(stage: &mut Stage, nominal: u32) {
    for number in 0..QUEUES {
        stage.add_queue(&QueueShape {
            number,
            cohort: format!("cohort-{}", number / QUEUES_PER_COHORT),
            nominal,
            borrowing_limit: Some(100),
            preemption: Preemption::default(),
        });
    }
}

/// Workload number so and so of an even spread with three priorities.
pub fn spread(number: usize) -> Job {
    let queue = u32::try_from(number % QUEUES as usize).expect("fewer than 2^32 queues");
    Job {
        queue,
        cpu: 1,
        priority: i32::try_from(number / QUEUES as usize % 3).expect("three priorities"),
        ..Job::default()
    }
}

/// Plays cycles until nobody is left or `cycles` is reached; `lifetime` says how many cycles the next one runs.
fn play(pending: usize, cycles: usize, mut lifetime: impl FnMut(usize) -> usize) -> Measured {
    let mut stage = Stage::new(Settings::default());
    add_queues(&mut stage, 20);
    let mut jobs = Jobs::with_capacity(pending);
    let before = resident_bytes();
    stage.reset();
    for first in (0..pending).step_by(BATCH) {
        let numbers = (first..pending.min(first + BATCH)).map(|number| jobs.add(spread(number)));
        let numbers: Vec<usize> = numbers.collect();
        let changes = numbers.iter().map(|number| jobs.change(*number, Status::default())).collect();
        let effects = stage.apply(changes);
        stage.echo(&jobs, effects);
    }
    let load_s = stage.rest.as_secs_f64();
    let bytes = resident_bytes().saturating_sub(before);
    stage.reset();
    let mut leaving: VecDeque<Vec<(usize, Status)>> = VecDeque::new();
    let mut admitted = 0;
    let mut played = 0;
    let mut started = cpu_time();
    while played < cycles && admitted < pending {
        played += 1;
        let effects = stage.cycle();
        for (number, status) in stage.echo(&jobs, effects) {
            if status.admission.is_some() {
                admitted += 1;
                let slot = lifetime(number) - 1;
                if leaving.len() <= slot {
                    leaving.resize_with(slot + 1, Vec::new);
                }
                leaving[slot].push((number, status));
            }
        }
        let over = leaving.pop_front().unwrap_or_default();
        let ends = jobs.ends(over, stage.now).collect();
        let effects = stage.apply(ends);
        stage.echo(&jobs, effects);
        if (cpu_time() - started).as_secs() >= 2 {
            started = cpu_time();
            eprintln!("  cycle {played} of {cycles}, {admitted} admitted");
        }
    }
    Measured {
        count: admitted as u64,
        cycles: played as u64,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: stage.rest.as_secs_f64(),
        load_s,
        bytes_each: bytes / pending as u64,
    }
}
