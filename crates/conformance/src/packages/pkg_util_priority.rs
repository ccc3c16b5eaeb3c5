//! Priorities of workloads and where they come from.

use kueue_api::core_v1::PriorityClass;
use kueue_api::kueue::v1beta2::{PriorityClassRef, Workload, WorkloadPriorityClass};
use kueue_api::lookup::NotFound;
use kueue_api::priority::{self, Priority};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestDefaultWorkloadPriorityClassExist", has_default_class),
    ("TestEffectivePriority", effective),
    ("TestGetPriorityFromPriorityClass", of_pod_class),
    ("TestGetPriorityFromWorkloadPriorityClass", of_workload_class),
    ("TestParseEffectivePriority", parse_effective),
    ("TestPriority", base),
    ("TestPriorityBoost", boost),
];

fn has_default_class(case: &Case) -> Result<(), Failure> {
    let classes: Vec<WorkloadPriorityClass> = case.arg("workloadPriorityClassList.items")?;
    equal(&case.arg("wantExist")?, &priority::has_default_workload_class(&classes))
}

fn effective(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    equal(&case.arg("wantPriority")?, &priority::effective(&workload, case.gates()?))
}

fn parse_effective(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    equal(&case.arg("wantErr")?, &priority::boost(&workload, case.gates()?).is_err())?;
    effective(case)
}

fn base(case: &Case) -> Result<(), Failure> {
    equal(&case.arg("want")?, &priority::base(&case.arg("workload")?))
}

fn boost(case: &Case) -> Result<(), Failure> {
    let boost = priority::boost(&case.arg("workload")?, case.gates()?);
    equal(&case.arg("wantErr")?, &boost.is_err())?;
    equal(&case.arg("wantBoost")?, &boost.unwrap_or(0))
}

fn of_pod_class(case: &Case) -> Result<(), Failure> {
    let classes: Vec<PriorityClass> = case.arg("priorityClassList.items")?;
    same_priority(case, priority::of_pod_class(&case.arg::<String>("priorityClassName")?, &classes))
}

fn of_workload_class(case: &Case) -> Result<(), Failure> {
    let classes: Vec<WorkloadPriorityClass> = case.arg("workloadPriorityClassList.items")?;
    same_priority(case, priority::of_workload_class(&case.arg::<String>("workloadPriorityClassName")?, &classes))
}

fn same_priority(case: &Case, got: Result<Priority, NotFound>) -> Result<(), Failure> {
    let error = got.as_ref().err().map(ToString::to_string);
    equal(&case.get::<String>("wantErr.error")?, &error)?;
    let (class, value) = got.map_or((None, 0), |priority| (priority.class, priority.value));
    equal(&case.get::<PriorityClassRef>("wantPriorityClassRef")?, &class)?;
    equal(&case.arg("wantPriorityClassValue")?, &value)
}
