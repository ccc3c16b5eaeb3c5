//! Names of resources in limits and quotas: which may stand where.

use kueue_core::field::{Error, Errors, Path};
use kueue_core::label::qualified_name;
use kueue_core::quantity::Quantity;

/// What a container can be given.
const OF_CONTAINERS: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// What is counted in whole numbers.
const COUNTS: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// Whether the resource is a vendor's. What a quota says of one with `requests.` before it, is about amounts of any kind.
fn is_extended(name: &str) -> bool {
    name.contains('/') && !name.contains("kubernetes.io/") && !name.starts_with("requests.")
}

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// A resource that quotas know without a domain.
pub fn is_of_quotas(name: &str) -> bool {
    let plain = name.strip_prefix("requests.");
    let compute = plain.or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    COUNTS.contains(&name)
        || OF_CONTAINERS.contains(&compute)
        || name == "requests.storage"
        || is_huge_page(plain.unwrap_or(name))
}

/// Mistakes of any name of a resource.
pub fn validate(name: &str, at: &Path) -> Errors {
    let mistakes = qualified_name(name);
    if !mistakes.is_empty() {
        return mistakes.into_iter().map(|why| Error::invalid(at, name, why)).collect();
    }
    if !name.contains('/') && !is_of_quotas(name) && name != "storage" {
        return vec![Error::invalid(at, name, "must be a standard resource type or fully qualified")];
    }
    Errors::new()
}

/// Mistakes of the name of something that a container is given.
pub fn validate_for_container(name: &str, at: &Path) -> Errors {
    let mut errors = validate(name, at);
    if !name.contains('/') {
        if !OF_CONTAINERS.contains(&name) && !is_huge_page(name) {
            errors.push(Error::invalid(at, name, "must be a standard resource for containers"));
        }
    } else if !name.contains("kubernetes.io/") && !is_extended(name) {
        errors.push(Error::invalid(at, name, "doesn't follow extended resource name standard"));
    }
    errors
}

/// Mistakes of an entry of a quota.
pub fn validate_for_quota(name: &str, amount: &Quantity, at: &Path) -> Errors {
    let mut errors = validate(name, at);
    if !name.contains('/') && !is_of_quotas(name) {
        errors.push(Error::invalid(at, name, "must be a standard resource for quota"));
    }
    if amount.sign() < 0 {
        errors.push(Error::invalid(at, amount.to_string(), "must be greater than or equal to 0"));
    }
    if (COUNTS.contains(&name) || is_extended(name)) && amount.milli_value() % 1000 != 0 {
        errors.push(Error::invalid(at, amount.to_string(), "must be an integer"));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_counts_whole_things_and_known_resources() {
        let cases = [
            ("pods", "2", ""),
            ("requests.cpu", "500m", ""),
            ("requests.example.com/gpu", "500m", ""),
            ("count/jobs.batch", "1", ""),
            ("hugepages-2Mi", "2Mi", ""),
            ("pods", "-1", "Invalid value: \"-1\": must be greater than or equal to 0"),
            ("pods", "1500m", "Invalid value: \"1500m\": must be an integer"),
            ("count/jobs.batch", "500m", "Invalid value: \"500m\": must be an integer"),
            (
                "odd",
                "1",
                "Invalid value: \"odd\": must be a standard resource type or fully qualified; Invalid value: \"odd\": \
                 must be a standard resource for quota",
            ),
            ("storage", "1", "Invalid value: \"storage\": must be a standard resource for quota"),
        ];
        for (name, amount, expected) in cases {
            let errors = validate_for_quota(name, &amount.parse().unwrap(), &Path::new("x"));
            let said: Vec<String> = errors.iter().map(Error::body).collect();
            assert_eq!(said.join("; "), expected, "{name}");
        }
    }

    #[test]
    fn a_container_is_given_compute_and_devices() {
        let said = |name: &str| {
            let errors = validate_for_container(name, &Path::new("x"));
            errors.iter().map(Error::body).collect::<Vec<_>>().join("; ")
        };
        assert_eq!((said("cpu"), said("example.com/gpu")), (String::new(), String::new()));
        assert_eq!(said("pods"), "Invalid value: \"pods\": must be a standard resource for containers");
    }
}
