//! Resource lists: merging, scaling, and what resource names mean.

use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;
use kueue_core::resource::is_extended;
use kueue_core::resource_list::{Keep, ResourceList, merge};
use serde::Deserialize;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[
    ("TestIsExtendedResourceName", |case| equal(&case.arg("want")?, &is_extended(&case.arg::<String>("name")?))),
    ("TestMerge", merges),
    ("TestMergeKeepMaxOwnsItsResult", merge_adopts_the_larger),
    ("TestMulByFloat", scales),
    ("TestMulByFloatDecaysToZero", scaling_ends_at_zero),
    ("TestQuantityToFloat", quantity_to_float),
];

fn merges(case: &Case) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Want {
        #[serde(default)]
        result: ResourceList,
    }
    for (operation, want) in case.arg::<BTreeMap<String, Want>>("want")? {
        let keep = match operation.as_str() {
            "merge" => Keep::First,
            "max" => Keep::Larger,
            "min" => Keep::Smaller,
            "sum" => Keep::Sum,
            other => return Err(Failure(format!("unknown operation {other}"))),
        };
        let mut merged = case.arg("a")?;
        merge(&mut merged, &case.arg("b")?, keep);
        equal(&want.result, &merged)?;
    }
    Ok(())
}

fn merge_adopts_the_larger(case: &Case) -> Result<(), Failure> {
    let mut merged: ResourceList = decode("a", case.local("a"))?.unwrap_or_default();
    merge(&mut merged, &decode("b", case.local("b"))?.unwrap_or_default(), Keep::Larger);
    let want: Option<String> = decode("want", case.expected("want").unwrap_or_default())?;
    equal(&want, &merged.get("memory").map(Quantity::to_string))
}

fn scales(case: &Case) -> Result<(), Failure> {
    let factor = case.arg("f")?;
    let list: ResourceList = case.arg("rl")?;
    let scaled = list.into_iter().map(|(name, quantity)| (name, quantity.scaled_by(factor))).collect();
    equal::<ResourceList>(&case.arg("want")?, &scaled)
}

fn scaling_ends_at_zero(case: &Case) -> Result<(), Failure> {
    let factor = case.row().as_f64().unwrap_or_default();
    let mut quantity = Quantity::from_units(2);
    for _ in 0..200_000 {
        quantity = quantity.scaled_by(factor);
        if quantity.is_zero() {
            return Ok(());
        }
    }
    Err(Failure(format!("expected 0 in the end, got {quantity}")))
}

fn quantity_to_float(case: &Case) -> Result<(), Failure> {
    let (want, got) = (case.arg::<f64>("wantResult")?, case.arg::<Quantity>("q")?.as_f64());
    if (want - got).abs() <= 1e-9 * want.abs().min(got.abs()) { Ok(()) } else { equal(&want, &got) }
}
