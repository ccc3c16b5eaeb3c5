//! The nodes of a pretend cluster, from a small file: groups of alike machines with capacity, labels and taints.
//!
//! ```yaml
//! - name: rack-a
//!   count: 2
//!   capacity: {cpu: "32", memory: 256Gi, pods: "110", example.com/gpu: "8"}
//!   labels: {cloud.example.com/rack: a}
//!   taints: [{key: example.com/gpu, effect: NoSchedule}]
//! ```

use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How many nodes one group may have: more is a slip of the pen.
const COUNT_MAX: u32 = 100_000;

/// Alike nodes, named `NAME-1` to `NAME-COUNT`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGroup {
    pub name: String,
    #[serde(default = "one")]
    pub count: u32,
    /// Resources, extended ones too, as both capacity and allocatable.
    pub capacity: BTreeMap<String, String>,
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    #[serde(default)]
    pub taints: Vec<Value>,
}

fn one() -> u32 {
    1
}

/// The groups of a file, or what is wrong with it.
pub fn parse(text: &str) -> Result<Vec<NodeGroup>, String> {
    let groups: Vec<NodeGroup> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    groups.iter().try_for_each(NodeGroup::check)?;
    Ok(groups)
}

/// The manifests of all nodes of a file, or what is wrong with it.
pub fn nodes(text: &str) -> Result<Vec<Value>, String> {
    Ok(parse(text)?.iter().flat_map(NodeGroup::objects).collect())
}

impl NodeGroup {
    fn check(&self) -> Result<(), String> {
        let Self { name, count, capacity, .. } = self;
        if *count > COUNT_MAX {
            return Err(format!("group {name}: {count} nodes are more than {COUNT_MAX}"));
        }
        match capacity.iter().find(|(_, amount)| amount.parse::<Quantity>().is_err()) {
            Some((resource, amount)) => {
                Err(format!("group {name}: {resource}: {amount:?} is no quantity such as 256Gi"))
            }
            None => Ok(()),
        }
    }

    /// The nodes of this group.
    pub fn objects(&self) -> impl Iterator<Item = Value> + '_ {
        (1..=self.count).map(|number| {
            let name = format!("{}-{number}", self.name);
            let mut labels = self.labels.clone();
            labels.entry("kubernetes.io/hostname".to_owned()).or_insert_with(|| name.clone());
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {"taints": self.taints},
                "status": {"capacity": self.capacity, "allocatable": self.capacity},
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_gives_what_it_has_to_every_node() {
        let text = "
- name: rack-a
  count: 2
  capacity: {cpu: '4'}
  labels: {cloud.example.com/rack: a}
  taints: [{key: gpu, effect: NoSchedule}]
- {name: b, capacity: {}}";
        let nodes = nodes(text).unwrap();
        let names: Vec<&Value> =
            nodes.iter().map(|node| &node["metadata"]["labels"]["kubernetes.io/hostname"]).collect();
        assert_eq!(names, ["rack-a-1", "rack-a-2", "b-1"]);
        assert_eq!(nodes[1]["metadata"]["labels"]["cloud.example.com/rack"], "a");
        assert_eq!(nodes[1]["spec"]["taints"][0]["key"], "gpu");
        assert_eq!(nodes[1]["status"]["allocatable"]["cpu"], "4");
    }

    #[test]
    fn a_wrong_file_is_told() {
        for (text, told) in [
            ("- {name: a}", "capacity"),
            ("nodes: 3", "sequence"),
            ("- {name: a, capacity: {}, cpus: 4}", "cpus"),
            ("- {name: a, capacity: {memory: much}}", "group a: memory: \"much\" is no quantity such as 256Gi"),
            ("- {name: a, capacity: {}, count: 1000000}", "group a: 1000000 nodes are more than 100000"),
        ] {
            let problem = nodes(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
    }
}
