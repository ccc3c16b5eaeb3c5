//! The roles and bindings that a cluster has from the start, and roles that gather the rules of others.

use std::collections::BTreeMap;

use kueue_core::selector::LabelSelector;

use super::rbac::{CLUSTER_ROLES, GROUP};
use crate::json::Value;
use crate::kinds::{storage, text_at};
use crate::meta::strings;
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

    /// Gives roles that gather others the rules of those that they select, as a controller of a cluster does.
    pub fn aggregate_roles(&self) {
        let roles = self.store.list(CLUSTER_ROLES, "", None).map(|found| found.objects).unwrap_or_default();
        let labels: Vec<BTreeMap<String, String>> =
            roles.iter().map(|(_, role)| strings(&role.value["metadata"]["labels"])).collect();
        for (key, role) in &roles {
            let selectors = role.value["aggregationRule"]["clusterRoleSelectors"].as_array();
            let Some(selectors) = selectors else { continue };
            let selectors: Vec<LabelSelector> = selectors
                .iter()
                .map(|selector| crate::json::read::<LabelSelector>(selector).unwrap_or_default())
                .collect();
            let mut rules: Vec<Value> = Vec::new();
            for ((other, source), labels) in roles.iter().zip(&labels) {
                if other == key || !selectors.iter().any(|selector| selector.matches(labels)) {
                    continue;
                }
                for rule in source.value["rules"].as_array().into_iter().flatten() {
                    if !rules.contains(rule) {
                        rules.push(rule.clone());
                    }
                }
            }
            if role.value["rules"].as_array().map(Vec::as_slice).unwrap_or_default() != rules {
                let mut value = role.value.clone();
                value["rules"] = rules.into();
                // Whoever was faster is noticed like any other change.
                let _ = self.store.update(CLUSTER_ROLES, key.clone(), role, value);
            }
        }
    }
}
