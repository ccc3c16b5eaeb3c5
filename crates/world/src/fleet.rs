//! The nodes of a world, from a small file: groups of alike machines, written as the test bed's `nodes.yaml` is.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// How many nodes one group may have: more is a slip of the pen.
const COUNT_MAX: u32 = 100_000;

/// Alike nodes, named `NAME-1` to `NAME-COUNT`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    name: String,
    #[serde(default = "one")]
    count: u32,
    capacity: BTreeMap<String, String>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    taints: Vec<Value>,
}

fn one() -> u32 {
    1
}

/// The manifests of all nodes of a file, or what is wrong with it.
pub fn nodes(text: &str) -> Result<Vec<Value>, String> {
    let groups: Vec<Group> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    if let Some(group) = groups.iter().find(|group| group.count > COUNT_MAX) {
        return Err(format!("group {}: {} nodes are more than {COUNT_MAX}", group.name, group.count));
    }
    Ok(groups.iter().flat_map(manifests).collect())
}

fn manifests(group: &Group) -> impl Iterator<Item = Value> {
    (1..=group.count).map(|number| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("{}-{number}", group.name), "labels": group.labels},
            "spec": {"taints": group.taints},
            "status": {"capacity": group.capacity},
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_becomes_so_many_nodes() {
        let nodes =
            nodes("- {name: a, count: 2, capacity: {cpu: '4'}, labels: {rack: x}}\n- {name: b, capacity: {}}").unwrap();
        let names: Vec<&str> = nodes.iter().filter_map(|node| node["metadata"]["name"].as_str()).collect();
        assert_eq!(names, ["a-1", "a-2", "b-1"]);
        assert_eq!(
            (&nodes[1]["status"]["capacity"]["cpu"], &nodes[1]["metadata"]["labels"]["rack"]),
            (&json!("4"), &json!("x"))
        );
    }

    #[test]
    fn a_wrong_file_is_told() {
        for (text, told) in [
            ("- {name: a}", "capacity"),
            ("- {name: a, capacity: {}, cpus: 4}", "cpus"),
            ("- {name: a, capacity: {}, count: 1000000}", "group a: 1000000 nodes are more than 100000"),
        ] {
            let problem = nodes(text).unwrap_err();
            assert!(problem.contains(told), "{text}: {problem}");
        }
    }
}
