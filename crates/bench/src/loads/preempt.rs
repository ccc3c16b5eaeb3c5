//! L3: important workloads arrive in a cohort that is full, and others have to go.
//!
//! When an arrival has been admitted it leaves and its victims are replaced, so that every decision is taken in the
//! same situation. Only the cycles count: the one that picks the victims and the one that admits.

use kueue_engine::{Change, Preemption, PreemptionPolicy, Settings, Status};

use super::Measured;
use crate::jobs::{Job, Jobs, Random};
use crate::stage::{QueueShape, Stage};

const QUEUES: u32 = 100;

pub fn one_by_one(running: usize, rounds: usize) -> Measured {
    play(running, rounds, 1)
}

pub fn ten_at_once(running: usize, rounds: usize) -> Measured {
    play(running, rounds, 10)
}

fn play(running: usize, rounds: usize, at_once: u32) -> Measured {
    let mut stage = Stage::new(Settings::default());
    let nominal = u32::try_from(running).expect("a small number") / QUEUES;
    for number in 0..QUEUES {
        stage.add_queue(&QueueShape {
            number,
            cohort: "all".to_owned(),
            nominal,
            borrowing_limit: None,
            preemption: Preemption {
                within_queue: PreemptionPolicy::LowerPriority,
                reclaim_within_cohort: PreemptionPolicy::Any,
                borrow_within_cohort: None,
            },
        });
    }
    let mut random = Random(3);
    let mut jobs = Jobs::default();
    for number in 0..u32::try_from(running).expect("a small number") {
        jobs.add(Job {
            queue: number % (QUEUES / 2) * 2,
            cpu: 1,
            priority: i32::try_from(random.below(3)).unwrap_or(0),
            ..Job::default()
        });
    }
    stage.reset();
    let changes = (0..running).map(|number| jobs.change(number, jobs.admitted(number))).collect();
    let effects = stage.apply(changes);
    stage.echo(&jobs, effects);
    let load_s = stage.rest.as_secs_f64();
    stage.reset();
    let mut decisions = 0;
    let mut cycles = 0;
    for _ in 0..rounds {
        let first = random.below(QUEUES);
        let mut waiting: Vec<usize> = (0..at_once)
            .map(|step| {
                let queue = (first + step * 7) % QUEUES;
                jobs.add(Job { queue, cpu: 1 + random.below(4), priority: 1_000, ..Job::default() })
            })
            .collect();
        decisions += u64::from(at_once);
        let changes = waiting.iter().map(|number| jobs.change(*number, Status::default())).collect();
        let effects = stage.apply(changes);
        stage.echo(&jobs, effects);
        let mut admitted = Vec::new();
        let mut victims = Vec::new();
        let mut attempts = 0;
        while !waiting.is_empty() {
            attempts += 1;
            assert!(attempts < 100, "every arrival is admitted in the end; {} are not", waiting.len());
            cycles += 1;
            let effects = stage.cycle();
            let written = stage.echo(&jobs, effects);
            let mut changes: Vec<Change> = Vec::new();
            for (number, status) in written {
                if status.is_evicted() {
                    victims.push(number);
                    changes.push(Jobs::gone(number));
                } else if status.admission.is_some() {
                    waiting.retain(|other| *other != number);
                    admitted.push(number);
                }
            }
            let effects = stage.apply(changes);
            stage.echo(&jobs, effects);
        }
        let mut changes: Vec<Change> = admitted.into_iter().map(Jobs::gone).collect();
        for victim in victims {
            let number = jobs.add(jobs.job(victim));
            changes.push(jobs.change(number, jobs.admitted(number)));
        }
        let effects = stage.apply(changes);
        stage.echo(&jobs, effects);
    }
    Measured {
        count: decisions,
        cycles,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: stage.rest.as_secs_f64(),
        load_s,
        bytes_each: 0,
    }
}
