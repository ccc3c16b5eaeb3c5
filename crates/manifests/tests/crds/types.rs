//! Keeps the Rust types of `kueue-api` and the CustomResourceDefinitions in step, in both directions.
//!
//! A deserializer whose input is not an object but a schema: it offers every field that the schema has, so serde walks
//! the whole type; and wherever serde asks for a struct it also says which fields the struct has, so what the schema lacks
//! is seen as well.

use std::cell::RefCell;

use kueue_api::kueue::{v1alpha1, v1beta1, v1beta2};
use kueue_api::meta::Object;
use kueue_manifests::crd::{GROUP, Scope};
use kueue_manifests::crds;
use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

type Problem = serde::de::value::Error;

/// A place in a schema, offered to serde as if it were data.
struct Walk<'a> {
    schema: &'a Value,
    path: String,
    differences: &'a RefCell<Vec<String>>,
}

impl<'a> Walk<'a> {
    fn below(&self, name: &str, schema: &'a Value) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Self { schema, path, differences: self.differences }
    }

    fn differs(&self, how: &str) {
        self.differences.borrow_mut().push(format!("{}: {how}", self.path));
    }

    /// Notes when the type asks for something else than the schema has.
    fn expect(&self, asked: &str, keyword: &str) {
        let found = self.schema[keyword].as_str().unwrap_or("nothing");
        if found != asked {
            self.differs(&format!("the type reads {asked}, the schema says {found}"));
        }
    }

    fn text(&self) -> &'static str {
        match self.schema["format"].as_str() {
            Some("date-time") => "2026-01-01T00:00:00Z",
            // Empty stands for any apiVersion and kind.
            _ => "",
        }
    }

    fn fields(&self) -> Option<&'a Map<String, Value>> {
        self.schema["properties"].as_object()
    }

    fn visit_fields<'de, V: Visitor<'de>>(&self, names: &[&str], visitor: V) -> Result<V::Value, Problem> {
        let fields = self.fields().into_iter().flatten().filter(|(name, _)| names.contains(&name.as_str()));
        visitor
            .visit_map(Fields { entries: fields.map(|(name, schema)| (name.as_str(), schema)).collect(), walk: self })
    }
}

impl<'de> Deserializer<'de> for Walk<'_> {
    type Error = Problem;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Problem> {
        self.expect("object", "type");
        for name in names {
            if self.fields().is_none_or(|fields| !fields.contains_key(*name)) {
                self.differs(&format!("{name} is missing in the schema"));
            }
        }
        for (name, _) in self.fields().into_iter().flatten() {
            if !names.contains(&name.as_str()) {
                self.differs(&format!("{name} is missing in the type"));
            }
        }
        self.visit_fields(names, visitor)
    }

    /// A map; or a struct that keeps what it does not know, which serde also reads as one: nothing to compare there.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.expect("object", "type");
        let entries = self.schema.get("additionalProperties").map(|values| ("key", values)).into_iter().collect();
        visitor.visit_map(Fields { entries, walk: &self })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.expect("array", "type");
        let items = self.below("[]", &self.schema["items"]);
        visitor.visit_seq(Items(Some(items)))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Problem> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_i32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.expect("int32", "format");
        visitor.visit_i32(1)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.expect("int64", "format");
        visitor.visit_i64(1)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.expect("boolean", "type");
        visitor.visit_bool(true)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.expect("string", "type");
        visitor.visit_str(self.text())
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        self.deserialize_str(visitor)
    }

    /// Asked for by types that take what comes: quantities, and views that keep the fields they do not know.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Problem> {
        match self.schema["type"].as_str() {
            _ if self.schema["x-kubernetes-int-or-string"] == true => visitor.visit_str("1"),
            Some("object") => {
                let names: Vec<&str> = self.fields().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
                self.visit_fields(&names, visitor)
            }
            Some("array") => self.deserialize_seq(visitor),
            Some("integer") => visitor.visit_i64(1),
            Some("boolean") => visitor.visit_bool(true),
            _ => visitor.visit_str(self.text()),
        }
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
        ignored_any
    }
}

struct Fields<'w, 'a> {
    /// In reverse, the next one last.
    entries: Vec<(&'a str, &'a Value)>,
    walk: &'w Walk<'a>,
}

