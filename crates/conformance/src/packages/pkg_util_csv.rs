//! Lists in annotations.

use kueue_core::csv;

use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::packages::Runners;

pub const RUNNERS: Runners = &[("TestParse", parse), ("TestSerialize", serialize)];

fn parse(case: &Case) -> Result<(), Failure> {
    let input: String = case.arg("input")?;
    let got: Vec<String> = csv::parse(&input).into_iter().map(str::to_owned).collect();
    equal(&case.arg("want")?, &got)
}

fn serialize(case: &Case) -> Result<(), Failure> {
    equal(&case.arg::<String>("want")?, &csv::print(&case.arg::<Vec<String>>("input")?))
}
