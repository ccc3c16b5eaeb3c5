//! Which queue a running pod is imported to.

use std::collections::BTreeMap;

use kueue_api::importer::{Match, Rule, rule_for};
use serde::Deserialize;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestRulesQueueFor", queue_for)];

/// A rule by the names of its Go fields.
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GoRule {
    r#match: GoMatch,
    to_local_queue: String,
    skip: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct GoMatch {
    priority_class_name: String,
    labels: BTreeMap<String, String>,
}

fn queue_for(case: &Case) -> Result<(), Failure> {
    let rules: Vec<GoRule> = case.arg("rules")?;
    let rules: Vec<Rule> = rules
        .into_iter()
        .map(|GoRule { r#match: GoMatch { priority_class_name, labels }, to_local_queue, skip }| Rule {
            r#match: Match { priority_class_name, labels },
            to_local_queue,
            skip,
        })
        .collect();
    let found = rule_for(&rules, &case.arg::<String>("className")?, &case.arg("labels")?);
    let queue = found.map(|rule| rule.to_local_queue.clone()).unwrap_or_default();
    equal(
        &(case.arg::<bool>("wantMatch")?, case.arg::<String>("wantQueue")?, case.arg::<bool>("wantSkip")?),
        &(found.is_some(), queue, found.is_some_and(|rule| rule.skip)),
    )
}