impl<'de> MapAccess<'de> for Fields<'_, '_> {
    type Error = Problem;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Problem> {
        self.entries.last().map(|(name, _)| seed.deserialize(StrDeserializer::new(name))).transpose()
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Problem> {
        let (name, schema) = self.entries.pop().expect("a value follows its key");
        seed.deserialize(self.walk.below(name, schema))
    }
}

struct Items<'a>(Option<Walk<'a>>);

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Problem;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Problem> {
        self.0.take().map(|item| seed.deserialize(item)).transpose()
    }
}

/// What differs between a type and the schema of its kind and version; also its name, to see that none is left out.
fn compare<T: Object>() -> (String, Vec<String>) {
    let name = format!("{} {}", T::VERSION, T::KIND);
    let kinds = crds::kinds();
    let Some(kind) = kinds.iter().find(|kind| kind.name == T::KIND) else {
        return (name.clone(), vec![format!("{name}: no such CRD")]);
    };
    let Some(version) = kind.versions.iter().find(|version| version.name() == T::VERSION) else {
        return (name.clone(), vec![format!("{name}: the CRD has no such version")]);
    };
    let differences = RefCell::new(Vec::new());
    let schema = kind.full_schema(*version);
    let walk = Walk { schema: &schema, path: String::new(), differences: &differences };
    if let Err(problem) = T::deserialize(walk) {
        differences.borrow_mut().push(problem.to_string());
    }
    let is_namespaced = kind.scope == Scope::Namespaced;
    if (T::GROUP, T::PLURAL, T::NAMESPACED) != (GROUP, kind.plural, is_namespaced) {
        differences.borrow_mut().push("group, plural or scope differ".to_owned());
    }
    let differences = differences.into_inner().into_iter().map(|difference| format!("{name}: {difference}")).collect();
    (name, differences)
}

#[test]
fn types_and_schemas_have_the_same_fields() {
    let compared = [
        compare::<v1beta2::AdmissionCheck>(),
        compare::<v1beta1::AdmissionCheck>(),
        compare::<v1beta2::ClusterQueue>(),
        compare::<v1beta1::ClusterQueue>(),
        compare::<v1beta2::Cohort>(),
        compare::<v1beta1::Cohort>(),
        compare::<v1alpha1::Cohort>(),
        compare::<v1beta2::LocalQueue>(),
        compare::<v1beta1::LocalQueue>(),
        compare::<v1beta2::MultiKueueCluster>(),
        compare::<v1beta1::MultiKueueCluster>(),
        compare::<v1beta2::MultiKueueConfig>(),
        compare::<v1beta1::MultiKueueConfig>(),
        compare::<v1beta2::ProvisioningRequestConfig>(),
        compare::<v1beta1::ProvisioningRequestConfig>(),
        compare::<v1beta2::ResourceFlavor>(),
        compare::<v1beta1::ResourceFlavor>(),
        compare::<v1beta2::Topology>(),
        compare::<v1beta1::Topology>(),
        compare::<v1beta2::Workload>(),
        compare::<v1beta1::Workload>(),
        compare::<v1beta2::WorkloadPriorityClass>(),
        compare::<v1beta1::WorkloadPriorityClass>(),
    ];
    let differences: Vec<String> = compared.iter().flat_map(|(_, differences)| differences.clone()).collect();
    assert_eq!(differences, Vec::<String>::new());

    let names: Vec<&String> = compared.iter().map(|(name, _)| name).collect();
    let of_kind = |kind: &kueue_manifests::crd::Kind| {
        kind.versions.iter().map(|version| format!("{} {}", version.name(), kind.name)).collect::<Vec<_>>()
    };
    let served: Vec<String> = crds::kinds().iter().flat_map(of_kind).collect();
    assert_eq!(names, served.iter().collect::<Vec<_>>(), "a kind or version is not compared");
}

#[test]
fn a_difference_is_seen_in_both_directions() {
    #[derive(serde::Deserialize)]
    #[allow(dead_code)]
    struct Renamed {
        old: Option<i32>,
        size: Vec<i32>,
    }
    let schema = serde_json::json!({"type": "object", "properties": {
        "new": {"type": "integer", "format": "int32"},
        "size": {"type": "array", "items": {"type": "integer", "format": "int64"}},
    }});
    let differences = RefCell::new(Vec::new());
    let walk = Walk { schema: &schema, path: "spec".to_owned(), differences: &differences };
    <Renamed as serde::Deserialize>::deserialize(walk).unwrap();
    expect_test::expect![[r#"
        spec: old is missing in the schema
        spec: new is missing in the type
        spec.size.[]: the type reads int32, the schema says int64"#]]
    .assert_eq(&differences.into_inner().join("\n"));
}
