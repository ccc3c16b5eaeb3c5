//! Workload: a job as the queue sees it, and the rules between its spec and its status.
//!
//! Every status write of every job passes these rules, and the API server's time for them is a good part of what
//! an admission costs. So each starts with the cheap test that holds in the usual case (whether the guarded field
//! changed at all, and only then whether quota is reserved), and what only our own controllers could get wrong, or would
//! take a comparison of whole pod templates, is left to the webhook: assignments that name unknown pod sets, an
//! admission that changes, reclaimable pods that become fewer, pods that change while quota is reserved.

mod spec;
mod status;

use serde_json::json;

use crate::crd::{Column, Conversion, Kind, Scope, Version};
use crate::schema::{Rule, Schema, object};

/// The most pod sets of a workload.
const POD_SETS: u32 = 18;

pub(super) const KIND: Kind = Kind {
    name: "Workload",
    plural: "workloads",
    short_names: &["kwl", "kueueworkload", "kueueworkloads"],
    scope: Scope::Namespaced,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::Webhook,
    has_status: true,
    selectable_fields: &[".status.admission.clusterQueue"],
    columns,
    schema,
};

fn columns(_: Version) -> Vec<Column> {
    let condition = |name, path, doc| Column::new(name, "string", path, doc);
    vec![
        Column::new("Queue", "string", ".spec.queueName", "The LocalQueue that the job was sent to."),
        Column::new(
            "Reserved in",
            "string",
            ".status.admission.clusterQueue",
            "The ClusterQueue that gave quota to the job.",
        ),
        condition("Admitted", ".status.conditions[?(@.type=='Admitted')].status", "Whether the job may run."),
        condition("Finished", ".status.conditions[?(@.type=='Finished')].status", "Whether the job has ended."),
        Column::age(),
    ]
}

fn schema(version: Version) -> Schema {
    const SPEC_DOC: &str = "What the job needs and where it stands in line.";
    let workload = object()
        .doc(
            "A Workload is a job as the queue sees it: its pods by kind and number, its priority, and how far it has come \
             on the way to admission. Job controllers create one for each job; people read it to learn why a job waits.",
        )
        .field("status", status::status(version), "What was decided about the job.");
    // There is always a spec (v1beta1 needs its pod sets, v1beta2 gets an empty one), so the rules need not ask for it.
    let workload = if version < Version::V1Beta2 {
        workload.required("spec", spec::spec(version), SPEC_DOC)
    } else {
        workload.field("spec", spec::spec(version).default(json!({})), SPEC_DOC)
    };
    workload
        .rule(assignment_rule())
        .rule(pod_set_update_rule())
        .rule(if version < Version::V1Beta2 { priority_class_name_rule() } else { priority_class_ref_rule() })
        .rule(
            Rule::new(
                format!(
                    "{} || !{} || !{}",
                    unchanged("queueName"),
                    holds("oldSelf", "QuotaReserved"),
                    holds("self", "QuotaReserved")
                ),
                "queueName is immutable while workload quota reserved",
            )
            .at(".spec.queueName"),
        )
        .rule(
            Rule::new(
                format!(
                    "{} || !{} || !{}",
                    unchanged("maximumExecutionTimeSeconds"),
                    holds("oldSelf", "Admitted"),
                    holds("self", "Admitted")
                ),
                "maximumExecutionTimeSeconds is immutable while workload quota reserved",
            )
            .at(".spec.maximumExecutionTimeSeconds"),
        )
}

/// CEL for "the condition of this type is True".
fn holds(object: &str, condition: &str) -> String {
    format!(
        "(has({object}.status) && has({object}.status.conditions) && \
         {object}.status.conditions.exists(c, c.type == '{condition}' && c.status == 'True'))"
    )
}

/// CEL for "the optional field of the spec is as it was".
fn unchanged(field: &str) -> String {
    format!("{} && ({} || {})", in_both_or_neither(field), not_in_both(field), same(field))
}

fn in_both_or_neither(field: &str) -> String {
    format!("has(self.spec.{field}) == has(oldSelf.spec.{field})")
}

fn not_in_both(field: &str) -> String {
    format!("!has(self.spec.{field}) || !has(oldSelf.spec.{field})")
}

fn same(field: &str) -> String {
    format!("self.spec.{field} == oldSelf.spec.{field}")
}

fn assignment_rule() -> Rule {
    let sizes_agree = "(has(self.spec.podSets) ? size(self.spec.podSets) : 0) == \
                       (has(self.status.admission.podSetAssignments) ? size(self.status.admission.podSetAssignments) : 0)";
    Rule::new(
        format!(
            "!has(self.status) || !has(self.status.admission) || {sizes_agree} || !{}",
            holds("self", "QuotaReserved")
        ),
        "podSetAssignments must have the same number of podSets as the spec",
    )
    .at(".status.admission.podSetAssignments")
}

/// Checks are answered by other people's controllers too, so their answers are looked at.
fn pod_set_update_rule() -> Rule {
    Rule::new(
        "!has(self.status) || !has(self.status.admissionChecks) || self.status.admissionChecks.all(c, \
         !has(c.podSetUpdates) || has(self.spec.podSets) && c.podSetUpdates.all(u, \
         self.spec.podSets.exists(p, p.name == u.name)))",
        "podSetUpdates must name podSets of the spec",
    )
    .at(".status.admissionChecks")
}

/// While quota is reserved the class stays, except that a workload may be given another WorkloadPriorityClass.
fn priority_class_ref_rule() -> Rule {
    let reference = "priorityClassRef";
    let (group, kind, name) =
        (same("priorityClassRef.group"), same("priorityClassRef.kind"), same("priorityClassRef.name"));
    Rule::new(
        format!(
            "{} && ({} || {group} && {kind} && ({name} || self.spec.{reference}.group != 'scheduling.k8s.io')) || !{}",
            in_both_or_neither(reference),
            not_in_both(reference),
            holds("oldSelf", "QuotaReserved")
        ),
        "priorityClassRef is immutable while workload quota reserved",
    )
    .saying(format!(
        "{} ? 'priorityClassRef is immutable while workload quota reserved' : \
         !({group}) ? 'priorityClassRef.group is immutable while workload quota reserved' : \
         !({kind}) ? 'priorityClassRef.kind is immutable while workload quota reserved' : \
         'priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved'",
        not_in_both(reference)
    ))
    .at(".spec.priorityClassRef")
}

/// The same in v1beta1, where the class is named by two fields.
fn priority_class_name_rule() -> Rule {
    let (name, source) = ("priorityClassName", "priorityClassSource");
    Rule::new(
        format!(
            "{} || {} && ({} || {} || self.spec.{source} == 'kueue.x-k8s.io/workloadpriorityclass') || !{}",
            not_in_both(source),
            same(source),
            not_in_both(name),
            same(name),
            holds("oldSelf", "QuotaReserved")
        ),
        "priorityClassName is immutable while workload quota reserved",
    )
    .saying(format!(
        "!({}) ? 'priorityClassSource is immutable while workload quota reserved' : \
         'priorityClassName is immutable while workload quota reserved and priorityClassSource is not equal to \
         kueue.x-k8s.io/workloadpriorityclass'",
        same(source)
    ))
    .at(".spec.priorityClassName")
}
