//! Whether a workload still fits its job.

use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::pod_sets::{Tolerations, are_equivalent};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestComparePodSetSlices", compare_pod_sets)];

fn compare_pod_sets(case: &Case) -> Result<(), Failure> {
    let (a, b): (Vec<PodSet>, Vec<PodSet>) = (case.arg("a")?, case.arg("b")?);
    let tolerations = if case.arg("ignoreTolerations")? { Tolerations::Ignore } else { Tolerations::Compare };
    equal(&case.arg("wantEquivalent")?, &are_equivalent(&a, &b, tolerations))
}
