//! Nodes as a cloud would bring them.

use kueue_api::autoscaling::ProvisioningRequest;
use kueue_core::resource_list::{self, Keep, ResourceList};
use serde_json::json;

use crate::behaviour::Defaults;
use crate::kinds::{Node, Pod};
use crate::node::pretended;

/// Names the request that a node was brought for: namespace and name.
const REQUEST: &str = "world.kueue.x-k8s.io/provisioned-for";

/// The request that a node was brought for.
pub(super) fn request_of(node: &Node) -> Option<String> {
    node.metadata.annotations.get(REQUEST).cloned()
}

/// One machine for each pod, as large as the pod and a little more, with the labels that it looks for.
pub(super) fn machines(request: &ProvisioningRequest, pods: &[Pod], defaults: &Defaults) -> Vec<Node> {
    let machine = |(number, pod): (usize, &Pod)| {
        let meta = &request.metadata;
        let name = format!("autoscaled-{:08x}-{number}", hash(&meta.uid));
        let capacity = capacity(pod);
        let node = json!({
            "metadata": {"name": name, "labels": pod.spec.node_selector,
                "annotations": {(REQUEST): format!("{}/{}", meta.namespace, meta.name)}},
            "status": {"capacity": capacity, "allocatable": capacity},
        });
        pretended(node, defaults)
    };
    pods.iter().enumerate().map(machine).collect()
}

/// Names of requests are long, and a node's is the value of a label too.
fn hash(uid: &str) -> u32 {
    uid.bytes().fold(0x811c_9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn capacity(pod: &Pod) -> ResourceList {
    let mut sum = ResourceList::new();
    for container in &pod.spec.containers {
        let mut asked = container.resources.requests.clone();
        resource_list::merge(&mut asked, &container.resources.limits, Keep::First);
        resource_list::merge(&mut sum, &asked, Keep::Sum);
    }
    let little: ResourceList = [("cpu", "1"), ("memory", "1Gi"), ("pods", "110")]
        .into_iter()
        .filter_map(|(name, quantity)| Some((name.to_owned(), quantity.parse().ok()?)))
        .collect();
    resource_list::merge(&mut sum, &little, Keep::Sum);
    sum
}
