//! DefaultTolerationSeconds: pods stay five minutes on a node that is not ready.

use super::{Plugin, writes_pod};
use crate::json::{Value, json};
use crate::kinds::text_at;

const KEYS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const SECONDS: u64 = 300;

pub const PLUGIN: Plugin = Plugin {
    applies: writes_pod,
    mutate: Some(|_, _, object, _| {
        if let Some(pod) = object {
            tolerate(&mut pod["spec"]);
        }
        Ok(())
    }),
    ..Plugin::NONE
};

fn tolerate(spec: &mut Value) {
    let Some(spec) = spec.as_object_mut() else { return };
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    if tolerations.is_null() {
        *tolerations = json!([]);
    }
    let Some(tolerations) = tolerations.as_array_mut() else { return };
    for key in KEYS {
        let covers = |toleration: &Value| {
            let is_one_of = |field: &str, wanted: &str| ["", wanted].contains(&text_at(toleration, &[field]));
            is_one_of("key", key) && is_one_of("effect", "NoExecute")
        };
        if !tolerations.iter().any(covers) {
            tolerations
                .push(json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": SECONDS}));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_pod_does_not_tolerate_is_added() {
        let cases = [
            (json!({}), vec![KEYS[0], KEYS[1]]),
            (json!({"tolerations": [{"operator": "Exists"}]}), vec![""]),
            (json!({"tolerations": [{"key": KEYS[1], "effect": "NoExecute"}]}), vec![KEYS[1], KEYS[0]]),
            (json!({"tolerations": [{"key": KEYS[0], "effect": "NoSchedule"}]}), vec![KEYS[0], KEYS[0], KEYS[1]]),
        ];
        for (mut spec, expected) in cases {
            tolerate(&mut spec);
            let keys: Vec<&str> =
                spec["tolerations"].as_array().unwrap().iter().map(|found| text_at(found, &["key"])).collect();
            assert_eq!(keys, expected);
        }
    }
}
