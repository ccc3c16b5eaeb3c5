//! The nodes of a control plane: groups of alike machines, in a file as the pretend world has it.

pub use kueue_world::fleet::NodeGroup;

use crate::problem::{Problem, Result};

/// The file in the repository that a bed starts with unless told otherwise.
pub const DEFAULT: &str = include_str!("../../../testbed/nodes.yaml");

/// Reads a file of node groups.
pub fn parse(text: &str) -> Result<Vec<NodeGroup>> {
    kueue_world::fleet::parse(text).map_err(|problem| {
        Problem::new(format!("the node file cannot be read: {problem}"))
            .next("write it like testbed/nodes.yaml in the repository")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_file_makes_one_node() {
        let groups = parse(DEFAULT).unwrap();
        let nodes: Vec<serde_json::Value> = groups.iter().flat_map(NodeGroup::objects).collect();
        assert_eq!(nodes.len(), 1);
        assert_eq!(nodes[0]["metadata"]["name"], "pretend-1");
        assert_eq!(nodes[0]["status"]["allocatable"]["example.com/gpu"], "8");
    }

    #[test]
    fn a_wrong_file_is_told_with_an_example() {
        let problem = parse("- name: a").unwrap_err().to_string();
        assert!(problem.contains("testbed/nodes.yaml"), "{problem}");
    }
}
