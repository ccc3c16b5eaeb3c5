//! Node taints and the tolerations that lift them.

view! {
    /// A mark on a node that keeps pods away.
    pub struct Taint {
        "key" => pub key: String,
        "value" => pub value: String,
        /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
        "effect" => pub effect: String,
    }

    /// What a pod puts up with.
    pub struct Toleration {
        /// Empty with operator `Exists` tolerates everything.
        "key" => pub key: String,
        /// `Equal`, `Exists`, `Lt` or `Gt`; empty is `Equal`.
        "operator" => pub operator: String,
        "value" => pub value: String,
        /// Empty matches every effect.
        "effect" => pub effect: String,
        /// How long a `NoExecute` taint is endured; for ever when not given.
        "tolerationSeconds" => pub toleration_seconds: Option<i64>,
    }
}

impl Toleration {
    /// Whether both describe the same toleration: an operator that is not given is `Equal`. How long it lasts is not
    /// looked at.
    pub fn is_same(&self, other: &Self) -> bool {
        self.key == other.key
            && self.value == other.value
            && self.effect == other.effect
            && self.operator_or_default() == other.operator_or_default()
    }

    fn operator_or_default(&self) -> &str {
        if self.operator.is_empty() { "Equal" } else { &self.operator }
    }
}

/// Whether any of the taints has the key.
pub fn has_taint_key(taints: &[Taint], key: &str) -> bool {
    taints.iter().any(|taint| taint.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toleration(text: &str) -> Toleration {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn an_operator_that_is_not_given_is_equal() {
        let bare = toleration(r#"{"key": "gpu", "value": "a"}"#);
        assert!(bare.is_same(&toleration(r#"{"key": "gpu", "value": "a", "operator": "Equal"}"#)));
        assert!(bare.is_same(&toleration(r#"{"key": "gpu", "value": "a", "tolerationSeconds": 3}"#)));
        for other in [
            r#"{"key": "gpu", "value": "a", "operator": "Exists"}"#,
            r#"{"key": "cpu", "value": "a"}"#,
            r#"{"key": "gpu", "value": "b"}"#,
            r#"{"key": "gpu", "value": "a", "effect": "NoExecute"}"#,
        ] {
            assert!(!bare.is_same(&toleration(other)), "{other}");
        }
    }

    #[test]
    fn a_taint_is_found_by_its_whole_key() {
        let taints = [Taint { key: "gpu".to_owned(), ..Taint::default() }];
        assert!(has_taint_key(&taints, "gpu"));
        assert!(!has_taint_key(&taints, "gp"));
        assert!(!has_taint_key(&[], "gpu"));
    }
}
