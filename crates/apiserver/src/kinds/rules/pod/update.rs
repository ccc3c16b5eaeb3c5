//! What of a pod may change: images, a deadline that comes nearer, tolerations that are added, gates that go, and
//! while it is gated where it may run.

use kueue_core::field::{Error, Errors, Path};

use super::super::check::Field;
use super::super::pod_spec::{check_annotations, check_tolerations};
use super::super::{Update, internal_diff};
use crate::json::Value;

const FROZEN: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
                      `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions \
                      to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                      previously negative)\n";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
pub const CONTAINERS: [&str; 2] = ["containers", "initContainers"];

pub fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let (new, old) = (Field::root(update.new).child("spec"), Field::root(update.old).child("spec"));
    check_mirror(update, &mut errors);
    for list in CONTAINERS {
        if new.child(list).len() != old.child(list).len() {
            errors.push(new.child(list).forbidden("pod updates may not add or remove containers"));
            return errors;
        }
        for container in new.child(list).items() {
            container.child("image").needs(&mut errors);
            super::super::pod_spec::check_image_is_trimmed(&container, &mut errors);
        }
    }
    if !check_deadline(&new, &old, &mut errors) {
        return errors;
    }
    check_added_tolerations(&new.child("tolerations"), &old.child("tolerations"), &mut errors);
    check_removed_gates(&new.child("schedulingGates"), &old.child("schedulingGates"), &mut errors);
    let mut allowed = update.new["spec"].clone();
    take_back(&mut allowed, &update.old["spec"]);
    if !old.child("schedulingGates").is_empty() {
        check_gated(&new, &old, &mut errors);
        take_back_placement(&mut allowed, &update.old["spec"]);
    }
    if allowed != update.old["spec"] {
        let diff = internal_diff("PodSpec", &update.old["spec"], &allowed);
        errors.push(new.forbidden(format!("{FROZEN}{diff}")));
    }
    errors
}

/// A pod that stands for one that kubelet made itself stays one.
fn check_mirror(update: Update<'_>, errors: &mut Errors) {
    let key = "kubernetes.io/config.mirror";
    let annotations = Field::root(update.new).child("metadata.annotations");
    let (new, old) = (annotations.value.get(key), update.old["metadata"]["annotations"].get(key));
    if new != old {
        let verb = if old.is_some() { "remove or update" } else { "add" };
        let why = format!("may not {verb} mirror pod annotation");
        errors.push(Error::forbidden(&annotations.path.key(key), why));
    }
    // A real server looks at these annotations once more.
    check_annotations(&annotations, &Field::root(update.new).child("spec"), errors);
}

/// The deadline may be set, and come nearer. Whether the rest is worth looking at.
fn check_deadline(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) -> bool {
    let (new, old) = (new.child("activeDeadlineSeconds"), old.child("activeDeadlineSeconds"));
    let before = errors.len();
    match (new.is_set(), old.is_set()) {
        (true, _) => {
            new.in_range(0, i64::from(i32::MAX), errors);
            if errors.len() == before && old.is_set() && old.number() < new.number() {
                errors.push(new.invalid("must be less than or equal to previous value"));
            }
            errors.len() == before
        }
        (false, true) => {
            errors.push(new.invalid("must not update from a positive integer to nil value"));
            true
        }
        (false, false) => true,
    }
}

fn check_added_tolerations(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let without_time = |toleration: &Field<'_>| {
        let mut value = toleration.value.clone();
        value["tolerationSeconds"] = Value::Null;
        value
    };
    let present: Vec<Value> = new.items().map(|toleration| without_time(&toleration)).collect();
    if old.items().any(|toleration| !present.contains(&without_time(&toleration))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(new.forbidden(why));
        return;
    }
    check_tolerations(new, errors);
}

fn check_removed_gates(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let known: Vec<&str> = old.items().map(|gate| gate.child("name").text()).collect();
    for gate in new.items() {
        let name = gate.child("name");
        if !known.contains(&name.text()) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{}'", name.text());
            errors.push(name.forbidden(why));
        }
    }
}

/// Undoes in a spec what every update may do.
fn take_back(spec: &mut Value, old: &Value) {
    for list in CONTAINERS {
        for (index, container) in spec[list].as_array_mut().into_iter().flatten().enumerate() {
            put(container, "image", &old[list][index]);
        }
    }
    for name in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        put(spec, name, old);
    }
    let was_negative = old["terminationGracePeriodSeconds"].as_i64().is_some_and(|grace| grace < 0);
    if was_negative && spec["terminationGracePeriodSeconds"] == 1 {
        put(spec, "terminationGracePeriodSeconds", old);
    }
    drop_empty(spec);
}

/// Looking at a list that is not there makes it null.
fn drop_empty(spec: &mut Value) {
    if let Some(spec) = spec.as_object_mut() {
        spec.retain(|_, value| !value.is_null());
    }
}

/// Gives a field the value it has in another object, or takes it away.
pub fn put(value: &mut Value, name: &str, from: &Value) {
    if let Some(object) = value.as_object_mut() {
        match from.get(name) {
            Some(old) => object.insert(name, old.clone()),
            None => object.remove(name),
        };
    }
}

/// Undoes what an update may do to a gated pod.
fn take_back_placement(spec: &mut Value, old: &Value) {
    put(spec, "nodeSelector", old);
    let old_node = old["affinity"].get("nodeAffinity");
    let has_other =
        |affinity: &Value| affinity.get("podAffinity").is_some() || affinity.get("podAntiAffinity").is_some();
    match (spec.get("affinity").is_some(), old_node) {
        (false, None) => {}
        (false, Some(node)) => spec["affinity"] = crate::json::json!({"nodeAffinity": node}),
        (true, _) if old.get("affinity").is_none() && !has_other(&spec["affinity"]) => put(spec, "affinity", old),
        (true, _) => put(&mut spec["affinity"], "nodeAffinity", &old["affinity"]),
    }
}

/// A gated pod may be told more about where it runs, and nothing may be taken back.
fn check_gated(new: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let selector = new.child("nodeSelector");
    if old.child("nodeSelector").entries().any(|(key, value)| selector.value.get(key) != Some(value.value)) {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(selector.invalid(why));
    }
    let terms = format!("affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms");
    let (new, old) = (new.child(&terms), old.child(&terms));
    if old.is_empty() {
        return;
    }
    if new.len() != old.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(new.invalid(why));
        return;
    }
    for (new, old) in new.items().zip(old.items()) {
        if !only_adds(new.value, old.value) {
            errors.push(new.invalid("only additions are allowed (no mutations or deletions)"));
        }
    }
}

/// Whether a term begins with all of another's expressions. An empty term selects nothing and must stay so.
fn only_adds(new: &Value, old: &Value) -> bool {
    let list = |term: &Value, name: &str| term[name].as_array().cloned().unwrap_or_default();
    let lists = ["matchExpressions", "matchFields"];
    if lists.iter().all(|name| list(old, name).is_empty()) {
        return lists.iter().all(|name| list(new, name).is_empty());
    }
    lists.iter().all(|name| list(new, name).starts_with(&list(old, name)))
}

/// Containers for looking into a running pod are only added.
pub fn validate_ephemeral(update: Update<'_>) -> Errors {
    let mut errors = super::validate(update.new);
    let at = Path::new("spec").child("ephemeralContainers");
    let (new, old) = (&update.new["spec"]["ephemeralContainers"], &update.old["spec"]["ephemeralContainers"]);
    for container in old.as_array().into_iter().flatten() {
        let name = container["name"].as_str().unwrap_or_default();
        let present = new.as_array().into_iter().flatten().find(|present| present["name"] == container["name"]);
        let (verb, diff) = match present {
            None => ("removed", String::new()),
            Some(present) if present != container => {
                ("changed", internal_diff("EphemeralContainer", container, present))
            }
            Some(_) => continue,
        };
        let why = format!("existing ephemeral containers {name:?} may not be {verb}\n{diff}");
        errors.push(Error::forbidden(&at, why));
    }
    errors
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::json::json;

    fn pod(spec: Value) -> Value {
        json!({"metadata": {"name": "p"}, "spec": spec})
    }

    fn check(old: Value, new: Value, expected: &[&str]) {
        let (old, new) = (pod(old), pod(new));
        assert_eq!(lines(&validate_update(Update { new: &new, old: &old })), expected);
    }

    #[test]
    fn gates_only_go_away() {
        let [none, one] = [json!({}), json!({"schedulingGates": [{"name": "a"}]})];
        check(one.clone(), none.clone(), &[]);
        check(
            none,
            one,
            &["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a'"],
        );
    }

    #[test]
    fn a_gated_pod_may_gain_a_node_selector() {
        let gates = json!([{"name": "a"}]);
        let with = |selector: Value| json!({"schedulingGates": gates, "nodeSelector": selector});
        check(with(json!({"a": "1"})), with(json!({"a": "1", "b": "2"})), &[]);
        check(
            with(json!({"a": "1"})),
            with(json!({"b": "2"})),
            &["spec.nodeSelector: Invalid value: {\"b\":\"2\"}: only additions to spec.nodeSelector are allowed (no \
               mutations or deletions)"],
        );
        let (old, new) = (pod(json!({})), pod(json!({"nodeSelector": {"a": "1"}})));
        let said = validate_update(Update { new: &new, old: &old }).remove(0).detail;
        let diff = "- \"NodeSelector\": null,\n+ \"NodeSelector\": {\n+  \"a\": \"1\"\n+ },\n";
        assert!(said.starts_with(FROZEN) && said.contains(diff), "{said}");
    }

    #[test]
    fn a_gated_pod_may_narrow_its_node_affinity() {
        let with = |terms: Value| {
            let required = json!({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}});
            json!({"schedulingGates": [{"name": "a"}], "affinity": required})
        };
        let term = |keys: &[&str]| {
            let list: Vec<Value> = keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect();
            json!({"matchExpressions": list})
        };
        let bare = json!({"schedulingGates": [{"name": "a"}]});
        check(bare, with(json!([term(&["a"])])), &[]);
        check(with(json!([term(&["a"])])), with(json!([term(&["a", "b"])])), &[]);
        let at = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
        let say = |old: Value, new: Value| {
            let (old, new) = (pod(with(old)), pod(with(new)));
            let errors = validate_update(Update { new: &new, old: &old });
            errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect::<Vec<_>>()
        };
        assert_eq!(
            say(json!([term(&["a"])]), json!([term(&["b"])])),
            [format!("{at}[0]: only additions are allowed (no mutations or deletions)")]
        );
        assert_eq!(
            say(json!([term(&["a"])]), json!([term(&["a"]), term(&["b"])])),
            [format!("{at}: no additions/deletions to non-empty NodeSelectorTerms list are allowed")]
        );
    }

    #[test]
    fn a_deadline_only_comes_nearer() {
        let with = |seconds: i64| json!({"activeDeadlineSeconds": seconds});
        check(json!({}), with(5), &[]);
        check(with(5), with(4), &[]);
        check(
            with(5),
            with(6),
            &["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"],
        );
        check(
            with(5),
            json!({}),
            &["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
        );
    }

    #[test]
    fn tolerations_are_only_added_and_images_change() {
        let with = |keys: &[&str]| {
            let list: Vec<Value> = keys.iter().map(|key| json!({"key": key, "operator": "Exists"})).collect();
            json!({"tolerations": list, "containers": [{"image": keys.join("-")}]})
        };
        check(with(&["a"]), with(&["a", "b"]), &[]);
        check(
            with(&["a"]),
            with(&["b"]),
            &["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
        );
    }

    #[test]
    fn containers_neither_come_nor_go() {
        check(
            json!({"containers": [{"image": "a"}]}),
            json!({"containers": [{"image": "a"}, {"image": "b"}]}),
            &["spec.containers: Forbidden: pod updates may not add or remove containers"],
        );
    }

    #[test]
    fn a_negative_grace_may_become_one() {
        let with = |grace: i64| json!({"terminationGracePeriodSeconds": grace});
        check(with(-1), with(1), &[]);
        let (old, new) = (pod(with(30)), pod(with(1)));
        let errors = validate_update(Update { new: &new, old: &old });
        assert!(errors[0].detail.starts_with(FROZEN), "{errors:?}");
    }
}
