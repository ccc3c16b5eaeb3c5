//! ClusterQueue: quota, and the rules by which it is given out.

use serde_json::json;

use super::quota::{
    Holder, WEIGHTED_SHARE_DOC, admission_fair_sharing_status, fair_sharing, flavor_usage, group_rules, resource_groups,
};
use super::status::conditions;
use crate::crd::{Column, Conversion, Kind, Scope, Version};
use crate::schema::{
    Rule, Schema, int32, int64, label_key, label_value, labels, list, object, object_name, one_of, string, time,
};

pub(super) const KIND: Kind = Kind {
    name: "ClusterQueue",
    plural: "clusterqueues",
    short_names: &["cq"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::Webhook,
    has_status: true,
    selectable_fields: &[],
    columns,
    schema,
};

fn columns(version: Version) -> Vec<Column> {
    let cohort = if version < Version::V1Beta2 { ".spec.cohort" } else { ".spec.cohortName" };
    vec![
        Column::new("Cohort", "string", cohort, "The Cohort that the queue shares quota with."),
        Column::new("Strategy", "string", ".spec.queueingStrategy", "How waiting jobs are ordered.").wide(),
        Column::new("Pending Workloads", "integer", ".status.pendingWorkloads", "Jobs that wait."),
        Column::new("Admitted Workloads", "integer", ".status.admittedWorkloads", "Jobs that may run.").wide(),
    ]
}

fn schema(version: Version) -> Schema {
    object()
        .doc(
            "A ClusterQueue holds quota for a set of resources and decides in which order the jobs of its LocalQueues get \
             it, what they may borrow from a Cohort, and which running jobs make room for others.",
        )
        .field("spec", spec(version), "The quota and the rules.")
        .field("status", status(version), "What is waiting, and what is used of the quota.")
        .rule(checked_flavors_on_creation())
}

fn spec(version: Version) -> Schema {
    let cohort = if version < Version::V1Beta2 { "cohort" } else { "cohortName" };
    let spec = object()
        .field(
            "resourceGroups",
            resource_groups(Holder::ClusterQueue),
            "The quota: groups of resources that come from the same flavor, each with the flavors that can supply them. At \
             most 256 flavors and 256 resources in all groups together.",
        )
        .field(
            cohort,
            object_name(),
            "The Cohort whose members lend each other unused quota. It works whether or not a Cohort object of that name \
             exists. Without it the queue has its own quota and nothing else.",
        )
        .field(
            "queueingStrategy",
            one_of(&["StrictFIFO", "BestEffortFIFO"]).default("BestEffortFIFO"),
            "Jobs are ordered by priority, then by age. With StrictFIFO one that cannot be admitted holds up all behind \
             it; with BestEffortFIFO (the default) later jobs that fit may go first.",
        )
        .field(
            "namespaceSelector",
            label_selector(),
            "The namespaces whose LocalQueues may use this queue. {} means all; without it no namespace may.",
        )
        .field("flavorFungibility", flavor_fungibility(version), "When to go on to the next flavor of the list.")
        .field("preemption", preemption(), "Which running jobs may be stopped to make room for a waiting one.")
        .field(
            "admissionChecksStrategy",
            admission_checks_strategy(version),
            "Checks that a job has to pass after it got its quota and before it starts.",
        )
        .when(version < Version::V1Beta2, |spec| {
            spec.field(
                "admissionChecks",
                list(string().max_len(316), 64),
                "The checks by name, for all flavors. Takes the place of admissionChecksStrategy, which v1beta2 has only.",
            )
        })
        .field(
            "stopPolicy",
            one_of(&["None", "Hold", "HoldAndDrain"]).default("None"),
            "Hold admits nothing more. HoldAndDrain also evicts what is running. None is normal operation.",
        )
        .field(
            "fairSharing",
            fair_sharing(),
            "The queue's claim to unused resources of its Cohort. Used when fair sharing is switched on in the manager's \
             configuration.",
        )
        .field("admissionScope", admission_scope(), "Orders jobs by what their LocalQueues used lately.");
    let spec = group_rules(spec, Holder::ClusterQueue, cohort)
        .rule(total_rule("flavors", "flavors"))
        .rule(total_rule("coveredResources", "covered resources"));
    spec.rule(checked_flavors_on_update()).when(version >= Version::V1Beta2, concurrent_admission)
}

fn total_rule(list: &str, what: &str) -> Rule {
    Rule::new(
        format!("!has(self.resourceGroups) || self.resourceGroups.map(g, size(g.{list})).sum() <= 256"),
        format!("total number of {what} across all resourceGroups must be ≤ 256"),
    )
    .at(".resourceGroups")
}

fn label_selector() -> Schema {
    let requirement = object()
        .required("key", label_key(), "The label that the requirement is about.")
        .required(
            "operator",
            one_of(&["In", "NotIn", "Exists", "DoesNotExist"]),
            "In and NotIn compare the label with values; Exists and DoesNotExist only ask for the key.",
        )
        .field(
            "values",
            list(label_value(), 1024).atomic_list(),
            "The values of In and NotIn. Must be left out for Exists and DoesNotExist.",
        )
        .rule(
            Rule::new(
                "!(self.operator in ['In', 'NotIn']) || has(self.values) && size(self.values) > 0",
                "must be specified when `operator` is 'In' or 'NotIn'",
            )
            .at(".values"),
        )
        .rule(
            Rule::new(
                "self.operator in ['In', 'NotIn'] || !has(self.values) || size(self.values) == 0",
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )
            .at(".values"),
        );
    object().atomic_map().field("matchLabels", labels(64), "Labels that must all be there with these values.").field(
        "matchExpressions",
        list(requirement, 64).atomic_list(),
        "Requirements that must all be met.",
    )
}

fn flavor_fungibility(version: Version) -> Schema {
    let action = |old: &'static str| match version < Version::V1Beta2 {
        true => one_of(&["MayStopSearch", "TryNextFlavor", old]),
        false => one_of(&["MayStopSearch", "TryNextFlavor"]),
    };
    object()
        .field(
            "whenCanBorrow",
            action("Borrow").default("MayStopSearch"),
            "What to do when the job fits in a flavor by borrowing: MayStopSearch (the default) takes it, TryNextFlavor looks \
             for one where it need not borrow.",
        )
        .field(
            "whenCanPreempt",
            action("Preempt").default("TryNextFlavor"),
            "What to do when the job fits in a flavor after preempting others: MayStopSearch takes it, TryNextFlavor (the \
             default) looks for one where nobody has to leave.",
        )
        .field(
            "preference",
            one_of(&["BorrowingOverPreemption", "PreemptionOverBorrowing"]),
            "What is the lesser evil when every flavor needs one or the other. Only with TryNextFlavor in both fields. \
             Without it borrowing is preferred.",
        )
        .default(json!({}))
        .rule(Rule::new(
            "!has(self.preference) || self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor'",
            "preference can only be set when both whenCanBorrow and whenCanPreempt are TryNextFlavor",
        ))
}

