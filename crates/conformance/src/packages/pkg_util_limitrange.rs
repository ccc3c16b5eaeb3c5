//! Limit ranges of a namespace.

use kueue_api::core_v1::{LimitRange, PodSpec};
use kueue_api::limit_range::Summary;
use kueue_core::field::Path;

use super::Runners;
use super::field_errors::{Compared, same_errors};
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[("TestSummarize", summarize), ("TestValidatePodSpec", validate_pod_spec)];

fn summarize(case: &Case) -> Result<(), Failure> {
    let ranges: Vec<LimitRange> = case.arg("ranges")?;
    equal(&Summary(case.arg("expected")?), &Summary::of(&ranges))
}

fn validate_pod_spec(case: &Case) -> Result<(), Failure> {
    let shared: PodSpec = decode("podSpec", case.scope("podSpec"))?.unwrap_or_default();
    let pod = case.get("podSpec")?.unwrap_or(shared);
    let at = Path::new("spec").child("podSets").index(0).child("template").child("spec");
    let errors = Summary(case.arg("summary")?).validate(&pod, &at);
    same_errors(case.raw("want"), &errors, Compared::Everything)
}
