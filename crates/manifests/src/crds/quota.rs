//! Quota: resource groups, fair sharing, and the usage that a status reports.

use crate::schema::{
    LABEL_KEY_LENGTH, Rule, Schema, label_key, list, map, object, object_name, quantity, string, time,
};

/// The kind that quota is set on. The two differ in what their limits are relative to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Holder {
    ClusterQueue,
    Cohort,
}

/// Resource groups with the rules that can be checked in one group. The holder's own [`group_rules`] complete them.
pub(super) fn resource_groups(holder: Holder) -> Schema {
    let group = object()
        .required(
            "coveredResources",
            list(label_key(), 64).min_items(1).atomic_list(),
            "The resources that this group gives quota for, such as cpu, memory and nvidia.com/gpu. A resource may be in \
             one group only, because a pod set gets all resources of a group from the same flavor.",
        )
        .required(
            "flavors",
            list(flavor_quotas(holder), 64).min_items(1).keyed_by(&["name"]),
            "The flavors that can supply these resources, in the order in which they are tried. Each lists every covered \
             resource, in the order of coveredResources.",
        )
        .rule(Rule::new(
            "self.flavors.all(f, size(f.resources) == size(self.coveredResources))",
            "flavors must have the same number of resources as the coveredResources",
        ))
        .rule(Rule::new(
            "self.flavors.all(f, size(f.resources) != size(self.coveredResources) \
             || f.resources.map(r, r.name) == self.coveredResources)",
            "the resources of a flavor must match the names in coveredResources, in the same order",
        ))
        .when(holder == Holder::ClusterQueue, |group| {
            group.rule(Rule::new(
                "size(self.flavors) * size(self.coveredResources) <= 512",
                "number of flavor-resource combinations in a resourceGroup must be ≤ 512",
            ))
        });
    list(group, 16).atomic_list()
}

fn flavor_quotas(holder: Holder) -> Schema {
    object()
        .required(
            "name",
            object_name(),
            "The ResourceFlavor. When it does not exist, the ClusterQueues that use it are inactive and say so.",
        )
        .required(
            "resources",
            list(resource_quota(holder), 64).min_items(1).keyed_by(&["name"]),
            "The quota of each covered resource in this flavor.",
        )
}

fn resource_quota(holder: Holder) -> Schema {
    let amount = || quantity().rule(Rule::new("!string(self).startsWith('-')", "must be greater than or equal to 0"));
    let (nominal, borrowing, lending) = match holder {
        Holder::ClusterQueue => (
            "How much of the resource this ClusterQueue may use of its own right. What is not used can be borrowed by \
             other queues of the cohort.",
            "The most that this ClusterQueue may borrow from its cohort beyond nominalQuota; 0 forbids borrowing. Without \
             it, whatever the cohort has to spare. Needs a cohort.",
            "The most of nominalQuota that others in the cohort may borrow; the rest is always kept for this ClusterQueue. \
             Without it, everything that is unused. Needs a cohort, and may not exceed nominalQuota.",
        ),
        Holder::Cohort => (
            "How much of the resource the members of this Cohort may use together, in addition to their own quota.",
            "The most that the members of this Cohort may together borrow from the parent; 0 forbids it. Without it, \
             whatever the parent has to spare. Needs a parent.",
            "The most that the parent's other members may borrow from this Cohort and its members. Without it, everything \
             that is unused. Needs a parent.",
        ),
    };
    object()
        .required("name", label_key(), "The resource, such as cpu or nvidia.com/gpu.")
        .required("nominalQuota", amount(), nominal)
        .field("borrowingLimit", amount(), borrowing)
        .field("lendingLimit", amount(), lending)
        .when(holder == Holder::ClusterQueue, |quota| {
            quota.rule(
                Rule::new(
                    "!has(self.lendingLimit) \
                     || quantity(string(self.lendingLimit)).compareTo(quantity(string(self.nominalQuota))) <= 0",
                    "must be less than or equal to the nominalQuota",
                )
                .at(".lendingLimit"),
            )
        })
}

/// The rules between groups, and between the groups and the field `parent`, for the spec that has them.
pub(super) fn group_rules(spec: Schema, holder: Holder, parent: &str) -> Schema {
    let parent_word = match holder {
        Holder::ClusterQueue => "cohort",
        Holder::Cohort => "parent",
    };
    let no_limit = |limit: &str| {
        Rule::new(
            format!(
                "has(self.{parent}) || !has(self.resourceGroups) || \
                 self.resourceGroups.all(g, g.flavors.all(f, f.resources.all(r, !has(r.{limit}))))"
            ),
            format!("{limit} must be nil when {parent_word} is empty"),
        )
    };
    // A group meets itself, since it is never empty; meeting another one means that they share a name.
    let unique = |names: &str, message: &str| {
        Rule::new(
            format!(
                "!has(self.resourceGroups) || self.resourceGroups.all(g, self.resourceGroups.exists_one(h, \
                 sets.intersects(g.{names}, h.{names})))"
            ),
            message,
        )
        .at(".resourceGroups")
    };
    spec.rule(no_limit("borrowingLimit"))
        .rule(no_limit("lendingLimit"))
        .rule(unique("coveredResources", "a resource may be covered by one resourceGroup only"))
        .rule(unique("flavors.map(f, f.name)", "a flavor may be in one resourceGroup only"))
}

/// How much weight a queue or cohort has when unused quota is shared out.
pub(super) fn fair_sharing() -> Schema {
    object().field(
        "weight",
        quantity()
            .default(1)
            .rule(Rule::new("!quantity(string(self)).isLessThan(quantity('0'))", "must be greater than or equal to 0"))
            .rule(Rule::new(
                "!quantity(string(self)).isGreaterThan(quantity('0')) || quantity(string(self)).isGreaterThan(quantity('1n'))",
                "When not 0, weight must be > 10e-9",
            )),
        "The claim to unused resources, relative to the others under the same parent: with weights 2 and 1 the first may \
         hold twice as much. 0 means no claim at all: whatever is borrowed can be taken back by anybody.",
    )
}

/// What `weightedShare` says, the share that results from usage and weight.
pub(super) const WEIGHTED_SHARE_DOC: &str = "The largest ratio, over all resources, of what is used beyond the nominal quota to what the cohort can lend, divided by \
     the weight, in thousandths. 0 means within its own quota; 9223372036854775807 means borrowing with weight 0.";

/// Usage over time, as admission fair sharing counts it.
pub(super) fn admission_fair_sharing_status() -> Schema {
    object()
        .required(
            "consumedResources",
            map(quantity()),
            "What was used lately, by resource, with older use counting less.",
        )
        .required("lastUpdate", time(), "When consumedResources was computed.")
}

/// Usage by flavor and resource; a ClusterQueue also says how much of it is borrowed.
pub(super) fn flavor_usage(reports_borrowing: bool) -> Schema {
    let resource = object()
        .required("name", string().max_len(LABEL_KEY_LENGTH), "The resource.")
        .field("total", quantity(), "How much is used, borrowed included.")
        .when(reports_borrowing, |resource| {
            resource.field("borrowed", quantity(), "How much of it is borrowed from the cohort.")
        });
    let flavor = object().required("name", object_name(), "The ResourceFlavor.").required(
        "resources",
        list(resource, 64).keyed_by(&["name"]),
        "The usage of each resource of the flavor.",
    );
    list(flavor, 64).keyed_by(&["name"])
}
