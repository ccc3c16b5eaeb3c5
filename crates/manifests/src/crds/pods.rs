//! Parts of a pod that our kinds mention: templates, taints, tolerations.

use crate::schema::{
    Rule, Schema, anything, int64, label_key, label_key_or_empty, label_value, list, map, object, one_of, string, time,
};

const TAINT_EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// A pod template, kept as it was written.
///
/// Spelling out a pod's schema would make the CustomResourceDefinition of Workload larger than the 262,144 bytes that an
/// annotation may have, and plain `kubectl apply` keeps the whole manifest in one. The API server would also walk
/// that schema at every status write. A template comes from an object (a Job, a pod) that the API server has
/// checked already, so nothing is lost. Of the metadata only what Kueue's schema keeps is kept.
pub(super) fn pod_template() -> Schema {
    let texts = || map(string());
    let metadata = object()
        .field("labels", texts(), "Labels of the pods.")
        .field("annotations", texts(), "Annotations of the pods.")
        .field("name", string(), "Accepted and not used: the job's controller names its pods.")
        .field("namespace", string(), "Accepted and not used: pods are created in the workload's namespace.")
        .field("finalizers", list(string(), 64), "Accepted and not used.");
    anything()
        .field("metadata", metadata, "Labels and annotations that the pods will have. Other metadata is dropped.")
        .field(
            "spec",
            anything(),
            "The specification of the pods, with the fields of a core/v1 PodSpec. It is stored as written: nothing is \
             checked or filled in. The scheduler reads requests, limits, overhead, nodeSelector, affinity, tolerations \
             and resource claims from it.",
        )
}

/// Taints of nodes.
pub(super) fn taints() -> Schema {
    let taint = object()
        .required("key", label_key(), "The key of the taint, such as nvidia.com/gpu.")
        .field("value", label_value(), "The value that belongs to the key.")
        .required(
            "effect",
            one_of(TAINT_EFFECTS),
            "What happens to pods that do not tolerate the taint: NoSchedule, PreferNoSchedule or NoExecute.",
        )
        .field("timeAdded", time(), "When the taint was added to the node. Not used here.");
    list(taint, 8).atomic_list()
}

/// Tolerations of pods, checked as the API server checks them in a pod.
pub(super) fn tolerations() -> Schema {
    let toleration = object()
        .field(
            "key",
            label_key_or_empty(),
            "The key of the taint that is tolerated. Without a key every taint is, and operator must be Exists.",
        )
        .field(
            "operator",
            one_of(&["Equal", "Exists"]),
            "Equal (the default): key and value must be those of the taint. Exists: the key is enough.",
        )
        .field("value", label_value(), "The value of the taint. Must be left out when operator is Exists.")
        .field(
            "effect",
            one_of(TAINT_EFFECTS),
            "The effect that is tolerated: NoSchedule, PreferNoSchedule or NoExecute. Without it, all of them.",
        )
        .field(
            "tolerationSeconds",
            int64(),
            "How long a running pod stays after a NoExecute taint appears. Without it, for ever.",
        )
        .rule(
            Rule::new(
                "has(self.key) && self.key != '' || has(self.operator) && self.operator == 'Exists'",
                "operator must be Exists when 'key' is empty, which means 'match all values and all keys'",
            )
            .at(".operator"),
        )
        .rule(
            Rule::new(
                "!has(self.tolerationSeconds) || has(self.effect) && self.effect == 'NoExecute'",
                "effect must be 'NoExecute' when 'tolerationSeconds' is set",
            )
            .at(".effect"),
        )
        .rule(
            Rule::new(
                "!has(self.value) || self.value == '' || !has(self.operator) || self.operator != 'Exists'",
                "a value must be empty when 'operator' is 'Exists'",
            )
            .at(".value"),
        );
    list(toleration, 8).atomic_list()
}