fn preemption() -> Schema {
    let borrow_within_cohort = object()
        .field(
            "policy",
            one_of(&["Never", "LowerPriority"]).default("Never"),
            "Never: a job that has to borrow preempts nobody. LowerPriority: it may preempt jobs of lower priority that \
             borrow as well.",
        )
        .field(
            "maxPriorityThreshold",
            int32(),
            "Only jobs with at most this priority may be preempted by one that borrows. Without it there is no such limit.",
        )
        .default(json!({}));
    object()
        .field(
            "withinClusterQueue",
            one_of(&["Never", "LowerPriority", "LowerOrNewerEqualPriority"]).default("Never"),
            "Which jobs of this queue may be preempted by another one of it: none, those of lower priority, or also those of \
             equal priority that are newer.",
        )
        .field(
            "reclaimWithinCohort",
            one_of(&["Never", "LowerPriority", "Any"]).default("Never"),
            "Which jobs of other queues that hold borrowed quota may be preempted to get this queue's own quota back: none, \
             those of lower priority, or any.",
        )
        .field(
            "borrowWithinCohort",
            borrow_within_cohort,
            "Whether a job of this queue may preempt jobs of other queues although it has to borrow itself. Needs \
             reclaimWithinCohort other than Never.",
        )
        .default(json!({}))
        .rule(Rule::new(
            "self.reclaimWithinCohort != 'Never' || !has(self.borrowWithinCohort) \
             || self.borrowWithinCohort.policy == 'Never'",
            "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
        ))
}

