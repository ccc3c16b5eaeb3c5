//! Reads schemas: of built-in types from the committed data, of custom resources from their CRD.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Fields, Form, Keywords, ListType, Schema, Strategy, Unset};
use crate::json::{Map, Name, Value};

/// The built-in types by name. They refer to each other; the few that contain themselves end in "anything".
#[derive(Debug)]
pub struct Types {
    sources: Map,
    done: BTreeMap<String, Arc<Schema>>,
    open: Vec<String>,
}

impl Types {
    /// `text` is an object of schemas, as `data/types.json` has it.
    pub fn parse(text: &str) -> serde_json::Result<Self> {
        Ok(Self { sources: serde_json::from_str(text)?, done: BTreeMap::new(), open: Vec::new() })
    }

    pub fn get(&mut self, name: &str) -> Arc<Schema> {
        if let Some(done) = self.done.get(name) {
            return Arc::clone(done);
        }
        if self.open.iter().any(|open| open == name) {
            return Schema::any();
        }
        self.open.push(name.to_owned());
        let source = self.sources.get(name).cloned().unwrap_or(Value::Null);
        let schema = Arc::new(self.node(name, &source));
        self.open.pop();
        self.done.insert(name.to_owned(), Arc::clone(&schema));
        schema
    }

    fn node(&mut self, name: &str, source: &Value) -> Schema {
        let base = match source["ref"].as_str() {
            Some(reference) => Schema::clone(&self.get(reference)),
            None => Schema::of(self.form(name, source)),
        };
        let list = list_type(source);
        Schema {
            list: if list == ListType::Atomic { base.list.clone() } else { list },
            is_atomic: base.is_atomic || source["x-kubernetes-map-type"] == "atomic",
            unset: match source["go"].as_str() {
                Some("pointer") => Unset::Pointer,
                Some("always") => Unset::Always,
                Some("null") => Unset::Null,
                _ => Unset::Omitted,
            },
            default: source.get("default").cloned(),
            strategy: strategy(source),
            ..base
        }
    }

    fn form(&mut self, name: &str, source: &Value) -> Form {
        match name {
            "meta.v1.Time" => return Form::Time,
            "meta.v1.MicroTime" => return Form::MicroTime,
            "api.resource.Quantity" => return Form::Quantity,
            "util.intstr.IntOrString" => return Form::IntOrString,
            _ => {}
        }
        match source["type"].as_str() {
            Some("object") => {
                if let Some(properties) = source["properties"].as_object() {
                    let mut fields = Fields::default();
                    for (field, source) in properties {
                        fields.insert(field.as_str().into(), Arc::new(self.node("", source)));
                    }
                    return Form::Struct { name: go_name(name), fields, others: None };
                }
                match source.get("additionalProperties") {
                    Some(values) => Form::Map(Arc::new(self.node("", values))),
                    None => Form::Any,
                }
            }
            Some("array") => Form::List(Arc::new(self.node("", &source["items"]))),
            Some("string") if source["format"] == "byte" => Form::Bytes,
            Some("string") => Form::Text,
            Some("integer") => Form::Integer { is_32_bit: source["format"] == "int32" },
            Some("number") => Form::Number,
            Some("boolean") => Form::Boolean,
            _ => Form::Any,
        }
    }
}

