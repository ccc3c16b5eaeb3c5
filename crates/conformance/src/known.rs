//! Where a recorded case shows what we do otherwise on purpose: recognised by what it expects, never by its name.
//! Each has its line in `docs/compat.md`.

use serde_json::Value;

use crate::corpus::Case;

/// What a variant is told whose better sibling runs. Kueue sends it back to the head of its queue, we let it step aside.
pub(crate) const SIBLING_ADMITTED: &str = "A more favorable variant is already admitted";
/// Why a recording with that message may differ.
pub(crate) const STEPS_ASIDE: &str = "a variant whose better sibling runs steps aside instead of holding up its queue";

/// Why a recording of a ClusterQueue that the API server has not completed may differ.
const NEVER_BY_DEFAULT: &str = "a missing reclaimWithinCohort is Never, as the API server fills it in";

/// Why a recording with a selector of pods may differ.
const NO_POD_SELECTOR: &str = "pods are not selected by their labels, which no configuration can ask for any more";
/// Why a recording in which Kueue waits for its own writes may differ.
const SEEN_IS_SEEN: &str = "a pod that is seen without its gate is not waited for any more";

/// Why a recording of a node may differ.
const NO_PLACE_DEPENDS_ON_IT: &str =
    "annotations of a node, its conditions but Ready, and since when it has a taint, wake nobody";

/// Why the case may have another outcome than the recorded one, if it may.
pub(crate) fn difference(case: &Case) -> Option<&'static str> {
    if case.row().to_string().contains(SIBLING_ADMITTED) {
        return Some(STEPS_ASIDE);
    }
    if case.has("podSelector.matchExpressions") {
        return Some(NO_POD_SELECTOR);
    }
    if case.has("expectUIDs") {
        return Some(SEEN_IS_SEEN);
    }
    if case.has("oldNode") && bare(case.raw("oldNode")) == bare(case.raw("newNode")) {
        return Some(NO_PLACE_DEPENDS_ON_IT);
    }
    (case.raw("enableFairSharing") == true && has_incomplete_preemption(case)).then_some(NEVER_BY_DEFAULT)
}

fn has_incomplete_preemption(case: &Case) -> bool {
    let queues = case.raw("additionalClusterQueues").as_array().into_iter().flatten();
    let preemption = |queue: &'_ Value| queue["spec"]["preemption"].as_object().cloned();
    queues.filter_map(preemption).any(|preemption| !preemption.contains_key("reclaimWithinCohort"))
}

/// A node without what no placement depends on.
fn bare(node: &Value) -> Value {
    let mut node = node.clone();
    node["metadata"]["annotations"] = Value::Null;
    node["metadata"]["resourceVersion"] = Value::Null;
    let conditions = node["status"]["conditions"].take();
    let ready = conditions.as_array().and_then(|all| all.iter().find(|condition| condition["type"] == "Ready"));
    node["status"]["conditions"] = ready.map_or(Value::Null, |ready| ready["status"].clone());
    for taint in node["spec"]["taints"].as_array_mut().into_iter().flatten() {
        taint["timeAdded"] = Value::Null;
    }
    node
}
