//! One module per corpus package; each lists its runners by test function.

mod apis_config_v1beta1;
mod apis_config_v1beta2;
mod pkg_features;
mod pkg_resources;
mod pkg_util_csv;
mod pkg_util_math;
mod pkg_util_resource;
mod pkg_util_wait;

use crate::corpus::{Case, Failure};

/// Runs one execution of one row.
pub type Run = fn(&Case) -> Result<(), Failure>;

/// The runners of one package: test function, code.
pub type Runners = &'static [(&'static str, Run)];

/// Every covered package, in alphabetical order.
pub const PACKAGES: &[(&str, Runners)] = &[
    ("apis-config-v1beta1", apis_config_v1beta1::RUNNERS),
    ("apis-config-v1beta2", apis_config_v1beta2::RUNNERS),
    ("pkg-features", pkg_features::RUNNERS),
    ("pkg-resources", pkg_resources::RUNNERS),
    ("pkg-util-csv", pkg_util_csv::RUNNERS),
    ("pkg-util-math", pkg_util_math::RUNNERS),
    ("pkg-util-resource", pkg_util_resource::RUNNERS),
    ("pkg-util-wait", pkg_util_wait::RUNNERS),
];

/// The runner of a test function, if there is one.
pub fn runner(package: &str, test: &str) -> Option<Run> {
    let (_, runners) = PACKAGES.iter().find(|(name, _)| *name == package)?;
    runners.iter().find(|(name, _)| *name == test).map(|(_, run)| *run)
}
