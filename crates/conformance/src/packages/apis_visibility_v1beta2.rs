//! The query of the visibility API; the same in both versions.

use std::collections::BTreeMap;

use kueue_api::visibility::PendingWorkloadOptions;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestPendingWorkloadsOptions", options)];

type Query = BTreeMap<String, Vec<String>>;

fn options(case: &Case) -> Result<(), Failure> {
    let query: Query = case.arg("inputQueryParams")?;
    let pairs = query.iter().flat_map(|(name, values)| values.iter().map(|value| (name.as_str(), value.as_str())));
    let got = PendingWorkloadOptions::from_query(pairs).map_err(|error| Failure(error.to_string()))?;
    let wanted = |field: &str| case.arg::<i64>(&format!("wantPendingWorkloadOptions.{field}"));
    equal(&wanted("offset")?, &got.offset)?;
    equal(&wanted("limit")?, &got.limit)?;
    let printed: Query = got.to_query().into_iter().map(|(name, value)| (name.to_owned(), vec![value])).collect();
    equal(&case.arg("wantQueryParams")?, &printed)
}
