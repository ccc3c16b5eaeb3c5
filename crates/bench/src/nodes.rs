//! The nodes of the topology loads: a tree of equal domains above nodes that are all alike.

use std::collections::BTreeMap;

use kueue_core::time::Time;
use kueue_engine::{Change, FlavorNodes, FlavorSpec, NodeSpec, TopologyAssignment, TopologySpec};

/// The label of the level that workloads of the loads ask to stay in.
pub const RACK: &str = "cloud.example.com/rack";
const HOSTNAME: &str = "kubernetes.io/hostname";
/// What every node has.
pub const CPUS_PER_NODE: u32 = 8;
/// Resources of a node, for figures per node and resource.
pub const RESOURCES: u64 = 4;

/// How many domains are in each, from the top; the last two are racks and the nodes in them.
#[derive(Clone, Copy, Debug)]
pub struct Nodes(pub &'static [u32]);

impl Nodes {
    pub fn count(self) -> u32 {
        self.0.iter().product()
    }

    pub fn per_rack(self) -> u32 {
        self.0[self.0.len() - 1]
    }

    fn labels(self) -> Vec<String> {
        let above = self.0.len().saturating_sub(2);
        let wider = (0..above).map(|level| format!("cloud.example.com/level-{level}"));
        wider.chain([RACK.to_owned(), HOSTNAME.to_owned()]).collect()
    }

    /// The topology, and the flavor that stands for all nodes.
    pub fn topology(self) -> Vec<Change> {
        let levels = self.labels().iter().map(|label| label.as_str().into()).collect();
        let nodes = FlavorNodes { topology: Some("tree".into()), ..FlavorNodes::default() };
        vec![
            Change::Topology(TopologySpec { name: "tree".into(), levels }),
            Change::Flavor(FlavorSpec { name: "default".into(), nodes }),
        ]
    }

    /// A node as it would come from the API server: no name is shared that would not be.
    pub fn node(self, number: u32, cpus: u32) -> Change {
        let mut labels = BTreeMap::new();
        let mut below = number;
        for (fan, label) in self.0.iter().zip(self.labels()).rev() {
            let value = if label == HOSTNAME { name(number) } else { format!("domain-{below:05}") };
            labels.insert(label.as_str().into(), value.as_str().into());
            below /= fan;
        }
        Change::Node(Box::new(NodeSpec {
            name: name(number).as_str().into(),
            labels,
            allocatable: vec![
                ("cpu".into(), i64::from(cpus) * 1000),
                ("ephemeral-storage".into(), 100 << 30),
                ("memory".into(), 64 << 30),
                ("pods".into(), 110),
            ],
            ready: Some(true),
            ready_since: Time::default(),
            ..NodeSpec::default()
        }))
    }

    pub fn gone(number: u32) -> Change {
        Change::NodeGone(name(number).as_str().into())
    }

    pub fn all(self) -> Vec<Change> {
        (0..self.count()).map(|number| self.node(number, CPUS_PER_NODE)).collect()
    }
}

/// One pod on each of these nodes.
pub fn one_on_each(nodes: &[u32]) -> TopologyAssignment {
    let share = |node: &u32| kueue_engine::DomainShare { values: [name(*node).as_str().into()].into(), count: 1 };
    TopologyAssignment { levels: [HOSTNAME.into()].into(), domains: nodes.iter().map(share).collect() }
}

fn name(number: u32) -> String {
    format!("node-pool-a-{number:06}")
}
