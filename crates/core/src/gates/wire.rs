//! Gates as a document: what differs from the defaults, by name.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Gate, Gates};

impl Serialize for Gates {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let defaults = Self::default();
        let changed = Gate::ALL.iter().filter(|gate| self.enabled(**gate) != defaults.enabled(**gate));
        serializer.collect_map(changed.map(|gate| (gate.name(), self.enabled(*gate))))
    }
}

impl<'de> Deserialize<'de> for Gates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut gates = Self::default();
        for (name, on) in BTreeMap::<String, bool>::deserialize(deserializer)? {
            let gate = Gate::named(&name).ok_or_else(|| D::Error::custom(format!("no feature gate {name:?}")))?;
            gates = gates.set(gate, on);
        }
        Ok(gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_come_back_as_they_were() {
        let gates = Gates::default().with(Gate::PartialAdmission, false);
        let text = serde_json::to_string(&gates).unwrap();
        assert_eq!(text, r#"{"PartialAdmission":false}"#);
        assert_eq!(serde_json::from_str::<Gates>(&text).unwrap(), gates);
        assert!(serde_json::from_str::<Gates>(r#"{"NoSuchGate":true}"#).is_err());
    }
}
