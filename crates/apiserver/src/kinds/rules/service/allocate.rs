//! Addresses and ports for Services: from one range each, and never one twice.

use std::net::IpAddr;

use kueue_core::field::{Error, Errors, Path};

use super::super::check::ip;
use super::super::{Moment, set_default};
use super::{is_headless, needs_address, needs_health_port, needs_node_port};
use crate::json::{Value, json};

/// Addresses are `10.0.X.Y`; the first one is the API server's own.
const NETWORK: [u8; 2] = [10, 0];
/// First of the ports that every node listens on for a service, and how many there are.
const NODE_PORT_MIN: u64 = 30_000;
const NODE_PORTS: u64 = 2768;
/// How often a free one is looked for at random before all are tried.
const TRIES: u64 = 64;

/// What other Services have.
struct Taken {
    addresses: Vec<String>,
    ports: Vec<u64>,
}

impl Taken {
    /// What all Services but this one have.
    fn read(moment: Moment<'_>, uid: &Value) -> Self {
        let mut taken = Self { addresses: Vec::new(), ports: Vec::new() };
        let Ok(all) = moment.store.list("services", "", None) else { return taken };
        for (_, object) in all.objects.iter().filter(|(_, object)| object.value["metadata"]["uid"] != *uid) {
            let spec = &object.value["spec"];
            let addresses = spec["clusterIPs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            taken.addresses.extend(addresses.map(str::to_owned));
            let ports = spec["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_u64());
            taken.ports.extend(ports.chain(spec["healthCheckNodePort"].as_u64()));
        }
        taken
    }
}

/// Gives a Service what it needs and does not have; tells what it may not have.
pub fn allocate(object: &mut Value, old: Option<&Value>, moment: Moment<'_>) -> Errors {
    let taken = Taken::read(moment, &object["metadata"]["uid"]);
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return Errors::new() };
    let before = old.map_or(&Value::Null, |old| &old["spec"]);
    let mut errors = Errors::new();
    if needs_address(spec) {
        settle_families(spec, before, &mut errors);
        if errors.is_empty() && !is_headless(spec) {
            settle_address(spec, before, &taken, moment, &mut errors);
        }
    }
    if errors.is_empty() && needs_node_port(spec) {
        settle_node_ports(spec, before, &taken, moment, &mut errors);
    }
    errors
}

/// This cluster has one family of addresses.
fn settle_families(spec: &mut Value, before: &Value, errors: &mut Errors) {
    let at = Path::new("spec");
    let has_selector = spec["selector"].as_object().is_some_and(|selector| !selector.is_empty());
    let is_open = is_headless(spec) && !has_selector;
    let policy = match before["ipFamilyPolicy"].as_str() {
        Some(known) => known.to_owned(),
        None if is_open => "RequireDualStack".to_owned(),
        None => "SingleStack".to_owned(),
    };
    set_default(spec, "ipFamilyPolicy", policy);
    let policy = spec["ipFamilyPolicy"].as_str().unwrap_or_default().to_owned();
    for (list, what) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if policy == "SingleStack" && spec[list].as_array().is_some_and(|list| list.len() == 2) {
            let why = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.push(Error::invalid(&at.child("ipFamilyPolicy"), policy.as_str(), why));
        }
    }
    if !errors.is_empty() {
        return;
    }
    if is_open {
        set_default(spec, "ipFamilies", json!(["IPv4"]));
        let only = spec["ipFamilies"].as_array().filter(|list| list.len() == 1).map(|list| list[0].clone());
        if let Some(only) = only.filter(|_| policy != "SingleStack") {
            let other = if only == "IPv4" { "IPv6" } else { "IPv4" };
            spec["ipFamilies"] = json!([only, other]);
        }
        return;
    }
    if policy == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        errors.push(Error::invalid(&at.child("ipFamilyPolicy"), policy.as_str(), why));
    }
    for (index, family) in spec["ipFamilies"].as_array().into_iter().flatten().enumerate() {
        if family != "IPv4" {
            let place = at.child("ipFamilies").index(index);
            errors.push(Error::invalid(&place, family.clone(), "not configured on this cluster"));
        }
    }
    set_default(spec, "ipFamilies", json!(["IPv4"]));
}

fn settle_address(spec: &mut Value, before: &Value, taken: &Taken, moment: Moment<'_>, errors: &mut Errors) {
    let given = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    if given.is_empty() {
        let free = |host: u64| {
            let address = IpAddr::from([NETWORK[0], NETWORK[1], (host >> 8) as u8, host as u8]).to_string();
            (!taken.addresses.contains(&address)).then_some(address)
        };
        // Neither the network itself nor its first and last address.
        if let Some(address) = pick(2, 65_533, moment, free) {
            spec["clusterIP"] = address.clone().into();
            spec["clusterIPs"] = json!([address]);
        }
        return;
    }
    if spec["clusterIPs"] == before["clusterIPs"] {
        return;
    }
    let is_inside = matches!(ip(&given), Some(IpAddr::V4(address)) if address.octets()[..2] == NETWORK);
    let why = match () {
        () if !is_inside => "the provided network does not match the current range",
        () if taken.addresses.contains(&given) => "provided IP is already allocated",
        () => return,
    };
    let why = format!("failed to allocate IP {given}: {why}");
    errors.push(Error::invalid(&Path::new("spec").child("clusterIPs"), spec["clusterIPs"].clone(), why));
}

