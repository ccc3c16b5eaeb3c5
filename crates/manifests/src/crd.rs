//! What a CustomResourceDefinition says around its schemas: names, versions, columns, conversion.

use serde_json::{Value, json};

use crate::schema::{Schema, string};

/// The API group of every kind here.
pub const GROUP: &str = "kueue.x-k8s.io";

/// A version of the group, oldest first, so that `version < Version::V1Beta2` reads as "before v1beta2".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    V1Alpha1,
    V1Beta1,
    V1Beta2,
}

impl Version {
    /// The version that objects are stored in and everything else is converted to.
    pub const STORAGE: Self = Self::V1Beta2;

    pub fn name(self) -> &'static str {
        match self {
            Self::V1Alpha1 => "v1alpha1",
            Self::V1Beta1 => "v1beta1",
            Self::V1Beta2 => "v1beta2",
        }
    }
}

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Cluster,
    Namespaced,
}

/// How the API server turns one version of a kind into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// The versions have the same fields, or only further ones: the API server changes `apiVersion` and nothing else.
    None,
    /// Our webhook converts. Only requests in a version other than the stored one need it to be up.
    Webhook,
}

/// A column of `kubectl get`.
#[derive(Clone, Debug)]
pub struct Column {
    pub name: &'static str,
    pub kind: &'static str,
    pub path: &'static str,
    pub doc: &'static str,
    /// Shown only with `-o wide`.
    pub wide: bool,
}

/// One of our kinds: everything that its CustomResourceDefinition is made from.
#[derive(Clone, Debug)]
pub struct Kind {
    pub name: &'static str,
    pub plural: &'static str,
    pub short_names: &'static [&'static str],
    pub scope: Scope,
    pub versions: &'static [Version],
    /// Versions that still work and that a request is warned about.
    pub deprecated: &'static [Version],
    pub conversion: Conversion,
    pub has_status: bool,
    /// Fields of the stored version that a field selector may name, besides the name and the namespace.
    pub selectable_fields: &'static [&'static str],
    pub columns: fn(Version) -> Vec<Column>,
    /// The object without `apiVersion`, `kind` and `metadata`.
    pub schema: fn(Version) -> Schema,
}

/// A kind with the two columns that every list has: name and age.
pub fn default_columns(_: Version) -> Vec<Column> {
    Vec::new()
}

impl Column {
    pub fn new(name: &'static str, kind: &'static str, path: &'static str, doc: &'static str) -> Self {
        Self { name, kind, path, doc, wide: false }
    }

    #[must_use]
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }

    /// The time since the object was created; has to be asked for once there are columns of one's own.
    pub fn age() -> Self {
        Self::new("Age", "date", ".metadata.creationTimestamp", "Time since the object was created.")
    }

    fn to_value(&self) -> Value {
        let mut value = json!({"name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.doc});
        if self.wide {
            value["priority"] = 1.into();
        }
        value
    }
}

impl Kind {
    /// The name of the CustomResourceDefinition object.
    pub fn crd_name(&self) -> String {
        format!("{}.{GROUP}", self.plural)
    }

    /// The schema of one version, complete.
    pub fn full_schema(&self, version: Version) -> Value {
        let mut schema = (self.schema)(version)
            .field(
                "apiVersion",
                string(),
                "The group and version that this object is written in, such as kueue.x-k8s.io/v1beta2.",
            )
            .field("kind", string(), "The kind of this object.")
            .into_value();
        // The API server knows metadata; a schema may not describe it.
        schema["properties"]["metadata"] = json!({"type": "object"});
        schema
    }

    /// The CustomResourceDefinition.
    pub fn to_crd(&self) -> Value {
        let scope = match self.scope {
            Scope::Cluster => "Cluster",
            Scope::Namespaced => "Namespaced",
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": crate::install::metadata(&self.crd_name()),
            "spec": {
                "group": GROUP,
                "scope": scope,
                "names": {
                    "kind": self.name,
                    "listKind": format!("{}List", self.name),
                    "plural": self.plural,
                    "singular": self.name.to_lowercase(),
                    "shortNames": self.short_names,
                    // `kubectl get kueue` lists the objects of all our kinds.
                    "categories": ["kueue"],
                },
                "conversion": self.conversion_value(),
                "versions": self.versions.iter().map(|version| self.version_value(*version)).collect::<Vec<_>>(),
            },
        })
    }

    fn version_value(&self, version: Version) -> Value {
        let is_stored = version == Version::STORAGE;
        let mut value = json!({
            "name": version.name(),
            "served": true,
            "storage": is_stored,
            "schema": {"openAPIV3Schema": self.full_schema(version)},
        });
        if self.deprecated.contains(&version) {
            value["deprecated"] = true.into();
            value["deprecationWarning"] =
                format!("This version is deprecated. Use {} instead.", Version::STORAGE.name()).into();
        }
        if self.has_status {
            value["subresources"] = json!({"status": {}});
        }
        let columns = (self.columns)(version);
        if !columns.is_empty() {
            value["additionalPrinterColumns"] = columns.iter().map(Column::to_value).collect();
        }
        if is_stored && !self.selectable_fields.is_empty() {
            value["selectableFields"] = self.selectable_fields.iter().map(|path| json!({"jsonPath": path})).collect();
        }
        value
    }

    fn conversion_value(&self) -> Value {
        match self.conversion {
            Conversion::None => json!({"strategy": "None"}),
            Conversion::Webhook => json!({
                "strategy": "Webhook",
                "webhook": {
                    "clientConfig": {"service": crate::webhooks::service("/convert")},
                    "conversionReviewVersions": ["v1"],
                },
            }),
        }
    }
}
