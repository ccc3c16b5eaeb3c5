//! What a workload asks for.

use super::POD_SETS;
use crate::crd::Version;
use crate::crds::pods::pod_template;
use crate::schema::{LABEL_KEY_LENGTH, Rule, Schema, boolean, int32, list, object, object_name, one_of, string};

pub(super) fn spec(version: Version) -> Schema {
    let pod_sets = list(pod_set(version), POD_SETS).min_items(1).keyed_by(&["name"]);
    const POD_SETS_DOC: &str = "The pods of the job: groups of equal pods, each under its own name. Fixed once quota is \
                                reserved, except that an elastic job may scale down.";
    let spec = object()
        .field(
            "queueName",
            object_name(),
            "The LocalQueue, in the same namespace. Can be changed until quota is reserved.",
        )
        .field(
            "priority",
            int32(),
            "The priority by which jobs are ordered and preempted; higher goes first. Filled in from the priority class. \
             Without it, 0.",
        )
        .field(
            "active",
            boolean().default(true),
            "false takes the job out of the queue; when it runs, it is evicted first. true puts it back.",
        )
        .field(
            "maximumExecutionTimeSeconds",
            int32().min(1),
            "How long the job may be admitted in all, over several admissions if need be. Then it is deactivated. Without \
             it, for ever.",
        );
    let spec = if version < Version::V1Beta2 {
        spec.required("podSets", pod_sets, POD_SETS_DOC)
    } else {
        spec.field("podSets", pod_sets, POD_SETS_DOC).field(
            "preemptionGates",
            preemption_gates(),
            "Names of what has to agree before this job may preempt others. The list is set when the job is created; \
             status.preemptionGates says which gates are open.",
        )
    };
    priority_class(spec, version).rule(
        Rule::new(
            "!has(self.podSets) || self.podSets.filter(p, has(p.minCount)).size() <= 1",
            "at most one podSet can use minCount",
        )
        .at(".podSets"),
    )
}

fn priority_class(spec: Schema, version: Version) -> Schema {
    if version < Version::V1Beta2 {
        return spec
            .field(
                "priorityClassName",
                object_name(),
                "The priority class that priority comes from. In v1beta2: priorityClassRef.name.",
            )
            .field(
                "priorityClassSource",
                one_of(&["kueue.x-k8s.io/workloadpriorityclass", "scheduling.k8s.io/priorityclass", ""]).default(""),
                "Which sort of class priorityClassName is: kueue.x-k8s.io/workloadpriorityclass or \
                 scheduling.k8s.io/priorityclass. In v1beta2: priorityClassRef.group and kind.",
            )
            .rule(Rule::new(
                "!has(self.priorityClassName) || has(self.priority)",
                "priority should not be nil when priorityClassName is set",
            ));
    }
    let reference = object()
        .required("group", one_of(&["kueue.x-k8s.io", "scheduling.k8s.io"]), "The API group of the class.")
        .required(
            "kind",
            one_of(&["WorkloadPriorityClass", "PriorityClass"]),
            "WorkloadPriorityClass of group kueue.x-k8s.io, or PriorityClass of group scheduling.k8s.io.",
        )
        .required("name", object_name().min_len(1), "The name of the class.")
        .rule(Rule::new(
            "self.group != 'scheduling.k8s.io' || self.kind == 'PriorityClass'",
            "only the PriorityClass kind is allowed for the scheduling.k8s.io group",
        ))
        .rule(Rule::new(
            "self.group != 'kueue.x-k8s.io' || self.kind == 'WorkloadPriorityClass'",
            "only the WorkloadPriorityClass kind is allowed for the kueue.x-k8s.io group",
        ));
    spec.field("priorityClassRef", reference, "The class that priority comes from.").rule(Rule::new(
        "!has(self.priorityClassRef) || has(self.priority)",
        "priority should not be nil when priorityClassRef is set",
    ))
}

fn pod_set(version: Version) -> Schema {
    let count = int32().min(0).default(1);
    const COUNT_DOC: &str = "How many pods there are.";
    let pod_set = object()
        .field("name", string().dns1123_label().default("main"), "The name of the pod set, different from the others'.")
        .required("template", pod_template(), "What each pod is like.")
        .field(
            "minCount",
            int32().min(1),
            "The number of pods that the job can also do with: when all do not fit it is admitted with as many as do, but \
             not fewer (partial admission). At most one pod set may have it.",
        )
        .field("topologyRequest", topology_request(version), "How near to each other the pods have to be.")
        .rule(Rule::new(
            "!has(self.minCount) || self.minCount <= self.count",
            "minCount should be positive and less or equal to count",
        ));
    if version < Version::V1Beta2 {
        pod_set.required("count", count, COUNT_DOC)
    } else {
        pod_set.field("count", count, COUNT_DOC)
    }
}

fn topology_request(version: Version) -> Schema {
    let level = || string().max_len(63);
    object()
        .field(
            "required",
            level(),
            "The node label of the level inside one domain of which all pods must be, such as \
             cloud.provider.com/topology-rack. The job waits until that is possible.",
        )
        .field("preferred", level(), "Like required, but when one domain is too small, more or wider ones are taken.")
        .field("unconstrained", boolean(), "true: anywhere will do, yet capacity is checked node by node.")
        .field(
            "podIndexLabel",
            string().max_len(LABEL_KEY_LENGTH),
            "The pod label that holds a pod's index in its group, by which pods are given their places in order.",
        )
        .field(
            "subGroupIndexLabel",
            string().max_len(LABEL_KEY_LENGTH),
            "The pod label that holds the index of the pod's group, for pod sets made of several equal groups.",
        )
        .field("subGroupCount", int32().min(0), "How many equal groups the pod set is made of.")
        .field(
            "podSetGroupName",
            string().max_len(256),
            "Pod sets with the same group name get the same flavor and are placed in the same domain.",
        )
        .field(
            "podSetSliceRequiredTopology",
            level(),
            "The node label of the level inside one domain of which the pods of each slice must be. Needs podSetSliceSize.",
        )
        .field("podSetSliceSize", int32().min(1), "How many pods a slice has. Needs podSetSliceRequiredTopology.")
        .when(version >= Version::V1Beta2, |request| {
            request.field(
                "podsetSliceRequiredTopologyConstraints",
                slice_constraints(),
                "Slices within slices, the widest first, when one layer is not enough.",
            )
        })
        .rule(
            Rule::new(
                "!has(self.podSetSliceRequiredTopology) || has(self.podSetSliceSize)",
                "must be set when podSetSliceRequiredTopology is specified",
            )
            .at(".podSetSliceSize"),
        )
        .rule(
            Rule::new(
                "!has(self.podSetSliceSize) || has(self.podSetSliceRequiredTopology)",
                "may not be set when podSetSliceRequiredTopology is not specified",
            )
            .at(".podSetSliceSize"),
        )
}

fn slice_constraints() -> Schema {
    let constraint = object()
        .required(
            "topology",
            string().min_len(1).max_len(63),
            "The node label of the level inside one domain of which a slice of this layer must be.",
        )
        .required("size", int32().min(1), "How many pods a slice of this layer has.");
    list(constraint, 3).atomic_list()
}

fn preemption_gates() -> Schema {
    let gate = object().required(
        "name",
        string().min_len(1).max_len(63),
        "The name of the gate, such as kueue.x-k8s.io/multikueue.",
    );
    list(gate, 8).keyed_by(&["name"])
}
