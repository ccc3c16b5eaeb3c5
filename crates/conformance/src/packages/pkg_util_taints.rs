//! Node taints.

use kueue_api::core_v1::{Taint, has_taint_key};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[("TestTaintKeyExists", key_exists)];

fn key_exists(case: &Case) -> Result<(), Failure> {
    let taints: Vec<Taint> = decode("testingTaints", case.scope("testingTaints"))?.unwrap_or_default();
    equal(&case.arg("expectedResult")?, &has_taint_key(&taints, &case.arg::<String>("taintKeyToMatch")?))
}
