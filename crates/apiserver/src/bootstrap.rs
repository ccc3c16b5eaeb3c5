//! What every cluster has from the start.

use crate::json::json;
use crate::rest::service::Server;
use crate::store::Key;

/// Classes that pods of the system use, with their values and what they are for.
const PRIORITY_CLASSES: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
];
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

impl Server {
    /// Fills an empty store.
    pub fn bootstrap(&self) {
        for name in NAMESPACES {
            let namespace = json!({
                "metadata": {
                    "name": name, "uid": self.random.uid(), "creationTimestamp": self.clock.time().to_string(),
                    "labels": {"kubernetes.io/metadata.name": name},
                },
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
            });
            self.store.create("namespaces", Key::new("", name), namespace).expect("the store is empty");
        }
        for (name, value, description) in PRIORITY_CLASSES {
            let class = json!({
                "metadata": {
                    "name": name, "uid": self.random.uid(), "creationTimestamp": self.clock.time().to_string(),
                    "generation": 1,
                },
                "value": value, "description": description, "preemptionPolicy": "PreemptLowerPriority",
            });
            let place = "priorityclasses.scheduling.k8s.io";
            self.store.create(place, Key::new("", name), class).expect("the store is empty");
        }
        self.bootstrap_policy();
        self.bootstrap_api_services();
        for resource in self.registry().all() {
            self.store.open(&resource.storage);
        }
    }
}
