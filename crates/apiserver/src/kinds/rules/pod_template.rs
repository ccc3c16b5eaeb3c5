//! What is filled in of a pod's spec, in a Pod and in every template.

use super::set_default;
use crate::json::{Value, json};

/// Defaults of the template in a workload's spec; a template without a pod still gets one.
pub fn default_template_spec(spec: &mut Value) {
    if spec.get("template").is_some_and(Value::is_object) {
        set_default(&mut spec["template"], "spec", json!({}));
        default_spec(&mut spec["template"]["spec"]);
    }
}

/// Defaults of a pod spec.
pub fn default_spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    for (name, default) in [
        ("restartPolicy", json!("Always")),
        ("terminationGracePeriodSeconds", json!(30)),
        ("dnsPolicy", json!("ClusterFirst")),
        ("securityContext", json!({})),
        ("schedulerName", json!("default-scheduler")),
    ] {
        set_default(spec, name, default);
    }
    if let Some(account) = spec["serviceAccountName"].as_str().filter(|name| !name.is_empty()) {
        spec["serviceAccount"] = account.into();
    } else if let Some(account) = spec["serviceAccount"].as_str().filter(|name| !name.is_empty()) {
        spec["serviceAccountName"] = account.into();
    }
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        spec[list].as_array_mut().into_iter().flatten().for_each(default_container);
    }
    for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
        default_volume(volume);
    }
}

fn default_container(container: &mut Value) {
    let image = container["image"].as_str().unwrap_or_default();
    let policy = if pulls_always(image) { "Always" } else { "IfNotPresent" };
    set_default(container, "imagePullPolicy", policy);
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    set_default(container, "resources", json!({}));
    for port in container["ports"].as_array_mut().into_iter().flatten() {
        set_default(port, "protocol", "TCP");
    }
    for variable in container["env"].as_array_mut().into_iter().flatten() {
        default_field_reference(&mut variable["valueFrom"]);
        drop_null(variable, "valueFrom");
    }
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = container.get_mut(probe).filter(|probe| probe.is_object()) {
            default_probe(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if container["lifecycle"][hook]["httpGet"].is_object() {
            default_http(&mut container["lifecycle"][hook]["httpGet"]);
        }
    }
    drop_null(container, "lifecycle");
    for list in ["ports", "env"] {
        drop_null(container, list);
    }
}

/// Whether an image without a policy is pulled at every start: no tag, or `latest`.
fn pulls_always(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let name = image.rsplit('/').next().unwrap_or_default();
    name.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn default_probe(probe: &mut Value) {
    for (name, default) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        // These are plain numbers: zero means "not given".
        if probe[name] == 0 {
            probe[name] = Value::Null;
        }
        set_default(probe, name, default);
    }
    if probe["httpGet"].is_object() {
        default_http(&mut probe["httpGet"]);
    }
    if probe["grpc"].is_object() {
        set_default(&mut probe["grpc"], "service", "");
    }
    drop_null(probe, "httpGet");
    drop_null(probe, "grpc");
}

fn default_http(get: &mut Value) {
    set_default(get, "path", "/");
    set_default(get, "scheme", "HTTP");
}

fn default_field_reference(source: &mut Value) {
    if source["fieldRef"].is_object() {
        set_default(&mut source["fieldRef"], "apiVersion", "v1");
    }
    if source.is_object() {
        drop_null(source, "fieldRef");
    }
}

fn default_volume(volume: &mut Value) {
    let sources = ["configMap", "secret", "projected", "downwardAPI"];
    for source in sources {
        if volume.get(source).is_some_and(Value::is_object) {
            set_default(&mut volume[source], "defaultMode", 420);
        }
    }
    if volume.get("image").is_some_and(Value::is_object) {
        let is_always = pulls_always(volume["image"]["reference"].as_str().unwrap_or_default());
        set_default(&mut volume["image"], "pullPolicy", if is_always { "Always" } else { "IfNotPresent" });
    }
    if volume.get("hostPath").is_some_and(Value::is_object) {
        set_default(&mut volume["hostPath"], "type", "");
    }
    for item in volume.pointer_mut("/downwardAPI/items").and_then(Value::as_array_mut).into_iter().flatten() {
        default_field_reference(item);
    }
    for source in volume.pointer_mut("/projected/sources").and_then(Value::as_array_mut).into_iter().flatten() {
        if source.get("serviceAccountToken").is_some_and(Value::is_object) {
            set_default(&mut source["serviceAccountToken"], "expirationSeconds", 3600);
        }
        for item in source.pointer_mut("/downwardAPI/items").and_then(Value::as_array_mut).into_iter().flatten() {
            default_field_reference(item);
        }
    }
    // A volume that says nothing else is an empty directory.
    if volume.as_object().is_some_and(|object| object.len() == 1 && object.contains_key("name")) {
        volume["emptyDir"] = json!({});
    }
}

/// Looking at a field of a value makes it appear as null; takes it away again.
fn drop_null(value: &mut Value, name: &str) {
    if let Some(object) = value.as_object_mut()
        && object.get(name).is_some_and(Value::is_null)
    {
        object.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_tag_is_always_pulled() {
        for (image, always) in [
            ("a", true),
            ("a:latest", true),
            ("a:1", false),
            ("h:5000/a", true),
            ("h:5000/a:1", false),
            ("a@sha256:0", false),
        ] {
            assert_eq!(pulls_always(image), always, "{image}");
        }
    }

    #[test]
    fn a_container_gets_what_kubernetes_always_shows() {
        let mut spec = json!({"containers": [{"name": "c", "image": "a:1", "resources": {"limits": {"cpu": "1"}}}]});
        default_spec(&mut spec);
        let container = &spec["containers"][0];
        assert_eq!(container["resources"], json!({"limits": {"cpu": "1"}}), "templates stay as they are written");
        assert_eq!(container["terminationMessagePolicy"], "File");
        assert!(container.get("env").is_none() && container.get("ports").is_none());
        assert_eq!(spec["dnsPolicy"], "ClusterFirst");
    }
}
