//! Which labels or fields an object must have: [`LabelSelector`] in API objects (`matchLabels`, `matchExpressions`),
//! [`Selector`] and [`FieldSelector`] in the text of a query.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::field::{Error, Errors, Path};
use crate::label;

mod fields;
mod query;

pub use fields::{FieldSelector, FieldTerm};
pub use query::Selector;

/// Text that is not a selector, in the API server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseSelectorError(String);

/// All parts must hold; one with no part selects everything. No selector at all is the caller's to interpret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector {
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "null_as_empty")]
    pub match_labels: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// One condition on the label `key`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Requirement {
    pub key: String,
    pub operator: Operator,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_empty")]
    pub values: Vec<String>,
}

/// How the label relates to the values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    /// Kept so that validation can name it.
    Other(String),
}

impl LabelSelector {
    /// Whether an object with these labels is selected. An unknown operator, or one with too many or no values, selects
    /// nothing.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|requirement| requirement.matches(labels))
    }

    /// Every mistake, in the API server's words.
    pub fn validate(&self, at: &Path) -> Errors {
        let mut errors = label::validate_labels(&self.match_labels, &at.child("matchLabels"));
        for (index, requirement) in self.match_expressions.iter().enumerate() {
            errors.extend(requirement.validate(&at.child("matchExpressions").index(index)));
        }
        errors
    }
}

/// As `kubectl -l` takes it, ordered by key.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equal = self.match_labels.iter().map(|(key, value)| (key.as_str(), format!("{key}={value}")));
        let others = self.match_expressions.iter().map(|requirement| (requirement.key.as_str(), requirement.to_text()));
        let mut parts: Vec<(&str, String)> = equal.chain(others).collect();
        parts.sort_by_key(|(key, _)| *key);
        let texts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
        f.write_str(&texts.join(","))
    }
}

impl Requirement {
    fn to_text(&self) -> String {
        let key = &self.key;
        let mut values = self.values.clone();
        values.sort();
        let values = values.join(",");
        match self.operator {
            Operator::In => format!("{key} in ({values})"),
            Operator::NotIn => format!("{key} notin ({values})"),
            Operator::Exists => key.clone(),
            Operator::DoesNotExist => format!("!{key}"),
            Operator::Other(_) => String::new(),
        }
    }

    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => !self.values.is_empty() && value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some() && self.values.is_empty(),
            Operator::DoesNotExist => value.is_none() && self.values.is_empty(),
            Operator::Other(_) => false,
        }
    }

    fn validate(&self, at: &Path) -> Errors {
        let mut errors = Errors::new();
        let values_at = at.child("values");
        match &self.operator {
            Operator::In | Operator::NotIn if self.values.is_empty() => {
                errors.push(Error::required(&values_at, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            Operator::Exists | Operator::DoesNotExist if !self.values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(Error::forbidden(&values_at, why));
            }
            Operator::Other(name) => {
                errors.push(Error::invalid(&at.child("operator"), name.as_str(), "not a valid selector operator"));
            }
            _ => {}
        }
        errors.extend(label::validate_key(&self.key, &at.child("key")));
        for (index, value) in self.values.iter().enumerate() {
            let messages = label::value(value).into_iter();
            errors.extend(messages.map(|why| Error::invalid(&values_at.index(index), value.as_str(), why)));
        }
        errors
    }
}

impl Operator {
    pub fn as_str(&self) -> &str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Other(name) => name,
        }
    }
}

impl From<&str> for Operator {
    fn from(name: &str) -> Self {
        match name {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            other => Self::Other(other.to_owned()),
        }
    }
}

/// The empty name, as in an object that does not have the field.
impl Default for Operator {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ParseSelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseSelectorError {}

impl Serialize for Operator {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Operator {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*Cow::<str>::deserialize(deserializer)?))
    }
}

fn null_as_empty<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
