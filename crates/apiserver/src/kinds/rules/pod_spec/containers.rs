//! Containers of all three sorts: what each must have, and what only some may.

use std::collections::BTreeMap;

use kueue_core::field::{Error, Errors};
use kueue_core::name::dns1123_label;

use super::super::check::{Field, descends, has_no_backsteps, port_name};
use super::{env, probes, resources, security};
use crate::json::Value;

/// The volumes of a pod by name, those that are well formed.
pub type Volumes<'v> = BTreeMap<&'v str, &'v Value>;

/// What containers need to know of the pod around them.
struct Pod<'s, 'v> {
    spec: &'s Field<'v>,
    volumes: &'s Volumes<'v>,
    claims: Vec<&'v str>,
}

pub fn check_containers<'v>(spec: &Field<'v>, volumes: &Volumes<'v>, errors: &mut Errors) {
    let claims = spec.child("resourceClaims").items().map(|claim| claim.child("name").text());
    let pod = Pod { spec, volumes, claims: claims.filter(|name| !name.is_empty()).collect() };
    pod.check_regular(errors);
    pod.check_init(errors);
    pod.check_ephemeral(errors);
}

/// An image's name has no blanks around it.
pub fn check_image_is_trimmed(container: &Field<'_>, errors: &mut Errors) {
    let image = container.child("image");
    if image.text().trim() != image.text() {
        errors.push(image.invalid("must not have leading or trailing whitespace"));
    }
}

