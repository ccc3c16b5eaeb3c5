//! What stands in each column, as a table of small rules; kinds whose cells are a story have a file of their own.

use jiff::Timestamp;
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;

use super::{age, event, human_duration, networking, node, pod, storage};
use crate::json::Value;
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
    Mark,
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
        "endpoints" => &[Made(networking::endpoints), Age],
        "endpointslices.discovery.k8s.io" => {
            &[At("addressType", Unset::Empty), Made(networking::slice_ports), Made(networking::slice_endpoints), Age]
        }
        "resourcequotas" => &[Made(|object, _| quota(object, false)), Made(|object, _| quota(object, true)), Age],
        "persistentvolumeclaims" => &[
            Made(storage::phase),
            At("spec.volumeName", Unset::Empty),
            Made(storage::claim_capacity),
            Made(storage::claim_modes),
            Made(storage::class),
            At("spec.volumeAttributesClassName", Unset::Mark),
            Age,
            At("spec.volumeMode", Unset::Mark),
        ],
        "persistentvolumes" => &[
            At("spec.capacity.storage", Unset::Zero),
            Made(|object, _| storage::access_modes(&object["spec"]["accessModes"]).into()),
            At("spec.persistentVolumeReclaimPolicy", Unset::Empty),
            Made(storage::phase),
            Made(storage::volume_claim),
            Made(storage::class),
            At("spec.volumeAttributesClassName", Unset::Mark),
            At("status.reason", Unset::Empty),
            Age,
            At("spec.volumeMode", Unset::Mark),
        ],
        "replicationcontrollers" => &[
            At("spec.replicas", Unset::Zero),
            At("status.replicas", Unset::Zero),
            At("status.readyReplicas", Unset::Zero),
            Age,
            Made(container_names),
            Made(container_images),
            Made(|object, _| labels(&object["spec"]["selector"])),
        ],
        "cronjobs.batch" => &[
            At("spec.schedule", Unset::Empty),
            At("spec.timeZone", Unset::None),
            Made(|object, _| (if object["spec"]["suspend"] == true { "True" } else { "False" }).into()),
            Made(|object, _| object["status"]["active"].as_array().map_or(0, Vec::len).into()),
            Made(last_schedule),
            Age,
            Made(|object, _| containers(&object["spec"]["jobTemplate"]["spec"]["template"]["spec"], "name")),
            Made(|object, _| containers(&object["spec"]["jobTemplate"]["spec"]["template"]["spec"], "image")),
            Made(|object, _| selector_text(&object["spec"]["jobTemplate"]["spec"]["selector"])),
        ],
        "horizontalpodautoscalers.autoscaling" => &[
            Made(networking::scale_target),
            Made(networking::metrics),
            Made(|object, _| match object["spec"]["minReplicas"].as_i64() {
                Some(least) => least.to_string().into(),
                None => "<unset>".into(),
            }),
            At("spec.maxReplicas", Unset::Zero),
            At("status.currentReplicas", Unset::Zero),
            Age,
        ],
        "ingresses.networking.k8s.io" => &[
            At("spec.ingressClassName", Unset::None),
            Made(networking::ingress_hosts),
            Made(networking::ingress_address),
            Made(networking::ingress_ports),
            Age,
        ],
        "networkpolicies.networking.k8s.io" => &[Made(|object, _| selector_text(&object["spec"]["podSelector"])), Age],
        "servicecidrs.networking.k8s.io" => &[Made(|object, _| joined(&object["spec"]["cidrs"], ",").into()), Age],
        "storageclasses.storage.k8s.io" => &[
            At("provisioner", Unset::Empty),
            At("reclaimPolicy", Unset::Empty),
            At("volumeBindingMode", Unset::Empty),
            Made(|object, _| (object["allowVolumeExpansion"] == true).into()),
            Age,
        ],
        "csinodes.storage.k8s.io" => {
            &[Made(|object, _| object["spec"]["drivers"].as_array().map_or(0, Vec::len).into()), Age]
        }
        "csidrivers.storage.k8s.io" => &[
            Made(|object, _| (object["spec"]["attachRequired"] != false).into()),
            Made(|object, _| (object["spec"]["podInfoOnMount"] == true).into()),
            Made(|object, _| (object["spec"]["storageCapacity"] == true).into()),
            Made(storage::driver_audiences),
            Made(|object, _| (object["spec"]["requiresRepublish"] == true).into()),
            Made(storage::driver_modes),
            Age,
        ],
        "volumeattachments.storage.k8s.io" => &[
            At("spec.attacher", Unset::Empty),
            At("spec.source.persistentVolumeName", Unset::Empty),
            At("spec.nodeName", Unset::Empty),
            Made(|object, _| (object["status"]["attached"] == true).into()),
            Age,
        ],
        "volumeattributesclasses.storage.k8s.io" => &[At("driverName", Unset::Empty), Age],
        "resourceclaims.resource.k8s.io" => &[Made(storage::claim_state), Age],
        "resourceslices.resource.k8s.io" => &[
            At("spec.nodeName", Unset::Empty),
            At("spec.driver", Unset::Empty),
            At("spec.pool.name", Unset::Empty),
            Age,
        ],
        "validatingadmissionpolicies.admissionregistration.k8s.io" => &[
            Made(|object, _| object["spec"]["validations"].as_array().map_or(0, Vec::len).into()),
            Made(param_kind),
            Age,
        ],
        "mutatingadmissionpolicies.admissionregistration.k8s.io" => &[
            Made(|object, _| object["spec"]["mutations"].as_array().map_or(0, Vec::len).into()),
            Made(param_kind),
            Age,
        ],
        "validatingadmissionpolicybindings.admissionregistration.k8s.io"
        | "mutatingadmissionpolicybindings.admissionregistration.k8s.io" => {
            &[At("spec.policyName", Unset::Empty), Made(param_ref), Age]
        }
        "apiservices.apiregistration.k8s.io" => &[Made(api_service), Made(api_available), Age],
        "flowschemas.flowcontrol.apiserver.k8s.io" => &[
            At("spec.priorityLevelConfiguration.name", Unset::Empty),
            At("spec.matchingPrecedence", Unset::Zero),
            At("spec.distinguisherMethod.type", Unset::None),
            Age,
            Made(is_dangling),
        ],
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io" => &[
            At("spec.type", Unset::Empty),
            At("spec.limited.nominalConcurrencyShares", Unset::None),
            At("spec.limited.limitResponse.queuing.queues", Unset::None),
            At("spec.limited.limitResponse.queuing.handSize", Unset::None),
            At("spec.limited.limitResponse.queuing.queueLengthLimit", Unset::None),
            Age,
        ],
        "limitranges"
        | "roles.rbac.authorization.k8s.io"
        | "clusterroles.rbac.authorization.k8s.io"
        | "csistoragecapacities.storage.k8s.io"
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
            &[At("spec.controller", Unset::Empty), Made(networking::class_parameters), Age]
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
        "events" => return event::cells(object, now),
        _ => {}
    }
    let mut cells = vec![shown_name(resource, object)];
    for rule in rules(&resource.storage) {
        cells.push(match rule {
            Age => age(&object["metadata"]["creationTimestamp"], now).into(),
            CreatedAt => object["metadata"]["creationTimestamp"].clone(),
            At(path, unset) => at(object, path, unset),
            Count(path) => {
                let found = &object[*path];
                let count =
                    found.as_object().map_or_else(|| found.as_array().map_or(0, Vec::len), crate::json::Map::len);
                count.into()
            }
            Made(make) => make(object, now),
        });
    }
    // A kind whose columns nobody has described yet shows its name and gaps, never too few cells.
    cells.resize(resource.columns.len().max(1), "".into());
    cells
}

