//! What the tests of every job kind ask of it, beside looks and webhooks.

use kueue_api::kueue::v1beta2::{PodSet, ReclaimablePod};
use kueue_jobs::job::Job;
use serde_json::{Value, json};

use super::job_webhook::{World, job};
use super::pkg_podset::infos;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure, decode};

/// What a job needs; `field` is what the row calls the job.
pub(super) fn pod_sets<J: Job>(case: &Case, field: &str) -> Result<(), Failure> {
    let made = job::<J>(case, field)?.pod_sets(case.gates()?).map_err(|error| Failure(error.to_string()))?;
    let computed = case.expected(&format!("tc.wantPodSets(tc.{field})"));
    let wanted: Vec<PodSet> =
        decode("wantPodSets", computed.unwrap_or_else(|| case.raw("wantPodSets")))?.unwrap_or_default();
    Rules::equate_empty().same(&json!(wanted), &json!(made))
}

/// What is given back of what was given; where nothing is, the job stays as it is.
pub(super) fn restore<J: Job>(case: &Case, field: &str) -> Result<(), Failure> {
    let before: J = job(case, field)?;
    let mut after = before.clone();
    let is_changed = after.restore(&infos(case, "podSetsInfo")?);
    equal(&case.arg::<bool>("wantChanged")?, &is_changed)?;
    equal(&is_changed, &(before != after))
}

/// Whether a job starts with what its pod sets were given.
pub(super) fn run<J: Job>(case: &Case, field: &str) -> Result<(), Failure> {
    let mut job: J = job(case, field)?;
    let failure = job.run(&infos(case, "podSetsInfo")?, case.gates()?).err();
    equal(&case.has("wantErr"), &failure.is_some())?;
    equal(&false, &(failure.is_none() && job.is_suspended()))
}

pub(super) fn pods_ready<J: Job>(case: &Case, field: &str) -> Result<(), Failure> {
    equal(&case.arg::<bool>("want")?, &job::<J>(case, field)?.pods_ready())
}

pub(super) fn reclaimable<J: Job>(case: &Case, field: &str) -> Result<(), Failure> {
    let pods = job::<J>(case, field)?.reclaimable_pods().unwrap_or_default();
    equal(&case.arg::<Vec<ReclaimablePod>>("want")?, &pods)
}

pub(super) fn priority_class<J: Job + Default>(case: &Case) -> Result<(), Failure> {
    let class = job_or_empty::<J>(case)?.priority_class().unwrap_or_default();
    equal(&case.arg::<String>("wantPriorityClassName")?, &class)
}

/// What becomes of a new job: all of it where the row says so, else who runs it.
pub(super) fn default<J: Job>(case: &Case, field: &str) -> Result<(), Failure> {
    let mut new: J = job(case, field)?;
    let meta = new.metadata().clone();
    let answer = World::of(case)?.ask(&meta, |around| new.complete(around))?;
    answer.map_err(|failure| Failure(failure.to_string()))?;
    if case.has("want") {
        return Rules::equate_empty().same(&json!(job::<J>(case, "want")?), &json!(new));
    }
    let wanted: Option<String> = case.raw("wantManagedBy").as_str().map(str::to_owned);
    equal(&wanted.as_deref(), &new.managed_by())
}

/// The job of the row; one that it leaves out is empty.
pub(super) fn job_or_empty<J: Job + Default>(case: &Case) -> Result<J, Failure> {
    match case.raw("job") {
        Value::Null => Ok(J::default()),
        _ => job(case, "job"),
    }
}
