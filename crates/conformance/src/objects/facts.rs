//! What a job reports, put into the status of its Workload the way the engine's owner does it.

use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::ConditionStatus;
use kueue_core::resource::Formatter;
use kueue_engine::{Change, Condition, ConditionKind, Effect, Hold, Name, Settings, Stamp, Status, Verdict};
use kueue_jobs::report::{self, Report};
use kueue_translate::{ResourceRules, status_from_engine, status_to_engine};
use serde_json::json;

use super::Objects;
use crate::cluster::Cluster;
use crate::corpus::Failure;

/// What the engine made of a report besides the status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Consequence {
    None,
    /// The job is to be deleted.
    DeleteJob,
}

impl Objects {
    pub(crate) fn note(
        &mut self,
        workload: &Workload,
        report: &Report,
        settings: &Settings,
    ) -> Result<Consequence, Failure> {
        let meta = &workload.metadata;
        let Some(stored) = self.get::<Workload>(&meta.namespace, &meta.name)? else { return Ok(Consequence::None) };
        let mut told = stored.clone();
        let stamp = Stamp { now: self.now, generation: stored.metadata.generation, gates: settings.gates };
        let mut status = status_to_engine(&stored.status);
        let mut consequence = Consequence::None;
        match report {
            Report::Stopped => {
                let change = |namespace, name| Change::JobStopped { namespace, name };
                (status, consequence) = settled(&stored, settings, stamp, change)?;
            }
            Report::OnHold(hold) => {
                let hold = hold.map(|hold| match hold {
                    report::Hold::Job => Hold::Job,
                    report::Hold::ScaledToZero => Hold::ScaledToZero,
                });
                let change = |namespace, name| Change::JobHold { namespace, name, hold };
                (status, consequence) = settled(&stored, settings, stamp, change)?;
            }
            Report::Reclaimable(pods) => {
                told.status.reclaimable_pods.clone_from(pods);
                return self.update_status(&stored, &told).map(|()| consequence);
            }
            Report::Finished { reason, message } => drop(status.finish(*reason, message.as_str().into(), stamp)),
            Report::PodsReady { status: is_ready, reason, message } => {
                status.set(condition(ConditionKind::PodsReady, is_ready, reason, message, stamp));
            }
            Report::WaitingForReplacementPods { status: is_waiting, reason, message } => {
                status.set(condition(ConditionKind::WaitingForReplacementPods, is_waiting, reason, message, stamp));
            }
        }
        status_from_engine(&status, &Formatter::default(), settings.gates, &mut told.status);
        self.update_status(&stored, &told).map(|()| consequence)
    }
}

fn condition(kind: ConditionKind, status: &ConditionStatus, reason: &str, message: &str, stamp: Stamp) -> Condition {
    Condition {
        kind,
        verdict: if *status == ConditionStatus::True { Verdict::True } else { Verdict::False },
        reason: reason.to_owned().into(),
        message: message.into(),
        since: stamp.now,
        generation: stamp.generation,
    }
}

/// What the engine says next about a workload whose job did something.
fn settled(
    workload: &Workload,
    settings: &Settings,
    stamp: Stamp,
    change: impl FnOnce(Name, Name) -> Change,
) -> Result<(Status, Consequence), Failure> {
    let mut cluster = Cluster::new(settings.clone(), ResourceRules::default(), stamp.now);
    cluster.add_as("Workload", &json!(workload))?;
    let meta = &workload.metadata;
    let (namespace, name) = (meta.namespace.as_str().into(), meta.name.as_str().into());
    cluster.engine.apply(change(namespace, name), stamp.now);
    let effects = cluster.engine.settle(stamp.now);
    let status = effects.iter().find_map(|effect| match effect {
        Effect::Status { status, .. } => Some((**status).clone()),
        _ => None,
    });
    let is_deleted = effects.iter().any(|effect| matches!(effect, Effect::DeleteJob(_)));
    let consequence = if is_deleted { Consequence::DeleteJob } else { Consequence::None };
    Ok((status.unwrap_or_else(|| status_to_engine(&workload.status)), consequence))
}
