//! Feature gates switched together with what hangs on them.

use std::collections::BTreeMap;

use crate::compare::equal;
use crate::corpus::{Case, Failure, gate};
use crate::packages::Runners;

pub const RUNNERS: Runners = &[("TestSetFeatureGateDuringTest", switched), ("TestSetFeatureGatesDuringTest", switched)];

/// The gates of the row are those that the case lists as set.
fn switched(case: &Case) -> Result<(), Failure> {
    let gates = case.gates()?;
    let want: BTreeMap<String, bool> = case.arg("wantState")?;
    let mut got = BTreeMap::new();
    for name in want.keys() {
        got.insert(name.clone(), gates.enabled(gate(name)?));
    }
    equal(&want, &got)
}
