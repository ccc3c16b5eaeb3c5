//! Rules that would take forever: loops in loops over lists without bounds.
//!
//! A real server estimates what every rule may cost and refuses what is too much. Here only the hopeless are refused:
//! those whose loops alone are more than a hundred times what a real server allows.

use super::parse::{Kind, Node};
use crate::json::Value;

/// What a real server allows for one rule, and for all rules of a schema.
const RULE_MAX: f64 = 1e7;
const SCHEMA_MAX: f64 = 1e8;
/// How much JSON a request may be.
const REQUEST_BYTES_MAX: f64 = 3.0 * 1024.0 * 1024.0;

const LOOPS: [&str; 6] = ["all", "exists", "exists_one", "existsOne", "map", "filter"];

/// Whether nothing could make a rule acceptable but another rule or bounds.
pub fn is_hopeless(tree: &Node, schema: &Value) -> bool {
    let variables = vec![("self".to_owned(), schema.clone()), ("oldSelf".to_owned(), schema.clone())];
    steps(tree, &variables) > 100.0 * RULE_MAX.max(SCHEMA_MAX)
}

type Variables = Vec<(String, Value)>;

/// How often the innermost loop may go round.
fn steps(node: &Node, variables: &Variables) -> f64 {
    let most = |nodes: &mut dyn Iterator<Item = &Node>| nodes.map(|node| steps(node, variables)).fold(1.0, f64::max);
    match &node.kind {
        Kind::Call { target: Some(target), name, args } if LOOPS.contains(&name.as_str()) => {
            let Some(range) = schema_of(target, variables) else { return most(&mut args.iter()) };
            let (Some(Node { kind: Kind::Ident(variable), .. }), body) =
                (args.first(), args.get(1..).unwrap_or_default())
            else {
                return 1.0;
            };
            let element = if range["items"].is_object() { range["items"].clone() } else { Value::Null };
            let mut inner = variables.clone();
            inner.push((variable.clone(), element));
            size(&range) * body.iter().map(|part| steps(part, &inner)).fold(1.0, f64::max)
        }
        Kind::Call { target, args, .. } => most(&mut target.iter().map(|target| &**target).chain(args)),
        Kind::Operator(_, parts) | Kind::List(parts) => most(&mut parts.iter()),
        Kind::Conditional(parts) => most(&mut parts.iter()),
        Kind::Select { operand, .. } => steps(operand, variables),
        Kind::Index { operand, index, .. } => most(&mut [&**operand, &**index].into_iter()),
        _ => 1.0,
    }
}

fn schema_of(node: &Node, variables: &Variables) -> Option<Value> {
    match &node.kind {
        Kind::Ident(name) => variables.iter().rev().find(|(known, _)| known == name).map(|(_, schema)| schema.clone()),
        Kind::Select { operand, field, .. } => schema_of(operand, variables)?["properties"].get(field).cloned(),
        Kind::Index { operand, .. } => {
            let of = schema_of(operand, variables)?;
            of.get("items").or_else(|| of.get("additionalProperties")).cloned()
        }
        _ => None,
    }
}

/// How many elements there can be: as many as are allowed, or as fit into a request.
fn size(schema: &Value) -> f64 {
    let bound = |key: &str| schema[key].as_f64();
    match schema["type"].as_str() {
        Some("array") => bound("maxItems").unwrap_or_else(|| REQUEST_BYTES_MAX / (bytes_min(&schema["items"]) + 1.0)),
        Some("object") => {
            let others = bytes_min(&schema["additionalProperties"]);
            bound("maxProperties").unwrap_or_else(|| REQUEST_BYTES_MAX / (others + 6.0))
        }
        _ => 1.0,
    }
}

/// The fewest bytes that a value takes in JSON.
fn bytes_min(schema: &Value) -> f64 {
    match schema["type"].as_str() {
        Some("boolean") => 4.0,
        Some("integer" | "number") => 1.0,
        Some("object") => {
            let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
            let field = |name: &Value| {
                let name = name.as_str().unwrap_or_default();
                name.len() as f64 + 4.0 + bytes_min(&schema["properties"][name])
            };
            2.0 + required.iter().map(field).sum::<f64>()
        }
        _ => 2.0,
    }
}
