//! What stands in each column, as a table of small rules; kinds whose cells are a story have a file of their own.

use jiff::Timestamp;
use kueue_core::time::Time;
use serde_json::{Value, json};

use super::{age, human_duration, node, pod};
use crate::kinds::Resource;

/// How a cell is made from an object.
enum Cell {
    Age,
    CreatedAt,
    /// The text or number at a path; the second is shown when there is none.
    At(&'static str, Unset),
    /// How many entries are at the path.
    Count(&'static str),
    Made(fn(&Value, Timestamp) -> Value),
}

enum Unset {
    Empty,
    Zero,
    None,
}

use Cell::{Age, At, Count, CreatedAt, Made};

/// The cells after the name, per place of storage, in the order of the columns.
fn rules(storage: &str) -> &'static [Cell] {
    match storage {
        "configmaps" => &[Made(config_map_data), Age],
        "secrets" => &[At("type", Unset::Empty), Count("data"), Age],
        "namespaces" => &[At("status.phase", Unset::Empty), Age],
        "services" => &[
            At("spec.type", Unset::Empty),
            At("spec.clusterIP", Unset::None),
            Made(external_ip),
            Made(service_ports),
            Age,
            Made(|object, _| labels(&object["spec"]["selector"])),
        ],
        "endpoints" => &[Made(endpoints), Age],
        "limitranges"
        | "roles.rbac.authorization.k8s.io"
        | "clusterroles.rbac.authorization.k8s.io"
        | "customresourcedefinitions.apiextensions.k8s.io" => &[CreatedAt],
        "rolebindings.rbac.authorization.k8s.io" | "clusterrolebindings.rbac.authorization.k8s.io" => &[
            Made(|object, _| {
                let text = |name: &str| object["roleRef"][name].as_str().unwrap_or_default().to_owned();
                format!("{}/{}", text("kind"), text("name")).into()
            }),
            Age,
            Made(|object, _| subjects(object, "User")),
            Made(|object, _| subjects(object, "Group")),
            Made(|object, _| subjects(object, "ServiceAccount")),
        ],
        "deployments.apps" => &[
            Made(|object, _| ratio(&object["status"]["readyReplicas"], &object["spec"]["replicas"])),
            At("status.updatedReplicas", Unset::Zero),
            At("status.availableReplicas", Unset::Zero),
            Age,
            Made(container_names),
            Made(container_images),
            Made(selector),
        ],
        "replicasets.apps" => &[
            At("spec.replicas", Unset::Zero),
            At("status.replicas", Unset::Zero),
            At("status.readyReplicas", Unset::Zero),
            Age,
            Made(container_names),
            Made(container_images),
            Made(selector),
        ],
        "statefulsets.apps" => &[
            Made(|object, _| ratio(&object["status"]["readyReplicas"], &object["spec"]["replicas"])),
            Age,
            Made(container_names),
            Made(container_images),
        ],
        "daemonsets.apps" => &[
            At("status.desiredNumberScheduled", Unset::Zero),
            At("status.currentNumberScheduled", Unset::Zero),
            At("status.numberReady", Unset::Zero),
            At("status.updatedNumberScheduled", Unset::Zero),
            At("status.numberAvailable", Unset::Zero),
            Made(|object, _| labels(&object["spec"]["template"]["spec"]["nodeSelector"])),
            Age,
            Made(container_names),
            Made(container_images),
            Made(selector),
        ],
        "jobs.batch" => &[
            Made(job_status),
            Made(job_completions),
            Made(job_duration),
            Age,
            Made(container_names),
            Made(container_images),
            Made(selector),
        ],
        "priorityclasses.scheduling.k8s.io" => &[
            At("value", Unset::Zero),
            Made(|object, _| (object["globalDefault"] == true).into()),
            Age,
            At("preemptionPolicy", Unset::Empty),
        ],
        "leases.coordination.k8s.io" => &[At("spec.holderIdentity", Unset::Empty), Age],
        "runtimeclasses.node.k8s.io" => &[At("handler", Unset::Empty), Age],
        "poddisruptionbudgets.policy" => &[
            Made(|object, _| or_not_available(&object["spec"]["minAvailable"])),
            Made(|object, _| or_not_available(&object["spec"]["maxUnavailable"])),
            At("status.disruptionsAllowed", Unset::Zero),
            Age,
        ],
        "mutatingwebhookconfigurations.admissionregistration.k8s.io"
        | "validatingwebhookconfigurations.admissionregistration.k8s.io" => &[Count("webhooks"), Age],
        "podtemplates" => &[
            Made(|object, _| containers(&object["template"]["spec"], "name")),
            Made(|object, _| containers(&object["template"]["spec"], "image")),
            Made(|object, _| labels(&object["template"]["metadata"]["labels"])),
        ],
        "ingressclasses.networking.k8s.io" => {
            &[At("spec.controller", Unset::Empty), At("spec.parameters", Unset::None), Age]
        }
        "controllerrevisions.apps" => &[Made(controller), At("revision", Unset::Zero), Age],
        _ => &[Age],
    }
}

/// The cells of an object.
pub fn of(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    if let Some(custom) = &resource.custom {
        return custom.cells(object, now);
    }
    match resource.storage.as_str() {
        "pods" => return pod::cells(object, now),
        "nodes" => return node::cells(object, now),
        "events" => return event(object, now),
        _ => {}
    }
    let mut cells = vec![object["metadata"]["name"].clone()];
    for rule in rules(&resource.storage) {
        cells.push(match rule {
            Age => age(&object["metadata"]["creationTimestamp"], now).into(),
            CreatedAt => object["metadata"]["creationTimestamp"].clone(),
            At(path, unset) => at(object, path, unset),
            Count(path) => {
                let found = &object[*path];
                let count =
                    found.as_object().map_or_else(|| found.as_array().map_or(0, Vec::len), serde_json::Map::len);
                count.into()
            }
            Made(make) => make(object, now),
        });
    }
    // A kind whose columns nobody has described yet shows its name and gaps, never too few cells.
    cells.resize(resource.columns.len().max(1), "".into());
    cells
}

fn at(object: &Value, path: &str, unset: &Unset) -> Value {
    let found = path.split('.').try_fold(object, |value, name| value.get(name)).filter(|value| !value.is_null());
    let is_empty = found.is_some_and(|value| value == "");
    match (found, unset) {
        (Some(value), _) if !is_empty => value.clone(),
        (_, Unset::Empty) => "".into(),
        (_, Unset::Zero) => 0.into(),
        (_, Unset::None) => "<none>".into(),
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

fn ratio(part: &Value, whole: &Value) -> Value {
    format!("{}/{}", number(part), number(whole)).into()
}

/// `a=b,c=d`.
pub fn labels(map: &Value) -> Value {
    let entries = map.as_object().into_iter().flatten();
    let parts: Vec<String> =
        entries.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    if parts.is_empty() { "<none>".into() } else { parts.join(",").into() }
}

fn selector(object: &Value, _: Timestamp) -> Value {
    let selector = &object["spec"]["selector"];
    let mut parts: Vec<String> = Vec::new();
    for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
        parts.push(format!("{key}={}", value.as_str().unwrap_or_default()));
    }
    parts.join(",").into()
}

fn containers(spec: &Value, field: &str) -> Value {
    let listed = spec["containers"].as_array().into_iter().flatten();
    let names: Vec<&str> = listed.filter_map(|container| container[field].as_str()).collect();
    names.join(",").into()
}

fn container_names(object: &Value, _: Timestamp) -> Value {
    containers(&object["spec"]["template"]["spec"], "name")
}

fn container_images(object: &Value, _: Timestamp) -> Value {
    containers(&object["spec"]["template"]["spec"], "image")
}

fn config_map_data(object: &Value, _: Timestamp) -> Value {
    let count = |field: &str| object[field].as_object().map_or(0, serde_json::Map::len);
    (count("data") + count("binaryData")).into()
}

fn subjects(object: &Value, kind: &str) -> Value {
    let listed = object["subjects"].as_array().into_iter().flatten().filter(|subject| subject["kind"] == kind);
    let name = |subject: &Value| {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["namespace"].as_str() {
            Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
            _ => name.to_owned(),
        }
    };
    let names: Vec<String> = listed.map(name).collect();
    names.join(", ").into()
}

fn or_not_available(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.clone().into(),
        other => other.to_string().into(),
    }
}

fn controller(object: &Value, _: Timestamp) -> Value {
    let owners = object["metadata"]["ownerReferences"].as_array().into_iter().flatten();
    let found = owners.into_iter().find(|owner| owner["controller"] == true);
    let Some(owner) = found else { return "<none>".into() };
    let text = |name: &str| owner[name].as_str().unwrap_or_default();
    let group = text("apiVersion").split_once('/').map(|(group, _)| format!(".{group}")).unwrap_or_default();
    format!("{}{group}/{}", text("kind").to_lowercase(), text("name")).into()
}

fn external_ip(object: &Value, _: Timestamp) -> Value {
    let spec = &object["spec"];
    let addresses = spec["externalIPs"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut found: Vec<String> = addresses.map(str::to_owned).collect();
    match spec["type"].as_str() {
        Some("ExternalName") => return spec["externalName"].clone(),
        Some("LoadBalancer") => {
            let ingress = object["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
            let mut given: Vec<String> = ingress
                .filter_map(|one| one["ip"].as_str().or_else(|| one["hostname"].as_str()))
                .map(str::to_owned)
                .collect();
            if given.is_empty() && found.is_empty() {
                return "<pending>".into();
            }
            given.append(&mut found);
            found = given;
        }
        _ => {}
    }
    if found.is_empty() { "<none>".into() } else { found.join(",").into() }
}

fn service_ports(object: &Value, _: Timestamp) -> Value {
    let port = |port: &Value| {
        let protocol = port["protocol"].as_str().unwrap_or_default();
        match number(&port["nodePort"]) {
            0 => format!("{}/{protocol}", number(&port["port"])),
            node => format!("{}:{node}/{protocol}", number(&port["port"])),
        }
    };
    let ports: Vec<String> = object["spec"]["ports"].as_array().into_iter().flatten().map(port).collect();
    if ports.is_empty() { "<none>".into() } else { ports.join(",").into() }
}

fn endpoints(object: &Value, _: Timestamp) -> Value {
    let mut found = Vec::new();
    for subset in object["subsets"].as_array().into_iter().flatten() {
        for port in subset["ports"].as_array().into_iter().flatten() {
            for address in subset["addresses"].as_array().into_iter().flatten() {
                found.push(format!("{}:{}", address["ip"].as_str().unwrap_or_default(), number(&port["port"])));
            }
        }
    }
    if found.is_empty() {
        return "<none>".into();
    }
    let more = found.len().saturating_sub(3);
    found.truncate(3);
    let text = found.join(",");
    if more > 0 { format!("{text} + {more} more...").into() } else { text.into() }
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn job_status(object: &Value, _: Timestamp) -> Value {
    let found = if has_condition(object, "Complete") {
        "Complete"
    } else if has_condition(object, "Failed") {
        "Failed"
    } else if object["metadata"].get("deletionTimestamp").is_some() {
        "Terminating"
    } else if has_condition(object, "Suspended") {
        "Suspended"
    } else if has_condition(object, "FailureTarget") {
        "FailureTarget"
    } else if has_condition(object, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    };
    found.into()
}

fn job_completions(object: &Value, _: Timestamp) -> Value {
    let spec = &object["spec"];
    let done = number(&object["status"]["succeeded"]);
    match (spec["completions"].as_i64(), number(&spec["parallelism"])) {
        (Some(wanted), _) => format!("{done}/{wanted}").into(),
        (None, parallel) if parallel > 1 => format!("{done}/1 of {parallel}").into(),
        (None, _) => format!("{done}/1").into(),
    }
}

fn job_duration(object: &Value, now: Timestamp) -> Value {
    let second = |value: &Value| {
        let time = value.as_str().and_then(|text| text.parse::<Time>().ok())?;
        Some(time.timestamp().as_second())
    };
    let status = &object["status"];
    let Some(start) = second(&status["startTime"]) else { return "".into() };
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let failed =
        conditions.into_iter().find(|condition| condition["type"] == "Failed" && condition["status"] == "True");
    let end = second(&status["completionTime"])
        .or_else(|| failed.and_then(|condition| second(&condition["lastTransitionTime"])))
        .unwrap_or_else(|| now.as_second());
    human_duration(end - start).into()
}

/// Events have no name in front: what happened comes first.
fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let involved = if object["involvedObject"].is_object() { &object["involvedObject"] } else { &object["regarding"] };
    let first = [&object["firstTimestamp"], &object["eventTime"], &object["metadata"]["creationTimestamp"]];
    let last = [&object["series"]["lastObservedTime"], &object["lastTimestamp"], first[0], first[1]];
    let seen = |times: &[&Value]| {
        let found = times.iter().find(|time| time.is_string()).copied().unwrap_or(&Value::Null);
        age(&json!(text(found).split('.').next().map(|start| format!("{}Z", start.trim_end_matches('Z')))), now)
    };
    let source = &object["source"];
    let component = [text(&source["component"]), text(&source["host"])];
    let component: Vec<&str> = component.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let count = object["series"]["count"].as_i64().or(object["count"].as_i64()).unwrap_or(1);
    let reporter = [text(&object["reportingComponent"]), text(&object["reportingInstance"])];
    let reporter: Vec<&str> = reporter.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    let component = if component.is_empty() { reporter.join(", ") } else { component.join(", ") };
    vec![
        seen(&last).into(),
        object["type"].clone(),
        object["reason"].clone(),
        format!("{}/{}", text(&involved["kind"]).to_lowercase(), text(&involved["name"])).into(),
        text(&involved["fieldPath"]).into(),
        component.into(),
        text(&object["message"]).trim().to_owned().into(),
        seen(&first[..2]).into(),
        count.into(),
        object["metadata"]["name"].clone(),
    ]
}