impl<'v> Pod<'_, 'v> {
    fn check_regular(&self, errors: &mut Errors) {
        let containers = self.spec.child("containers");
        if containers.is_empty() {
            errors.push(containers.required(""));
            return;
        }
        let mut names: Vec<&str> = Vec::new();
        for container in containers.items() {
            self.check_common(&container, errors);
            note_name(&container, &mut names, errors);
            probes::check_lifecycle(&container, self.spec, errors);
            check_restart_rules(&container, errors);
        }
        check_host_ports(containers.items(), errors);
    }

    fn check_init(&self, errors: &mut Errors) {
        let mut names: Vec<&str> = self.names("containers");
        for container in self.spec.child("initContainers").items() {
            self.check_common(&container, errors);
            let is_sidecar = container.child("restartPolicy").text() == "Always";
            check_restart_rules(&container, errors);
            note_name(&container, &mut names, errors);
            check_host_ports([container.clone()], errors);
            if is_sidecar {
                probes::check_lifecycle(&container, self.spec, errors);
                continue;
            }
            for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
                if container.child(field).is_set() {
                    let why = "may not be set for init containers without restartPolicy=Always";
                    errors.push(container.child(field).forbidden(why));
                }
            }
            for policy in container.child("resizePolicy").items() {
                let restart = policy.child("restartPolicy");
                if restart.text() == "RestartContainer" {
                    let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                    errors.push(restart.invalid(why));
                }
            }
        }
    }

    fn check_ephemeral(&self, errors: &mut Errors) {
        let others: Vec<&str> = [self.names("containers"), self.names("initContainers")].concat();
        let mut names = others.clone();
        for container in self.spec.child("ephemeralContainers").items() {
            self.check_common(&container, errors);
            check_image_is_trimmed(&container, errors);
            note_name(&container, &mut names, errors);
            let target = container.child("targetContainerName");
            if !target.is_empty() && !others.contains(&target.text()) {
                errors.push(target.not_found());
            }
            let why = "cannot be set for an Ephemeral Container";
            for field in
                ["ports", "resources", "livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "restartPolicy"]
            {
                if !container.child(field).is_empty() {
                    errors.push(container.child(field).forbidden(why));
                }
            }
            for mount in container.child("volumeMounts").items() {
                for field in ["subPath", "subPathExpr"] {
                    if !mount.child(field).is_empty() {
                        errors.push(mount.child(field).forbidden(why));
                    }
                }
            }
        }
    }

    fn names(&self, list: &str) -> Vec<&'v str> {
        self.spec.child(list).items().map(|container| container.child("name").text()).collect()
    }

    /// What holds for a container of any sort.
    fn check_common(&self, container: &Field<'v>, errors: &mut Errors) {
        container.child("name").needs_name(dns1123_label, errors);
        container.child("image").needs(errors);
        container.child("terminationMessagePolicy").needs_one_of(&["File", "FallbackToLogsOnError"], errors);
        check_ports(&container.child("ports"), errors);
        env::check_env(container, errors);
        self.check_mounts(container, errors);
        self.check_devices(container, errors);
        container.child("imagePullPolicy").needs_one_of(&["Always", "IfNotPresent", "Never"], errors);
        resources::check_container(&container.child("resources"), &self.claims, errors);
        self.check_resize(&container.child("resizePolicy"), errors);
        security::check_container(&container.child("securityContext"), self.spec, errors);
    }

    fn check_mounts(&self, container: &Field<'v>, errors: &mut Errors) {
        let devices: Vec<Field<'v>> = container.child("volumeDevices").items().collect();
        let list = container.child("volumeMounts");
        let mut paths: Vec<&str> = Vec::new();
        for mount in list.items() {
            let (name, path) = (mount.child("name"), mount.child("mountPath"));
            name.needs(errors);
            if !self.volumes.contains_key(name.text()) {
                errors.push(Error::not_found(&name.path, name.text()));
            }
            path.needs(errors);
            if paths.contains(&path.text()) {
                errors.push(path.invalid("must be unique"));
            }
            paths.push(path.text());
            if devices.iter().any(|device| device.child("name").text() == name.text()) {
                errors.push(name.invalid("must not already exist in volumeDevices"));
            }
            if devices.iter().any(|device| device.child("devicePath").text() == path.text()) {
                errors.push(path.invalid("must not already exist as a path in volumeDevices"));
            }
            check_mount_options(&mount, &list, container, errors);
        }
    }

    fn check_devices(&self, container: &Field<'v>, errors: &mut Errors) {
        let mounts: Vec<Field<'v>> = container.child("volumeMounts").items().collect();
        let (mut paths, mut names): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
        for device in container.child("volumeDevices").items() {
            let (name, path) = (device.child("name"), device.child("devicePath"));
            name.needs(errors);
            if names.contains(&name.text()) {
                errors.push(name.invalid("must be unique"));
            }
            match self.volumes.get(name.text()) {
                Some(volume) if volume["persistentVolumeClaim"].is_null() && volume["ephemeral"].is_null() => {
                    let why = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
                    errors.push(name.invalid(why));
                }
                Some(_) => {}
                None => errors.push(Error::not_found(&name.path, name.text())),
            }
            path.needs(errors);
            if paths.contains(&path.text()) {
                errors.push(path.invalid("must be unique"));
            }
            let mut backsteps = Errors::new();
            has_no_backsteps(&path, &mut backsteps);
            if backsteps.is_empty() {
                paths.push(path.text());
            } else {
                errors.push(path.invalid("can not contain backsteps ('..')"));
            }
            if mounts.iter().any(|mount| mount.child("name").text() == name.text()) {
                errors.push(name.invalid("must not already exist in volumeMounts"));
            }
            if mounts.iter().any(|mount| mount.child("mountPath").text() == path.text()) {
                errors.push(path.invalid("must not already exist as a path in volumeMounts"));
            }
            names.push(name.text());
        }
    }

    fn check_resize(&self, policies: &Field<'v>, errors: &mut Errors) {
        let never_restarts = self.spec.child("restartPolicy").text() == "Never";
        let mut seen: Vec<&str> = Vec::new();
        let at_list = |field: &Field<'v>| Field { value: field.value, path: policies.path.clone() };
        for policy in policies.items() {
            let (resource, restart) = (policy.child("resourceName"), policy.child("restartPolicy"));
            if seen.contains(&resource.text()) {
                errors.push(Error::duplicate(&policy.path, resource.text()));
            }
            seen.push(resource.text());
            at_list(&resource).needs_one_of(&["cpu", "memory"], errors);
            at_list(&restart).needs_one_of(&["NotRequired", "RestartContainer"], errors);
            if never_restarts && restart.text() != "NotRequired" {
                let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
                errors.push(at_list(&restart).invalid(why));
            }
        }
    }
}

fn note_name<'v>(container: &Field<'v>, names: &mut Vec<&'v str>, errors: &mut Errors) {
    let name = container.child("name");
    if name.text().is_empty() {
        return;
    }
    if names.contains(&name.text()) {
        errors.push(name.duplicate());
    } else {
        names.push(name.text());
    }
}

