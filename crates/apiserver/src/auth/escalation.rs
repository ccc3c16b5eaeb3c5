//! Nobody hands out rights that they do not have: the check before a role or a binding is written.

use std::collections::{BTreeMap, BTreeSet};

use super::attributes::{Attributes, Place};
use super::rbac::{GROUP, RoleRef, Rule};
use crate::json::Value;
use crate::kinds::Resource;
use crate::rest::service::{Call, Server};
use crate::status::{About, Result, Status};

impl Server {
    /// Refuses a role or a binding that would give more than its writer has. `old` is what stands there.
    pub fn check_escalation(&self, call: &Call, resource: &Resource, new: &Value, old: Option<&Value>) -> Result<()> {
        if resource.group != GROUP || call.user.is_master() || old.is_some_and(|old| changes_owners_only(new, old)) {
            return Ok(());
        }
        let namespace = call.path.namespace.as_str();
        let name = new["metadata"]["name"].as_str().unwrap_or_default();
        let refuse = |why: String| Status::forbidden(About { group: GROUP, kind: &resource.plural, name }, &why);
        let place = |resource: &str, name: &str| Place {
            group: GROUP.into(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            ..Place::default()
        };
        if resource.plural.ends_with("roles") {
            let escalate = Attributes::resource("escalate", place(&resource.plural, &call.path.name));
            if self.decide(&call.user, &escalate).is_allowed {
                return Ok(());
            }
            self.check_rules(call, &Rule::list(&new["rules"])).map_err(refuse)?;
            // What a selector gathers is not known yet.
            if aggregates(new) || old.is_some_and(aggregates) {
                let why = |_| refuse("must have cluster-admin privileges to use the aggregationRule".into());
                self.check_rules(call, &Rule::all()).map_err(why)?;
            }
            return Ok(());
        }
        let role = RoleRef::of(new);
        let roles = match role.kind.as_str() {
            "Role" => "roles",
            "ClusterRole" => "clusterroles",
            other => return Err(Status::internal(format!("unsupported role reference kind: \"{other}\""))),
        };
        if self.decide(&call.user, &Attributes::resource("bind", place(roles, &role.name))).is_allowed {
            return Ok(());
        }
        let rules = self.rbac.rules_of_role(&self.store, &role, namespace);
        // A real server blames the resource that is written for the role that is not there.
        let missing = || Status::not_found(About { group: GROUP, kind: &resource.plural, name: &role.name });
        self.check_rules(call, &rules.ok_or_else(missing)?).map_err(refuse)
    }

    /// Whether the user has all these rights; otherwise, which of them they lack.
    fn check_rules(&self, call: &Call, rules: &[Rule]) -> std::result::Result<(), String> {
        let (own, missing) = self.rbac.rules_of(&self.store, &call.user, &call.path.namespace);
        let lacking = lacking(&own, rules);
        if lacking.is_empty() {
            return Ok(());
        }
        let user = &call.user;
        let groups: Vec<String> = user.groups.iter().map(|group| format!("{group:?}")).collect();
        let mut why = format!(
            "user {:?} (groups=[{}]) is attempting to grant RBAC permissions not currently held:\n{}",
            user.name,
            groups.join(" "),
            lacking.join("\n")
        );
        if !missing.is_empty() {
            why.push_str(&format!("; resolution errors: [{}]", missing.join(" ")));
        }
        Err(why)
    }
}

/// What the collector must be able to write on any object, whoever it belongs to.
fn changes_owners_only(new: &Value, old: &Value) -> bool {
    let rest = |object: &Value| {
        let mut rest = object.clone();
        if let Some(metadata) = rest["metadata"].as_object_mut() {
            for name in ["ownerReferences", "finalizers", "managedFields", "resourceVersion"] {
                metadata.remove(name);
            }
        }
        rest
    };
    rest(new) == rest(old)
}

fn aggregates(role: &Value) -> bool {
    role["aggregationRule"]["clusterRoleSelectors"].as_array().is_some_and(|selectors| !selectors.is_empty())
}

/// The wanted rights that no own rule covers: those that differ only in their verb in one line, lines in order.
fn lacking(own: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let parts = wanted.iter().flat_map(Rule::broken_down);
    let mut shown: BTreeSet<String> = BTreeSet::new();
    let mut merged: BTreeMap<(String, String, String), Rule> = BTreeMap::new();
    for part in parts.filter(|part| !own.iter().any(|rule| rule.covers(part))) {
        if !part.urls.is_empty() {
            shown.insert(part.compact());
            continue;
        }
        let key = (part.api_groups.join(""), part.resources.join(""), part.resource_names.join(""));
        match merged.get_mut(&key) {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => {
                merged.insert(key, part);
            }
        }
    }
    shown.extend(merged.values().map(Rule::compact));
    shown.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn rights_that_are_not_held_are_listed_by_resource() {
        let own = Rule::list(&json!([
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
            {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["*"]},
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]},
            {"nonResourceURLs": ["/x/*"], "verbs": ["get"]},
        ]));
        let cases = [
            (json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}), vec![]),
            (
                json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}),
                vec!["{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\" \"watch\"]}"],
            ),
            (json!({"apiGroups": ["apps"], "resources": ["deployments/scale"], "verbs": ["get"]}), vec![]),
            (
                json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}),
                vec!["{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\"]}"],
            ),
            (json!({"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a"], "verbs": ["get"]}), vec![]),
            (json!({"nonResourceURLs": ["/x/y"], "verbs": ["get"]}), vec![]),
            (
                json!({"nonResourceURLs": ["/y"], "verbs": ["get", "put"]}),
                vec!["{NonResourceURLs:[\"/y\"], Verbs:[\"get\"]}", "{NonResourceURLs:[\"/y\"], Verbs:[\"put\"]}"],
            ),
        ];
        for (wanted, expected) in cases {
            assert_eq!(lacking(&own, &Rule::list(&json!([wanted]))), expected, "{wanted}");
        }
    }
}
