//! Changes to an object, as requests. Whole objects are never written: a type that does not know a field would drop it.

use serde_json::Value;

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

    /// The same for the status.
    pub fn of_status(self) -> Self {
        Self { subresource: "status", ..self }
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
