use super::check;
use crate::validation::resource_flavor::validate;

#[test]
fn labels_taints_and_tolerations_are_well_formed() {
    let good = r#"{"spec": {"nodeLabels": {"pool": "spot"}, "nodeTaints": [{"key": "spot", "effect": "NoSchedule"}]}}"#;
    check(good, TABLE, |new, _, _| validate(new));
}

const TABLE: &str = r#"
    => ok

    spec.nodeLabels = {"@a": "b", "c": "@d"}
    => spec.nodeLabels: Invalid value: "@a": name part must consist of alphanumeric …
    => spec.nodeLabels: Invalid value: "@d": a valid label must be an empty string …

    spec.nodeTaints[0].key = ""
    spec.nodeTaints[0].value = a b
    => spec.nodeTaints[0].key: Invalid value: "": name part must be non-empty
    => spec.nodeTaints[0].key: Invalid value: "": name part must consist of alphanumeric …
    => spec.nodeTaints[0].value: Invalid value: "a b": a valid label must be an empty string …

    spec.nodeTaints[1] = {"key": "spot", "effect": "NoExecute"}
    spec.nodeTaints[2] = {"key": "spot", "value": "x", "effect": "NoSchedule"}
    => spec.nodeTaints[2]: Duplicate value: {"effect":"NoSchedule","key":"spot","value":"x"}: taints must be unique by key and effect pair

    spec.tolerations[0] = {"operator": "Exists"}
    => ok

    spec.tolerations[1] = {"key": "a/b/c"}
    => spec.tolerations[1].key: Invalid value: "a/b/c": a valid label key must consist …
"#;
