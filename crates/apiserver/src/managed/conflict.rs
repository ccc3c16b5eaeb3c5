//! Why a configuration was not applied, as the server tells it.

use super::scale::VERSION;
use super::set::FieldSet;
use crate::json::json;
use crate::kinds::Resource;
use crate::status::Status;

/// Why a configuration was not applied.
#[derive(Debug)]
pub enum ApplyError {
    /// It does not fit the kind's types.
    Typed(String),
    /// Others own what it would change.
    Conflicts(Vec<Conflict>),
}

#[derive(Debug)]
pub struct Conflict {
    /// As messages name it.
    pub manager: String,
    pub fields: FieldSet,
}

impl ApplyError {
    /// `namespace` and `name` as the configuration gives them.
    pub fn to_status(&self, resource: &Resource, namespace: &str, name: &str) -> Status {
        match self {
            ApplyError::Typed(why) => {
                let (group, version, kind) = (&resource.group, &resource.version, &resource.kind);
                untyped(&format!("{namespace}/{name}; {group}/{version}, Kind={kind}"), why)
            }
            ApplyError::Conflicts(conflicts) => conflict_status(conflicts),
        }
    }

    /// The same, of a configuration of a scale.
    pub fn to_scale_status(&self, name: &str) -> Status {
        match self {
            ApplyError::Typed(why) => untyped(&format!("/{name}; {VERSION}, Kind=Scale"), why),
            ApplyError::Conflicts(conflicts) => conflict_status(conflicts),
        }
    }
}

fn untyped(object: &str, why: &str) -> Status {
    Status::internal(format!("failed to create typed patch object ({object}): {why}"))
}

fn conflict_status(conflicts: &[Conflict]) -> Status {
    let told: Vec<(&str, Vec<String>)> =
        conflicts.iter().map(|conflict| (conflict.manager.as_str(), conflict.fields.paths())).collect();
    let count: usize = told.iter().map(|(_, fields)| fields.len()).sum();
    let mut causes = Vec::new();
    for (manager, fields) in &told {
        for field in fields {
            let message = format!("conflict with {manager}");
            causes.push(json!({"reason": "FieldManagerConflict", "message": message, "field": field}));
        }
    }
    let text = match told.as_slice() {
        [(manager, fields)] if count == 1 => format!("1 conflict: conflict with {manager}: {}", fields[0]),
        _ => {
            let part = |(manager, fields): &(&str, Vec<String>)| {
                let lines: Vec<String> = fields.iter().map(|field| format!("- {field}")).collect();
                format!("conflicts with {manager}:\n{}", lines.join("\n"))
            };
            format!("{count} conflicts: {}", told.iter().map(part).collect::<Vec<_>>().join("\n"))
        }
    };
    Status::new(409, "Conflict", format!("Apply failed with {text}")).with_details(json!({"causes": causes}))
}