/// A class that others fall back to says so beside its name.
fn shown_name(resource: &Resource, object: &Value) -> Value {
    let annotation = match resource.storage.as_str() {
        "ingressclasses.networking.k8s.io" => "ingressclass.kubernetes.io/is-default-class",
        "storageclasses.storage.k8s.io" => "storageclass.kubernetes.io/is-default-class",
        _ => return object["metadata"]["name"].clone(),
    };
    let name = text(&object["metadata"]["name"]);
    match text(&object["metadata"]["annotations"][annotation]) {
        "true" => format!("{name} (default)").into(),
        _ => name.into(),
    }
}

fn at(object: &Value, path: &str, unset: &Unset) -> Value {
    let found = path.split('.').try_fold(object, |value, name| value.get(name)).filter(|value| !value.is_null());
    let is_empty = found.is_some_and(|value| value == "");
    match (found, unset) {
        (Some(value), _) if !is_empty => value.clone(),
        (_, Unset::Empty) => "".into(),
        (_, Unset::Zero) => 0.into(),
        (_, Unset::None) => "<none>".into(),
        (_, Unset::Mark) => "<unset>".into(),
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
    selector_text(&object["spec"]["selector"])
}

fn selector_text(selector: &Value) -> Value {
    let parsed: LabelSelector = crate::json::read(selector).unwrap_or_default();
    match parsed.to_string() {
        text if text.is_empty() => "<none>".into(),
        text => text.into(),
    }
}

/// Text, or nothing.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn joined(list: &Value, separator: &str) -> String {
    let items: Vec<&str> = list.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    items.join(separator)
}

