//! What a server says of a pod that it accepts all the same.

use kueue_core::name::dns1123_label;

use super::check::Field;
use super::pod_spec::all_containers;
use crate::json::Value;

/// Labels of nodes whose names have changed.
const OLD_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];
const OLD_ANNOTATIONS: [(&str, &str); 3] = [
    (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "non-functional in v1.16+; use the \"priorityClassName\" field instead",
    ),
    ("security.alpha.kubernetes.io/sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
    ("security.alpha.kubernetes.io/unsafe-sysctls", "non-functional in v1.11+; use the \"sysctls\" field instead"),
];
const MATCHES_NOTHING: &str = "a null labelSelector results in matching no pod";
/// Above so many completions and pods at once, indexes that fail may be lost.
const COMPLETIONS_MANY: i64 = 100_000;
const PARALLELISM_MANY: i64 = 10_000;

/// A name that becomes part of others should be one label.
pub fn of_name(new: &Value, old: Option<&Value>, where_used: &str) -> Vec<String> {
    let messages = dns1123_label(new["metadata"]["name"].as_str().unwrap_or_default());
    if old.is_some() || messages.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in {where_used}, which can result in surprising behavior; a DNS label is \
         recommended: [{}]",
        messages.join(" ")
    )]
}

pub fn of_job(spec: &Field<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let is_large =
        spec.child("completions").number() > COMPLETIONS_MANY && spec.child("parallelism").number() > PARALLELISM_MANY;
    if spec.child("completionMode").text() == "Indexed" && is_large {
        warnings.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
            spec.path
        ));
    }
    warnings.extend(of_pod(&spec.child("template")));
    warnings
}

/// Warnings about a pod or a template: metadata and spec.
pub fn of_pod(pod: &Field<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    let spec = pod.child("spec");
    of_placement(&spec, &mut warnings);
    for (key, why) in OLD_ANNOTATIONS {
        let annotation = pod.child("metadata.annotations").child_key(key);
        if annotation.is_set() {
            warnings.push(format!("{}: {why}", annotation.path));
        }
    }
    of_volumes(&spec, &mut warnings);
    of_repeats(&spec.child("hostAliases"), "ip", &mut warnings);
    of_repeats(&spec.child("imagePullSecrets"), "name", &mut warnings);
    for secret in spec.child("imagePullSecrets").items() {
        let name = secret.child("name");
        if name.is_empty() {
            warnings.push(format!("{}: invalid empty name \"\"", name.path));
        }
    }
    for container in all_containers(&spec) {
        of_resources(&container, &mut warnings);
        of_env(&container, &mut warnings);
    }
    of_ports(&spec, &mut warnings);
    if spec.child("terminationGracePeriodSeconds").number() < 0 {
        let path = spec.child("terminationGracePeriodSeconds").path;
        warnings.push(format!("{path}: must be >= 0; negative values are invalid and will be treated as 1"));
    }
    of_affinity(&spec, &mut warnings);
    warnings
}

fn old_label(key: &str) -> Option<&'static str> {
    OLD_LABELS.iter().find(|(known, _)| *known == key).map(|(_, why)| *why)
}

fn of_placement(spec: &Field<'_>, warnings: &mut Vec<String>) {
    for (key, label) in spec.child("nodeSelector").entries() {
        warnings.extend(old_label(key).map(|why| format!("{}: {why}", label.path)));
    }
    let node = spec.child("affinity.nodeAffinity");
    let required = node.child("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms").items();
    let preferred = node.child("preferredDuringSchedulingIgnoredDuringExecution").items();
    for term in required.chain(preferred.map(|term| term.child("preference"))) {
        for expression in term.child("matchExpressions").items() {
            let key = expression.child("key");
            let why = old_label(key.text());
            warnings.extend(why.map(|why| format!("{}: {} is {why}", key.path, key.text())));
        }
    }
    for constraint in spec.child("topologySpreadConstraints").items() {
        let (key, selector) = (constraint.child("topologyKey"), constraint.child("labelSelector"));
        let why = old_label(key.text());
        warnings.extend(why.map(|why| format!("{}: {} is {why}", key.path, key.text())));
        if !selector.is_set() {
            warnings.push(format!("{}: {MATCHES_NOTHING}", selector.path));
        }
    }
}

fn of_affinity(spec: &Field<'_>, warnings: &mut Vec<String>) {
    for sort in ["podAffinity", "podAntiAffinity"] {
        let affinity = spec.child("affinity").child(sort);
        let required = affinity.child("requiredDuringSchedulingIgnoredDuringExecution").items();
        let preferred = affinity.child("preferredDuringSchedulingIgnoredDuringExecution").items();
        for term in required.chain(preferred.map(|term| term.child("podAffinityTerm"))) {
            let selector = term.child("labelSelector");
            if !selector.is_set() {
                warnings.push(format!("{}: {MATCHES_NOTHING}", selector.path));
            }
        }
    }
}