fn admission_checks_strategy(version: Version) -> Schema {
    let on_flavors = list(object_name(), 64);
    let check = object().required("name", string().max_len(316).min_len(1), "The AdmissionCheck.").field(
        "onFlavors",
        if version < Version::V1Beta2 { on_flavors } else { on_flavors.set_list() },
        "The check applies only to jobs that get one of these flavors. Without it, to all.",
    );
    let checks = list(check, 64);
    const DOC: &str = "The checks, each with the flavors it applies to.";
    if version < Version::V1Beta2 {
        object().field("admissionChecks", checks, DOC)
    } else {
        object().required("admissionChecks", checks.min_items(1).keyed_by(&["name"]), DOC)
    }
}

/// CEL for "every flavor that a check is limited to is a flavor of the queue".
fn checked_flavors_exist(spec: &str) -> String {
    format!(
        "!has({spec}.admissionChecksStrategy) || !has({spec}.admissionChecksStrategy.admissionChecks) \
         || {spec}.admissionChecksStrategy.admissionChecks.all(c, !has(c.onFlavors) || has({spec}.resourceGroups) \
         && {spec}.resourceGroups.map(g, size(g.flavors.filter(f, f.name in c.onFlavors))).sum() == size(c.onFlavors))"
    )
}

const CHECKED_FLAVORS_MESSAGE: &str = "onFlavors may only name flavors of this ClusterQueue, each once";

/// The rule on updates: in a queue stored before this was checked, what is wrong may stay while neither the checks
/// nor the flavors change.
fn checked_flavors_on_update() -> Rule {
    const FLAVORS: &str = "resourceGroups.map(g, g.flavors.map(f, f.name))";
    Rule::new(
        format!(
            "{} || has(oldSelf.admissionChecksStrategy) && self.admissionChecksStrategy == oldSelf.admissionChecksStrategy \
             && has(self.resourceGroups) == has(oldSelf.resourceGroups) \
             && (!has(self.resourceGroups) || self.{FLAVORS} == oldSelf.{FLAVORS})",
            checked_flavors_exist("self")
        ),
        CHECKED_FLAVORS_MESSAGE,
    )
    .at(".admissionChecksStrategy.admissionChecks")
}

/// The rule on creation, which is when there is no status yet.
fn checked_flavors_on_creation() -> Rule {
    Rule::new(
        format!("has(self.status) || !has(self.spec) || {}", checked_flavors_exist("self.spec")),
        CHECKED_FLAVORS_MESSAGE,
    )
    .at(".spec.admissionChecksStrategy.admissionChecks")
}

fn admission_scope() -> Schema {
    object().required(
        "admissionMode",
        one_of(&["UsageBasedAdmissionFairSharing", "NoAdmissionFairSharing"]),
        "UsageBasedAdmissionFairSharing lets LocalQueues that used less lately go first. NoAdmissionFairSharing orders jobs by \
         priority and age only.",
    )
}

