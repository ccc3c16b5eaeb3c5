//! NetworkPolicies, Ingresses and their classes.

use kueue_core::field::{Error, Errors};
use kueue_core::name::{dns1123_label, dns1123_subdomain, pattern_message, validate_domain_prefixed_path};

use super::check::{Field, cidr, ip, port_name};
use super::{Rules, Update, defaults, immutable};
use crate::json::Value;

pub static NETWORK_POLICY: Rules =
    Rules { default: defaults::network_policy, validate: validate_policy, ..Rules::WITH_GENERATION };
pub static INGRESS: Rules =
    Rules { validate: validate_ingress, validate_status: validate_ingress_status, ..Rules::WITH_GENERATION };
pub static INGRESS_CLASS: Rules = Rules {
    validate: |object| {
        let controller = Field::root(object).child("spec.controller");
        let mut errors = Errors::new();
        if controller.text().len() > 250 {
            errors.push(Error::too_long(&controller.path, 250));
        }
        errors.extend(validate_domain_prefixed_path(controller.text(), &controller.path));
        errors
    },
    validate_update: |update| immutable(update, &[&["spec", "controller"]]),
    default: |object| defaults::fill(&[("spec.parameters.scope", "\"Cluster\"")], object),
    ..Rules::WITH_GENERATION
};

const CIDR_WANTED: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

fn validate_policy(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    spec.child("podSelector").label_selector(&mut errors);
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for rule in spec.child(list).items() {
            for port in rule.child("ports").items() {
                check_policy_port(&port, &mut errors);
            }
            for peer in rule.child(peers).items() {
                check_peer(&peer, &mut errors);
            }
        }
    }
    let kinds = spec.child("policyTypes");
    if kinds.len() > 2 {
        errors.push(kinds.invalid("may not specify more than two policyTypes"));
    } else {
        for kind in kinds.items() {
            kind.one_of(&["Ingress", "Egress"], &mut errors);
        }
    }
    errors
}

fn check_policy_port(port: &Field<'_>, errors: &mut Errors) {
    port.child("protocol").one_of(&["TCP", "UDP", "SCTP"], errors);
    let (number, end) = (port.child("port"), port.child("endPort"));
    if number.is_set() {
        number.port(errors);
    }
    if !end.is_set() {
        return;
    }
    match number.value {
        Value::Null => errors.push(end.invalid("may not be specified when `port` is not specified")),
        Value::String(_) => errors.push(end.invalid("may not be specified when `port` is non-numeric")),
        _ => {
            if end.number() < number.number() {
                let why = "must be greater than or equal to `port`";
                errors.push(Error::invalid(&end.path, number.number(), why));
            }
            end.port(errors);
        }
    }
}

fn check_peer(peer: &Field<'_>, errors: &mut Errors) {
    let block = peer.child("ipBlock");
    let mut given = 0;
    for selector in ["podSelector", "namespaceSelector"] {
        given += usize::from(peer.child(selector).is_set());
        peer.child(selector).label_selector(errors);
    }
    if block.is_set() {
        check_block(&block, errors);
        if given > 0 {
            errors.push(peer.forbidden("may not specify both ipBlock and another peer"));
        }
    } else if given == 0 {
        errors.push(peer.required("must specify a peer"));
    }
}

fn check_block(block: &Field<'_>, errors: &mut Errors) {
    let range = block.child("cidr");
    if !range.needs(errors) {
        return;
    }
    let Some((network, bits)) = cidr(range.text()) else {
        errors.push(range.invalid(CIDR_WANTED));
        return;
    };
    for except in block.child("except").items() {
        let Some((address, longer)) = cidr(except.text()) else {
            errors.push(except.invalid(CIDR_WANTED));
            continue;
        };
        if !(longer > bits && shares_prefix(network, address, bits)) {
            errors.push(except.invalid("must be a strict subset of `cidr`"));
        }
    }
}

fn shares_prefix(one: std::net::IpAddr, other: std::net::IpAddr, bits: u8) -> bool {
    use std::net::IpAddr::{V4, V6};
    let bits = u32::from(bits);
    match (one, other) {
        (V4(one), V4(other)) => (u32::from(one) ^ u32::from(other)).checked_shr(32 - bits).unwrap_or_default() == 0,
        (V6(one), V6(other)) => (u128::from(one) ^ u128::from(other)).checked_shr(128 - bits).unwrap_or_default() == 0,
        _ => false,
    }
}

fn validate_ingress(object: &Value) -> Errors {
    let mut errors = Errors::new();
    let spec = Field::root(object).child("spec");
    let (rules, backend) = (spec.child("rules"), spec.child("defaultBackend"));
    if rules.is_empty() && !backend.is_set() {
        let why = "either `defaultBackend` or `rules` must be specified";
        errors.push(Error::invalid(&spec.path, rules.value.clone(), why));
    }
    if backend.is_set() {
        check_backend(&backend, &mut errors);
    }
    for rule in rules.items() {
        check_host(&rule.child("host"), &mut errors);
        let http = rule.child("http");
        if http.is_set() {
            http.child("paths").needs(&mut errors);
        }
        for path in http.child("paths").items() {
            check_path(&path, &mut errors);
        }
    }
    for tls in spec.child("tls").items() {
        for host in tls.child("hosts").items() {
            host.obeys(if host.text().contains('*') { wildcard } else { dns1123_subdomain }, &mut errors);
        }
        tls.child("secretName").obeys_if_set(dns1123_subdomain, &mut errors);
    }
    spec.child("ingressClassName").obeys_if_set(dns1123_subdomain, &mut errors);
    errors
}