fn of_volumes(spec: &Field<'_>, warnings: &mut Vec<String>) {
    let old = [
        ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
        ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
        ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
        ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
        ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
        ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ];
    for volume in spec.child("volumes").items() {
        for (source, why) in old {
            if volume.child(source).is_set() {
                warnings.push(format!("{}: {why}", volume.child(source).path));
            }
        }
    }
}

fn of_repeats(list: &Field<'_>, key: &str, warnings: &mut Vec<String>) {
    let mut seen: Vec<&str> = Vec::new();
    for item in list.items() {
        let field = item.child(key);
        if seen.contains(&field.text()) {
            warnings.push(format!("{}: duplicate {key} {:?}", field.path, field.text()));
        }
        seen.push(field.text());
    }
}

fn of_resources(container: &Field<'_>, warnings: &mut Vec<String>) {
    for resource in ["memory", "ephemeral-storage"] {
        for of in ["limits", "requests"] {
            let amount = container.child("resources").child(of).child_key(resource);
            let is_broken = amount.quantity().is_some_and(|quantity| quantity.milli_value() % 1000 != 0);
            if is_broken {
                let why = format!("fractional byte value {:?} is invalid, must be an integer", amount.text());
                warnings.push(format!("{}: {why}", amount.path));
            }
        }
    }
}

fn of_env(container: &Field<'_>, warnings: &mut Vec<String>) {
    let mut seen: Vec<&str> = Vec::new();
    for variable in container.child("env").items() {
        let (name, value) = (variable.child("name").text(), variable.child("value").text());
        let reference = format!("$({name})");
        let builds_on_it = !variable.child("valueFrom").is_set() && value.contains(&reference) && value != reference;
        if seen.contains(&name) && !builds_on_it {
            let why = format!("hides previous definition of {name:?}, which may be dropped when using apply");
            warnings.push(format!("{}: {why}", variable.path));
        }
        seen.push(name);
    }
}

fn of_ports(spec: &Field<'_>, warnings: &mut Vec<String>) {
    let all: Vec<Field<'_>> =
        all_containers(spec).flat_map(|one| one.child("ports").items().collect::<Vec<_>>()).collect();
    for (index, port) in all.iter().enumerate() {
        let same = |other: &&Field<'_>| {
            ["containerPort", "protocol"].iter().all(|name| other.child(name).value == port.child(name).value)
        };
        for other in all[..index].iter().filter(same) {
            let (address, number) = (port.child("hostIP").text(), port.child("hostPort").number());
            let (their_address, their_number) = (other.child("hostIP").text(), other.child("hostPort").number());
            let sort = match () {
                () if address == their_address && number == their_number => "duplicate",
                () if number == 0 || their_number == 0 => "overlapping",
                () if number == their_number && address.is_empty() != their_address.is_empty() => {
                    "dangerously ambiguous"
                }
                () => continue,
            };
            warnings.push(format!("{}: {sort} port definition with {}", port.path, other.path));
        }
    }
    for (index, port) in all.iter().enumerate() {
        let name = port.child("name");
        let first = all[..index].iter().find(|other| other.child("name").text() == name.text());
        if let Some(first) = first.filter(|_| !name.is_empty()) {
            warnings.push(format!(
                "{}: duplicate port name {:?} with {}, services and probes that select ports by name will use {}",
                port.path,
                name.text(),
                first.path,
                first.path
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::*;
    use crate::json::json;

    #[track_caller]
    fn check(spec: Value, expected: &[&str]) {
        assert_eq!(of_pod(&Field::root(&json!({"spec": spec}))), expected);
    }

    #[test]
    fn odd_pods_are_accepted_with_a_warning() {
        check(
            json!({"topologySpreadConstraints": [{"topologyKey": "zone"}]}),
            &["spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod"],
        );
        check(
            json!({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}),
            &["spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use \"kubernetes.io/os\" instead"],
        );
        check(
            json!({"containers": [{"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "$(A)2"}, {"name": "A"}]}]}),
            &["spec.containers[0].env[2]: hides previous definition of \"A\", which may be dropped when using apply"],
        );
        check(
            json!({"containers": [{"ports": [{"containerPort": 1, "protocol": "TCP"}, {"containerPort": 1, "protocol": "TCP"}]}]}),
            &["spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]"],
        );
        check(
            json!({"containers": [{"resources": {"limits": {"memory": "100m"}}}]}),
            &[
                "spec.containers[0].resources.limits[memory]: fractional byte value \"100m\" is invalid, must be an integer",
            ],
        );
    }

    #[test]
    fn a_dotted_name_is_warned_about_at_first() {
        let job = json!({"metadata": {"name": "a.b"}});
        assert_eq!(
            of_name(&job, None, "Pod names and hostnames"),
            [
                "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]"
            ]
        );
        assert!(of_name(&job, Some(&job), "x").is_empty());
    }
}
