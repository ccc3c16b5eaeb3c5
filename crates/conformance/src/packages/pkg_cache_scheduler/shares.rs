//! How much more than its own everybody has.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::amount::Amount;
use kueue_engine::{Name, ShareView};
use serde_json::{Value, json};

use crate::compare::equal;
use crate::corpus::{Case, Failure};
use crate::trace::Replay;

/// Whether it is a cohort, name, share as the API shows it, the resource that decides, whether anything is borrowed.
type Row = (bool, String, i64, String, bool);

pub(super) fn of_all(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let added = amounts(case, "flvResQ")?;
    let wanted: BTreeSet<Row> = case.raw("want").as_array().into_iter().flatten().map(wanted_row).collect();
    let queues = engine.queue_names().map(|name| (false, name.clone(), engine.queue_share(name, &added)));
    let cohorts = engine.cohorts().into_iter().map(|(name, _)| {
        let share = engine.cohort_share(&name, &added);
        (true, name, share)
    });
    let got: Option<BTreeSet<Row>> = queues.chain(cohorts).map(row).collect();
    equal(&Some(wanted), &got)
}

fn wanted_row(row: &Value) -> Row {
    (
        row["NodeType"].as_bool().unwrap_or(false),
        row["Name"].as_str().unwrap_or_default().to_owned(),
        row["DrValue"].as_i64().unwrap_or(0),
        row["DrName"].as_str().unwrap_or_default().to_owned(),
        row["Borrowing"].as_bool().unwrap_or(false),
    )
}

fn row((is_cohort, name, share): (bool, Name, Option<ShareView>)) -> Option<Row> {
    let share = share?;
    let dominant = share.dominant.as_deref().unwrap_or_default().to_owned();
    Some((is_cohort, name.to_string(), share.rounded, dominant, !share.borrowed.is_empty()))
}

pub(super) fn is_borrowing_on(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let engine = &replay.cluster.engine;
    let requested = amounts(case, "requestedFRs")?;
    let is_borrowing = engine.queue_share("cq", &[]).map(|share| !share.borrowed.is_empty());
    equal(&Some(case.arg::<bool>("wantBorrowing")?), &is_borrowing)?;
    equal(&Some(case.arg::<bool>("wantBorrowingOnRequested")?), &engine.is_queue_borrowing_on("cq", &requested))
}

/// The case gives ratio and weight; a queue that borrows from a large one has any ratio it wants.
pub(super) fn as_text(case: &Case) -> Result<(), Failure> {
    const LENT: i64 = 1_000_000_000_000;
    let (weight, ratio): (f64, f64) = (case.arg("drs.fairWeight")?, case.arg("drs.unweightedRatio")?);
    let queue = |name: &str, nominal: i64, weight: f64| {
        json!({"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {
            "cohortName": "cohort",
            "fairSharing": {"weight": weight.to_string()},
            "resourceGroups": [{"coveredResources": ["memory"], "flavors": [
                {"name": "default", "resources": [{"name": "memory", "nominalQuota": nominal.to_string()}]},
            ]}],
        }})
    };
    let mut replay = Replay::new(case)?;
    replay.add(&queue("lender", LENT, 1.0))?;
    replay.add(&queue("borrower", 0, weight))?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss)]
    let borrowed = (ratio * (LENT / 1000) as f64).round() as i64;
    let added = [("default".into(), "memory".into(), Amount::new(borrowed))];
    let share = replay.cluster.engine.queue_share("borrower", &added);
    equal(&Some(case.arg::<String>("want")?), &share.map(|share| share.to_string()))
}

fn amounts(case: &Case, field: &str) -> Result<Vec<(Name, Name, Amount)>, Failure> {
    let pools: BTreeMap<String, i64> = case.arg(field)?;
    let amount = |(pool, amount): (String, i64)| {
        let (flavor, resource) = pool.split_once('/').unwrap_or((&pool, ""));
        (flavor.into(), resource.into(), Amount::new(amount))
    };
    Ok(pools.into_iter().map(amount).collect())
}
