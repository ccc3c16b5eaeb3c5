//! Priority: a pod's class becomes a number, and only one class is the default.

use super::{Plugin, forbidden, writes_pod};
use crate::admission::{Attributes, Operation};
use crate::json::Value;
use crate::kinds::text_at;
use crate::rest::service::Server;
use crate::status::Result;
use crate::store::Key;

const CLASSES_OF_CLUSTER: &str = "priorityclasses.scheduling.k8s.io";
const PREEMPTS: &str = "PreemptLowerPriority";

pub const PODS: Plugin = Plugin { applies: writes_pod, mutate: Some(admit_pod), ..Plugin::NONE };
pub const CLASSES: Plugin = Plugin {
    applies: |attributes| {
        attributes.resource.storage == CLASSES_OF_CLUSTER && attributes.operation != Operation::Delete
    },
    validate: Some(check_class),
    ..Plugin::NONE
};

/// What a class gives a pod.
#[derive(Debug, PartialEq, Eq)]
struct Given {
    name: String,
    priority: i64,
    preemption: Option<String>,
}

impl Given {
    fn of(class: &Value) -> Self {
        Self {
            name: text_at(class, &["metadata", "name"]).to_owned(),
            priority: class["value"].as_i64().unwrap_or_default(),
            preemption: class["preemptionPolicy"].as_str().map(str::to_owned),
        }
    }
}

impl Server {
    /// The class of pods that name none; of several, which only a race can make, the lowest.
    fn default_class(&self) -> Option<Given> {
        let classes = self.store.list(CLASSES_OF_CLUSTER, "", None).map(|found| found.objects).unwrap_or_default();
        let defaults = classes.iter().filter(|(_, class)| class.value["globalDefault"] == true);
        defaults.map(|(_, class)| Given::of(&class.value)).min_by_key(|given| given.priority)
    }
}

fn admit_pod(
    server: &Server,
    attributes: &Attributes<'_>,
    object: Option<&mut Value>,
    old: Option<&Value>,
) -> Result<()> {
    let Some(pod) = object.filter(|pod| pod["spec"].is_object()) else { return Ok(()) };
    let spec = &mut pod["spec"];
    if let Some(old) = old {
        // What was given at the start stays when an update does not say it.
        for field in ["priority", "preemptionPolicy"] {
            if spec[field].is_null() && !old["spec"][field].is_null() {
                spec[field] = old["spec"][field].clone();
            }
        }
        return Ok(());
    }
    let named = text_at(spec, &["priorityClassName"]);
    let given = if named.is_empty() {
        let none = || Given { name: String::new(), priority: 0, preemption: Some(PREEMPTS.into()) };
        server.default_class().unwrap_or_else(none)
    } else {
        match server.store.get(CLASSES_OF_CLUSTER, &Key::new("", named)) {
            Some(class) => Given::of(&class.value),
            None => return Err(forbidden(attributes, &format!("no PriorityClass with name {named} was found"))),
        }
    };
    give(spec, given).map_err(|why| forbidden(attributes, &why))
}

/// A pod may repeat what its class gives, and not say anything else.
fn give(spec: &mut Value, given: Given) -> std::result::Result<(), String> {
    let computed = "priority admission controller computed";
    if let Some(own) = spec["priority"].as_i64().filter(|own| *own != given.priority) {
        return Err(format!(
            "the integer value of priority ({own}) must not be provided in pod spec; {computed} {} from the given \
             PriorityClass name",
            given.priority
        ));
    }
    spec["priority"] = given.priority.into();
    if !given.name.is_empty() {
        spec["priorityClassName"] = given.name.into();
    }
    let Some(preemption) = given.preemption else { return Ok(()) };
    if let Some(own) = spec["preemptionPolicy"].as_str().filter(|own| *own != preemption) {
        return Err(format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; {computed} {preemption} from \
             the given PriorityClass name"
        ));
    }
    spec["preemptionPolicy"] = preemption.into();
    Ok(())
}

fn check_class(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>, _: Option<&Value>) -> Result<()> {
    let Some(class) = object.filter(|class| class["globalDefault"] == true) else { return Ok(()) };
    let is_same = |given: &Given| given.name == text_at(class, &["metadata", "name"]);
    match server.default_class() {
        Some(other) if attributes.operation == Operation::Create || !is_same(&other) => {
            let why = format!("PriorityClass {} is already marked as default. Only one default can exist", other.name);
            Err(forbidden(attributes, &why))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn a_pod_gets_what_its_class_gives() {
        let high = || Given::of(&json!({"metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"}));
        let mut spec = json!({"priorityClassName": "high"});
        give(&mut spec, high()).unwrap();
        assert_eq!(spec, json!({"priorityClassName": "high", "priority": 9, "preemptionPolicy": "Never"}));
        let cases = [
            (
                json!({"priority": 5}),
                "the integer value of priority (5) must not be provided in pod spec; priority admission controller \
                 computed 9 from the given PriorityClass name",
            ),
            (
                json!({"priority": 9, "preemptionPolicy": "PreemptLowerPriority"}),
                "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided in pod spec; priority \
                 admission controller computed Never from the given PriorityClass name",
            ),
        ];
        for (mut spec, expected) in cases {
            assert_eq!(give(&mut spec, high()).unwrap_err(), expected);
        }
    }
}