fn check_ports(ports: &Field<'_>, errors: &mut Errors) {
    let mut names: Vec<&str> = Vec::new();
    for port in ports.items() {
        let name = port.child("name");
        if !name.is_empty() {
            let before = errors.len();
            name.obeys(port_name, errors);
            if errors.len() == before {
                note_name(&port, &mut names, errors);
            }
        }
        let number = port.child("containerPort");
        if number.number() == 0 {
            errors.push(number.required(""));
        } else {
            number.port(errors);
        }
        let host = port.child("hostPort");
        if host.number() != 0 {
            host.port(errors);
        }
        port.child("protocol").needs_one_of(&["SCTP", "TCP", "UDP"], errors);
    }
}

/// Containers that run at the same time share the host's ports.
fn check_host_ports<'v>(containers: impl IntoIterator<Item = Field<'v>>, errors: &mut Errors) {
    let mut taken: Vec<String> = Vec::new();
    for container in containers {
        for port in container.child("ports").items().filter(|port| port.child("hostPort").number() != 0) {
            let host = port.child("hostPort");
            let key = format!("{}/{}/{}", port.child("protocol").text(), port.child("hostIP").text(), host.number());
            if taken.contains(&key) {
                errors.push(Error::duplicate(&host.path, key));
            } else {
                taken.push(key);
            }
        }
    }
}

/// The paths of these mistakes name the list, not the mount, as a real server's do.
fn check_mount_options(mount: &Field<'_>, list: &Field<'_>, container: &Field<'_>, errors: &mut Errors) {
    let option = |name: &str| Field { value: mount.child(name).value, path: list.path.child(name) };
    let (part, expression) = (mount.child("subPath"), mount.child("subPathExpr"));
    if !part.is_empty() {
        descends(&option("subPath"), errors);
    }
    if !expression.is_empty() {
        if !part.is_empty() {
            errors.push(expression.invalid("subPathExpr and subPath are mutually exclusive"));
        }
        descends(&option("subPathExpr"), errors);
    }
    let propagation = option("mountPropagation");
    propagation.one_of(&["Bidirectional", "HostToContainer", "None"], errors);
    let is_privileged = container.child("securityContext.privileged").value == true;
    if propagation.text() == "Bidirectional" && !is_privileged {
        let why = "Bidirectional mount propagation is available only to privileged containers";
        errors.push(propagation.forbidden(why));
    }
    let recursive = option("recursiveReadOnly");
    match recursive.text() {
        "Enabled" | "IfPossible" => {
            if mount.child("readOnly").value != true {
                errors.push(recursive.forbidden("may only be specified when readOnly is true"));
            }
            if !["", "None"].contains(&propagation.text()) {
                let why = "may only be specified when mountPropagation is None or not specified";
                errors.push(recursive.forbidden(why));
            }
        }
        _ => recursive.one_of(&["Disabled", "Enabled", "IfPossible"], errors),
    }
}

/// A container's own restart policy, and exceptions from it by exit code.
fn check_restart_rules(container: &Field<'_>, errors: &mut Errors) {
    let (policy, rules) = (container.child("restartPolicy"), container.child("restartPolicyRules"));
    if !policy.is_set() {
        if !rules.is_empty() {
            errors.push(policy.required("must specify restartPolicy when restart rules are used"));
        }
        return;
    }
    policy.one_of(&["Always", "Never", "OnFailure"], errors);
    rules.at_most(20, errors);
    for rule in rules.items() {
        let action = rule.child("action");
        if !["Restart", "RestartAllContainers"].contains(&action.text()) {
            let words = ["Restart", "RestartAllContainers"];
            errors.push(Error::not_supported(&action.path, action.text(), &words));
        }
        let codes = rule.child("exitCodes");
        if !codes.is_set() {
            errors.push(codes.required("must be specified"));
            continue;
        }
        let operator = codes.child("operator");
        if !["In", "NotIn"].contains(&operator.text()) {
            errors.push(Error::not_supported(&operator.path, operator.text(), &["In", "NotIn"]));
        }
        codes.child("values").at_most(255, errors);
    }
}
