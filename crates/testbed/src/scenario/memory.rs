//! What only the server knows, a uid or a name that it made, said again in what is applied later: `$(name)`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::Target;
use crate::problem::{Problem, Result};

/// A field of an object, and what it is called from then on.
#[derive(Debug, Deserialize)]
pub(super) struct Remember {
    #[serde(rename = "as")]
    name: String,
    /// As a JSON pointer.
    field: String,
    #[serde(flatten)]
    pub of: Target,
}

/// What was remembered, by name.
#[derive(Debug, Default)]
pub(super) struct Memory(BTreeMap<String, String>);

impl Memory {
    pub(super) fn keep(&mut self, Remember { name, field, .. }: &Remember, object: &Value) -> Result<()> {
        let text = object.pointer(field).and_then(Value::as_str);
        let text = text.ok_or_else(|| Problem::new(format!("there is no text at {field}: {object}")))?;
        self.0.insert(name.clone(), text.to_string());
        Ok(())
    }

    /// The same with what was remembered in the places for it.
    pub(super) fn fill(&self, value: &Value) -> Result<Value> {
        Ok(match value {
            Value::String(text) => Value::String(self.fill_text(text)?),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.fill(item)).collect::<Result<_>>()?),
            Value::Object(fields) => {
                let filled = fields.iter().map(|(key, value)| Ok((key.clone(), self.fill(value)?)));
                Value::Object(filled.collect::<Result<_>>()?)
            }
            other => other.clone(),
        })
    }

    fn fill_text(&self, text: &str) -> Result<String> {
        let (mut filled, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once("$(") {
            let known = after.split_once(')').and_then(|(name, after)| Some((self.0.get(name)?, after)));
            let (known, after) = known.ok_or_else(|| Problem::new(format!("{text:?} was not remembered")))?;
            filled.extend([before, known]);
            rest = after;
        }
        Ok(filled + rest)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_remembered_is_said_again_and_nothing_else() {
        let of = json!({"as": "it", "field": "/metadata/uid", "kind": "Job", "name": "demo"});
        let of: Remember = serde_json::from_value(of).unwrap();
        let mut memory = Memory::default();
        assert!(memory.keep(&of, &json!({"metadata": {}})).is_err());
        memory.keep(&of, &json!({"metadata": {"uid": "1-2"}})).unwrap();
        let filled = memory.fill(&json!({"a": ["x", "$(it)", "b-$(it)-$(it)"], "n": 1})).unwrap();
        assert_eq!(filled, json!({"a": ["x", "1-2", "b-1-2-1-2"], "n": 1}));
        for unknown in ["$(other)", "$(it"] {
            assert!(memory.fill(&json!(unknown)).is_err(), "{unknown}");
        }
    }
}
