//! Pod sets by name.

use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::pod_sets::find;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestFindPodSetByName", find_by_name)];

fn find_by_name(case: &Case) -> Result<(), Failure> {
    let pod_sets: Vec<PodSet> = case.arg("podSets")?;
    equal(&case.get::<PodSet>("want")?.as_ref(), &find(&pod_sets, &case.arg::<String>("targetName")?))
}
