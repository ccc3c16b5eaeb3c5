//! What a CRD's schema demands of a value, beside its form.

use std::sync::Arc;

use regex::Regex;

use super::{Schema, load};
use crate::json::Value;

/// The validation keywords of one node.
#[derive(Debug, Clone, Default)]
pub struct Keywords {
    pub type_name: Option<String>,
    /// Whether there is nothing but the name of a type.
    pub is_bare_type: bool,
    pub format: Option<String>,
    pub required: Vec<String>,
    pub allowed: Vec<Value>,
    pub pattern: Option<Pattern>,
    pub length_min: Option<u64>,
    pub length_max: Option<u64>,
    pub items_min: Option<u64>,
    pub items_max: Option<u64>,
    pub properties_min: Option<u64>,
    pub properties_max: Option<u64>,
    pub minimum: Option<Bound>,
    pub maximum: Option<Bound>,
    pub multiple_of: Option<f64>,
    pub has_unique_items: bool,
    pub all_of: Vec<Arc<Schema>>,
    pub any_of: Vec<Arc<Schema>>,
    pub one_of: Vec<Arc<Schema>>,
    pub not: Option<Arc<Schema>>,
}

#[derive(Debug, Clone)]
pub struct Pattern {
    pub text: String,
    /// Nothing when this crate's engine cannot read the expression; then it matches everything.
    pub regex: Option<Regex>,
}

#[derive(Debug, Clone)]
pub struct Bound {
    pub limit: f64,
    /// As the CRD has it, for the message.
    pub shown: String,
    pub is_exclusive: bool,
}

impl Keywords {
    pub fn parse(source: &Value) -> Self {
        let schemas = |key: &str| {
            let listed = source[key].as_array().map(Vec::as_slice).unwrap_or_default();
            listed.iter().map(|one| Arc::new(load::custom(one))).collect()
        };
        let bound = |key: &str, exclusive: &str| {
            let number = source[key].as_f64()?;
            Some(Bound { limit: number, shown: source[key].to_string(), is_exclusive: source[exclusive] == true })
        };
        let strings = |key: &str| {
            let listed = source[key].as_array().map(Vec::as_slice).unwrap_or_default();
            listed.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            type_name: source["type"].as_str().map(str::to_owned),
            is_bare_type: source["type"].is_string() && source.as_object().is_some_and(|all| all.len() == 1),
            format: source["format"].as_str().map(str::to_owned),
            required: strings("required"),
            allowed: source["enum"].as_array().cloned().unwrap_or_default(),
            pattern: source["pattern"]
                .as_str()
                .map(|text| Pattern { text: text.to_owned(), regex: Regex::new(text).ok() }),
            length_min: source["minLength"].as_u64(),
            length_max: source["maxLength"].as_u64(),
            items_min: source["minItems"].as_u64(),
            items_max: source["maxItems"].as_u64(),
            properties_min: source["minProperties"].as_u64(),
            properties_max: source["maxProperties"].as_u64(),
            minimum: bound("minimum", "exclusiveMinimum"),
            maximum: bound("maximum", "exclusiveMaximum"),
            multiple_of: source["multipleOf"].as_f64(),
            has_unique_items: source["uniqueItems"] == true,
            all_of: schemas("allOf"),
            any_of: schemas("anyOf"),
            one_of: schemas("oneOf"),
            not: source.get("not").filter(|not| not.is_object()).map(|not| Arc::new(load::custom(not))),
        }
    }
}
