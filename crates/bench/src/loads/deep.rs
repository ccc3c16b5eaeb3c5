//! L2: fair sharing in a tree of cohorts, one queue much deeper than the others.

use std::collections::VecDeque;

use kueue_engine::{Change, CohortSpec, FairSharing, FairStrategy, Preemption, Settings, Status};

use super::Measured;
use crate::jobs::{Job, Jobs, Random};
use crate::stage::{QueueShape, Stage};

const LEAVES: u32 = 8;
const QUEUES_PER_LEAF: u32 = 5;
const SHALLOW: usize = 5;
const LIFETIME: usize = 5;

pub fn draining(depth: usize, cycles: usize) -> Measured {
    play(depth, cycles, false)
}

pub fn refilled(depth: usize, cycles: usize) -> Measured {
    play(depth, cycles, true)
}

fn stage_with_tree() -> Stage {
    let strategies = vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare];
    let mut stage = Stage::new(Settings { fair_sharing: Some(FairSharing { strategies }), ..Settings::default() });
    let mut add_cohort = |name: &str, parent: Option<String>| {
        stage.apply(vec![Change::Cohort(CohortSpec {
            name: name.into(),
            parent: parent.map(|parent| parent.as_str().into()),
            groups: Vec::new(),
            weight: 1.0,
            revision: 0,
        })]);
    };
    add_cohort("root", None);
    for middle in 0..LEAVES / 2 {
        add_cohort(&format!("middle-{middle}"), Some("root".to_owned()));
    }
    for leaf in 0..LEAVES {
        add_cohort(&format!("leaf-{leaf}"), Some(format!("middle-{}", leaf / 2)));
    }
    for number in 0..LEAVES * QUEUES_PER_LEAF {
        stage.add_queue(&QueueShape {
            number,
            cohort: format!("leaf-{}", number / QUEUES_PER_LEAF),
            nominal: 20,
            borrowing_limit: None,
            preemption: Preemption::default(),
        });
    }
    stage
}

fn play(depth: usize, cycles: usize, is_refilled: bool) -> Measured {
    let mut stage = stage_with_tree();
    let mut random = Random(2);
    let mut jobs = Jobs::default();
    let mut arrive = |jobs: &mut Jobs, queue: u32| {
        let number = jobs.add(Job { queue, cpu: 1 + random.below(8), priority: 0, ..Job::default() });
        jobs.change(number, Status::default())
    };
    let mut pending = Vec::new();
    for queue in 0..LEAVES * QUEUES_PER_LEAF {
        let count = if queue == 0 { depth } else { SHALLOW };
        pending.extend((0..count).map(|_| arrive(&mut jobs, queue)));
    }
    let mut left = pending.len();
    stage.reset();
    let effects = stage.apply(pending);
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
        let mut changes = Vec::new();
        if is_refilled {
            left += started.len();
            changes.extend(started.iter().map(|(number, _)| {
                let queue = jobs.job(*number).queue;
                arrive(&mut jobs, queue)
            }));
        }
        running.push_back(started);
        if running.len() >= LIFETIME {
            changes.extend(jobs.ends(running.pop_front().unwrap_or_default(), stage.now));
        }
        let effects = stage.apply(changes);
        stage.echo(&jobs, effects);
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
