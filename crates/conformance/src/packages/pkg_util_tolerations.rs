//! Tolerations of pods.

use kueue_api::core_v1::Toleration;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestEqual", is_same)];

fn is_same(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("wantEq")?, &case.arg::<Toleration>("a")?.is_same(&case.arg("b")?))
}
