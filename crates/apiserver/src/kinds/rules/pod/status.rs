//! What a write of a pod's status may do.

use kueue_core::field::Errors;
use kueue_core::label;
use kueue_core::name::dns1123_subdomain;

use super::super::check::{Field, ip};
use super::super::{Update, immutable};
use crate::json::Value;

/// Conditions that Kubernetes itself writes; others need names with a domain, or at least well-formed ones.
const SYSTEM_CONDITIONS: [&str; 3] = ["PodScheduled", "Ready", "Initialized"];

/// Keeps what an old kubelet forgets to send: the quality of service, and generations that were seen.
pub fn prepare(new: &mut Value, old: &Value) {
    let is_unset = |value: &Value, name: &str| value.get(name).is_none_or(|given| given == "" || given == 0);
    if !new["status"].is_object() {
        return;
    }
    for name in ["qosClass", "observedGeneration"] {
        if is_unset(&new["status"], name)
            && let Some(kept) = old["status"].get(name)
        {
            new["status"][name] = kept.clone();
        }
    }
    let mut known: Vec<(Value, Value)> = Vec::new();
    for condition in old["status"]["conditions"].as_array().into_iter().flatten() {
        known.push((condition["type"].clone(), condition["observedGeneration"].clone()));
    }
    for condition in new["status"].get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten() {
        let Some(index) = known.iter().position(|(kind, _)| *kind == condition["type"]) else { continue };
        let (_, generation) = known.remove(index);
        if is_unset(condition, "observedGeneration") && !generation.is_null() {
            condition["observedGeneration"] = generation;
        }
    }
}

pub fn validate(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let (new, old) = (Field::root(update.new), Field::root(update.old));
    let status = new.child("status");
    for condition in status.child("conditions").items() {
        check_generation(&condition.child("observedGeneration"), &mut errors);
        let kind = condition.child("type");
        if !SYSTEM_CONDITIONS.contains(&kind.text()) {
            errors.extend(label::validate_key(kind.text(), &condition.path.child("Type")));
        }
    }
    let nominated = status.child("nominatedNodeName");
    if !nominated.is_empty() && nominated.value != old.child("status.nominatedNodeName").value {
        nominated.obeys(dns1123_subdomain, &mut errors);
        if !old.child("spec.nodeName").is_empty() {
            errors.push(nominated.forbidden("may not be set on pods that are already bound to a node"));
        }
    }
    check_generation(&status.child("observedGeneration"), &mut errors);
    errors.extend(immutable(update, &[&["status", "qosClass"]]));
    for (statuses, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
        ("ephemeralContainerStatuses", ""),
    ] {
        check_ended(&status.child(statuses), &old, statuses, containers, &mut errors);
    }
    check_claims(&status.child("resourceClaimStatuses"), &new.child("spec.resourceClaims"), &mut errors);
    check_addresses(&status, &old.child("status"), &mut errors);
    errors
}

fn check_generation(generation: &Field<'_>, errors: &mut Errors) {
    if generation.number() < 0 {
        errors.push(generation.invalid("must be a non-negative integer"));
    }
}

/// A container that has ended stays so, unless its pod starts it again.
fn check_ended(new: &Field<'_>, old: &Field<'_>, statuses: &str, containers: &str, errors: &mut Errors) {
    let spec = old.child("spec");
    for before in old.child("status").child(statuses).items() {
        let ended = before.child("state.terminated");
        let name = before.child("name").text();
        let again = new.items().find(|status| status.child("name").text() == name);
        let runs_again = again.is_some_and(|status| !status.child("state.terminated").is_set());
        let container = spec.child(containers).items().find(|container| container.child("name").text() == name);
        let may = container.is_some_and(|container| may_restart(&container, &spec, ended.child("exitCode").number()));
        if ended.is_set() && runs_again && !may {
            let why = "may not be transitioned to non-terminated state";
            errors.push(before.child("state").forbidden(why));
        }
    }
}

/// Whether a container that ended with this code is started again: its own rules, its own policy, the pod's policy.
fn may_restart(container: &Field<'_>, spec: &Field<'_>, code: i64) -> bool {
    for rule in container.child("restartPolicyRules").items() {
        let codes = rule.child("exitCodes");
        let is_listed = codes.child("values").items().any(|value| value.number() == code);
        if (codes.child("operator").text() == "In") == is_listed && codes.is_set() {
            return true;
        }
    }
    let own = container.child("restartPolicy");
    let policy = if own.is_set() { own.text() } else { spec.child("restartPolicy").text() };
    match policy {
        "Always" => true,
        "OnFailure" => code != 0,
        _ => false,
    }
}

