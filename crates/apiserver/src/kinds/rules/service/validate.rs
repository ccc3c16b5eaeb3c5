//! What is wrong with a Service, and what of it stays.

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::super::Update;
use super::super::check::{Field, cidr, ip};
use super::super::endpoints::check_endpoint_ip;
use super::{is_headless, is_reachable, needs_health_port};
use crate::json::Value;

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const AFFINITY_SECONDS_MAX: i64 = 86_400;

pub fn validate_update(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    check_moves(update, &mut errors);
    let (new, old) = (&update.new["spec"], &update.old["spec"]);
    let class = Field::root(update.new).child("spec.loadBalancerClass");
    let both_balance = new["type"] == "LoadBalancer" && old["type"] == "LoadBalancer";
    if both_balance && *class.value != old["loadBalancerClass"] {
        errors.push(class.invalid("may not change once set"));
    }
    check_class(update.new, &mut errors);
    let port = Field::root(update.new).child("spec.healthCheckNodePort");
    if needs_health_port(new) && needs_health_port(old) && *port.value != old["healthCheckNodePort"] {
        errors.push(port.forbidden("field is immutable"));
    }
    errors.extend(validate(update.new, Some(update.old)));
    errors
}

/// An address stays for as long as the Service has one.
fn check_moves(update: Update<'_>, errors: &mut Errors) {
    let (new, old) = (&update.new["spec"], &update.old["spec"]);
    if new["type"] == "ExternalName" || old["type"] == "ExternalName" || is_headless(new) && is_headless(old) {
        return;
    }
    let (now, before) = (Field::root(update.new).child("spec"), Field::root(update.old).child("spec"));
    let (addresses, known) = (now.child("clusterIPs"), before.child("clusterIPs"));
    for (index, address) in known.items().enumerate() {
        if let Some(present) = addresses.items().nth(index)
            && present.value != address.value
        {
            errors.push(Error::invalid(&present.path, addresses.value.clone(), "may not change once set"));
        }
    }
    if !known.is_empty() && addresses.is_empty() {
        let why = "primary clusterIP can not be unset";
        errors.push(Error::invalid(&addresses.path.index(0), addresses.value.clone(), why));
    }
    if is_headless(new) == is_headless(old) {
        let (families, known) = (now.child("ipFamilies"), before.child("ipFamilies"));
        let differs = families.items().zip(known.items()).any(|(new, old)| new.value != old.value);
        if differs {
            errors.push(Error::invalid(&families.path.index(0), families.value.clone(), "may not change once set"));
        }
    }
}

pub fn validate(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(object);
    let spec = root.child("spec");
    let headless = is_headless(spec.value);
    let kind = spec.child("type").text();
    let ports = spec.child("ports");
    if ports.is_empty() && !headless && kind != "ExternalName" {
        errors.push(ports.required(""));
    }
    check_type(&spec, kind, headless, &mut errors);
    check_ports(&ports, &mut errors);
    spec.child("selector").labels(&mut errors);
    check_affinity(&spec, &mut errors);
    if kind != "ExternalName" {
        check_addresses(&spec, old, &mut errors);
    }
    check_external_addresses(&spec.child("externalIPs"), old, &mut errors);
    spec.child("type").needs_one_of(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"], &mut errors);
    check_node_ports(&spec, kind, &mut errors);
    check_ranges(&spec, kind, &mut errors);
    let gives = spec.child("allocateLoadBalancerNodePorts");
    if gives.is_set() && kind != "LoadBalancer" {
        errors.push(gives.forbidden("may only be used when `type` is 'LoadBalancer'"));
    }
    check_class(object, &mut errors);
    check_traffic(&spec, &mut errors);
    errors
}

fn check_type(spec: &Field<'_>, kind: &str, headless: bool, errors: &mut Errors) {
    let addresses = spec.child("clusterIPs");
    match kind {
        "LoadBalancer" | "NodePort" if headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            errors.push(Error::invalid(&addresses.path.index(0), "None", why));
        }
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if !spec.child(name).is_empty() {
                    errors.push(spec.child(name).forbidden("may not be set for ExternalName services"));
                }
            }
            let name = spec.child("externalName");
            let host = name.text().strip_suffix('.').unwrap_or(name.text());
            if host.is_empty() {
                errors.push(name.required(""));
            } else {
                errors.extend(dns1123_subdomain(host).into_iter().map(|why| Error::invalid(&name.path, host, why)));
            }
        }
        _ => {}
    }
}

fn check_ports(ports: &Field<'_>, errors: &mut Errors) {
    let mut names: Vec<&str> = Vec::new();
    for port in ports.items() {
        let name = port.child("name");
        if name.is_empty() && ports.len() > 1 {
            errors.push(name.required(""));
        } else if !name.is_empty() {
            name.obeys(dns1123_label, errors);
            if names.contains(&name.text()) {
                errors.push(name.duplicate());
            }
            names.push(name.text());
        }
        port.child("port").port(errors);
        port.child("protocol").needs_one_of(&PROTOCOLS, errors);
        port.child("targetPort").port(errors);
        if port.child("appProtocol").is_set() {
            port.child("appProtocol").obeys(label::qualified_name, errors);
        }
    }
}

