//! The nodes of a control plane, from a small file: groups of alike machines with capacity, labels and taints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::problem::{Problem, Result};

/// The file in the repository that a bed starts with unless told otherwise.
pub const DEFAULT: &str = include_str!("../../../testbed/nodes.yaml");

/// How many nodes one group may have: more is a slip of the pen, not a test on one machine.
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

/// Reads a file of node groups.
pub fn parse(text: &str) -> Result<Vec<NodeGroup>> {
    let wrong = |what: String| Problem::new(what).next("write it like testbed/nodes.yaml in the repository");
    let groups: Vec<NodeGroup> =
        serde_saphyr::from_str(text).map_err(|error| wrong(format!("the node file cannot be read: {error}")))?;
    match groups.iter().find(|group| group.count > COUNT_MAX) {
        Some(group) => Err(wrong(format!("node group {}: {} nodes, at most {COUNT_MAX}", group.name, group.count))),
        None => Ok(groups),
    }
}

impl NodeGroup {
    /// The Node objects of this group.
    pub fn objects(&self) -> impl Iterator<Item = Value> + '_ {
        (1..=self.count).map(|number| {
            let name = format!("{}-{number}", self.name);
            let mut labels = self.labels.clone();
            labels.entry("kubernetes.io/hostname".to_string()).or_insert_with(|| name.clone());
            json!({
                "apiVersion": "v1",
                "kind": "Node",
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
    fn the_default_file_makes_one_node() {
        let groups = parse(DEFAULT).unwrap();
        let nodes: Vec<Value> = groups.iter().flat_map(NodeGroup::objects).collect();
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0]["metadata"]["name"], "pretend-1");
        assert_eq!(nodes[0]["status"]["allocatable"]["example.com/gpu"], "8");
    }

    #[test]
    fn a_group_gives_its_labels_and_taints_to_every_node() {
        let text = "
- name: rack-a
  count: 2
  capacity: {cpu: '4'}
  labels: {cloud.example.com/rack: a}
  taints: [{key: gpu, effect: NoSchedule}]";
        let nodes: Vec<Value> = parse(text).unwrap().iter().flat_map(NodeGroup::objects).collect();
        let names: Vec<&Value> =
            nodes.iter().map(|node| &node["metadata"]["labels"]["kubernetes.io/hostname"]).collect();
        assert_eq!(names, ["rack-a-1", "rack-a-2"]);
        assert_eq!(nodes[1]["metadata"]["labels"]["cloud.example.com/rack"], "a");
        assert_eq!(nodes[1]["spec"]["taints"][0]["key"], "gpu");
    }

    #[test]
    fn a_wrong_file_is_told_with_an_example() {
        for text in [
            "- name: a",
            "nodes: 3",
            "- {name: a, capacity: {}, cpus: 4}",
            "- {name: a, capacity: {}, count: 99999999}",
        ] {
            let problem = parse(text).unwrap_err().to_string();
            assert!(problem.contains("testbed/nodes.yaml"), "{text}: {problem}");
        }
    }
}
