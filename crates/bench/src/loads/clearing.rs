//! L5 and L5h: somebody needs whole hosts of one rack, and racks are full of others.
//!
//! When the arrival has been admitted it leaves and its victims return to their hosts, so that every decision is taken
//! in the same situation. Both cycles of a decision count: the one that picks the victims and the one that admits.

use std::sync::Arc;

use kueue_engine::{Change, Preemption, PreemptionPolicy, Settings, Status, TopologyAssignment};

use super::Measured;
use crate::jobs::{Gang, Job, Jobs, Random};
use crate::nodes::{CPUS_PER_NODE, Nodes, one_on_each};
use crate::stage::{QueueShape, Stage};

const NODES: Nodes = Nodes(&[5, 20, 20]);

pub fn half_a_rack(running: usize, rounds: usize) -> Measured {
    play(running, rounds, NODES.per_rack() / 2)
}

pub fn a_whole_rack(running: usize, rounds: usize) -> Measured {
    play(running, rounds, NODES.per_rack())
}

fn play(running: usize, rounds: usize, hosts: u32) -> Measured {
    let mut stage = Stage::new(Settings::default());
    stage.apply(NODES.topology());
    stage.apply(NODES.all());
    stage.add_queue(&QueueShape {
        number: 0,
        cohort: "all".to_owned(),
        nominal: NODES.count() * CPUS_PER_NODE,
        borrowing_limit: None,
        preemption: Preemption { within_queue: PreemptionPolicy::LowerPriority, ..Preemption::default() },
    });
    let mut random = Random(5);
    let mut jobs = Jobs::default();
    let mut places = Places::default();
    let running: Vec<Change> = (0..running).map(|_| places.settle(&mut jobs, &mut random)).collect();
    let effects = stage.apply(running);
    stage.echo(&jobs, effects);
    let load_s = stage.rest.as_secs_f64();
    stage.reset();
    let mut cycles = 0;
    for _ in 0..rounds {
        let gang = Gang { pods: i32::try_from(hosts).unwrap_or(0), is_required: true };
        let arrival = jobs.add(Job { queue: 0, cpu: CPUS_PER_NODE, priority: 1_000, gang: Some(gang) });
        places.of.push(Arc::new(one_on_each(&[])));
        let effects = stage.apply(vec![jobs.change(arrival, Status::default())]);
        stage.echo(&jobs, effects);
        let mut victims = Vec::new();
        let mut is_admitted = false;
        let mut attempts = 0;
        while !is_admitted {
            attempts += 1;
            assert!(attempts < 10, "every arrival is admitted in the end");
            cycles += 1;
            let effects = stage.cycle();
            let written = stage.echo(&jobs, effects);
            is_admitted = written.iter().any(|(number, status)| *number == arrival && status.admission.is_some());
            let evicted = written.iter().filter(|(_, status)| status.is_evicted()).map(|(number, _)| *number);
            let evicted: Vec<usize> = evicted.collect();
            let effects = stage.apply(evicted.iter().map(|number| Jobs::gone(*number)).collect());
            stage.echo(&jobs, effects);
            victims.extend(evicted);
        }
        let mut changes = vec![Jobs::gone(arrival)];
        changes.extend(victims.into_iter().map(|victim| places.return_to(&mut jobs, victim)));
        let effects = stage.apply(changes);
        stage.echo(&jobs, effects);
    }
    Measured {
        count: rounds as u64,
        cycles,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: stage.rest.as_secs_f64(),
        load_s,
        bytes_each: 0,
    }
}

/// Who is on which hosts.
#[derive(Default)]
struct Places {
    /// Hosts of each rack that are taken; they are given out in order.
    taken: Vec<u32>,
    /// By number of the job.
    of: Vec<Arc<TopologyAssignment>>,
}

impl Places {
    /// A job of two or three whole hosts in the next rack that has so many left: all racks are about equally full.
    fn settle(&mut self, jobs: &mut Jobs, random: &mut Random) -> Change {
        let racks = NODES.count() / NODES.per_rack();
        self.taken.resize(racks as usize, 0);
        let hosts = 2 + random.below(2);
        let turn = u32::try_from(self.of.len()).expect("a small number");
        let mut in_turn = (0..racks).map(|step| (turn + step) % racks);
        let has_room = |rack: &u32| self.taken[*rack as usize] + hosts <= NODES.per_rack();
        let rack = in_turn.find(has_room).expect("there are more hosts than jobs need");
        let first = rack * NODES.per_rack() + self.taken[rack as usize];
        self.taken[rack as usize] += hosts;
        let gang = Gang { pods: i32::try_from(hosts).unwrap_or(0), is_required: true };
        let priority = i32::try_from(random.below(5)).unwrap_or(0);
        let number = jobs.add(Job { queue: 0, cpu: CPUS_PER_NODE, priority, gang: Some(gang) });
        let hosts: Vec<u32> = (first..first + hosts).collect();
        self.of.push(Arc::new(one_on_each(&hosts)));
        jobs.change(number, jobs.admitted_on(number, self.of.last()))
    }

    /// Another job like the victim, in its place.
    fn return_to(&mut self, jobs: &mut Jobs, victim: usize) -> Change {
        let number = jobs.add(jobs.job(victim));
        self.of.push(self.of[victim].clone());
        jobs.change(number, jobs.admitted_on(number, self.of.last()))
    }
}
