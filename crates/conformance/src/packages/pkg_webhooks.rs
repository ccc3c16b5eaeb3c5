//! What the webhooks of Kueue's own kinds refuse.

use kueue_api::kueue::v1beta2::{
    ClusterQueue, Cohort, FlavorQuotas, ResourceFlavor, ResourceGroup, ResourceQuota, Workload,
};
use kueue_api::validation::{cluster_queue, cohort, resource_flavor, workload};
use kueue_core::field::Error;
use serde_json::Value;

use super::Runners;
use super::field_errors::{Compared, same_errors};
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[
    ("TestValidateClusterQueue", validate_cluster_queue),
    ("TestValidateClusterQueueUpdate", validate_cluster_queue_update),
    ("TestValidateCohort", validate_cohort),
    ("TestValidateFlavorResourceCombinations", |case| {
        validate_size(case, Some(groups(case.arg("numFlavors")?, case.arg("numResources")?)))
    }),
    ("TestValidateResourceFlavor", validate_resource_flavor),
    ("TestValidateTotalCoveredResources", |case| validate_size(case, Some(groups(1, case.arg("numCoveredRes")?)))),
    ("TestValidateTotalFlavors", |case| validate_size(case, None)),
    ("TestValidateWorkload", validate_workload),
    ("TestValidateWorkloadUpdate", validate_workload_update),
];

fn validate_cluster_queue(case: &Case) -> Result<(), Failure> {
    let errors = cluster_queue::validate(&case.arg("clusterQueue")?, case.gates()?);
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)?;
    if let Some(detail) = case.get::<String>("wantDetail")? {
        equal(&Some(&detail), &errors.first().map(|error| &error.detail))?;
    }
    if let Some(value) = case.get::<Value>("wantBadValue")? {
        equal(&Some(&value), &errors.first().and_then(|error| error.value.as_ref()))?;
    }
    Ok(())
}

fn validate_cluster_queue_update(case: &Case) -> Result<(), Failure> {
    let (new, old): (ClusterQueue, ClusterQueue) = (case.arg("newClusterQueue")?, case.arg("oldClusterQueue")?);
    let errors = cluster_queue::validate_update(&new, &old, case.gates()?);
    same_errors(case.raw("wantErr"), &errors, Compared::Nothing)
}

/// The test writes the groups of some queues in code, only their sizes are recorded.
fn validate_size(case: &Case, groups: Option<Vec<ResourceGroup>>) -> Result<(), Failure> {
    let mut queue: ClusterQueue = decode("cq", case.local("cq"))?.unwrap_or_default();
    queue.spec.resource_groups = groups.unwrap_or(queue.spec.resource_groups);
    equal(&case.arg("wantErr")?, &!cluster_queue::validate(&queue, case.gates()?).is_empty())
}

fn groups(flavors: usize, resources: usize) -> Vec<ResourceGroup> {
    let covered_resources: Vec<String> = (0..resources).map(|index| format!("example.com/r{index}")).collect();
    let quota = |name: &String| ResourceQuota { name: name.clone(), ..ResourceQuota::default() };
    let quotas: Vec<ResourceQuota> = covered_resources.iter().map(quota).collect();
    let flavor = |index| FlavorQuotas { name: format!("f{index}"), resources: quotas.clone() };
    vec![ResourceGroup { flavors: (0..flavors).map(flavor).collect(), covered_resources }]
}

fn validate_cohort(case: &Case) -> Result<(), Failure> {
    let errors = cohort::validate(&case.arg::<Cohort>("cohort")?);
    same_errors(case.raw("wantErr"), &errors, Compared::Detail)
}

fn validate_resource_flavor(case: &Case) -> Result<(), Failure> {
    let errors = resource_flavor::validate(&case.arg::<ResourceFlavor>("rf")?);
    same_errors(case.raw("wantErr"), &errors, Compared::Value)
}

fn validate_workload(case: &Case) -> Result<(), Failure> {
    same_answer(case, &workload::validate(&case.arg("workload")?, case.gates()?))
}

fn validate_workload_update(case: &Case) -> Result<(), Failure> {
    let (new, old): (Workload, Workload) = (case.arg("after")?, case.arg("before")?);
    same_answer(case, &workload::validate_update(&new, &old, case.gates()?))
}

/// Warnings are recorded too; ours, as Kueue's, has none to give.
fn same_answer(case: &Case, errors: &[Error]) -> Result<(), Failure> {
    equal(&Vec::<String>::new(), &case.arg("wantWarnings")?)?;
    same_errors(case.raw("wantErr"), errors, Compared::Nothing)
}
