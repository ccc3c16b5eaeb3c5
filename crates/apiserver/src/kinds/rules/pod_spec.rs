//! What is wrong with a pod's spec, in a Pod and in every template: the parts are in files of their own.

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::{dns1123_label, dns1123_subdomain, pattern_message};

use super::check::Field;
use crate::json::Value;

mod containers;
mod env;
mod placement;
mod probes;
mod resources;
mod security;
#[cfg(test)]
mod tests;
mod volumes;

pub use containers::check_image_is_trimmed;
pub use placement::{check_taint_effect, check_tolerations};
pub use resources::is_native;

/// Whose spec it is: a few rules are for pods alone.
#[derive(Debug, Clone, Copy)]
pub enum Owner<'v> {
    /// A Pod, with its metadata.
    Pod(&'v Value),
    Template,
}

impl Owner<'_> {
    fn is_pod(self) -> bool {
        matches!(self, Self::Pod(_))
    }

    fn name(&self) -> &str {
        match self {
            Self::Pod(metadata) => metadata["name"].as_str().unwrap_or_default(),
            Self::Template => "",
        }
    }
}

/// The lists of containers, in the order in which a pod starts them.
pub const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Every container of a spec.
pub fn all_containers<'v>(spec: &Field<'v>) -> impl Iterator<Item = Field<'v>> {
    let lists: Vec<Field<'v>> = CONTAINER_LISTS.iter().map(|list| spec.child(list)).collect();
    lists.into_iter().flat_map(|list| list.items().collect::<Vec<_>>())
}

/// A template: labels, annotations and the spec of its pods.
pub fn check_template(template: &Field<'_>, errors: &mut Errors) {
    // The paths leave out `metadata`, as a real server's do.
    let short =
        |name: &str| Field { value: template.child("metadata").child(name).value, path: template.path.child(name) };
    short("labels").labels(errors);
    short("annotations").annotations(errors);
    let spec = template.child("spec");
    check_annotations(&short("annotations"), &spec, errors);
    check_spec(&spec, Owner::Template, errors);
    if !spec.child("ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        errors.push(spec.child("ephemeralContainers").forbidden(why));
    }
}

/// Annotations that mean something to the server.
pub fn check_annotations(annotations: &Field<'_>, spec: &Field<'_>, errors: &mut Errors) {
    let mirror = annotations.child_key("kubernetes.io/config.mirror");
    if mirror.is_set() && spec.child("nodeName").is_empty() {
        errors.push(mirror.invalid("must set spec.nodeName if mirror pod annotation is set"));
    }
    let cost = annotations.child_key("controller.kubernetes.io/pod-deletion-cost");
    if cost.is_set() && !is_cost(cost.text()) {
        errors.push(cost.invalid("must be a 32bit integer"));
    }
}

/// A whole number, written without a plus sign or leading zeros.
fn is_cost(text: &str) -> bool {
    let is_plain = |digits: &str| digits == "0" || !digits.starts_with('0');
    text.parse::<i32>().is_ok() && !text.starts_with('+') && is_plain(text.trim_start_matches('-'))
}

