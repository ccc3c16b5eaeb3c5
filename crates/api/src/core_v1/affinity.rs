//! The node affinity of a pod: which nodes it must or would like to run on.

view! {
    /// Scheduling constraints of a pod; Kueue reads only those about nodes.
    pub struct Affinity {
        "nodeAffinity" => pub node_affinity: Option<NodeAffinity>,
    }

    pub struct NodeAffinity {
        /// Must hold.
        "requiredDuringSchedulingIgnoredDuringExecution" => pub required: Option<NodeSelector>,
        /// Each term that holds adds its weight.
        "preferredDuringSchedulingIgnoredDuringExecution" => pub preferred: Vec<PreferredSchedulingTerm>,
    }

    /// Holds when any of its terms does.
    pub struct NodeSelector {
        "nodeSelectorTerms" => pub terms: Vec<NodeSelectorTerm>,
    }

    /// Holds when all of its requirements do; an empty term never does.
    pub struct NodeSelectorTerm {
        /// About the node's labels.
        "matchExpressions" => pub match_expressions: Vec<NodeSelectorRequirement>,
        /// About the node's fields.
        "matchFields" => pub match_fields: Vec<NodeSelectorRequirement>,
    }

    pub struct NodeSelectorRequirement {
        "key" => pub key: String,
        /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt` or `Lt`.
        "operator" => pub operator: String,
        "values" => pub values: Vec<String>,
    }

    pub struct PreferredSchedulingTerm {
        "weight" => pub weight: i32,
        "preference" => pub preference: NodeSelectorTerm,
    }
}