fn check_host(host: &Field<'_>, errors: &mut Errors) {
    if host.is_empty() {
        return;
    }
    if ip(host.text()).is_some() {
        errors.push(host.invalid("must be a DNS name, not an IP address"));
    }
    host.obeys(if host.text().contains('*') { wildcard } else { dns1123_subdomain }, errors);
}

fn wildcard(host: &str) -> Vec<String> {
    let rest = host.strip_prefix("*.");
    if rest.is_some_and(|rest| dns1123_subdomain(rest).is_empty()) {
        return Vec::new();
    }
    let rule = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character";
    let pattern = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
    vec![pattern_message(rule, pattern, &["*.example.com"])]
}

fn check_path(path: &Field<'_>, errors: &mut Errors) {
    let (kind, text) = (path.child("pathType"), path.child("path"));
    if !kind.is_set() {
        errors.push(kind.required("pathType must be specified"));
        return;
    }
    match kind.text() {
        "Exact" | "Prefix" => {
            if !text.text().starts_with('/') {
                errors.push(Error::invalid(&text.path, text.text(), "must be an absolute path"));
            }
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if text.text().contains(part) {
                    errors.push(text.invalid(format!("must not contain '{part}'")));
                }
            }
            for end in ["/..", "/."] {
                if text.text().ends_with(end) {
                    errors.push(text.invalid(format!("cannot end with '{end}'")));
                }
            }
        }
        "ImplementationSpecific" => {
            if !text.is_empty() && !text.text().starts_with('/') {
                errors.push(text.invalid("must be an absolute path"));
            }
        }
        _ => kind.one_of(&["Exact", "ImplementationSpecific", "Prefix"], errors),
    }
    check_backend(&path.child("backend"), errors);
}

fn check_backend(backend: &Field<'_>, errors: &mut Errors) {
    let (service, resource) = (backend.child("service"), backend.child("resource"));
    let why = match (service.is_set(), resource.is_set()) {
        (true, true) => "cannot set both resource and service backends",
        (false, false) => "resource or service backend is required",
        (false, true) => {
            resource.child("kind").needs(errors);
            resource.child("name").needs(errors);
            return;
        }
        (true, false) => {
            service.child("name").needs_name(dns1123_label, errors);
            let (name, number) = (service.child("port.name"), service.child("port.number"));
            match (name.is_empty(), number.number() == 0) {
                (true, true) => errors.push(backend.required("port name or number is required")),
                (false, true) => name.obeys(port_name, errors),
                (true, false) => number.port(errors),
                (false, false) => {
                    errors.push(Error::invalid(&backend.path, "", "cannot set both port name & port number"));
                }
            }
            return;
        }
    };
    errors.push(Error::invalid(&backend.path, "", why));
}

fn validate_ingress_status(update: Update<'_>) -> Errors {
    let mut errors = Errors::new();
    for one in Field::root(update.new).child("status.loadBalancer.ingress").items() {
        if !one.child("ip").is_empty() {
            one.child("ip").ip(&mut errors);
        }
        let host = one.child("hostname");
        host.obeys_if_set(dns1123_subdomain, &mut errors);
        if ip(host.text()).is_some() {
            errors.push(host.invalid("must be a DNS name, not an IP address"));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[test]
    fn a_policy_names_peers_and_ports() {
        let say = |rule: Value| lines(&validate_policy(&json!({"spec": {"ingress": [rule]}})));
        assert_eq!(say(json!({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]})), [""; 0]);
        assert_eq!(say(json!({"from": [{}]})), ["spec.ingress[0].from[0]: Required value: must specify a peer"]);
        assert_eq!(
            say(json!({"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["11.0.0.0/16"]}}]})),
            [
                "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"11.0.0.0/16\": must be a strict subset of `cidr`"
            ]
        );
        assert_eq!(
            say(json!({"ports": [{"port": 80, "endPort": 70}]})),
            ["spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`"]
        );
    }

    #[test]
    fn an_ingress_leads_somewhere() {
        let say = |spec: Value| lines(&validate_ingress(&json!({"spec": spec})));
        assert_eq!(say(json!({})), ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]);
        let path = |path: Value| json!({"rules": [{"http": {"paths": [path]}}]});
        let at = "spec.rules[0].http.paths[0]";
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        assert_eq!(say(path(json!({"path": "/", "pathType": "Prefix", "backend": backend}))), [""; 0]);
        assert_eq!(
            say(path(json!({"backend": backend}))),
            [format!("{at}.pathType: Required value: pathType must be specified")]
        );
        assert_eq!(
            say(path(json!({"path": "x", "pathType": "Exact", "backend": {}}))),
            [
                format!("{at}.path: Invalid value: \"x\": must be an absolute path"),
                format!("{at}.backend: Invalid value: \"\": resource or service backend is required"),
            ]
        );
        assert_eq!(say(json!({"rules": [{"host": "1.2.3.4"}]})).len(), 1);
    }
}