/// `core.v1.PodSpec` is `v1.PodSpec` to Go.
fn go_name(name: &str) -> String {
    let mut parts = name.rsplitn(3, '.');
    let (last, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{version}.{last}")
}

fn list_type(source: &Value) -> ListType {
    match source["x-kubernetes-list-type"].as_str() {
        Some("set") => ListType::Set,
        Some("map") => {
            let keys = source["x-kubernetes-list-map-keys"].as_array().map(Vec::as_slice).unwrap_or_default();
            ListType::Map(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect())
        }
        _ => ListType::Atomic,
    }
}

fn strategy(source: &Value) -> Strategy {
    let named = source["x-kubernetes-patch-strategy"].as_str().unwrap_or_default();
    Strategy {
        merges: named.split(',').any(|part| part == "merge"),
        retains_keys: named.split(',').any(|part| part == "retainKeys"),
        merge_key: source["x-kubernetes-patch-merge-key"].as_str().map(str::to_owned),
    }
}

/// A CRD's `openAPIV3Schema`, where every resource, also one inside another, has the metadata that all have.
pub fn custom_resource(source: &Value, metadata: &Arc<Schema>) -> Schema {
    node(source, Some(metadata)).with_field("metadata", Arc::clone(metadata))
}

/// A node of a CRD's `openAPIV3Schema` by itself.
pub fn custom(source: &Value) -> Schema {
    node(source, None)
}

fn node(source: &Value, metadata: Option<&Arc<Schema>>) -> Schema {
    let custom = |source: &Value| node(source, metadata);
    let keeps_unknown = source["x-kubernetes-preserve-unknown-fields"] == true;
    let properties = source["properties"].as_object();
    let others = source.get("additionalProperties").filter(|others| others.is_object());
    let others = others.map(|others| Arc::new(custom(others)));
    let form = match source["type"].as_str() {
        _ if source["x-kubernetes-int-or-string"] == true => Form::IntOrString,
        Some("object") => match (properties, others) {
            (None, Some(values)) => Form::Map(values),
            (None, None) if source["additionalProperties"] == true => Form::Map(Schema::any()),
            (properties, others) => {
                let field = |(name, source): (&Name, &Value)| (name.as_str().into(), Arc::new(custom(source)));
                let mut fields: Fields = properties.into_iter().flatten().map(field).collect();
                if let Some(metadata) = metadata.filter(|_| source["x-kubernetes-embedded-resource"] == true) {
                    for name in ["apiVersion", "kind"] {
                        if fields.get(name).is_none() {
                            fields.insert(name.into(), Arc::new(Schema::of(Form::Text)));
                        }
                    }
                    fields.insert("metadata".into(), Arc::clone(metadata));
                }
                Form::Struct { name: String::new(), fields, others }
            }
        },
        Some("array") => Form::List(Arc::new(custom(&source["items"]))),
        Some("string") => Form::Text,
        Some("integer") => Form::Integer { is_32_bit: false },
        Some("number") => Form::Number,
        Some("boolean") => Form::Boolean,
        _ => Form::Any,
    };
    Schema {
        list: list_type(source),
        is_atomic: source["x-kubernetes-map-type"] == "atomic",
        unset: Unset::Pointer,
        default: source.get("default").filter(|default| !default.is_null()).cloned(),
        is_nullable: source["nullable"] == true,
        keeps_unknown,
        is_embedded: source["x-kubernetes-embedded-resource"] == true,
        keywords: Some(Arc::new(Keywords::parse(source))),
        ..Schema::of(form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_has_the_form_of_its_type_and_a_place_of_its_own() {
        let text = r#"{"core.v1.A":{"type":"object","properties":{"b":{"ref":"core.v1.B","go":"always"}}},
                       "core.v1.B":{"type":"object","x-kubernetes-map-type":"atomic","properties":{}}}"#;
        let schema = Types::parse(text).unwrap().get("core.v1.A");
        let field = schema.field("b").unwrap();
        assert!(field.is_atomic && field.unset == Unset::Always);
        assert!(matches!(&*field.form, Form::Struct { name, .. } if name == "v1.B"));
    }

    #[test]
    fn a_type_that_contains_itself_ends() {
        let text = r#"{"x.v1.A":{"type":"object","properties":{"a":{"ref":"x.v1.A"}}}}"#;
        let schema = Types::parse(text).unwrap().get("x.v1.A");
        assert!(matches!(&*schema.field("a").unwrap().form, Form::Any));
    }

    #[test]
    fn every_built_in_type_can_be_read() {
        let text = include_str!("../../data/types.json");
        let mut types = Types::parse(text).unwrap();
        let names: Vec<Name> = types.sources.keys().cloned().collect();
        assert!(names.len() > 300);
        for name in names {
            types.get(&name);
        }
        let containers = types.get("core.v1.PodSpec").field("containers").cloned().unwrap();
        assert_eq!(containers.list, ListType::Map(vec!["name".into()]));
        assert_eq!(containers.strategy.merge_key.as_deref(), Some("name"));
    }
}
