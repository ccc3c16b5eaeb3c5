//! Role-based access: which rules a user has been given, and whether one of them allows what they want.
//!
//! Roles and bindings are read from the store once and then followed change by change, so that a check looks only at the
//! bindings of the user and of their groups.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard};

use super::attributes::{Attributes, Wanted};
use super::{Account, Decision, User};
use crate::json::Value;
use crate::kinds::text_at;
use crate::store::{Key, Listener, Object, Store};

mod rule;

pub use rule::Rule;

pub const GROUP: &str = "rbac.authorization.k8s.io";
pub const CLUSTER_ROLES: &str = "clusterroles.rbac.authorization.k8s.io";
pub const ROLES: &str = "roles.rbac.authorization.k8s.io";
pub const CLUSTER_BINDINGS: &str = "clusterrolebindings.rbac.authorization.k8s.io";
pub const BINDINGS: &str = "rolebindings.rbac.authorization.k8s.io";

/// The authorizer: what it knows, and how far it has followed the store.
#[derive(Debug)]
pub struct Rbac(Mutex<Known>);

#[derive(Debug)]
struct Known {
    followed: [Followed; 4],
    grants: Grants,
}

#[derive(Debug)]
struct Followed {
    collection: &'static str,
    /// The last change that is known.
    revision: u64,
    signal: Listener,
}

/// Roles and bindings. Those of the cluster have no namespace; that tells both kinds of each apart.
#[derive(Debug, Default)]
pub struct Grants {
    roles: BTreeMap<Key, Vec<Rule>>,
    bindings: BTreeMap<Key, Binding>,
    /// Which bindings name a user or a group.
    by_subject: HashMap<Subject, BTreeSet<Key>>,
}

#[derive(Debug, Clone)]
struct Binding {
    role: RoleRef,
    /// `ClusterRole "view"`, as reasons show it.
    shown: String,
    /// Each with how reasons show it.
    subjects: Vec<(Subject, String)>,
}

/// What a binding refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRef {
    pub kind: String,
    pub name: String,
}

/// Whom a binding is for. An account is a user of its own name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    User(String),
    Group(String),
}

/// A rule and how it came to a user, or a role that a binding names in vain.
#[derive(Debug)]
pub enum Grant<'a> {
    Rule { rule: &'a Rule, key: &'a Key, binding: &'a str, subject: &'a str },
    Missing(String),
}

impl Rbac {
    pub fn new(store: &Store) -> Self {
        let followed = [CLUSTER_ROLES, ROLES, CLUSTER_BINDINGS, BINDINGS].map(|collection| Followed {
            collection,
            revision: 0,
            signal: store.signal(collection).from_the_start(),
        });
        Self(Mutex::new(Known { followed, grants: Grants::default() }))
    }

    fn up_to_date(&self, store: &Store) -> MutexGuard<'_, Known> {
        let mut known = self.0.lock().expect("nobody panics with the rules");
        known.follow(store);
        known
    }

    pub fn decide(&self, store: &Store, user: &User, wanted: &Attributes) -> Decision {
        self.up_to_date(store).grants.decide(user, wanted)
    }

    /// Every rule that a user has in a namespace, and what could not be resolved.
    pub fn rules_of(&self, store: &Store, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
        let known = self.up_to_date(store);
        let (mut rules, mut missing) = (Vec::new(), Vec::new());
        known.grants.visit(user, namespace, |grant| {
            match grant {
                Grant::Rule { rule, .. } => rules.push(rule.clone()),
                Grant::Missing(why) => missing.push(why),
            }
            ControlFlow::Continue(())
        });
        (rules, missing)
    }

    /// The rules of a role that a binding in the namespace refers to.
    pub fn rules_of_role(&self, store: &Store, role: &RoleRef, namespace: &str) -> Option<Vec<Rule>> {
        self.up_to_date(store).grants.roles.get(&role.key(namespace)).cloned()
    }
}

impl Known {
    fn follow(&mut self, store: &Store) {
        for followed in &mut self.followed {
            if !followed.signal.has_changed() {
                continue;
            }
            let collection = followed.collection;
            let is_new = followed.revision == 0;
            match store.changes_after(collection, followed.revision) {
                Ok(changes) if !is_new => {
                    for change in changes {
                        self.grants.set(collection, &change.key, change.new.as_deref());
                        followed.revision = change.revision;
                    }
                }
                // Too much happened since: read everything again.
                _ => {
                    self.grants.forget(collection);
                    let Ok(found) = store.list(collection, "", None) else { continue };
                    for (key, object) in &found.objects {
                        self.grants.set(collection, key, Some(object));
                    }
                    followed.revision = found.revision;
                }
            }
        }
    }
}

impl RoleRef {
    /// A role lies in the namespace of its binding, a role of the cluster in none.
    fn key(&self, namespace: &str) -> Key {
        Key::new(if self.kind == "Role" { namespace } else { "" }, self.name.as_str())
    }

    fn missing(&self) -> String {
        match self.kind.as_str() {
            "Role" | "ClusterRole" => format!("{}.{GROUP} \"{}\" not found", self.kind.to_lowercase(), self.name),
            other => format!("unsupported role reference kind: \"{other}\""),
        }
    }

    pub fn of(binding: &Value) -> Self {
        let text = |name: &str| text_at(binding, &["roleRef", name]).to_owned();
        Self { kind: text("kind"), name: text("name") }
    }
}

