//! Users, groups, profiles, and what does not go together with the host's namespaces or with Windows.

use kueue_core::field::{Error, Errors};

use super::super::check::{Field, descends};
use super::all_containers;

const ID_MAX: i64 = i32::MAX as i64;

/// The security context of a whole pod.
pub fn check_pod(spec: &Field<'_>, errors: &mut Errors) {
    let context = spec.child("securityContext");
    for id in ["fsGroup", "runAsUser", "runAsGroup"] {
        context.child(id).in_range(0, ID_MAX, errors);
    }
    for group in context.child("supplementalGroups").items() {
        group.in_range(0, ID_MAX, errors);
    }
    if spec.child("shareProcessNamespace").value == true && spec.child("hostPID").value == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(Error::invalid(&context.path.child("shareProcessNamespace"), true, why));
    }
    check_kernel_settings(spec, &context.child("sysctls"), errors);
    context.child("fsGroupChangePolicy").one_of(&["Always", "OnRootMismatch"], errors);
    check_seccomp(&context.child("seccompProfile"), errors);
    check_app_armor(&context.child("appArmorProfile"), errors);
    context.child("supplementalGroupsPolicy").one_of(&["Merge", "Strict"], errors);
    context.child("seLinuxChangePolicy").one_of(&["MountOption", "Recursive"], errors);
}

fn check_kernel_settings(spec: &Field<'_>, settings: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for setting in settings.items() {
        let name = setting.child("name");
        if name.is_empty() {
            errors.push(name.required(""));
        } else if !is_kernel_setting(name.text()) {
            let pattern = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
            errors.push(name.invalid(format!("must have at most 253 characters and match regex {pattern}")));
        } else if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        let dotted = name.text().replace('/', ".");
        let is_ipc =
            ["kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue."].iter().any(|lead| dotted.starts_with(lead));
        if dotted.starts_with("net.") && spec.child("hostNetwork").value == true {
            errors.push(name.invalid("may not be specified when 'hostNetwork' is true"));
        } else if is_ipc && spec.child("hostIPC").value == true {
            errors.push(name.invalid("may not be specified when 'hostIPC' is true"));
        }
        seen.push(name.text());
    }
}

fn is_kernel_setting(name: &str) -> bool {
    let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let is_segment =
        |part: &str| is_edge(part.bytes().next()) && is_edge(part.bytes().next_back()) && part.bytes().all(is_inner);
    name.len() <= 253 && name.split(['.', '/']).all(is_segment)
}

/// The security context of a container.
pub fn check_container(context: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    if !context.is_set() {
        return;
    }
    context.child("runAsUser").in_range(0, ID_MAX, errors);
    context.child("runAsGroup").in_range(0, ID_MAX, errors);
    let mount = context.child("procMount");
    mount.one_of(&["Default", "Unmasked"], errors);
    if mount.text() == "Unmasked" && spec.child("hostUsers").value != false {
        errors.push(mount.invalid("`hostUsers` must be false to use `Unmasked`"));
    }
    check_seccomp(&context.child("seccompProfile"), errors);
    if context.child("allowPrivilegeEscalation").value == false {
        if context.child("privileged").value == true {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            errors.push(context.invalid(why));
        }
        if context.child("capabilities.add").items().any(|capability| capability.text() == "CAP_SYS_ADMIN") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            errors.push(context.invalid(why));
        }
    }
    check_app_armor(&context.child("appArmorProfile"), errors);
}

fn check_seccomp(profile: &Field<'_>, errors: &mut Errors) {
    if !profile.is_set() {
        return;
    }
    let (sort, local) = (profile.child("type"), profile.child("localhostProfile"));
    if sort.is_empty() {
        errors.push(sort.required("type is required when seccompProfile is set"));
    } else {
        sort.one_of(&["Localhost", "RuntimeDefault", "Unconfined"], errors);
    }
    match (sort.text() == "Localhost", local.is_set()) {
        (true, false) => errors.push(local.required("must be set when seccomp type is Localhost")),
        (true, true) => descends(&local, errors),
        (false, true) => {
            let why = "can only be set when seccomp type is Localhost";
            errors.push(Error::invalid(&local.path, profile.value.clone(), why));
        }
        (false, false) => {}
    }
}

