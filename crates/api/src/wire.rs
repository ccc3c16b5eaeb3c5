//! How Go writes and reads JSON, for our structs: `omitempty` fields vanish when empty, `null` means "not set", and a
//! string with a fixed set of values keeps a value it does not know.

mod rest;

use serde::{Deserialize, Deserializer};

pub use rest::Rest;

/// Whether a field has its zero value, and so is left out.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads `null` as the zero value, as Go does.
pub fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Declares a struct as it stands on the wire.
///
/// Names are camelCase there; a missing or `null` field has its zero value. A field written `name?: Type` is left out
/// when it has its zero value, all others are always printed; a last field `..name` holds what has no other place. The
/// usual traits are derived.
#[macro_export]
macro_rules! wire_struct {
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::wire::wire_struct!(@fields { $(#[$meta])* $name } {} [] $($fields)*);
    };
    (@fields $head:tt { $($done:tt)* } [ $($names:ident)* ] $(#[$meta:meta])* pub $field:ident?: $type:ty, $($rest:tt)*) => {
        $crate::wire::wire_struct!(@fields $head {
            $($done)*
            $(#[$meta])*
            #[serde(
                deserialize_with = "kueue_api::wire::null_as_default",
                skip_serializing_if = "kueue_api::wire::is_default"
            )]
            pub $field: $type,
        } [ $($names)* $field ] $($rest)*);
    };
    (@fields $head:tt { $($done:tt)* } [ $($names:ident)* ] $(#[$meta:meta])* pub $field:ident: $type:ty, $($rest:tt)*) => {
        $crate::wire::wire_struct!(@fields $head {
            $($done)*
            $(#[$meta])*
            #[serde(deserialize_with = "kueue_api::wire::null_as_default")]
            pub $field: $type,
        } [ $($names)* $field ] $($rest)*);
    };
    // Serde would keep a copy of every field until it knows which ones are the rest; `Rest` hands them on one by one.
    (@fields { $(#[$about:meta])* $name:ident } { $($fields:tt)* } [ $($names:ident)* ] $(#[$meta:meta])* pub ..$rest:ident,) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Serialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            $($fields)*
            $(#[$meta])*
            #[serde(flatten)]
            pub $rest: ::serde_json::Map<String, ::serde_json::Value>,
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(Default, ::serde::Deserialize)]
                #[serde(default, rename_all = "camelCase", expecting = "an object")]
                struct Known { $($fields)* }
                let mut rest = ::serde_json::Map::new();
                let known = Known::deserialize($crate::wire::Rest::new(deserializer, &mut rest))?;
                Ok(Self { $($names: known.$names,)* $rest: rest })
            }
        }
    };
    (@fields { $(#[$meta:meta])* $name:ident } { $($fields:tt)* } [ $($names:ident)* ]) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name { $($fields)* }
    };
}
pub use wire_struct;

/// Declares a string with a fixed set of values.
///
/// A variant is spelled as its name unless `= "text"` follows. `Other` keeps any further value, so that it survives
/// re-writing and validation can name it; the zero value is `Other("")`.
macro_rules! string_enum {
    (@text $variant:ident) => { stringify!($variant) };
    (@text $variant:ident $text:literal) => { $text };
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident $(= $text:literal)?,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$variant_meta])* $variant,)*
            /// A value that is not one of the above; empty means "not set".
            Other(String),
        }

        impl $name {
            /// The values that are allowed, as spelled on the wire.
            pub const VALUES: &'static [&'static str] =
                &[$($crate::wire::string_enum!(@text $variant $($text)?),)*];

            /// The value as spelled on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $crate::wire::string_enum!(@text $variant $($text)?),)*
                    Self::Other(text) => text,
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Other(String::new())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                match text {
                    $($crate::wire::string_enum!(@text $variant $($text)?) => Self::$variant,)*
                    other => Self::Other(other.to_owned()),
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
                Ok(Self::from(text.as_ref()))
            }
        }
    };
}
pub(crate) use string_enum;

#[cfg(test)]
mod tests {
    use serde_json::json;

    wire_struct! {
        /// A struct with one field of each sort.
        pub struct Sample {
            /// Always printed.
            pub pod_sets: Vec<i32>,
            /// Left out when empty.
            pub queue_name?: String,
            /// Left out when not set, printed when set to zero.
            pub min_count?: Option<i32>,
            /// Everything else.
            pub ..rest,
        }
    }

    string_enum! {
        /// A choice.
        pub enum Choice {
            /// Spelled as its name.
            First,
            /// Spelled otherwise.
            Second = "two.example.com",
        }
    }

    #[test]
    fn optional_fields_vanish_when_empty_and_required_ones_stay() {
        assert_eq!(serde_json::to_value(Sample::default()).unwrap(), json!({"podSets": []}));
        let full = Sample { pod_sets: vec![1], queue_name: "q".to_owned(), min_count: Some(0), ..Sample::default() };
        assert_eq!(serde_json::to_value(full).unwrap(), json!({"podSets": [1], "queueName": "q", "minCount": 0}));
    }

    #[test]
    fn null_reads_as_not_set() {
        let nulls: Sample =
            serde_json::from_value(json!({"podSets": null, "queueName": null, "minCount": null})).unwrap();
        assert_eq!(nulls, Sample::default());
    }

    #[test]
    fn fields_without_a_place_are_kept() {
        let text = json!({"podSets": [], "deep": {"er": [null, 1]}, "pod_sets": 1, "n\n": ""});
        for sample in [
            serde_json::from_value(text.clone()).unwrap(),
            serde_json::from_str(&text.to_string()).unwrap(),
            serde_json::from_reader(text.to_string().as_bytes()).unwrap(),
        ] {
            let Sample { rest, .. } = &sample;
            assert_eq!(rest.keys().collect::<Vec<_>>(), ["deep", "n\n", "pod_sets"]);
            assert_eq!(serde_json::to_value(sample).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for (odd, why) in [("[]", "sequence"), ("1", "integer `1`"), ("\"a\"", "string \"a\""), ("null", "null")] {
            let refused = serde_json::from_str::<Sample>(odd).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("invalid type: {why}, expected ")), "{refused}");
        }
        let twice = serde_json::from_str::<Sample>(r#"{"podSets": [], "podSets": []}"#).unwrap_err().to_string();
        assert!(twice.starts_with("duplicate field `podSets`"), "{twice}");
    }

    #[test]
    fn unknown_values_of_an_enum_survive() {
        for text in ["First", "two.example.com", "third", ""] {
            let choice: Choice = serde_json::from_value(json!(text)).unwrap();
            assert_eq!(serde_json::to_value(&choice).unwrap(), json!(text));
        }
        assert_eq!(Choice::from("First"), Choice::First);
        assert_eq!(Choice::from("x"), Choice::Other("x".to_owned()));
        assert_eq!(Choice::VALUES, ["First", "two.example.com"]);
        assert_eq!(Choice::Second.to_string(), "two.example.com");
    }
}
