//! What every Kubernetes object has: names, labels, owners, conditions, and the constants that say what kind it is.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use kueue_core::time::Time;
use serde::de::{DeserializeOwned, Error as _};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::{null_as_default, string_enum, wire_struct};

/// A kind of object in one version: where the API server serves it, and its metadata.
pub trait Object: Serialize + DeserializeOwned {
    /// The API group; empty for the core group.
    const GROUP: &'static str;
    /// The version within the group.
    const VERSION: &'static str;
    /// The kind, in CamelCase.
    const KIND: &'static str;
    /// The name in URLs.
    const PLURAL: &'static str;
    /// Whether objects live in a namespace.
    const NAMESPACED: bool;

    /// The object's metadata.
    fn metadata(&self) -> &ObjectMeta;
    /// The object's metadata, to change it.
    fn metadata_mut(&mut self) -> &mut ObjectMeta;

    /// Group and version as `apiVersion` spells them.
    fn api_version() -> String {
        match Self::GROUP {
            "" => Self::VERSION.to_owned(),
            group => format!("{group}/{}", Self::VERSION),
        }
    }
}

/// Declares a kind: a [`wire_struct!`] that begins with `apiVersion`, `kind` and `metadata`, and its [`Object`] constants.
#[macro_export]
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident in $group:ident/$version:ident/$plural:literal, namespaced: $namespaced:literal {
            $($fields:tt)*
        }
    ) => {
        $crate::wire::wire_struct! {
            $(#[$meta])*
            pub struct $name {
                /// Prints the group and version of the kind.
                pub api_version: $crate::meta::ApiVersion<$name>,
                /// Prints the name of the kind.
                pub kind: $crate::meta::Kind<$name>,
                /// Name, labels, owners and the like.
                pub metadata: $crate::meta::ObjectMeta,
                $($fields)*
            }
        }

        impl $crate::meta::Object for $name {
            const GROUP: &'static str = $group;
            const VERSION: &'static str = $version;
            const KIND: &'static str = stringify!($name);
            const PLURAL: &'static str = $plural;
            const NAMESPACED: bool = $namespaced;

            fn metadata(&self) -> &$crate::meta::ObjectMeta {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut $crate::meta::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub use object;

/// The `apiVersion` field of a kind: holds nothing, prints the constant, refuses another version.
pub struct ApiVersion<T>(PhantomData<fn() -> T>);

/// The `kind` field of a kind: holds nothing, prints the constant, refuses another kind.
pub struct Kind<T>(PhantomData<fn() -> T>);

macro_rules! constant_field {
    ($field:ident, $name:literal, $value:expr) => {
        impl<T> Clone for $field<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $field<T> {}

        impl<T> Default for $field<T> {
            fn default() -> Self {
                Self(PhantomData)
            }
        }

        impl<T> PartialEq for $field<T> {
            fn eq(&self, _: &Self) -> bool {
                true
            }
        }

        impl<T: Object> fmt::Debug for $field<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&$value)
            }
        }

        impl<T: Object> Serialize for $field<T> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&$value)
            }
        }

        impl<'de, T: Object> Deserialize<'de> for $field<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let found = String::deserialize(deserializer)?;
                if found.is_empty() || found == $value {
                    return Ok(Self::default());
                }
                Err(D::Error::custom(format!("{} is {found:?}, not {:?}", $name, $value)))
            }
        }
    };
}

constant_field!(ApiVersion, "apiVersion", T::api_version());
constant_field!(Kind, "kind", T::KIND);

wire_struct! {
    /// Metadata of an object. Fields we never look at are kept as they came.
    pub struct ObjectMeta {
        /// Unique within the namespace, or within the cluster for kinds without namespaces.
        pub name?: String,
        /// Prefix from which the API server makes a unique name when there is none.
        pub generate_name?: String,
        /// Where the object lives; empty for cluster-wide kinds.
        pub namespace?: String,
        /// Unique over time; set by the API server.
        pub uid?: String,
        /// Opaque version for optimistic concurrency.
        pub resource_version?: String,
        /// Counts changes of the desired state.
        pub generation?: i64,
        /// When the API server created it.
        pub creation_timestamp?: Time,
        /// When deletion was asked for; the object stays until its finalizers are gone.
        pub deletion_timestamp?: Option<Time>,
        /// Seconds left for a graceful end after deletion was asked for.
        pub deletion_grace_period_seconds?: Option<i64>,
        /// Identifying key-value pairs that selectors look at.
        pub labels?: BTreeMap<String, String>,
        /// Further key-value pairs.
        pub annotations?: BTreeMap<String, String>,
        /// Objects this one depends on.
        pub owner_references?: Vec<OwnerReference>,
        /// Names of those who must act before the object may go.
        pub finalizers?: Vec<String>,
        /// Everything else, `managedFields` among it.
        pub ..rest,
    }
}