fn check_affinity(spec: &Field<'_>, errors: &mut Errors) {
    let (affinity, config) = (spec.child("sessionAffinity"), spec.child("sessionAffinityConfig"));
    affinity.needs_one_of(&["ClientIP", "None"], errors);
    match affinity.text() {
        "ClientIP" => {
            let seconds = config.child("clientIP.timeoutSeconds");
            if !(1..=AFFINITY_SECONDS_MAX).contains(&seconds.number()) {
                errors.push(seconds.invalid(format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}")));
            }
        }
        "None" if config.is_set() => {
            errors.push(config.forbidden("must not be set when session affinity is None"));
        }
        _ => {}
    }
}

fn check_addresses(spec: &Field<'_>, old: Option<&Value>, errors: &mut Errors) {
    let (one, all, families) = (spec.child("clusterIP"), spec.child("clusterIPs"), spec.child("ipFamilies"));
    let first = all.items().next();
    match (one.is_empty(), &first) {
        (false, None) => errors.push(all.required("")),
        (false, Some(first)) if first.text() != one.text() => {
            errors.push(all.invalid("first value must match `clusterIP`"));
        }
        (true, Some(_)) => errors.push(all.invalid("must be empty when `clusterIP` is not specified")),
        _ => {}
    }
    let mut seen: Vec<&str> = Vec::new();
    for family in families.items() {
        family.one_of(&["IPv4", "IPv6"], errors);
        if seen.contains(&family.text()) {
            errors.push(family.duplicate());
        }
        seen.push(family.text());
    }
    spec.child("ipFamilyPolicy").one_of(&["PreferDualStack", "RequireDualStack", "SingleStack"], errors);
    let before = errors.len();
    let known = old.map_or(&Value::Null, |old| &old["spec"]["clusterIPs"]);
    let is_known = |address: &Field<'_>| known.as_array().is_some_and(|known| known.contains(address.value));
    for (index, address) in all.items().enumerate() {
        if index == 0 && address.text() == "None" {
            if all.len() > 1 {
                errors.push(all.invalid("'None' must be the first and only value"));
            }
        } else if !is_known(&address) {
            address.ip(errors);
        }
    }
    let has_wrong = errors.len() > before;
    if all.len() > 2 {
        errors.push(all.invalid("may only hold up to 2 values"));
    }
    if has_wrong {
        return;
    }
    let is_v4: Vec<bool> = all.items().filter_map(|address| Some(ip(address.text())?.is_ipv4())).collect();
    if all.len() > 1 && !(is_v4.contains(&true) && is_v4.contains(&false)) {
        errors.push(all.invalid("may specify no more than one IP for each IP family"));
    }
    for (index, (address, family)) in all.items().zip(families.items()).enumerate() {
        let wanted = family.text();
        let fits = ip(address.text()).is_none_or(|address| address.is_ipv4() == (wanted == "IPv4"));
        if !fits {
            let why = format!("expected an {wanted} value as indicated by `ipFamilies[{index}]`");
            errors.push(address.invalid(why));
        }
    }
}

fn check_external_addresses(addresses: &Field<'_>, old: Option<&Value>, errors: &mut Errors) {
    let known = old.map_or(&Value::Null, |old| &old["spec"]["externalIPs"]);
    for address in addresses.items() {
        let before = errors.len();
        if !known.as_array().is_some_and(|known| known.contains(address.value)) {
            address.ip(errors);
        }
        if errors.len() == before {
            check_endpoint_ip(&address, errors);
        }
    }
}

fn check_node_ports(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    let ports: Vec<Field<'_>> = spec.child("ports").items().collect();
    let number = |port: &Field<'_>| port.child("nodePort").number();
    for port in ports.iter().filter(|port| kind == "ClusterIP" && number(port) != 0) {
        errors.push(port.child("nodePort").forbidden("may not be used when `type` is 'ClusterIP'"));
    }
    let same = |one: &Field<'_>, other: &Field<'_>, field: &str| {
        one.child("protocol").value == other.child("protocol").value
            && one.child(field).value == other.child(field).value
    };
    for (index, port) in ports.iter().enumerate().filter(|(_, port)| number(port) != 0) {
        if ports[..index].iter().any(|other| same(other, port, "nodePort")) {
            errors.push(port.child("nodePort").duplicate());
        }
    }
    for (index, port) in ports.iter().enumerate() {
        if ports[..index].iter().any(|other| same(other, port, "port")) {
            errors.push(repeated(port));
        }
    }
}

/// The pair that is there twice, as Go prints it.
fn repeated(port: &Field<'_>) -> Error {
    let (protocol, number) = (port.child("protocol").text(), port.child("port").number());
    let detail = format!(
        r#"{{"Name":"","Protocol":"{protocol}","AppProtocol":null,"Port":{number},"TargetPort":0,"NodePort":0}}"#
    );
    Error { value: None, detail, ..Error::duplicate(&port.path, "") }
}

fn check_ranges(spec: &Field<'_>, kind: &str, errors: &mut Errors) {
    let ranges = spec.child("loadBalancerSourceRanges");
    let shown = Field { value: ranges.value, path: spec.path.child("LoadBalancerSourceRanges") };
    if ranges.is_empty() {
        return;
    }
    if kind != "LoadBalancer" {
        errors.push(shown.forbidden("may only be used when `type` is 'LoadBalancer'"));
    }
    for range in shown.items() {
        let text = range.text().trim();
        if cidr(text).is_none() {
            let why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
            errors.push(Error::invalid(&range.path, text, why));
        }
    }
}

fn check_class(object: &Value, errors: &mut Errors) {
    let spec = Field::root(object).child("spec");
    let class = spec.child("loadBalancerClass");
    if !class.is_set() {
        return;
    }
    if spec.child("type").text() == "LoadBalancer" {
        class.obeys(label::qualified_name, errors);
    } else {
        errors.push(class.forbidden("may only be used when `type` is 'LoadBalancer'"));
    }
}

fn check_traffic(spec: &Field<'_>, errors: &mut Errors) {
    let (outside, inside) = (spec.child("externalTrafficPolicy"), spec.child("internalTrafficPolicy"));
    if is_reachable(spec.value) {
        outside.needs_one_of(&["Cluster", "Local"], errors);
    } else if !outside.is_empty() {
        errors.push(outside.invalid("may only be set for externally-accessible services"));
    }
    let health = spec.child("healthCheckNodePort");
    if !needs_health_port(spec.value) && health.number() != 0 {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(health.invalid(why));
    }
    inside.one_of(&["Cluster", "Local"], errors);
    let words = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    spec.child("trafficDistribution").one_of(&words, errors);
}

pub fn validate_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    let ingress = Field::root(update.new).child("status.loadBalancer.ingress");
    if update.new["spec"]["type"] != "LoadBalancer" {
        if !ingress.is_empty() {
            errors.push(ingress.forbidden("may only be used when `spec.type` is 'LoadBalancer'"));
        }
        return errors;
    }
    for one in ingress.items() {
        let (address, mode, host) = (one.child("ip"), one.child("ipMode"), one.child("hostname"));
        if !address.is_empty() {
            address.ip(&mut errors);
        }
        match (mode.is_set(), address.is_empty()) {
            (false, false) => errors.push(mode.required("must be specified when `ip` is set")),
            (true, true) => errors.push(mode.forbidden("may not be specified when `ip` is not set")),
            _ => mode.one_of(&["Proxy", "VIP"], &mut errors),
        }
        host.obeys_if_set(dns1123_subdomain, &mut errors);
        if ip(host.text()).is_some() {
            errors.push(host.invalid("must be a DNS name, not an IP address"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    #![expect(clippy::needless_pass_by_value, reason = "cases read better without references")]

    use super::super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[track_caller]
    fn check(spec: Value, expected: &[&str]) {
        let mut service = json!({"spec": spec});
        super::super::default(&mut service);
        assert_eq!(lines(&validate(&service, None)), expected, "{spec}");
    }

    #[test]
    fn a_service_has_ports_with_names() {
        check(json!({"ports": [{"port": 80}]}), &[]);
        check(json!({}), &["spec.ports: Required value"]);
        check(
            json!({"ports": [{"port": 1}, {"port": 2}]}),
            &["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
        );
        check(
            json!({"ports": [{"port": 70_000, "targetPort": 1}]}),
            &["spec.ports[0].port: Invalid value: 70000: must be between 1 and 65535, inclusive"],
        );
        check(
            json!({"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}]}),
            &[
                "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":1,\"TargetPort\":0,\"NodePort\":0}",
            ],
        );
    }

    #[test]
    fn each_type_has_its_own_fields() {
        check(json!({"type": "ExternalName"}), &["spec.externalName: Required value"]);
        check(
            json!({"ports": [{"port": 80, "nodePort": 30_001}]}),
            &["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
        );
        check(
            json!({"ports": [{"port": 80}], "type": "X"}),
            &[
                "spec.type: Unsupported value: \"X\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \"NodePort\"",
            ],
        );
        check(
            json!({"ports": [{"port": 80}], "type": "NodePort", "clusterIP": "None", "clusterIPs": ["None"]}),
            &["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
        );
        check(
            json!({"ports": [{"port": 80}], "loadBalancerClass": "a/b"}),
            &["spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'"],
        );
    }

    #[test]
    fn an_address_stays() {
        let with = |address: &str| {
            json!({"spec": {"type": "ClusterIP", "sessionAffinity": "None", "clusterIP": address,
            "clusterIPs": [address], "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]}})
        };
        assert_eq!(
            lines(&validate_update(Update { new: &with("10.0.0.2"), old: &with("10.0.0.1") })),
            ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"]
        );
    }
}