fn check_app_armor(profile: &Field<'_>, errors: &mut Errors) {
    if !profile.is_set() {
        return;
    }
    let (sort, local) = (profile.child("type"), profile.child("localhostProfile"));
    match sort.text() {
        "Localhost" => {
            let wanted = "must be set when AppArmor type is Localhost";
            if local.text().trim() != local.text() {
                errors.push(local.invalid("must not be padded with whitespace"));
            } else if local.is_empty() {
                errors.push(local.required(wanted));
            }
            if local.text().len() > 4095 {
                errors.push(Error::too_long(&local.path, 4095));
            }
        }
        "RuntimeDefault" | "Unconfined" => {
            if local.is_set() {
                errors.push(local.invalid("can only be set when AppArmor type is Localhost"));
            }
        }
        "" => errors.push(sort.required("type is required when appArmorProfile is set")),
        _ => sort.one_of(&["Localhost", "RuntimeDefault", "Unconfined"], errors),
    }
}

/// Users of their own do not go together with the host's namespaces.
pub fn check_host_users(spec: &Field<'_>, errors: &mut Errors) {
    if spec.child("hostUsers").value != false {
        return;
    }
    let why = "when `hostUsers` is false";
    for (field, shown) in [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")] {
        if spec.child(field).value == true {
            errors.push(Error::forbidden(&spec.path.child(shown), why));
        }
    }
    for container in all_containers(spec) {
        if !container.child("volumeDevices").is_empty() {
            errors.push(container.child("volumeDevices").forbidden(why));
        }
    }
}

/// What a named operating system does not have.
pub fn check_system(spec: &Field<'_>, errors: &mut Errors) {
    let system = spec.child("os");
    if !system.is_set() {
        return;
    }
    match system.child("name").text() {
        "" => errors.push(system.child("name").required("")),
        "linux" => {
            let why = "windows options cannot be set for a linux pod";
            forbid_all(&spec.child("securityContext"), &["windowsOptions"], why, errors);
            for container in all_containers(spec) {
                forbid_all(&container.child("securityContext"), &["windowsOptions"], why, errors);
            }
        }
        "windows" => check_windows(spec, errors),
        other => errors.push(Error::not_supported(&system.path, other, &["linux", "windows"])),
    }
}

fn check_windows(spec: &Field<'_>, errors: &mut Errors) {
    let why = "cannot be set for a windows pod";
    let context = spec.child("securityContext");
    forbid_all(&context, &["appArmorProfile", "seLinuxOptions"], why, errors);
    forbid_all(spec, &["hostUsers", "hostPID", "hostIPC"], why, errors);
    let shared = ["seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"];
    forbid_all(&context, &shared, why, errors);
    forbid_all(spec, &["shareProcessNamespace"], why, errors);
    let people = ["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"];
    forbid_all(&context, &people, why, errors);
    for container in all_containers(spec) {
        let fields = [
            "appArmorProfile",
            "seLinuxOptions",
            "seccompProfile",
            "capabilities",
            "readOnlyRootFilesystem",
            "privileged",
            "allowPrivilegeEscalation",
            "procMount",
            "runAsUser",
            "runAsGroup",
        ];
        forbid_all(&container.child("securityContext"), &fields, why, errors);
    }
}

fn forbid_all(parent: &Field<'_>, fields: &[&str], why: &str, errors: &mut Errors) {
    let given = fields.iter().map(|field| parent.child(field)).filter(|field| field.is_set() && field.value != false);
    errors.extend(given.map(|field| field.forbidden(why)));
}
