//! What all job kinds have in common.

mod given;
mod looks;
mod rules;

use std::collections::{BTreeMap, BTreeSet};

use kueue_api::meta::OwnerReference;
use kueue_jobs::ancestor::{Lost, Search};
use kueue_jobs::integrations::{Integrations, OwnerKind, implied};
use kueue_jobs::name::{Owner, variant_name, workload_name};
use serde_json::Value;

use super::Runners;
use super::job_webhook::names;
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};
use crate::objects::Objects;

pub const RUNNERS: Runners = &[
    ("TestApplyDefaultLocalQueue", rules::default_queue),
    ("TestApplyDefaultWorkloadPriorityClass", rules::default_priority_class),
    ("TestBaseWebhookDefault", rules::default),
    ("TestExtractPriorityReportsMissingWorkloadPriorityClass", looks::missing_class),
    ("TestFindAncestorJobManagedByKueue", ancestor),
    ("TestGenerateWorkloadNameWithExtra", name_with_extra),
    ("TestGenerateWorkloadNameWithGeneration", name_with_generation),
    ("TestGetJobTypeForOwner", job_type_for_owner),
    ("TestGetWorkloadNameForVariant", name_of_variant),
    ("TestImplicitlyEnabledIntegrations", implicitly_enabled),
    ("TestPodSetTopologyRequestBuilder", rules::topology_request),
    ("TestReconcileGenericJob", looks::generic),
    ("TestReconcileGenericJobWithCustomWorkloadActivation", looks::activation),
    ("TestReconcileGenericJobWithWaitForPodsReady", looks::pods_ready),
    ("TestSanitizePodSets", rules::sanitize),
    ("TestUpdateWorkloadPriority", looks::priorities),
    ("TestValidateImmutablePodSpec", rules::immutable_pod_spec),
    ("TestValidateJobOnCreate", rules::job_on_create),
    ("TestValidateJobOnUpdate", rules::job_on_update),
    ("TestValidateOnCreate", |case| rules::with_rules_of_the_kind(case, "job", None)),
    ("TestValidateOnUpdate", |case| rules::with_rules_of_the_kind(case, "args.newObj", Some("args.oldObj"))),
    ("TestValidateSliceRequiredTopologyConstraintsAnnotation", rules::topology_constraints),
    ("TestValidateSliceSizeAnnotationUpperBound", rules::slice_size_bound),
    ("TestWorkloadShouldBeSuspended", rules::should_suspend),
];

fn ancestor(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::new(case.now()?);
    objects.add(case.raw("ancestors"))?;
    objects.add(case.raw("job"))?;
    let (enabled, external) = (names(case, "integrations")?, names(case, "externalFrameworks")?);
    let integrations =
        Integrations::configured(enabled.iter().map(String::as_str), external.iter().map(String::as_str));
    let job = decode("job.metadata", case.raw("job.metadata"))?.unwrap_or_default();
    let search = Search::of(&job, &integrations, case.arg("manageJobsWithoutQueueName")?);
    let found = search.run(|owner| objects.metadata(&owner.kind, &job.namespace, &owner.name));
    let wanted = case.raw("wantErr.error").as_str();
    match found {
        Ok(found) => {
            equal(&None, &wanted)?;
            let name = found.as_ref().map(|ancestor| ancestor.metadata.name.as_str());
            equal(&case.raw("wantManaged.metadata.name").as_str(), &name)
        }
        Err(Lost::OwnerNotFound { .. }) => equal(&Some("workload owner not found"), &wanted),
        Err(lost) => equal(&wanted.map(str::to_owned), &Some(lost.to_string())),
    }
}

fn job_type_for_owner(case: &Case) -> Result<(), Failure> {
    let kind = |name: &str| OwnerKind::new("test-group/v1", name);
    let integrations = Integrations {
        known: ["K1", "K2", "K4"].map(kind).into(),
        enabled: ["K1", "K2"].map(kind).into(),
        external: [kind("K3")].into(),
    };
    let owner: OwnerReference = case.arg("owner")?;
    equal(&case.has("wantJobType"), &integrations.manages(&owner))
}

fn implicitly_enabled(case: &Case) -> Result<(), Failure> {
    let table: BTreeMap<String, Option<Vec<String>>> = case.arg("integrationsImplicit")?;
    let (enabled, wanted) = (names(case, "enabled")?, names(case, "wantImplicit")?);
    let enabled: BTreeSet<&str> = enabled.iter().map(String::as_str).collect();
    let implied_by = |name: &str| table.get(name).into_iter().flatten().flatten().map(String::as_str).collect();
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    equal(&wanted, &implied(&enabled, implied_by))
}

/// Where the table compares two names, both have an owner that the test writes in code.
const SOME_OWNER: Owner<'_> = Owner { group: "batch", kind: "Job", name: "my-job", uid: "uid-123" };

fn owner<'c>(case: &'c Case, name: &str) -> Owner<'c> {
    let text = |value: &'c Value| value.as_str().unwrap_or_default();
    let kind = case.raw("ownerGVK");
    Owner {
        group: text(&kind["Group"]),
        kind: text(&kind["Kind"]),
        name: text(case.raw(name)),
        uid: text(case.raw("ownerUID")),
    }
}

fn name_with_extra(case: &Case) -> Result<(), Failure> {
    let gates = case.gates()?;
    if case.table == "equalityCases" {
        let (one, other): (String, String) = (case.arg("extra1")?, case.arg("extra2")?);
        let name = |extra: &str| workload_name(SOME_OWNER, extra, gates);
        return same_pair(case, &name(&one), &name(&other));
    }
    let name = workload_name(owner(case, "ownerName"), &case.arg::<String>("extra")?, gates);
    equal(&true, &name.starts_with(&case.arg::<String>("wantPrefix")?))?;
    if case.has("want") { equal(&case.arg("want")?, &name) } else { Ok(()) }
}

fn name_with_generation(case: &Case) -> Result<(), Failure> {
    let gates = case.gates()?;
    let name = |name: &str, uid: &str, generation: &str| -> Result<String, Failure> {
        let (name, uid): (String, String) = (case.arg(name)?, case.arg(uid)?);
        let owner = Owner { name: &name, uid: &uid, ..SOME_OWNER };
        Ok(workload_name(owner, &case.arg::<i64>(generation)?.to_string(), gates))
    };
    same_pair(case, &name("ownerName1", "uid1", "generation1")?, &name("ownerName2", "uid2", "generation2")?)
}

fn name_of_variant(case: &Case) -> Result<(), Failure> {
    let gates = case.gates()?;
    if case.table == "equalityCases" {
        let parent = Owner { name: "job-my-job-12345", ..SOME_OWNER };
        let (one, other): (String, String) = (case.arg("flavor1")?, case.arg("flavor2")?);
        let name = |flavor: &str| variant_name(parent, flavor, gates);
        return same_pair(case, &name(&one), &name(&other));
    }
    let name = variant_name(owner(case, "parentName"), &case.arg::<String>("flavor")?, gates);
    equal(&case.arg("want")?, &name)
}

/// Whether two names are equal where they should be, and the recorded ones where they are known.
fn same_pair(case: &Case, one: &str, other: &str) -> Result<(), Failure> {
    equal(&case.arg("wantEqual")?, &(one == other))?;
    if let Some(recorded) = case.expected("name1").and_then(Value::as_str) {
        equal(&recorded, &one)?;
    }
    Ok(())
}
