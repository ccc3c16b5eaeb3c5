//! The roles and bindings that a cluster has from the start.

use serde_json::Value;

use super::rbac::GROUP;
use crate::kinds::{storage, text_at};
use crate::rest::service::Server;
use crate::store::Key;

/// The objects, as a real server makes them when it starts; `cargo xtask codegen --bed` writes the file.
const POLICY: &str = include_str!("../../data/policy.json");

impl Server {
    /// Gives a new cluster its roles.
    pub fn bootstrap_policy(&self) {
        let objects: Vec<Value> = serde_json::from_str(POLICY).expect("the committed policy is JSON");
        let now = self.clock.time().to_string();
        for mut object in objects {
            let kind = object.as_object_mut().and_then(|object| object.remove("kind")).unwrap_or_default();
            object["metadata"]["uid"] = self.random.uid().into();
            object["metadata"]["creationTimestamp"] = now.as_str().into();
            let text = |name: &str| text_at(&object, &["metadata", name]).to_owned();
            let key = Key::new(text("namespace"), text("name"));
            let plural = format!("{}s", kind.as_str().unwrap_or_default().to_lowercase());
            self.store.create(&storage(GROUP, &plural), key, object).expect("the store is empty");
        }
    }
}
