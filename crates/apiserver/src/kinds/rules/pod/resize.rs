//! `resize`: processor and memory of a running pod's containers may change, its quality of service may not.

use kueue_core::field::{Error, Errors, Path};

use super::super::Update;
use super::super::check::Field;
use super::qos;
use super::update::{CONTAINERS, put};
use crate::json::{Name, Value};

const RESIZABLE: [&str; 2] = ["cpu", "memory"];
const OTHERS: &str = "only cpu and memory resources are mutable";

/// Takes over amounts and policies. Containers that moved are taken over too, so that they can be refused.
pub fn prepare(kept: &mut Value, wanted: &Value) {
    put(&mut kept["spec"], "resources", &wanted["spec"]);
    for list in CONTAINERS {
        let new = wanted["spec"][list].as_array().map(Vec::as_slice).unwrap_or_default();
        let old = kept["spec"].get_mut(list).and_then(Value::as_array_mut);
        let Some(old) = old.filter(|old| old.iter().zip(new).all(|(old, new)| old["name"] == new["name"])) else {
            put(&mut kept["spec"], list, &wanted["spec"]);
            continue;
        };
        if old.len() != new.len() {
            put(&mut kept["spec"], list, &wanted["spec"]);
            continue;
        }
        for (old, new) in old.iter_mut().zip(new) {
            put(old, "resources", new);
            put(old, "resizePolicy", new);
        }
    }
}

pub fn validate(update: Update<'_>) -> Errors {
    let mut errors = super::validate(update.new);
    let spec = Field::root(update.new).child("spec");
    let refuse = |why: &str| vec![Error::forbidden(&Path::default(), why)];
    if update.old["metadata"]["annotations"].get("kubernetes.io/config.mirror").is_some() {
        return refuse("static pods cannot be resized");
    }
    if update.old["spec"]["os"]["name"] == "windows" {
        return refuse("windows pods cannot be resized");
    }
    if qos::class(&update.new["spec"]) != qos::class(&update.old["spec"]) {
        let class = update.new["status"]["qosClass"].clone();
        errors.push(Error::invalid(&spec.path, class, "Pod QOS Class may not change as a result of resizing"));
    }
    if !is_supported(update.old) {
        errors.push(spec.forbidden("Pod running on node without support for resize"));
    }
    if !check_order(&spec, &update.old["spec"], &mut errors) {
        return errors;
    }
    for list in CONTAINERS {
        for (index, container) in spec.child(list).items().enumerate() {
            let old = &update.old["spec"][list][index];
            let is_plain_init = list == "initContainers" && old["restartPolicy"] != "Always";
            if is_plain_init && *container.value != *old {
                errors.push(spec.forbidden("resources for non-sidecar init containers are immutable"));
            } else if !is_plain_init {
                check_amounts(&container, old, &spec, &mut errors);
            }
        }
    }
    errors
}

/// Whether the node has told what its containers were given, as nodes that can resize do.
fn is_supported(pod: &Value) -> bool {
    let statuses = pod["status"]["containerStatuses"].as_array().map(Vec::as_slice).unwrap_or_default();
    let running = statuses.iter().find(|status| status["state"].get("running").is_some());
    running.is_none_or(|status| status.get("resources").is_some())
}

fn check_order(spec: &Field<'_>, old: &Value, errors: &mut Errors) -> bool {
    let before = errors.len();
    for list in CONTAINERS {
        let sort = if list == "containers" { "containers" } else { "initContainers" };
        let known = old[list].as_array().map(Vec::as_slice).unwrap_or_default();
        if spec.child(list).len() != known.len() {
            let why = format!("{sort} may not be added or removed on resize");
            errors.push(spec.child(list).forbidden(why));
            continue;
        }
        for (container, known) in spec.child(list).items().zip(known) {
            if *container.child("name").value != known["name"] {
                errors.push(
                    container.child("name").forbidden(format!("{sort} may not be renamed or reordered on resize")),
                );
            }
        }
    }
    errors.len() == before
}

fn check_amounts(container: &Field<'_>, old: &Value, spec: &Field<'_>, errors: &mut Errors) {
    let resources = container.child("resources");
    let mut has_others = false;
    for field in ["requests", "limits"] {
        let (new, old) = (resources.child(field), &old["resources"][field]);
        let names = old.as_object().into_iter().flatten().map(|(name, _)| name);
        if names.into_iter().any(|name| new.value.get(name).is_none()) {
            errors.push(new.forbidden(format!("resource {field} cannot be removed")));
        }
        let others = |amounts: &Value| -> Vec<(Name, Value)> {
            let entries = amounts.as_object().into_iter().flatten();
            let kept = entries.filter(|(name, _)| !RESIZABLE.contains(&name.as_str()));
            kept.map(|(name, amount)| (name.clone(), amount.clone())).collect()
        };
        has_others |= others(new.value) != others(old);
    }
    if has_others {
        errors.push(spec.forbidden(OTHERS));
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::json::json;

    fn pod(requests: Value) -> Value {
        let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"requests": requests}}]}});
        super::super::default(&mut pod);
        pod
    }

    fn check(new: Value, expected: &[&str]) {
        let old = pod(json!({"cpu": "1", "memory": "1Gi"}));
        let mut kept = old.clone();
        prepare(&mut kept, &pod(new));
        assert_eq!(lines(&validate(Update { new: &kept, old: &old })), expected);
    }

    #[test]
    fn processor_and_memory_change_and_nothing_goes() {
        check(json!({"cpu": "2", "memory": "1Gi"}), &[]);
        check(
            json!({"cpu": "2"}),
            &["spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"],
        );
        check(
            json!({"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1"}),
            &["spec: Forbidden: only cpu and memory resources are mutable"],
        );
    }
}
