//! T: many nodes in five levels: to load them, to hear of one, and to find a place for a gang of a known shape.

use kueue_engine::{Preemption, Settings, Status};

use super::Measured;
use crate::jobs::{Gang, Job, Jobs};
use crate::meter::resident_bytes;
use crate::nodes::{CPUS_PER_NODE, Nodes, RESOURCES};
use crate::stage::{QueueShape, Stage};

/// As many nodes as the size says, in racks of 20.
fn nodes(size: usize) -> Nodes {
    match size {
        640 => Nodes(&[1, 2, 4, 4, 20]),
        _ => Nodes(&[5, 10, 5, 8, 20]),
    }
}

fn loaded(size: usize) -> (Stage, Nodes, u64) {
    let nodes = nodes(size);
    let mut stage = Stage::new(Settings::default());
    stage.apply(nodes.topology());
    stage.add_queue(&QueueShape {
        number: 0,
        cohort: "all".to_owned(),
        nominal: nodes.count() * CPUS_PER_NODE,
        borrowing_limit: None,
        preemption: Preemption::default(),
    });
    let before = resident_bytes();
    stage.reset();
    // The driver's list is gone before memory is looked at.
    for number in 0..nodes.count() {
        stage.apply(vec![nodes.node(number, CPUS_PER_NODE)]);
    }
    let bytes = resident_bytes().saturating_sub(before);
    (stage, nodes, bytes / u64::from(nodes.count()) / RESOURCES)
}

/// Until every node is known and a first gang was placed.
pub fn load(size: usize, _: usize) -> Measured {
    let (mut stage, nodes, bytes_each) = loaded(size);
    let mut jobs = Jobs::default();
    place(&mut stage, &mut jobs, 1);
    Measured {
        count: u64::from(nodes.count()),
        cycles: 1,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: stage.rest.as_secs_f64(),
        load_s: (stage.rest + stage.scheduling).as_secs_f64(),
        bytes_each,
    }
}

/// Gangs of ten come one by one and go again; each needs one rack.
pub fn placements(size: usize, rounds: usize) -> Measured {
    let (mut stage, _, _) = loaded(size);
    let load_s = stage.rest.as_secs_f64();
    let mut jobs = Jobs::default();
    place(&mut stage, &mut jobs, 1);
    stage.reset();
    place(&mut stage, &mut jobs, rounds);
    Measured {
        count: rounds as u64,
        cycles: rounds as u64,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: stage.rest.as_secs_f64(),
        load_s,
        bytes_each: 0,
    }
}

pub fn events(size: usize, rounds: usize) -> Measured {
    let (stage, told) = churn(size, rounds);
    let rest_s = (stage.scheduling + stage.rest).as_secs_f64() - told;
    Measured { count: 3 * rounds as u64, cycles: 0, scheduling_s: told, rest_s, load_s: 0.0, bytes_each: 0 }
}

pub fn placements_after_events(size: usize, rounds: usize) -> Measured {
    let (stage, told) = churn(size, rounds);
    Measured {
        count: rounds as u64,
        cycles: rounds as u64,
        scheduling_s: stage.scheduling.as_secs_f64(),
        rest_s: told,
        load_s: 0.0,
        bytes_each: 0,
    }
}

/// Nodes change, go and come back while a shape is known, and a gang of that shape is placed after each time. Returns
/// the seconds it took to hear of the nodes.
fn churn(size: usize, rounds: usize) -> (Stage, f64) {
    let (mut stage, nodes, _) = loaded(size);
    let mut jobs = Jobs::default();
    place(&mut stage, &mut jobs, 1);
    stage.reset();
    let mut told = 0.0;
    for round in 0..rounds {
        let number = u32::try_from(round * 7919 % nodes.count() as usize).expect("a node's number");
        let before = stage.rest;
        stage.apply(vec![nodes.node(number, CPUS_PER_NODE - 1)]);
        stage.apply(vec![Nodes::gone(number)]);
        stage.apply(vec![nodes.node(number, CPUS_PER_NODE)]);
        told += (stage.rest - before).as_secs_f64();
        place(&mut stage, &mut jobs, 1);
    }
    (stage, told)
}

fn place(stage: &mut Stage, jobs: &mut Jobs, rounds: usize) {
    for _ in 0..rounds {
        let gang = Gang { pods: 10, is_required: true };
        let number = jobs.add(Job { queue: 0, cpu: CPUS_PER_NODE / 2, priority: 0, gang: Some(gang) });
        let effects = stage.apply(vec![jobs.change(number, Status::default())]);
        stage.echo(jobs, effects);
        let effects = stage.cycle();
        let written = stage.echo(jobs, effects);
        let is_placed = written.iter().any(|(known, status)| *known == number && status.admission.is_some());
        assert!(is_placed, "there is room for one gang");
        let effects = stage.apply(vec![Jobs::gone(number)]);
        stage.echo(jobs, effects);
    }
}
