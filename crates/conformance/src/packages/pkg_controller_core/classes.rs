//! Workloads that follow their WorkloadPriorityClass.

use kueue_api::kueue::v1beta2::{Workload, WorkloadPriorityClass};
use kueue_controllers::priority_class::{class_values, ranked};

use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub(super) fn reconcile(case: &Case) -> Result<(), Failure> {
    let class: WorkloadPriorityClass = case.arg("wpc")?;
    let wanted: Vec<Workload> = case.arg("wantWorkloads")?;
    for (workload, wanted) in case.arg::<Vec<Workload>>("workloads")?.iter().zip(&wanted) {
        let follows = class_values(workload).contains(&class.metadata.name);
        let ranked = if follows { ranked(workload, &class) } else { workload.clone() };
        // A write that the server refuses, which is code, leaves a Workload as it was; its look is repeated.
        if case.arg::<bool>("wantError")? && wanted.spec.priority == workload.spec.priority {
            continue;
        }
        equal(&wanted.spec.priority, &ranked.spec.priority)?;
    }
    Ok(())
}
