//! What every cluster has from the start.

use serde_json::json;

use crate::rest::service::Server;
use crate::store::Key;

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
        self.bootstrap_policy();
        for resource in self.registry().all() {
            self.store.open(&resource.storage);
        }
    }
}
