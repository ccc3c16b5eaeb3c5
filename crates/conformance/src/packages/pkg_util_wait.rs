//! Waits between attempts, and the rhythm of the scheduling loop.

use kueue_core::backoff::{Backoff, Pace};
use kueue_core::duration::Duration;

use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};
use crate::packages::Runners;

pub const RUNNERS: Runners = &[
    ("TestBackoff_WaitTime", wait_time),
    ("TestBackoff_WaitTime_Consecutive", consecutive_wait_times),
    ("TestUntilWithBackoff", rhythm),
];

fn wait_time(case: &Case) -> Result<(), Failure> {
    let want = match case.expected("tc.want") {
        Some(computed) => decode("tc.want", computed)?.unwrap_or_default(),
        None => case.arg::<Duration>("want")?,
    };
    equal(&want, &backoff(case)?.wait(case.arg("iteration")?))
}

fn consecutive_wait_times(case: &Case) -> Result<(), Failure> {
    let backoff = backoff(case)?;
    let got: Vec<Duration> =
        case.arg::<Vec<i64>>("iterations")?.into_iter().map(|attempt| backoff.wait(attempt)).collect();
    equal(&case.arg("want")?, &got)
}

/// The loop waits before every round, also before the first, which counts as after progress.
fn rhythm(case: &Case) -> Result<(), Failure> {
    let mut pace = Pace::scheduling();
    let signals: Vec<bool> = case.arg("signals")?;
    let got: Vec<Duration> = [true].into_iter().chain(signals).map(|made_progress| pace.after(made_progress)).collect();
    equal(&case.arg("expected")?, &got)
}

fn backoff(case: &Case) -> Result<Backoff, Failure> {
    let part = |name: &str| format!("backoff.backoff.{name}");
    Ok(Backoff::new(case.arg(&part("Duration"))?, case.arg(&part("Factor"))?, case.arg(&part("Cap"))?))
}
