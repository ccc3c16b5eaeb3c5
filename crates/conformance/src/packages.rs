//! One module per corpus package; each lists its runners by test function.

use crate::corpus::{Case, Failure};

/// Runs one execution of one row.
pub type Run = fn(&Case) -> Result<(), Failure>;

/// The runners of one package: test function, code.
pub type Runners = &'static [(&'static str, Run)];

/// Every covered package, in alphabetical order.
pub const PACKAGES: &[(&str, Runners)] = &[];

/// The runner of a test function, if there is one.
pub fn runner(package: &str, test: &str) -> Option<Run> {
    let (_, runners) = PACKAGES.iter().find(|(name, _)| *name == package)?;
    runners.iter().find(|(name, _)| *name == test).map(|(_, run)| *run)
}
