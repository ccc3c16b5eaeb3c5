//! Environment variables: names, and the one place each value comes from.

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::super::check::{Field, has_no_backsteps, variable_name};
use super::super::config_map::check_key;
use super::all_containers;

/// What a variable may show of its pod.
const POD_FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
/// What a file in a volume may show of its pod.
pub const FILE_FIELDS: [&str; 5] =
    ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"];
/// Fields of a pod that have a name at all.
const KNOWN_FIELDS: [&str; 15] = [
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.serviceAccountName",
    "spec.schedulerName",
    "spec.host",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];
const RESOURCES: [&str; 6] = [
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
];

pub fn check_env(container: &Field<'_>, errors: &mut Errors) {
    for variable in container.child("env").items() {
        variable.child("name").needs_name(variable_name, errors);
        check_source(&variable, errors);
    }
    let list = container.child("envFrom");
    for source in list.items() {
        source.child("prefix").obeys_if_set(variable_name, errors);
        let mut sources = 0;
        for name in ["configMapRef", "secretRef"] {
            let reference = source.child(name);
            if reference.is_set() {
                sources += 1;
                reference.child("name").needs_name(dns1123_subdomain, errors);
            }
        }
        let why = match sources {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push(Error::invalid(&list.path, "", why));
    }
}

fn check_source(variable: &Field<'_>, errors: &mut Errors) {
    let from = variable.child("valueFrom");
    if !from.is_set() {
        return;
    }
    let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
    let given: Vec<&str> = sources.into_iter().filter(|source| from.child(source).is_set()).collect();
    for name in &given {
        let source = from.child(name);
        match *name {
            "fieldRef" => check_field(&source, &POD_FIELDS, errors),
            "resourceFieldRef" => check_resource(&source, false, errors),
            "fileKeyRef" => check_file(&source, errors),
            _ => {
                source.child("name").obeys(dns1123_subdomain, errors);
                let key = source.child("key");
                if key.needs(errors) {
                    errors.extend(check_key(key.text(), &key.path));
                }
            }
        }
    }
    let why = match given.len() {
        0 => "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
        _ if !variable.child("value").is_empty() => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push(Error::invalid(&from.path, "", why));
}

/// A reference to a field of the pod itself.
pub fn check_field(reference: &Field<'_>, allowed: &[&str], errors: &mut Errors) {
    let (version, path) = (reference.child("apiVersion"), reference.child("fieldPath"));
    if !version.needs(errors) || !path.needs(errors) {
        return;
    }
    let refuse = |why: String| path.invalid(format!("error converting fieldPath: {why}"));
    if version.text() != "v1" {
        errors.push(refuse(format!("unsupported pod version: {}", version.text())));
        return;
    }
    let subscript = path.text().strip_suffix("']").and_then(|rest| rest.split_once("['"));
    match subscript {
        Some(("metadata.annotations", key)) => {
            let key = key.to_lowercase();
            for why in label::qualified_name(&key) {
                errors.push(Error::invalid(&reference.path, key.as_str(), why));
            }
        }
        Some(("metadata.labels", key)) => {
            errors.extend(label::validate_key(key, &reference.path));
        }
        Some(_) => errors.push(refuse(format!("field label does not support subscript: {}", path.text()))),
        None if !KNOWN_FIELDS.contains(&path.text()) => {
            errors.push(refuse(format!("field label not supported: {}", path.text())));
        }
        None => {
            let name = if path.text() == "spec.host" { "spec.nodeName" } else { path.text() };
            if !allowed.contains(&name) {
                errors.push(Error::not_supported(&path.path, name, allowed));
            }
        }
    }
}

/// A reference to what a container asks for; a file must say which container's.
pub fn check_resource(reference: &Field<'_>, is_file: bool, errors: &mut Errors) {
    let (container, resource) = (reference.child("containerName"), reference.child("resource"));
    let is_huge = |name: &str| name.starts_with("requests.hugepages-") || name.starts_with("limits.hugepages-");
    if is_file && container.is_empty() {
        errors.push(container.required(""));
    } else if resource.needs(errors) && !is_huge(resource.text()) {
        resource.one_of(&RESOURCES, errors);
    }
    let divisor = reference.child("divisor");
    if divisor.quantity().is_none_or(|quantity| quantity.is_zero()) {
        return;
    }
    let (allowed, what): (&[&str], &str) = match resource.text() {
        "limits.cpu" | "requests.cpu" => (&["1m", "1"], "cpu"),
        "limits.memory" | "requests.memory" => (&BYTES, "memory"),
        "limits.ephemeral-storage" | "requests.ephemeral-storage" => (&BYTES, "local ephemeral storage"),
        name if is_huge(name) => (&BYTES, "hugepages"),
        _ => return,
    };
    if !allowed.contains(&divisor.text()) {
        let list = if what == "cpu" { "1m and 1".to_owned() } else { allowed.join(", ") };
        let why = format!("only divisor's values {list} are supported with the {what} resource");
        errors.push(Error::invalid(&divisor.path, resource.text(), why));
    }
}

const BYTES: [&str; 13] = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];

fn check_file(reference: &Field<'_>, errors: &mut Errors) {
    reference.child("key").needs_name(variable_name, errors);
    reference.child("volumeName").needs_name(dns1123_label, errors);
    if reference.child("path").needs(errors) {
        has_no_backsteps(&reference.child("path"), errors);
    }
}

/// A file with variables is read from a directory that the pod itself made.
pub fn check_file_volumes(spec: &Field<'_>, errors: &mut Errors) {
    for container in all_containers(spec) {
        for variable in container.child("env").items() {
            let reference = variable.child("valueFrom.fileKeyRef");
            if !reference.is_set() {
                continue;
            }
            let name = reference.child("volumeName");
            let found = spec.child("volumes").items().find(|volume| volume.child("name").text() == name.text());
            match found {
                None => errors.push(Error::not_found(&name.path, name.text())),
                Some(volume) if !volume.child("emptyDir").is_set() => {
                    errors.push(name.invalid("referenced volume must be of type emptyDir"));
                }
                Some(_) => {}
            }
        }
    }
}
