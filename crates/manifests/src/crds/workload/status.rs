//! What was decided about a workload.

use super::POD_SETS;
use crate::crd::Version;
use crate::crds::pods::tolerations;
use crate::crds::status::{MESSAGE_LENGTH, conditions};
use crate::schema::{
    LABEL_KEY_LENGTH, Rule, Schema, int32, label_value, list, map, object, object_name, one_of, quantity, string, time,
};

/// The most topology domains that one slice of an assignment, or a v1beta1 assignment, can list.
const DOMAINS: u32 = 100_000;

pub(super) fn status(version: Version) -> Schema {
    let past_execution = if version < Version::V1Beta2 {
        "accumulatedPastExexcutionTimeSeconds"
    } else {
        "accumulatedPastExecutionTimeSeconds"
    };
    let status = object()
        .field(
            "conditions",
            conditions(),
            "How far the job has come: QuotaReserved, Admitted, PodsReady, Finished; and what came in between: Evicted, \
             Preempted, Requeued, DeactivationTarget and others. While QuotaReserved is False its message says why the \
             job waits.",
        )
        .field("admission", admission(version), "Which ClusterQueue gave quota, in which flavors. Empty while the job waits.")
        .field("admissionChecks", admission_checks(), "The answers of the ClusterQueue's admission checks.")
        .field("requeueState", requeue_state(), "When and how often the job was put back after its pods did not start.")
        .field(
            "reclaimablePods",
            reclaimable_pods(),
            "Pods that are done while others still run. Their quota is given back early.",
        )
        .field(
            "resourceRequests",
            resource_requests(),
            "What the pods of each pod set need together, as the scheduler counts it, while the job waits.",
        )
        .field(
            past_execution,
            int32(),
            "How long the job was admitted before, over all earlier admissions. Counts against maximumExecutionTimeSeconds.",
        )
        .field("schedulingStats", scheduling_stats(), "How often the job was evicted, and why.")
        .field("unhealthyNodes", unhealthy_nodes(version), "Nodes that failed under the job and have to be replaced.")
        .when(version >= Version::V1Beta2, |status| {
            status.field("preemptionGates", preemption_gates(), "Which of the gates in spec.preemptionGates are open.")
        });
    clusters(status)
}

/// MultiKueue: where a job may go and where it went.
fn clusters(status: Schema) -> Schema {
    status
        .field(
            "nominatedClusterNames",
            list(string().max_len(256), 20).atomic_list(),
            "The worker clusters that the job was offered to. Emptied when one has taken it.",
        )
        .field("clusterName", string().max_len(256), "The worker cluster that runs the job.")
        .rule(Rule::new(
            "!has(self.clusterName) || !has(oldSelf.clusterName) || self.clusterName == oldSelf.clusterName",
            "clusterName is immutable once set",
        ))
        .rule(Rule::new(
            "!has(self.clusterName) || !has(self.nominatedClusterNames) || size(self.nominatedClusterNames) == 0",
            "clusterName and nominatedClusterNames are mutually exclusive",
        ))
}

fn admission(version: Version) -> Schema {
    let assignments = list(pod_set_assignment(version), POD_SETS).keyed_by(&["name"]);
    const QUEUE_DOC: &str = "The ClusterQueue that the quota comes from.";
    const ASSIGNMENTS_DOC: &str = "The flavors of each pod set of the spec.";
    if version < Version::V1Beta2 {
        object().required("clusterQueue", object_name(), QUEUE_DOC).required(
            "podSetAssignments",
            assignments,
            ASSIGNMENTS_DOC,
        )
    } else {
        object().field("clusterQueue", object_name(), QUEUE_DOC).field(
            "podSetAssignments",
            assignments,
            ASSIGNMENTS_DOC,
        )
    }
}

fn pod_set_assignment(version: Version) -> Schema {
    object()
        .field("name", string().dns1123_label().default("main"), "The pod set of the spec that this is about.")
        .field("flavors", map(object_name()), "The flavor that each resource comes from.")
        .field(
            "resourceUsage",
            map(quantity()),
            "What the pods of the set use together of each resource, and what counts against the quota.",
        )
        .field(
            "count",
            int32().min(0),
            "How many pods were admitted: fewer than in the spec after partial admission or when some are reclaimable.",
        )
        .field(
            "topologyAssignment",
            if version < Version::V1Beta2 { topology_domains() } else { topology_slices() },
            "In which topology domains the pods go, and how many in each.",
        )
        .field(
            "delayedTopologyRequest",
            one_of(&["Pending", "Ready"]),
            "Pending: places are given out in a second step, once the nodes exist. Ready: that is done.",
        )
}

fn topology_levels() -> Schema {
    list(string().max_len(LABEL_KEY_LENGTH), 16).min_items(1).atomic_list()
}

const LEVELS_DOC: &str = "The node labels of the levels, the widest first, as in the Topology. The lowest alone, when it is the \
                          host name.";

/// v1beta1: one entry for each domain.
fn topology_domains() -> Schema {
    let domain = object()
        .required(
            "values",
            list(string().max_len(63), 16).min_items(1).atomic_list(),
            "The label values of the domain, one for each level.",
        )
        .required("count", int32().min(1), "How many pods go there.");
    object().required("levels", topology_levels(), LEVELS_DOC).required(
        "domains",
        list(domain, DOMAINS),
        "The domains, each with its number of pods.",
    )
}

