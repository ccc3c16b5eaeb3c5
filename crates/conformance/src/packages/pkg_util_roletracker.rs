//! What a replica is when it is elected, and when it never is.

use kueue_metrics::Role;
use kueue_runtime::leadership::elected;
use kueue_runtime::watch;

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[("TestOnElected", on_elected), ("TestRoleTracker_StartLeaderElection", role)];

/// Whether it was elected. The recorded channel is closed on election, and the context is cancelled when there is none.
fn is_elected(case: &Case) -> Result<bool, Failure> {
    let (leads, mut leading) = watch::channel(false);
    if case.arg("closeChannel")? {
        leads.send_replace(true);
    }
    if case.arg("cancelContext")? {
        drop(leads);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| Failure(error.to_string()))?;
    Ok(runtime.block_on(elected(&mut leading)))
}

fn role(case: &Case) -> Result<(), Failure> {
    equal(&case.arg::<String>("expectedRole")?, &Role::of(true, is_elected(case)?).as_str().to_owned())
}

fn on_elected(case: &Case) -> Result<(), Failure> {
    let is_elected = is_elected(case)?;
    equal(&case.arg::<String>("expectFinalRole")?, &Role::of(true, is_elected).as_str().to_owned())?;
    equal(&case.arg("expectCalled")?, &(is_elected && case.arg("registerCb")?))
}