/// What is used of a quota, for requests and objects or for limits.
fn quota(object: &Value, of_limits: bool) -> Value {
    let status = &object["status"];
    let mut parts = Vec::new();
    for (name, hard) in status["hard"].as_object().into_iter().flatten() {
        if name.starts_with("limits.") == of_limits {
            let used = status["used"][name].as_str().unwrap_or("0");
            parts.push(format!("{name}: {used}/{}", text(hard)));
        }
    }
    parts.join(", ").into()
}

fn last_schedule(object: &Value, now: Timestamp) -> Value {
    match &object["status"]["lastScheduleTime"] {
        Value::Null => "<none>".into(),
        time => age(time, now).into(),
    }
}

fn param_kind(object: &Value, _: Timestamp) -> Value {
    let kind = &object["spec"]["paramKind"];
    match kind {
        Value::Null => "<unset>".into(),
        kind => format!("{}/{}", text(&kind["apiVersion"]), text(&kind["kind"])).into(),
    }
}

fn param_ref(object: &Value, _: Timestamp) -> Value {
    let reference = &object["spec"]["paramRef"];
    match (text(&reference["name"]), text(&reference["namespace"])) {
        ("", _) => "<unset>".into(),
        (name, "") => format!("*/{name}").into(),
        (name, namespace) => format!("{namespace}/{name}").into(),
    }
}

fn api_service(object: &Value, _: Timestamp) -> Value {
    let service = &object["spec"]["service"];
    if service.is_null() {
        return "Local".into();
    }
    format!("{}/{}", text(&service["namespace"]), text(&service["name"])).into()
}

fn api_available(object: &Value, _: Timestamp) -> Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Available");
    match found {
        None => "Unknown".into(),
        Some(condition) if condition["status"] == "True" => "True".into(),
        Some(condition) => format!("{} ({})", text(&condition["status"]), text(&condition["reason"])).into(),
    }
}

/// Whether a flow leads to a level that is not there; nobody may have said yet.
fn is_dangling(object: &Value, _: Timestamp) -> Value {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    let found = conditions.into_iter().find(|condition| condition["type"] == "Dangling");
    found.map_or_else(|| "?".into(), |condition| condition["status"].clone())
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
    let count = |field: &str| object[field].as_object().map_or(0, crate::json::Map::len);
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
    let end = second(&status["completionTime"]).unwrap_or_else(|| now.as_second());
    human_duration(end - start).into()
}
