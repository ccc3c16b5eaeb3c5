//! L7: everything arrives at once, as after a restart.

use kueue_engine::{Settings, Status};

use super::{Measured, steady};
use crate::jobs::Jobs;
use crate::stage::Stage;

pub fn half_admitted(workloads: usize, _: usize) -> Measured {
    let mut stage = Stage::new(Settings::default());
    let per_queue = u32::try_from(workloads / 2_000).expect("a small number");
    steady::add_queues(&mut stage, per_queue.max(1));
    let mut jobs = Jobs::with_capacity(workloads);
    for number in 0..workloads {
        jobs.add(steady::spread(number));
    }
    let is_pending = |number: usize| (number / 1_000).is_multiple_of(2);
    let status = |number| if is_pending(number) { Status::default() } else { jobs.admitted(number) };
    stage.reset();
    for first in (0..workloads).step_by(steady::BATCH) {
        let numbers = first..workloads.min(first + steady::BATCH);
        let changes = numbers.map(|number| jobs.change(number, status(number))).collect();
        let effects = stage.apply(changes);
        stage.echo(&jobs, effects);
    }
    Measured {
        count: workloads as u64,
        cycles: 0,
        scheduling_s: 0.0,
        rest_s: stage.rest.as_secs_f64(),
        load_s: stage.rest.as_secs_f64(),
        bytes_each: 0,
    }
}