/// Everything that is wrong with a spec.
pub fn check_spec(spec: &Field<'_>, owner: Owner<'_>, errors: &mut Errors) {
    let grace = spec.child("terminationGracePeriodSeconds");
    if !grace.is_set() {
        errors.push(grace.required(""));
    }
    let volumes = volumes::check_volumes(&spec.child("volumes"), owner, errors);
    check_claims(&spec.child("resourceClaims"), errors);
    containers::check_containers(spec, &volumes, errors);
    check_pod_resources(spec, errors);
    check_host_ports(spec, owner, errors);
    spec.child("restartPolicy").needs_one_of(&["Always", "OnFailure", "Never"], errors);
    spec.child("dnsPolicy").needs_one_of(&["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], errors);
    spec.child("nodeSelector").labels(errors);
    security::check_pod(spec, errors);
    placement::check_affinity(&spec.child("affinity"), errors);
    check_dns(spec, errors);
    for gate in spec.child("readinessGates").items() {
        gate.child("conditionType").obeys(label::qualified_name, errors);
    }
    check_gates(&spec.child("schedulingGates"), errors);
    placement::check_spread(&spec.child("topologySpreadConstraints"), errors);
    security::check_host_users(spec, errors);
    check_host_name(spec, errors);
    check_names(spec, errors);
    check_tolerations(&spec.child("tolerations"), errors);
    for alias in spec.child("hostAliases").items() {
        alias.child("ip").ip(errors);
        for host in alias.child("hostnames").items() {
            host.obeys(dns1123_subdomain, errors);
        }
    }
    spec.child("priorityClassName").obeys_if_set(dns1123_subdomain, errors);
    if spec.child("runtimeClassName").is_set() {
        spec.child("runtimeClassName").obeys(dns1123_subdomain, errors);
    }
    if spec.child("preemptionPolicy").is_set() {
        spec.child("preemptionPolicy").needs_one_of(&["PreemptLowerPriority", "Never"], errors);
    }
    resources::check_overhead(&spec.child("overhead"), errors);
    security::check_system(spec, errors);
    env::check_file_volumes(spec, errors);
    if owner.is_pod() {
        check_pod_only(spec, errors);
    }
}

/// What is refused in a pod and, for old objects' sake, let through in a template.
fn check_pod_only(spec: &Field<'_>, errors: &mut Errors) {
    if spec.child("serviceAccountName").is_empty() {
        for volume in spec.child("volumes").items() {
            for source in volume.child("projected.sources").items() {
                let token = source.child("serviceAccountToken");
                if token.is_set() {
                    errors.push(token.forbidden("must not be specified when serviceAccountName is not set"));
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        for container in spec.child(list).items() {
            containers::check_image_is_trimmed(&container, errors);
        }
    }
}

fn check_names(spec: &Field<'_>, errors: &mut Errors) {
    spec.child("serviceAccountName").obeys_if_set(dns1123_subdomain, errors);
    spec.child("nodeName").obeys_if_set(dns1123_subdomain, errors);
    spec.child("activeDeadlineSeconds").in_range(1, i64::from(i32::MAX), errors);
    spec.child("hostname").obeys_if_set(dns1123_label, errors);
    spec.child("subdomain").obeys_if_set(dns1123_label, errors);
}

fn check_gates(gates: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for gate in gates.items() {
        let name = gate.child("name");
        // The place named is the gate itself, not its name.
        for why in label::qualified_name(name.text()) {
            errors.push(Error::invalid(&gate.path, name.text(), why));
        }
        if seen.contains(&name.text()) {
            errors.push(Error::duplicate(&gate.path, name.text()));
        }
        seen.push(name.text());
    }
}

fn check_claims(claims: &Field<'_>, errors: &mut Errors) {
    let mut seen: Vec<&str> = Vec::new();
    for claim in claims.items() {
        let name = claim.child("name");
        if name.is_empty() {
            errors.push(name.required(""));
        } else if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        } else {
            name.obeys(dns1123_label, errors);
            seen.push(name.text());
        }
        let (given, template) = (claim.child("resourceClaimName"), claim.child("resourceClaimTemplateName"));
        match (given.is_set(), template.is_set()) {
            (true, true) => {
                let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                errors.push(claim.invalid(why));
            }
            (false, false) => {
                let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                errors.push(claim.invalid(why));
            }
            _ => {}
        }
        for reference in [given, template].iter().filter(|reference| reference.is_set()) {
            reference.obeys(dns1123_subdomain, errors);
        }
    }
}

/// What the pod as a whole asks for must hold what its containers ask for.
fn check_pod_resources(spec: &Field<'_>, errors: &mut Errors) {
    let resources = spec.child("resources");
    if !resources.is_set() {
        return;
    }
    if spec.child("os.name").text() == "windows" {
        errors.push(resources.forbidden("may not be set for a windows pod"));
        return;
    }
    if resources.child("claims").is_set() {
        errors.push(resources.child("claims").forbidden("claims may not be set for Resources at pod-level"));
    }
    resources::check_pod_level(spec, &resources, errors);
}

/// On the host's network a port of the host is the container's own.
fn check_host_ports(spec: &Field<'_>, owner: Owner<'_>, errors: &mut Errors) {
    if spec.child("hostNetwork").value != true {
        return;
    }
    for container in spec.child("containers").items() {
        for port in container.child("ports").items() {
            let (host, own) = (port.child("hostPort"), port.child("containerPort"));
            let counts = owner.is_pod() || host.number() != 0;
            if counts && host.number() != own.number() {
                let why = "must match `containerPort` when `hostNetwork` is true";
                errors.push(Error::invalid(&host.path, host.number(), why));
            }
        }
    }
}

/// Limits that come from name resolution in libc.
const NAME_SERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;

fn check_dns(spec: &Field<'_>, errors: &mut Errors) {
    let config = spec.child("dnsConfig");
    let servers = config.child("nameservers");
    if spec.child("dnsPolicy").text() == "None" {
        if !config.is_set() {
            errors.push(config.required("must provide `dnsConfig` when `dnsPolicy` is None"));
            return;
        }
        if servers.is_empty() {
            let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.push(servers.required(why));
            return;
        }
    }
    if servers.len() > NAME_SERVERS_MAX {
        errors.push(servers.invalid(format!("must not have more than {NAME_SERVERS_MAX} nameservers")));
    }
    for server in servers.items() {
        server.ip(errors);
    }
    let searches = config.child("searches");
    if searches.len() > SEARCHES_MAX {
        errors.push(searches.invalid(format!("must not have more than {SEARCHES_MAX} search paths")));
    }
    let bytes: usize = searches.items().map(|search| search.text().len() + 1).sum();
    if bytes > SEARCH_BYTES_MAX + 1 {
        let why =
            format!("must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list");
        errors.push(searches.invalid(why));
    }
    for search in searches.items().filter(|search| search.text() != ".") {
        let domain = search.text().strip_suffix('.').unwrap_or(search.text());
        errors.extend(search_domain(domain).into_iter().map(|why| Error::invalid(&search.path, domain, why)));
    }
    for option in config.child("options").items() {
        if option.child("name").is_empty() {
            errors.push(option.required("must not be empty"));
        }
    }
}

/// A subdomain in whose labels underscores are let through.
fn search_domain(domain: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if domain.len() > 253 {
        messages.push("must be no more than 253 characters".to_owned());
    }
    let is_label = |part: &str| {
        let inner = part.strip_prefix('_').unwrap_or(part);
        let is_edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
        let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        is_edge(inner.bytes().next()) && is_edge(inner.bytes().next_back()) && inner.bytes().all(is_inner)
    };
    if !domain.split('.').all(is_label) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character";
        let pattern = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
        messages.push(pattern_message(rule, pattern, &["example.com"]));
    }
    messages
}

fn check_host_name(spec: &Field<'_>, errors: &mut Errors) {
    let name = spec.child("hostnameOverride");
    if !name.is_set() {
        return;
    }
    if spec.child("setHostnameAsFQDN").value == true {
        errors.push(name.forbidden("may not be specified when setHostnameAsFQDN is true"));
    }
    if spec.child("hostNetwork").value == true {
        errors.push(name.forbidden("may not be specified when hostNetwork is true"));
    }
    if name.text().len() > 64 {
        errors.push(Error::too_long(&name.path, 64));
    }
    name.obeys(dns1123_subdomain, errors);
}
