//! Roles and bindings that would give more than their writer has. Not a plugin on a real server, which asks at the same
//! moment: when all changes are made, and before the object is judged.

use super::Plugin;
use crate::admission::Operation;
use crate::auth::rbac::GROUP;

pub const PLUGIN: Plugin = Plugin {
    applies: |attributes| attributes.resource.group == GROUP && attributes.operation != Operation::Delete,
    mutate: Some(|server, attributes, object, old| match object {
        Some(object) => server.check_escalation(attributes.call, attributes.resource, object, old),
        None => Ok(()),
    }),
    validate: None,
    account: None,
};