fn concurrent_admission(spec: Schema) -> Schema {
    let constraints = object().field(
        "lastAcceptableFlavorName",
        object_name(),
        "The last flavor of the list that the job may be moved to. Without it any better flavor will do.",
    );
    let migration = object()
        .required(
            "mode",
            one_of(&["TryPreferredFlavors", "RetainFirstAdmission"]),
            "TryPreferredFlavors moves an admitted job when a flavor earlier in the list becomes free. RetainFirstAdmission \
             leaves it where it was admitted first.",
        )
        .field("constraints", constraints, "Limits to moving a job. Only with mode TryPreferredFlavors.")
        .rule(
            Rule::new(
                "!has(self.constraints) || self.mode == 'TryPreferredFlavors'",
                "may only be set when migration.mode is \"TryPreferredFlavors\"",
            )
            .at(".constraints"),
        );
    let policy = object().required("migration", migration, "What happens to a job after its first admission.");
    let when_set = |expression: &str| format!("!has(self.concurrentAdmissionPolicy) || {expression}");
    spec.field(
        "concurrentAdmissionPolicy",
        policy,
        "Tries to admit a job to several flavors at the same time. Needs the feature gate ConcurrentAdmission, exactly one \
         resource group with at most 16 flavors, and BestEffortFIFO. Cannot be changed.",
    )
    .rule(
        Rule::new(
            "has(self.concurrentAdmissionPolicy) == has(oldSelf.concurrentAdmissionPolicy) \
             && (!has(self.concurrentAdmissionPolicy) || self.concurrentAdmissionPolicy == oldSelf.concurrentAdmissionPolicy)",
            "field is immutable",
        )
        .at(".concurrentAdmissionPolicy"),
    )
    .rule(
        Rule::new(
            when_set("has(self.resourceGroups) && size(self.resourceGroups) == 1"),
            "must have exactly one ResourceGroup when ConcurrentAdmissionPolicy is defined",
        )
        .at(".resourceGroups"),
    )
    .rule(
        Rule::new(
            when_set("!has(self.resourceGroups) || self.resourceGroups.all(g, size(g.flavors) <= 16)"),
            "cannot have more than 16 resource flavors in the ResourceGroup when ConcurrentAdmissionPolicy is defined",
        )
        .at(".resourceGroups"),
    )
    .rule(
        Rule::new(
            when_set(
                "!has(self.concurrentAdmissionPolicy.migration.constraints) \
                 || !has(self.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName) \
                 || has(self.resourceGroups) && self.resourceGroups.exists(g, g.flavors.exists(f, f.name == \
                 self.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName))",
            ),
            "must be one of the flavors defined in the ClusterQueue",
        )
        .at(".concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName"),
    )
    .rule(
        Rule::new(
            when_set("self.queueingStrategy != 'StrictFIFO'"),
            "StrictFIFO queueing strategy cannot be used when ConcurrentAdmissionPolicy is defined",
        )
        .at(".queueingStrategy"),
    )
}

fn status(version: Version) -> Schema {
    let share =
        object().required("weightedShare", int64(), WEIGHTED_SHARE_DOC).when(version < Version::V1Beta2, |share| {
            share.field(
                "admissionFairSharingStatus",
                admission_fair_sharing_status(),
                "Not written for ClusterQueues. Gone in v1beta2.",
            )
        });
    object()
        .field(
            "conditions",
            conditions(),
            "Active is True when jobs can be admitted; otherwise its reason and message say what is missing or wrong.",
        )
        .field("pendingWorkloads", int32(), "How many jobs wait for admission.")
        .field("reservingWorkloads", int32(), "How many unfinished jobs have quota reserved, admitted ones included.")
        .field("admittedWorkloads", int32(), "How many unfinished jobs are admitted.")
        .field("flavorsReservation", flavor_usage(true), "The quota reserved by jobs, admitted or on the way there.")
        .field("flavorsUsage", flavor_usage(true), "The quota used by admitted jobs.")
        .field("fairSharing", share, "The queue's share, written when fair sharing is switched on.")
        .when(version < Version::V1Beta2, |status| {
            status.field("pendingWorkloadsStatus", pending_workloads(), "Not written any more. Gone in v1beta2.")
        })
}

fn pending_workloads() -> Schema {
    let workload = object().required("name", string().max_len(253), "The name of a waiting Workload.").required(
        "namespace",
        string().max_len(63),
        "Its namespace.",
    );
    object()
        .field(
            "clusterQueuePendingWorkload",
            list(workload, 4000).atomic_list(),
            "The first waiting Workloads, in order.",
        )
        .required("lastChangeTime", time(), "When the list was written.")
}
