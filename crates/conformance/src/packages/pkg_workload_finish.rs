//! How a workload ends.

use kueue_api::kueue::v1beta2::Workload;
use kueue_core::gates::Gates;
use kueue_core::resource::Formatter;
use kueue_core::time::Time;
use kueue_engine::Stamp;
use kueue_translate::{status_from_engine, status_to_engine};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[("TestFinish", finish)];

fn finish(case: &Case) -> Result<(), Failure> {
    let mut workload: Workload = case.arg("args.wl")?;
    let now: Time = decode("now", case.scope("now"))?.unwrap_or_default();
    let stamp = Stamp { now, generation: workload.metadata.generation, gates: case.gates()? };
    let mut status = status_to_engine(&workload.status);
    let message = case.arg::<String>("args.message")?;
    status.finish(case.arg::<String>("args.reason")?, message.into(), stamp);
    status_from_engine(&status, &Formatter::default(), Gates::default(), &mut workload.status);
    equal(&case.arg::<Workload>("want.wl")?.status, &workload.status)
}