fn check_claims(statuses: &Field<'_>, claims: &Field<'_>, errors: &mut Errors) {
    let known: Vec<&str> = claims.items().map(|claim| claim.child("name").text()).collect();
    let mut seen: Vec<&str> = Vec::new();
    for status in statuses.items() {
        let name = status.child("name");
        if !known.contains(&name.text()) {
            errors.push(name.invalid("must match the name of an entry in `spec.resourceClaims`"));
        }
        if seen.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        seen.push(name.text());
        if status.child("resourceClaimName").is_set() {
            status.child("resourceClaimName").obeys(dns1123_subdomain, errors);
        }
    }
}

/// New addresses are well formed, and at most one of each family.
fn check_addresses(status: &Field<'_>, old: &Field<'_>, errors: &mut Errors) {
    let hosts = status.child("hostIPs");
    let first = hosts.items().next().map(|address| address.child("ip"));
    if let Some(first) = first.filter(|first| first.text() != status.child("hostIP").text()) {
        errors.push(first.invalid("must be equal to `hostIP`"));
    }
    for list in ["podIPs", "hostIPs"] {
        let known: Vec<&str> = old.child(list).items().map(|address| address.child("ip").text()).collect();
        let present = status.child(list);
        for address in present.items() {
            let text = address.child("ip");
            if !known.contains(&text.text()) {
                Field { value: text.value, path: address.path.clone() }.ip(errors);
            }
        }
        let families: Vec<bool> =
            present.items().filter_map(|address| Some(ip(address.child("ip").text())?.is_ipv4())).collect();
        let is_pair = present.len() == 2 && families.len() == 2 && families[0] != families[1];
        if present.len() > 1 && !is_pair {
            errors.push(present.invalid("may specify no more than one IP for each IP family"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::check::lines;
    use super::*;
    use crate::json::json;

    fn check(old: Value, new: Value, expected: &[&str]) {
        let of = |status: Value| {
            json!({"spec": {"restartPolicy": "OnFailure", "nodeName": "n", "containers": [{"name": "c"}]},
                "status": status})
        };
        let (old, mut new) = (of(old), of(new));
        prepare(&mut new, &old);
        assert_eq!(lines(&validate(Update { new: &new, old: &old })), expected);
    }

    #[test]
    fn a_container_that_succeeded_does_not_start_again() {
        let ended =
            |code: i64| json!({"containerStatuses": [{"name": "c", "state": {"terminated": {"exitCode": code}}}]});
        let running = json!({"containerStatuses": [{"name": "c", "state": {"running": {}}}]});
        check(ended(1), running.clone(), &[]);
        check(
            ended(0),
            running,
            &["status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"],
        );
    }

    #[test]
    fn the_quality_of_service_stays() {
        check(json!({"qosClass": "BestEffort"}), json!({}), &[]);
        check(
            json!({"qosClass": "BestEffort"}),
            json!({"qosClass": "Burstable"}),
            &["status.qosClass: Invalid value: \"Burstable\": field is immutable"],
        );
    }

    #[test]
    fn addresses_are_one_of_each_family() {
        check(json!({}), json!({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}), &[]);
        check(
            json!({}),
            json!({"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}),
            &["status.podIPs: Invalid value: [{\"ip\":\"10.0.0.1\"},{\"ip\":\"10.0.0.2\"}]: may specify no more than \
               one IP for each IP family"],
        );
        check(
            json!({}),
            json!({"podIPs": [{"ip": "x"}]}),
            &["status.podIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
        );
    }

    #[test]
    fn a_bound_pod_is_nominated_nowhere_else() {
        check(
            json!({}),
            json!({"nominatedNodeName": "m"}),
            &["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"],
        );
    }

    #[test]
    fn generations_that_were_seen_are_kept() {
        let old = json!({"status": {"observedGeneration": 3, "conditions": [{"type": "A", "observedGeneration": 2}]}});
        let mut new = json!({"status": {"conditions": [{"type": "A"}, {"type": "B"}]}});
        prepare(&mut new, &old);
        assert_eq!(new["status"]["observedGeneration"], 3);
        assert_eq!(new["status"]["conditions"], json!([{"type": "A", "observedGeneration": 2}, {"type": "B"}]));
    }
}
