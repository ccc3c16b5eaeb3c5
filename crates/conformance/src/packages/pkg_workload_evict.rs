//! Why a workload was evicted.

use kueue_api::kueue::v1beta2::Workload;
use kueue_engine::Status;
use kueue_translate::status_to_engine;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners =
    &[("TestIsEvictedByDeactivation", by_deactivation), ("TestIsEvictedByPodsReadyTimeout", by_timeout)];

fn status(case: &Case) -> Result<Status, Failure> {
    Ok(status_to_engine(&case.arg::<Workload>("workload")?.status))
}

fn by_deactivation(case: &Case) -> Result<(), Failure> {
    equal(&case.arg::<bool>("want")?, &status(case)?.is_evicted_by_deactivation())
}

fn by_timeout(case: &Case) -> Result<(), Failure> {
    let status = status(case)?;
    let evicted = status.evicted_because("PodsReadyTimeout");
    equal(&case.arg::<bool>("wantEvictedByTimeout")?, &evicted.is_some())?;
    let want: Option<String> = case.get("wantCondition.reason")?;
    equal(&want, &evicted.map(|evicted| evicted.reason.to_string()))
}