wire_struct! {
    /// Who an object belongs to.
    pub struct OwnerReference {
        /// Group and version of the owner.
        pub api_version: String,
        /// Kind of the owner.
        pub kind: String,
        /// Name of the owner, in the same namespace or cluster-wide.
        pub name: String,
        /// The owner's identity.
        pub uid: String,
        /// Whether the owner is the one that manages the object.
        pub controller?: Option<bool>,
        /// Whether the owner may not go before this object is gone.
        pub block_owner_deletion?: Option<bool>,
    }
}

string_enum! {
    /// Whether a condition holds.
    pub enum ConditionStatus {
        /// It holds.
        True,
        /// It does not hold.
        False,
        /// It cannot be told.
        Unknown,
    }
}

wire_struct! {
    /// One aspect of an object's state.
    pub struct Condition {
        /// Which aspect.
        pub r#type: String,
        /// Whether it holds.
        pub status: ConditionStatus,
        /// The `generation` that was looked at.
        pub observed_generation?: i64,
        /// When `status` last changed.
        pub last_transition_time?: Time,
        /// Why, as one CamelCase word for machines.
        pub reason: String,
        /// Why, as a sentence for people.
        pub message: String,
    }
}

wire_struct! {
    /// Metadata of a list.
    pub struct ListMeta {
        /// The version of the store that the list shows.
        pub resource_version?: String,
        /// Where to go on when the list was cut.
        pub r#continue?: String,
        /// How many objects the cut list does not show.
        pub remaining_item_count?: Option<i64>,
    }
}

/// A list of objects of one kind.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, bound(deserialize = "T: Deserialize<'de>"))]
pub struct List<T> {
    /// Metadata of the list itself.
    pub metadata: ListMeta,
    /// The objects.
    #[serde(deserialize_with = "null_as_default")]
    pub items: Vec<T>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self { metadata: ListMeta::default(), items: Vec::new() }
    }
}

impl<T: Object> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_struct("List", 4)?;
        list.serialize_field("apiVersion", &T::api_version())?;
        list.serialize_field("kind", &format!("{}List", T::KIND))?;
        list.serialize_field("metadata", &self.metadata)?;
        list.serialize_field("items", &self.items)?;
        list.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GROUP: &str = "example.com";
    const VERSION: &str = "v1";

    object! {
        /// A kind of our own.
        pub struct Gadget in GROUP/VERSION/"gadgets", namespaced: true {
            /// A field of its own.
            pub size?: i32,
        }
    }

    #[test]
    fn objects_print_their_version_and_kind() {
        let gadget = Gadget { size: 3, ..Gadget::default() };
        let text = serde_json::to_string(&gadget).unwrap();
        assert_eq!(text, r#"{"apiVersion":"example.com/v1","kind":"Gadget","metadata":{},"size":3}"#);
    }

    #[test]
    fn objects_of_another_version_or_kind_are_refused() {
        let read = |value| serde_json::from_value::<Gadget>(value).map_err(|error| error.to_string());
        assert_eq!(read(json!({"size": 1})).unwrap().size, 1);
        assert_eq!(
            read(json!({"apiVersion": "example.com/v2"})).unwrap_err(),
            r#"apiVersion is "example.com/v2", not "example.com/v1""#
        );
        assert_eq!(read(json!({"kind": "Widget"})).unwrap_err(), r#"kind is "Widget", not "Gadget""#);
    }

    #[test]
    fn metadata_keeps_what_it_does_not_know() {
        let text = json!({
            "name": "a",
            "creationTimestamp": "2026-01-02T03:04:05Z",
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
        });
        let meta: ObjectMeta = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(meta.name, "a");
        assert_eq!(serde_json::to_value(meta).unwrap(), text);
    }

    #[test]
    fn lists_are_named_after_their_items() {
        let list = List { items: vec![Gadget::default()], ..List::default() };
        let value = serde_json::to_value(&list).unwrap();
        assert_eq!(value["apiVersion"], "example.com/v1");
        assert_eq!(value["kind"], "GadgetList");
        assert_eq!(serde_json::from_value::<List<Gadget>>(value).unwrap(), list);
        assert_eq!(serde_json::from_value::<List<Gadget>>(json!({"items": null})).unwrap(), List::default());
    }
}
