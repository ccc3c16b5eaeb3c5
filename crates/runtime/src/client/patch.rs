//! Changes to an object, as requests. Whole objects are never written: a type that does not know a field would drop it.

use kueue_api::meta::Object;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::target::Query;

/// One change of one object by one field manager.
#[derive(Clone, Debug)]
pub struct Patch {
    body: Value,
    manager: &'static str,
    kind: Kind,
    subresource: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Merge,
    /// Takes over what others manage.
    Apply,
}

impl Patch {
    /// A merge patch (RFC 7386): lists are replaced as a whole, so send the version that was read along with them.
    pub fn merge(body: Value, manager: &'static str) -> Self {
        Self { body, manager, kind: Kind::Merge, subresource: "" }
    }

    /// A server-side apply that wins every conflict over fields: what the manager applied before and does not now goes.
    pub fn apply(body: Value, manager: &'static str) -> Self {
        Self { body, manager, kind: Kind::Apply, subresource: "" }
    }

    /// The merge patch that makes one object of the other, based on the version of the old one; none if they are equal.
    /// What the type of the objects does not know stays as it is.
    pub fn between<T: Object>(old: &T, new: &T, manager: &'static str) -> Option<Self> {
        let (before, after) = (serde_json::to_value(old).ok()?, serde_json::to_value(new).ok()?);
        let mut body = difference(&before, &after)?;
        body["metadata"]["resourceVersion"] = old.metadata().resource_version.clone().into();
        Some(Self::merge(body, manager))
    }

    /// The same for the status.
    pub fn of_status(self) -> Self {
        Self { subresource: "status", ..self }
    }

    /// The merge patch that makes one status of an object of the other; none if they are equal.
    pub fn of_statuses<T: Object, S: Serialize>(object: &T, old: &S, new: &S, manager: &'static str) -> Option<Self> {
        let (before, after) = (serde_json::to_value(old).ok()?, serde_json::to_value(new).ok()?);
        let status = difference(&before, &after)?;
        let body = json!({"metadata": {"resourceVersion": object.metadata().resource_version}, "status": status});
        Some(Self::merge(body, manager).of_status())
    }

    pub fn body(&self) -> &Value {
        &self.body
    }

    pub(super) fn subresource(&self) -> &'static str {
        self.subresource
    }

    pub(super) fn content_type(&self) -> &'static str {
        match self.kind {
            Kind::Merge => "application/merge-patch+json",
            Kind::Apply => "application/apply-patch+yaml",
        }
    }

    pub(super) fn query(&self) -> Query {
        let mut query = Query::default();
        query.push("fieldManager", self.manager);
        if matches!(self.kind, Kind::Apply) {
            query.push("force", "true");
        }
        query
    }
}

/// What a merge patch has to say to make `new` of `old`.
fn difference(old: &Value, new: &Value) -> Option<Value> {
    if old == new {
        return None;
    }
    let (Value::Object(old), Value::Object(new)) = (old, new) else { return Some(new.clone()) };
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in new {
        if let Some(change) = difference(old.get(key).unwrap_or(&Value::Null), value) {
            patch.insert(key.clone(), change);
        }
    }
    Some(patch.into())
}

#[cfg(test)]
mod tests {
    use kueue_api::core_v1::PriorityClass;

    use super::*;

    #[test]
    fn a_difference_says_what_changed_and_no_more() {
        for (old, new, patch) in [
            (json!({"a": 1}), json!({"a": 1}), None),
            (json!({"a": 1, "b": 2}), json!({"a": 3}), Some(json!({"a": 3, "b": null}))),
            (json!({"a": {"x": 1, "y": 2}}), json!({"a": {"x": 1}}), Some(json!({"a": {"y": null}}))),
            (json!({"a": [1, 2]}), json!({"a": [2]}), Some(json!({"a": [2]}))),
            (json!({}), json!({"a": {"x": {}}}), Some(json!({"a": {"x": {}}}))),
        ] {
            assert_eq!(difference(&old, &new), patch, "{old} {new}");
        }
    }

    #[test]
    fn a_patch_of_a_status_says_nothing_of_the_rest() {
        let metadata = kueue_api::meta::ObjectMeta { resource_version: "7".to_owned(), ..Default::default() };
        let object = PriorityClass { metadata, ..PriorityClass::default() };
        let patch = |old, new| Patch::of_statuses(&object, &old, &new, "me");
        let changed = patch(json!({"a": 1, "b": [1]}), json!({"a": 1, "b": [2]})).unwrap();
        assert_eq!(changed.body(), &json!({"metadata": {"resourceVersion": "7"}, "status": {"b": [2]}}));
        assert_eq!(changed.subresource(), "status");
        assert!(patch(json!({"a": 1}), json!({"a": 1})).is_none());
    }

    #[test]
    fn a_patch_names_the_version_it_is_based_on() {
        let class = |value| PriorityClass {
            metadata: kueue_api::meta::ObjectMeta { resource_version: "7".to_owned(), ..Default::default() },
            value,
            ..PriorityClass::default()
        };
        let patch = Patch::between(&class(1), &class(2), "me").map(|patch| patch.body().clone());
        assert_eq!(patch, Some(json!({"value": 2, "metadata": {"resourceVersion": "7"}})));
        assert!(Patch::between(&class(1), &class(1), "me").is_none());
    }
}