fn settle_node_ports(spec: &mut Value, before: &Value, taken: &Taken, moment: Moment<'_>, errors: &mut Errors) {
    let known: Vec<u64> =
        before["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_u64()).collect();
    let gives = spec["type"] == "NodePort" || spec["allocateLoadBalancerNodePorts"] != false;
    let needs_health = needs_health_port(spec);
    let mut used = taken.ports.clone();
    let mut claim = |given: u64, at: &Path, errors: &mut Errors| -> Option<u64> {
        if given == 0 {
            let number = pick(NODE_PORT_MIN, NODE_PORTS, moment, |port| (!used.contains(&port)).then_some(port))?;
            used.push(number);
            return Some(number);
        }
        let why = match () {
            () if known.contains(&given) => return Some(given),
            () if !(NODE_PORT_MIN..NODE_PORT_MIN + NODE_PORTS).contains(&given) => {
                "provided port is not in the valid range. The range of valid ports is 30000-32767"
            }
            () if used.contains(&given) => "provided port is already allocated",
            () => {
                used.push(given);
                return Some(given);
            }
        };
        errors.push(Error::invalid(at, given, why));
        None
    };
    let at = Path::new("spec").child("ports");
    for (index, port) in spec["ports"].as_array_mut().into_iter().flatten().enumerate() {
        let given = port.get("nodePort").and_then(Value::as_u64).unwrap_or_default();
        if given == 0 && !gives {
            continue;
        }
        if let Some(number) = claim(given, &at.index(index).child("nodePort"), errors) {
            port["nodePort"] = number.into();
        }
    }
    if needs_health && errors.is_empty() {
        let given = spec["healthCheckNodePort"].as_u64().unwrap_or_default();
        let same = before["healthCheckNodePort"].as_u64() == Some(given) && given != 0;
        let at = Path::new("spec").child("healthCheckNodePort");
        if let Some(number) = (!same).then(|| claim(given, &at, errors)).flatten() {
            spec["healthCheckNodePort"] = number.into();
        }
    }
}

/// A free number of a range: at random, or the first one when luck is short.
fn pick<T>(min: u64, count: u64, moment: Moment<'_>, free: impl Fn(u64) -> Option<T>) -> Option<T> {
    let lucky = (0..TRIES).find_map(|_| free(min + moment.random.below(count)));
    lucky.or_else(|| (min..min + count).find_map(free))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::random::Random;
    use crate::store::{Key, Store};

    /// Allocates for a Service beside one that has an address and a port.
    fn settle(spec: Value) -> Result<Value, Vec<String>> {
        let store = Store::default();
        let other =
            json!({"metadata": {"uid": "o"}, "spec": {"clusterIPs": ["10.0.0.9"], "ports": [{"nodePort": 30_009}]}});
        store.create("services", Key::new("n", "other"), other).unwrap();
        let random = Random::from_seed([1; 32]);
        let moment = Moment { now: "2020-01-01T00:00:00Z".parse().unwrap(), random: &random, store: &store };
        let mut service = json!({"metadata": {"uid": "s"}, "spec": spec});
        let errors = allocate(&mut service, None, moment);
        if errors.is_empty() { Ok(service["spec"].take()) } else { Err(lines(&errors)) }
    }

    #[test]
    fn a_service_gets_an_address_and_ports() {
        let spec = settle(json!({"type": "NodePort", "ports": [{"port": 80}]})).unwrap();
        assert!(spec["clusterIP"].as_str().unwrap().starts_with("10.0."));
        assert!((30_000..32_768).contains(&spec["ports"][0]["nodePort"].as_u64().unwrap()));
        assert_eq!(spec["ipFamilyPolicy"], "SingleStack");
    }

    #[test]
    fn what_others_have_is_refused() {
        let with = |address: &str| settle(json!({"type": "ClusterIP", "clusterIP": address, "clusterIPs": [address]}));
        assert_eq!(
            with("10.0.0.9").unwrap_err(),
            [
                "spec.clusterIPs: Invalid value: [\"10.0.0.9\"]: failed to allocate IP 10.0.0.9: provided IP is already allocated"
            ]
        );
        assert_eq!(
            with("1.2.3.4").unwrap_err(),
            [
                "spec.clusterIPs: Invalid value: [\"1.2.3.4\"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range"
            ]
        );
        let port = |port: u64| settle(json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": port}]}));
        assert_eq!(
            port(30_009).unwrap_err(),
            ["spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated"]
        );
        assert!(port(70).unwrap_err()[0].ends_with("The range of valid ports is 30000-32767"));
    }

    #[test]
    fn a_headless_service_without_a_selector_has_both_families() {
        let spec = settle(json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]})).unwrap();
        assert_eq!(
            (&spec["ipFamilies"], &spec["ipFamilyPolicy"]),
            (&json!(["IPv4", "IPv6"]), &json!("RequireDualStack"))
        );
    }
}
