//! Small questions around preemption: orders, policies, priorities, words.

use std::collections::BTreeSet;

use kueue_api::kueue::names::label;
use kueue_api::kueue::v1beta2::Workload;
use kueue_engine::{FairSharing, FairStep, Name, PreemptionPolicy};
use serde_json::json;

use crate::cluster::{Cluster, key_of, read};
use crate::compare::equal;
use crate::corpus::{Case, Failure};

/// In which order candidates go.
pub(super) fn candidates(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let preemptor = case.scope("preemptorCq").as_str().unwrap_or_default();
    let candidates = case.raw("candidates").as_array().cloned().unwrap_or_default();
    let queues: BTreeSet<&str> = candidates.iter().filter_map(|info| info["ClusterQueue"].as_str()).collect();
    for queue in queues {
        cluster.add(&json!({"kind": "ClusterQueue", "metadata": {"name": queue}, "spec": {}}))?;
    }
    let mut keys = Vec::new();
    for info in &candidates {
        cluster.add(&info["Obj"])?;
        keys.push(key_of(&info["Obj"])?);
    }
    let order: Vec<String> =
        cluster.engine.preemption_order(preemptor, &keys).iter().map(|key| key.name.to_string()).collect();
    equal(&case.arg::<Vec<String>>("wantCandidates")?, &order)
}

/// Whether a policy lets one workload preempt another.
pub(super) fn policy(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(case.raw("preemptor"))?;
    cluster.add(case.raw("candidate"))?;
    let policy = match case.raw("policy").as_str() {
        Some("Any") => PreemptionPolicy::Any,
        Some("LowerPriority") => PreemptionPolicy::LowerPriority,
        Some("LowerOrNewerEqualPriority") => PreemptionPolicy::LowerOrNewerEqualPriority,
        _ => PreemptionPolicy::Never,
    };
    let may = cluster.engine.may_preempt(&key_of(case.raw("preemptor"))?, &key_of(case.raw("candidate"))?, policy);
    equal(&case.arg::<bool>("want")?, &may)
}

/// What a priority is made of.
pub(super) fn priority(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(case.raw("wl"))?;
    let found = cluster.engine.priority(&key_of(case.raw("wl"))?).ok_or_else(|| Failure("no workload".to_owned()))?;
    let wanted = (case.arg::<i64>("wantEffective")?, case.arg::<i32>("wantBase")?, case.arg::<i64>("wantBoost")?);
    equal(&wanted, &(found.effective, found.base, found.boost))
}

/// What a victim says.
pub(super) fn message(case: &Case) -> Result<(), Failure> {
    let preemptor: Workload = read(case.raw("preemptor"))?;
    let text = |field: &str| case.arg::<String>(field);
    let job_uid = preemptor.metadata.labels.get(label::JOB_UID).map_or("", String::as_str);
    let message = kueue_engine::preempted_message(
        &preemptor.metadata.uid,
        job_uid,
        &text("reason")?,
        &text("preemptorPath")?,
        &text("preempteePath")?,
    );
    equal(&text("want")?, &message)
}

/// The queues in the order in which fair sharing looks at them.
pub(super) fn fair_order(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, Some(FairSharing::default()))?;
    cluster.replay(&case.trace)?;
    cluster.add(case.raw("admitted"))?;
    let actions: Vec<String> = case.arg("actions")?;
    let from: Vec<Name> = case.arg::<Vec<String>>("candidateCQs")?.into_iter().map(Into::into).collect();
    let order = cluster.engine.fair_order(&case.arg::<String>("preemptorCQ")?, &from, |step| {
        if actions.get(step).is_some_and(|action| action == "drop") { FairStep::LeaveAlone } else { FairStep::PassOver }
    });
    let order: Vec<String> = order.iter().map(ToString::to_string).collect();
    equal(&case.arg::<Vec<String>>("wantOrder")?, &order)
}
