//! Workload: a job as the queue sees it, and the rules between its spec and its status.
//!
//! Every status write of every job passes these rules, so each starts with the cheap test that holds in the usual
//! case: first whether the guarded field changed at all, and only then whether quota is reserved.

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
    let workload = priority_rules(admission_rules(workload), version);
    reclaimable_rules(pod_set_rules(workload))
        .rule(
            Rule::new(
                format!(
                    "{} || !{} || !{}",
                    unchanged("spec", "queueName"),
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
                    unchanged("spec", "maximumExecutionTimeSeconds"),
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

/// CEL for "the optional field is as it was".
fn unchanged(parent: &str, field: &str) -> String {
    let (new, old) = (format!("self.{parent}.{field}"), format!("oldSelf.{parent}.{field}"));
    format!("(has({new}) == has({old}) && (!has({new}) || {new} == {old}))")
}

fn admission_rules(workload: Schema) -> Schema {
    let reserved = holds("self", "QuotaReserved");
    workload
        .rule(
            Rule::new(
                format!(
                    "!has(self.status) || has(self.status.admission) || !{reserved} \
                     || {} && !has(oldSelf.status.admission)",
                    holds("oldSelf", "QuotaReserved")
                ),
                "must be set while the QuotaReserved condition is true",
            )
            .at(".status.admission"),
        )
        .rule(
            Rule::new(
                format!(
                    "!has(self.status) || !has(self.status.admission) || {} || !{reserved}",
                    "(has(self.spec.podSets) ? size(self.spec.podSets) : 0) == \
                     (has(self.status.admission.podSetAssignments) ? size(self.status.admission.podSetAssignments) : 0)"
                ),
                "podSetAssignments must have the same number of podSets as the spec",
            )
            .at(".status.admission.podSetAssignments"),
        )
        .rule(
            Rule::new(
                format!(
                    "!has(self.status) || !has(self.status.admission) || !has(self.status.admission.podSetAssignments) || \
                     has(self.spec.podSets) && self.status.admission.podSetAssignments.all(a, \
                     self.spec.podSets.exists(p, p.name == a.name)) || !{reserved}"
                ),
                "podSetAssignments must name podSets of the spec",
            )
            .at(".status.admission.podSetAssignments"),
        )
        .rule(
            Rule::new(
                "!has(self.status) || !has(self.status.admissionChecks) || self.status.admissionChecks.all(c, \
                 !has(c.podSetUpdates) || has(self.spec.podSets) && c.podSetUpdates.all(u, \
                 self.spec.podSets.exists(p, p.name == u.name)))",
                "podSetUpdates must name podSets of the spec",
            )
            .at(".status.admissionChecks"),
        )
}

/// Once quota is reserved the pods are fixed. Elastic jobs may scale down, so a count may fall.
fn pod_set_rules(workload: Schema) -> Schema {
    let reserved = holds("oldSelf", "QuotaReserved");
    workload.rule(
        Rule::new(
            format!(
                "{} || !{reserved} || has(self.spec.podSets) && has(oldSelf.spec.podSets) \
                 && size(self.spec.podSets) == size(oldSelf.spec.podSets) && self.spec.podSets.all(p, \
                 oldSelf.spec.podSets.exists(o, o.name == p.name && p.count <= o.count && p.template == o.template \
                 && has(p.minCount) == has(o.minCount) && (!has(p.minCount) || p.minCount == o.minCount) \
                 && has(p.topologyRequest) == has(o.topologyRequest) \
                 && (!has(p.topologyRequest) || p.topologyRequest == o.topologyRequest)))",
                unchanged("spec", "podSets")
            ),
            "field is immutable",
        )
        .at(".spec.podSets"),
    )
}

/// While quota is reserved the priority class stays, except that a workload may be given another
/// WorkloadPriorityClass.
fn priority_rules(workload: Schema, version: Version) -> Schema {
    let reserved = holds("oldSelf", "QuotaReserved");
    let rule = |unchanged: &str, message: &str| Rule::new(format!("{unchanged} || !{reserved}"), message);
    if version < Version::V1Beta2 {
        let either = |field: &str| format!("!has(self.spec.{field}) || !has(oldSelf.spec.{field})");
        let same = |field: &str| format!("self.spec.{field} == oldSelf.spec.{field}");
        let (name, source) = ("priorityClassName", "priorityClassSource");
        let same_source = rule(
            &format!("{} || {}", either(source), same(source)),
            "priorityClassSource is immutable while workload quota reserved",
        );
        let same_name = rule(
            &format!(
                "{} || {} || {} || self.spec.{source} == 'kueue.x-k8s.io/workloadpriorityclass'",
                either(name),
                either(source),
                same(name)
            ),
            "priorityClassName is immutable while workload quota reserved and priorityClassSource is not equal to \
             kueue.x-k8s.io/workloadpriorityclass",
        );
        return workload
            .rule(same_source.at(".spec.priorityClassSource"))
            .rule(same_name.at(".spec.priorityClassName"));
    }
    let either = "!has(self.spec.priorityClassRef) || !has(oldSelf.spec.priorityClassRef)";
    let same = |field: &str| format!("self.spec.priorityClassRef.{field} == oldSelf.spec.priorityClassRef.{field}");
    let rules = [
        rule(
            "has(self.spec.priorityClassRef) == has(oldSelf.spec.priorityClassRef)",
            "priorityClassRef is immutable while workload quota reserved",
        ),
        rule(
            &format!("{either} || {}", same("group")),
            "priorityClassRef.group is immutable while workload quota reserved",
        ),
        rule(
            &format!("{either} || {}", same("kind")),
            "priorityClassRef.kind is immutable while workload quota reserved",
        ),
        rule(
            &format!("{either} || {} || self.spec.priorityClassRef.group != 'scheduling.k8s.io'", same("name")),
            "priorityClassRef.name is immutable for scheduling.k8s.io/priorityclass while workload quota reserved",
        ),
    ];
    rules.into_iter().fold(workload, |workload, rule| workload.rule(rule.at(".spec.priorityClassRef")))
}

/// Pods that are given back belong to the pod sets, are not more than those have, and are not taken back while the
/// workload holds its quota. A job that was scaled down counts again from its smaller pod set.
fn reclaimable_rules(workload: Schema) -> Schema {
    workload
        .rule(
            Rule::new(
                "!has(self.status) || !has(self.status.reclaimablePods) || self.status.reclaimablePods.all(r, \
                 has(self.spec.podSets) && self.spec.podSets.exists(p, p.name == r.name && (r.count <= p.count \
                 || has(oldSelf.status) && has(oldSelf.status.reclaimablePods) && oldSelf.status.reclaimablePods.exists(o, o.name == r.name && o.count == r.count))))",
                "reclaimablePods must name podSets of the spec, and count at most their pods",
            )
            .at(".status.reclaimablePods"),
        )
        .rule(
            Rule::new(
                format!(
                    "!has(oldSelf.status) || !has(oldSelf.status.reclaimablePods) \
                     || oldSelf.status.reclaimablePods.all(o, \
                     has(self.status) && has(self.status.reclaimablePods) && self.status.reclaimablePods.exists(r, \
                     r.name == o.name && r.count >= o.count) || {}) || !{} || !{}",
                    "has(self.status) && has(self.status.admission) && has(self.status.admission.podSetAssignments) \
                     && has(self.spec.podSets) && self.status.admission.podSetAssignments.exists(a, a.name == o.name \
                     && has(a.count) && self.spec.podSets.exists(p, p.name == o.name && p.count < a.count))",
                    holds("self", "QuotaReserved"),
                    holds("oldSelf", "QuotaReserved")
                ),
                "reclaimablePods cannot be removed or become fewer while workload quota reserved",
            )
            .at(".status.reclaimablePods"),
        )
}
