//! Requests and limits: names, amounts, and how the two relate.

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::dns1123_label;
use kueue_core::quantity::Quantity;

use super::super::check::Field;
use crate::kinds::pod_resources::{self, Side};

const HUGE_PAGES: &str = "hugepages-";
const NATIVE_DOMAIN: &str = "kubernetes.io/";
/// Resources without a domain that mean something, in containers or in quotas.
const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Whether Kubernetes itself knows the resource; others are extended ones, which come in whole numbers.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains(NATIVE_DOMAIN)
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with(HUGE_PAGES)
}

/// Whether a limit may be larger than the request.
fn may_differ(name: &str) -> bool {
    is_native(name) && !is_huge_page(name)
}

/// What is asked for by a container of a pod with these claims.
pub fn check_container(resources: &Field<'_>, claims: &[&str], errors: &mut Errors) {
    check_requirements(resources, errors);
    check_claims(&resources.child("claims"), claims, errors);
}

/// Requests and limits of a container.
pub fn check_requirements(resources: &Field<'_>, errors: &mut Errors) {
    check_amounts(resources, check_container_name, errors);
}

/// What a runtime costs beside the containers has the form of limits.
pub fn check_overhead(overhead: &Field<'_>, errors: &mut Errors) {
    let limits = Field { value: overhead.value, path: overhead.path.child("limits") };
    for (name, amount) in limits.entries() {
        check_container_name(name, &amount, errors);
        check_amount(name, &amount, errors);
    }
}

fn check_amounts(resources: &Field<'_>, check_name: fn(&str, &Field<'_>, &mut Errors), errors: &mut Errors) {
    let (limits, requests) = (resources.child("limits"), resources.child("requests"));
    for (name, amount) in limits.entries() {
        check_name(name, &amount, errors);
        check_amount(name, &amount, errors);
    }
    for (name, amount) in requests.entries() {
        check_name(name, &amount, errors);
        check_amount(name, &amount, errors);
        let limit = limits.child_key(name);
        let (Some(asked), Some(most)) = (amount.quantity(), limit.quantity()) else {
            if !may_differ(name) && !limit.is_set() {
                errors.push(limits.required("Limit must be set for non overcommitable resources"));
            }
            continue;
        };
        let relation = match asked.cmp(&most) {
            order if order.is_ne() && !may_differ(name) => "must be equal to",
            order if order.is_gt() => "must be less than or equal to",
            _ => continue,
        };
        let why = format!("{relation} {name} limit of {most}");
        errors.push(Error::invalid(&requests.path, asked.to_string(), why));
    }
    let has = |wanted: fn(&str) -> bool| limits.entries().chain(requests.entries()).any(|(name, _)| wanted(name));
    if has(is_huge_page) && !has(|name| ["cpu", "memory"].contains(&name)) {
        errors.push(resources.forbidden("HugePages require cpu or memory"));
    }
}

/// An amount of a resource.
fn check_amount(name: &str, amount: &Field<'_>, errors: &mut Errors) {
    amount.amount(errors);
    let Some(quantity) = amount.quantity() else { return };
    if !is_native(name) && quantity.milli_value() % 1000 != 0 {
        errors.push(amount.invalid("must be an integer"));
    }
    if let Some(size) = name.strip_prefix(HUGE_PAGES) {
        let page = size.parse::<Quantity>().map(|page| page.value()).unwrap_or_default();
        if page <= 0 || quantity.value() % page != 0 {
            errors.push(amount.invalid(format!("{quantity} is not positive integer multiple of {name}")));
        }
    }
}

fn check_resource_name(name: &str, at: &Field<'_>, errors: &mut Errors) -> bool {
    let messages = label::qualified_name(name);
    let is_known = STANDARD.contains(&name) || is_huge_page(name.strip_prefix("requests.").unwrap_or(name));
    if !messages.is_empty() {
        errors.extend(messages.into_iter().map(|why| Error::invalid(&at.path, name, why)));
    } else if !name.contains('/') && !is_known {
        errors.push(Error::invalid(&at.path, name, "must be a standard resource type or fully qualified"));
    } else {
        return true;
    }
    false
}

fn check_container_name(name: &str, at: &Field<'_>, errors: &mut Errors) {
    check_resource_name(name, at, errors);
    let is_standard = ["cpu", "memory", "ephemeral-storage"].contains(&name) || is_huge_page(name);
    let is_extended =
        || !name.starts_with("requests.") && label::qualified_name(&format!("requests.{name}")).is_empty();
    if !name.contains('/') {
        if !is_standard {
            errors.push(Error::invalid(&at.path, name, "must be a standard resource for containers"));
        }
    } else if !is_native(name) && !is_extended() {
        errors.push(Error::invalid(&at.path, name, "doesn't follow extended resource name standard"));
    }
}

fn check_pod_name(name: &str, at: &Field<'_>, errors: &mut Errors) {
    if check_resource_name(name, at, errors) && !["cpu", "memory"].contains(&name) && !is_huge_page(name) {
        errors.push(Error::not_supported(&at.path, name, &["cpu", "hugepages-", "memory"]));
    }
}

/// Resources of the pod as a whole.
pub fn check_pod_level(spec: &Field<'_>, resources: &Field<'_>, errors: &mut Errors) {
    check_amounts(resources, check_pod_name, errors);
    let total = pod_resources::of_containers(spec.value, Side::Requests);
    for (name, amount) in resources.child("requests").entries() {
        let (Some(own), Some(sum)) = (amount.quantity(), total.get(name)) else { continue };
        if *sum > own {
            let why = format!("must be greater than or equal to aggregate container requests of {sum}");
            errors.push(amount.invalid(why));
        }
    }
    for (index, container) in spec.child("containers").items().enumerate() {
        for (name, amount) in container.child("resources.limits").entries() {
            let (Some(own), Some(limit)) = (resources.child("limits").child_key(name).quantity(), amount.quantity())
            else {
                continue;
            };
            if limit > own {
                let at = resources.path.child("containers").index(index).key(name).child("limits");
                let why = format!("must be less than or equal to pod limits of {own}");
                errors.push(Error::invalid(&at, limit.to_string(), why));
            }
        }
    }
}

/// Claims that a container names are claims of its pod.
fn check_claims(claims: &Field<'_>, known: &[&str], errors: &mut Errors) {
    let mut seen: Vec<String> = Vec::new();
    for claim in claims.items() {
        let (name, request) = (claim.child("name").text(), claim.child("request"));
        if name.is_empty() {
            errors.push(claim.required(""));
            continue;
        }
        if seen.iter().any(|key| key == name) {
            errors.push(Error::duplicate(&claim.path, name));
        } else {
            let mut key = name.to_owned();
            if !request.is_empty() {
                request.obeys(dns1123_label, errors);
                key = format!("{name}/{}", request.text());
            }
            let overlaps = |known: &String| {
                *known == key || request.is_empty() && known.split_once('/').is_some_and(|(claim, _)| claim == name)
            };
            if seen.iter().any(overlaps) {
                errors.push(Error::duplicate(&claim.path, key.as_str()));
            }
            seen.push(key);
        }
        if !known.contains(&name) {
            let mut names = known.to_vec();
            names.sort_unstable();
            let rest = if names.is_empty() { " which is empty".to_owned() } else { format!(": {}", names.join(", ")) };
            let detail = format!("must be one of the names in pod.spec.resourceClaims{rest}");
            errors.push(Error { detail, ..Error::not_found(&claim.path, name) });
        }
    }
}