impl Grants {
    fn set(&mut self, collection: &str, key: &Key, object: Option<&Object>) {
        match collection {
            CLUSTER_ROLES | ROLES => {
                self.roles.remove(key);
                if let Some(object) = object {
                    self.roles.insert(key.clone(), Rule::list(&object.value["rules"]));
                }
            }
            _ => {
                if let Some(old) = self.bindings.remove(key) {
                    for (subject, _) in old.subjects {
                        if let Some(keys) = self.by_subject.get_mut(&subject) {
                            keys.remove(key);
                        }
                    }
                    self.by_subject.retain(|_, keys| !keys.is_empty());
                }
                if let Some(object) = object {
                    let binding = Binding::of(&object.value, &key.namespace);
                    for (subject, _) in &binding.subjects {
                        self.by_subject.entry(subject.clone()).or_default().insert(key.clone());
                    }
                    self.bindings.insert(key.clone(), binding);
                }
            }
        }
    }

    /// Drops all of one collection.
    fn forget(&mut self, collection: &str) {
        let is_of_cluster = matches!(collection, CLUSTER_ROLES | CLUSTER_BINDINGS);
        let is_its = |key: &Key| key.namespace.is_empty() == is_of_cluster;
        let keys: Vec<Key> = match collection {
            CLUSTER_ROLES | ROLES => self.roles.keys().filter(|key| is_its(key)).cloned().collect(),
            _ => self.bindings.keys().filter(|key| is_its(key)).cloned().collect(),
        };
        for key in keys {
            self.set(collection, &key, None);
        }
    }

    fn decide(&self, user: &User, wanted: &Attributes) -> Decision {
        let namespace = match &wanted.what {
            Wanted::Resource(place) => place.namespace.as_str(),
            Wanted::Path(_) => "",
        };
        let mut decision = Decision { is_allowed: false, reason: String::new() };
        let mut missing: Vec<String> = Vec::new();
        self.visit(user, namespace, |grant| match grant {
            Grant::Rule { rule, key, binding, subject } if rule.allows(wanted) => {
                let (kind, name) = match key.namespace.as_str() {
                    "" => ("ClusterRoleBinding", key.name.clone()),
                    namespace => ("RoleBinding", format!("{}/{namespace}", key.name)),
                };
                let reason = format!("RBAC: allowed by {kind} \"{name}\" of {binding} to {subject}");
                decision = Decision { is_allowed: true, reason };
                ControlFlow::Break(())
            }
            Grant::Rule { .. } => ControlFlow::Continue(()),
            Grant::Missing(why) => {
                if !missing.contains(&why) {
                    missing.push(why);
                }
                ControlFlow::Continue(())
            }
        });
        if !decision.is_allowed && !missing.is_empty() {
            decision.reason = match missing.as_slice() {
                [one] => format!("RBAC: {one}"),
                several => format!("RBAC: [{}]", several.join(", ")),
            };
        }
        decision
    }

    /// Shows every rule that a user has: those for the whole cluster first, then those of the namespace.
    fn visit<'a>(&'a self, user: &User, namespace: &str, mut see: impl FnMut(Grant<'a>) -> ControlFlow<()>) {
        let mut subjects = vec![Subject::User(user.name.clone())];
        subjects.extend(user.groups.iter().cloned().map(Subject::Group));
        let keys: BTreeSet<&Key> = subjects
            .iter()
            .filter_map(|subject| self.by_subject.get(subject))
            .flatten()
            .filter(|key| key.namespace.is_empty() || key.namespace == namespace)
            .collect();
        for key in keys {
            let Some(binding) = self.bindings.get(key) else { continue };
            let found = binding.subjects.iter().find(|(subject, _)| subjects.contains(subject));
            let Some((_, subject)) = found else { continue };
            let Some(rules) = self.roles.get(&binding.role.key(&key.namespace)) else {
                if see(Grant::Missing(binding.role.missing())).is_break() {
                    return;
                }
                continue;
            };
            let shown = &binding.shown;
            for rule in rules {
                if see(Grant::Rule { rule, key, binding: shown, subject }).is_break() {
                    return;
                }
            }
        }
    }
}

impl Binding {
    fn of(value: &Value, namespace: &str) -> Self {
        let subject = |subject: &Value| {
            let text = |name: &str| text_at(subject, &[name]);
            let (kind, name) = (text("kind"), text("name"));
            match kind {
                "User" => Some((Subject::User(name.to_owned()), format!("User \"{name}\""))),
                "Group" => Some((Subject::Group(name.to_owned()), format!("Group \"{name}\""))),
                "ServiceAccount" => {
                    let own = text("namespace");
                    let namespace = if own.is_empty() { namespace } else { own };
                    let account = Account { namespace, name };
                    let shown = format!("ServiceAccount \"{name}/{namespace}\"");
                    (!namespace.is_empty()).then(|| (Subject::User(account.user_name()), shown))
                }
                _ => None,
            }
        };
        let subjects = value["subjects"].as_array().into_iter().flatten().filter_map(subject).collect();
        let role = RoleRef::of(value);
        let shown = format!("{} \"{}\"", role.kind, role.name);
        Self { role, shown, subjects }
    }
}

#[cfg(test)]
mod tests;