/// v1beta2: runs of domains, with what they have in common written once.
fn topology_slices() -> Schema {
    let exactly_one = || {
        Rule::new(
            "has(self.universal) != has(self.individual)",
            "exactly one of the fields in [universal individual] must be set",
        )
    };
    let individual_values = object()
        .field("prefix", string().max_len(63), "What all values begin with.")
        .required(
            "roots",
            list(string().max_len(63), DOMAINS).min_items(1).atomic_list(),
            "The middle part of the value for each domain: a value is prefix + root + suffix.",
        )
        .field("suffix", string().max_len(63), "What all values end with.");
    let level_values = object()
        .field("universal", string().max_len(63), "The value, when all domains of the slice have the same.")
        .field("individual", individual_values, "The values, when they differ.")
        .rule(exactly_one());
    let pod_counts = object()
        .field("universal", int32().min(1), "The number of pods, when all domains of the slice get the same.")
        .field(
            "individual",
            list(int32().min(1), DOMAINS).min_items(1).atomic_list(),
            "The number of pods for each domain, when they differ.",
        )
        .rule(exactly_one());
    let slice = object()
        .required("domainCount", int32().min(1), "How many domains the slice describes.")
        .required(
            "valuesPerLevel",
            list(level_values, 16).min_items(1).atomic_list(),
            "The label values of the domains, level by level, in the order of levels.",
        )
        .required("podCounts", pod_counts, "How many pods go to each domain.")
        .rule(Rule::new(
            "!has(self.podCounts.individual) || size(self.podCounts.individual) == self.domainCount",
            "podCounts.individual must have length equal to domainCount",
        ))
        .rule(Rule::new(
            "self.valuesPerLevel.all(v, !has(v.individual) || size(v.individual.roots) == self.domainCount)",
            "valuesPerLevel.individual, if set, must have roots of length equal to domainCount of this \
             TopologyAssignmentSlice",
        ));
    object()
        .required("levels", topology_levels(), LEVELS_DOC)
        .required(
            "slices",
            list(slice, 1000).atomic_list(),
            "Runs of domains, in order. They keep the assignment small for jobs with very many pods.",
        )
        .rule(Rule::new(
            "self.slices.all(s, size(s.valuesPerLevel) == size(self.levels))",
            "valuesPerLevel must have the same length as the number of levels in this TopologyAssignment",
        ))
}

fn admission_checks() -> Schema {
    let check = object()
        .required("name", string().min_len(1).max_len(316), "The AdmissionCheck.")
        .required(
            "state",
            one_of(&["Pending", "Ready", "Retry", "Rejected"]),
            "Pending: no answer yet. Ready: the job may start. Retry: give the quota back and try again. Rejected: never; \
             the job is deactivated.",
        )
        .required("lastTransitionTime", time(), "When the state last changed.")
        .required("message", string().max_len(MESSAGE_LENGTH), "Details for people. May be empty.")
        .field(
            "podSetUpdates",
            list(pod_set_update(), POD_SETS).atomic_list(),
            "What the check adds to the pods when the job starts. Fixed while the check stays Ready.",
        )
        .field("requeueAfterSeconds", int32().min(0), "With state Retry: how long the job has to wait at least.")
        .field("retryCount", int32().min(0), "How often the check said Retry.")
        .rule(
            Rule::new(
                "self.state != 'Ready' || oldSelf.state != 'Ready' || has(self.podSetUpdates) == has(oldSelf.podSetUpdates) \
                 && (!has(self.podSetUpdates) || self.podSetUpdates == oldSelf.podSetUpdates)",
                "field is immutable",
            )
            .at(".podSetUpdates"),
        );
    list(check, 8).keyed_by(&["name"])
}

fn pod_set_update() -> Schema {
    object()
        .required("name", string().dns1123_label(), "The pod set of the spec.")
        .field("labels", map(label_value()), "Labels to add to the pods.")
        .field("annotations", map(string()), "Annotations to add to the pods.")
        .field("nodeSelector", map(label_value()), "Node selectors to add to the pods.")
        .field("tolerations", tolerations(), "Tolerations to add to the pods.")
}

fn requeue_state() -> Schema {
    object()
        .field("count", int32().min(0), "How often the job was put back because its pods did not become ready in time.")
        .field("requeueAt", time(), "When the job is considered again.")
}

fn reclaimable_pods() -> Schema {
    let pods = object().required("name", string().dns1123_label(), "The pod set of the spec.").required(
        "count",
        int32().min(0),
        "How many of its pods are done.",
    );
    list(pods, POD_SETS).keyed_by(&["name"])
}

fn resource_requests() -> Schema {
    let request = object().required("name", string().dns1123_label(), "The pod set of the spec.").field(
        "resources",
        map(quantity()),
        "What all its pods need together, by resource.",
    );
    list(request, POD_SETS).keyed_by(&["name"])
}

fn scheduling_stats() -> Schema {
    let eviction = object()
        .required("reason", string().max_len(316), "The reason of the evictions, as in the condition Evicted.")
        .required(
            "underlyingCause",
            string().max_len(316),
            "What was behind it, where the reason has several causes. May be empty.",
        )
        .required("count", int32().min(0), "How many evictions there were of this sort.");
    object().field(
        "evictions",
        list(eviction, 256).keyed_by(&["reason", "underlyingCause"]),
        "How often the job was evicted, by reason and cause.",
    )
}

fn unhealthy_nodes(version: Version) -> Schema {
    let node = object().required("name", string().max_len(63), "The name of the node.");
    let nodes = list(node, 8);
    if version < Version::V1Beta2 { nodes } else { nodes.keyed_by(&["name"]) }
}

fn preemption_gates() -> Schema {
    let gate = object()
        .required("name", string().min_len(1).max_len(63), "The gate, as in spec.preemptionGates.")
        .required(
            "position",
            one_of(&["Closed", "Open"]),
            "Closed: the job may not preempt yet. Open: this gate agrees.",
        )
        .required("lastTransitionTime", time(), "When the position last changed.");
    list(gate, 8).keyed_by(&["name"])
}
