//! Endpoints and EndpointSlices: addresses behind a Service.

use std::net::IpAddr;

use kueue_core::field::{Error, Errors};
use kueue_core::label;
use kueue_core::name::{dns1123_label, dns1123_subdomain};

use super::check::{Field, ip};
use super::{Rules, Update, defaults, immutable};
use crate::json::Value;

pub static ENDPOINTS: Rules = Rules {
    creates_on_update: true,
    deprecation: Some("v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"),
    default: |object| defaults::fill(&[("subsets[*].ports[*].protocol", "\"TCP\"")], object),
    validate_create: |object| check_subsets(object),
    // What has not changed was right once.
    validate_update: |update| {
        let has_changed = update.new["subsets"] != update.old["subsets"];
        if has_changed { check_subsets(update.new) } else { Errors::new() }
    },
    ..Rules::PLAIN
};

pub static ENDPOINT_SLICE: Rules = Rules {
    default: |object| defaults::fill(defaults::ENDPOINT_SLICE, object),
    labels_count_as_spec: true,
    validate_create: |object| check_slice(object, true),
    validate_update: validate_slice_update,
    ..Rules::WITH_GENERATION
};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const HINTS_MAX: usize = 8;

fn check_subsets(object: &Value) -> Errors {
    let mut errors = Errors::new();
    for subset in Field::root(object).child("subsets").items() {
        let lists = [subset.child("addresses"), subset.child("notReadyAddresses")];
        if lists.iter().all(Field::is_empty) {
            errors.push(subset.required("must specify `addresses` or `notReadyAddresses`"));
        }
        for address in lists.iter().flat_map(Field::items) {
            address.child("ip").ip(&mut errors);
            address.child("hostname").obeys_if_set(dns1123_label, &mut errors);
            address.child("nodeName").obeys_if_set(dns1123_subdomain, &mut errors);
            check_endpoint_ip(&address.child("ip"), &mut errors);
        }
        let ports = subset.child("ports");
        for port in ports.items() {
            let name = port.child("name");
            if name.is_empty() && ports.len() > 1 {
                errors.push(name.required(""));
            }
            name.obeys_if_set(dns1123_label, &mut errors);
            port.child("port").port(&mut errors);
            port.child("protocol").needs_one_of(&PROTOCOLS, &mut errors);
            if port.child("appProtocol").is_set() {
                port.child("appProtocol").obeys(label::qualified_name, &mut errors);
            }
        }
    }
    errors
}

/// An address that others can reach.
pub fn check_endpoint_ip(address: &Field<'_>, errors: &mut Errors) {
    let Some(found) = ip(address.text()) else {
        errors.push(address.invalid("must be a valid IP address"));
        return;
    };
    if found.is_unspecified() {
        errors.push(address.invalid(format!("may not be unspecified ({})", address.text())));
    }
    if found.is_loopback() {
        errors.push(address.invalid("may not be in the loopback range (127.0.0.0/8, ::1/128)"));
    }
    let (is_local, is_local_multicast) = match found {
        IpAddr::V4(four) => (four.is_link_local(), four.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(six) => (six.is_unicast_link_local(), six.segments()[0] & 0xff0f == 0xff02),
    };
    if is_local {
        errors.push(address.invalid("may not be in the link-local range (169.254.0.0/16, fe80::/10)"));
    }
    if is_local_multicast {
        let why = "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)";
        errors.push(address.invalid(why));
    }
}

fn validate_slice_update(update: Update<'_>) -> Errors {
    let has_changed = update.new["endpoints"] != update.old["endpoints"];
    let mut errors = check_slice(update.new, has_changed);
    errors.extend(immutable(update, &[&["addressType"]]));
    errors
}

fn check_slice(object: &Value, checks_endpoints: bool) -> Errors {
    let mut errors = Errors::new();
    let root = Field::root(object);
    root.child("addressType").needs_one_of(&["FQDN", "IPv4", "IPv6"], &mut errors);
    let ports = root.child("ports");
    ports.at_most(PORTS_MAX, &mut errors);
    let mut names: Vec<&str> = Vec::new();
    for port in ports.items() {
        let name = port.child("name");
        name.obeys_if_set(dns1123_label, &mut errors);
        if names.contains(&name.text()) {
            errors.push(name.duplicate());
        }
        names.push(name.text());
        port.child("protocol").needs_one_of(&PROTOCOLS, &mut errors);
        if port.child("appProtocol").is_set() {
            port.child("appProtocol").obeys(label::qualified_name, &mut errors);
        }
    }
    let endpoints = root.child("endpoints");
    if endpoints.len() > ENDPOINTS_MAX {
        endpoints.at_most(ENDPOINTS_MAX, &mut errors);
    } else if checks_endpoints {
        for endpoint in endpoints.items() {
            check_endpoint(&endpoint, root.child("addressType").text(), &mut errors);
        }
    }
    errors
}

fn check_endpoint(endpoint: &Field<'_>, kind: &str, errors: &mut Errors) {
    let addresses = endpoint.child("addresses");
    if addresses.is_empty() {
        errors.push(addresses.required("must contain at least 1 address"));
    }
    addresses.at_most(ADDRESSES_MAX, errors);
    for address in addresses.items() {
        if kind == "FQDN" {
            check_domain(&address, errors);
            continue;
        }
        let Some(found) = address.ip(errors) else { continue };
        if found.is_ipv4() != (kind == "IPv4") && ["IPv4", "IPv6"].contains(&kind) {
            errors.push(Error::invalid(&addresses.path, address.text(), format!("must be an {kind} address")));
        }
        check_endpoint_ip(&address, errors);
    }
    endpoint.child("nodeName").obeys_if_set(dns1123_subdomain, errors);
    endpoint.child("hostname").obeys_if_set(dns1123_label, errors);
    for (list, rule) in
        [("hints.forZones", label::value as fn(&str) -> Vec<String>), ("hints.forNodes", dns1123_subdomain)]
    {
        let hints = endpoint.child(list);
        hints.at_most(HINTS_MAX, errors);
        let mut seen: Vec<&str> = Vec::new();
        for hint in hints.items() {
            let name = hint.child("name");
            if seen.contains(&name.text()) {
                errors.push(name.duplicate());
            }
            seen.push(name.text());
            name.obeys(rule, errors);
        }
    }
}

/// A domain of at least two labels.
fn check_domain(name: &Field<'_>, errors: &mut Errors) {
    if !name.needs(errors) {
        return;
    }
    let domain = name.text().strip_suffix('.').unwrap_or(name.text());
    let mistakes = dns1123_subdomain(domain);
    if !mistakes.is_empty() {
        errors.push(Error::invalid(&name.path, domain, mistakes.join(",")));
    } else if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.push(Error::invalid(&name.path, domain, why));
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::lines;
    use super::*;
    use crate::json::json;

    #[test]
    fn addresses_can_be_reached() {
        let say = |address: &str| lines(&check_subsets(&json!({"subsets": [{"addresses": [{"ip": address}]}]})));
        assert_eq!(say("10.1.1.1"), [""; 0]);
        assert_eq!(
            say("127.0.0.1"),
            [
                "subsets[0].addresses[0].ip: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, ::1/128)"
            ]
        );
        assert_eq!(say("x").len(), 2);
        assert!(say("169.254.1.1")[0].contains("link-local range"));
        assert!(say("0.0.0.0")[0].contains("may not be unspecified (0.0.0.0)"));
        assert_eq!(
            lines(&check_subsets(&json!({"subsets": [{}]}))),
            ["subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`"]
        );
    }

    #[test]
    fn a_slice_has_one_family() {
        let slice = |kind: &str, address: &str| json!({"addressType": kind, "endpoints": [{"addresses": [address]}]});
        assert_eq!(lines(&check_slice(&slice("IPv4", "10.1.1.1"), true)), [""; 0]);
        assert_eq!(
            lines(&check_slice(&slice("IPv4", "fd00::1"), true)),
            ["endpoints[0].addresses: Invalid value: \"fd00::1\": must be an IPv4 address"]
        );
        assert_eq!(lines(&check_slice(&json!({}), true)), ["addressType: Required value"]);
        let moved = Update { new: &slice("IPv6", "10.1.1.1"), old: &slice("IPv4", "10.1.1.1") };
        assert_eq!(lines(&validate_slice_update(moved)), ["addressType: Invalid value: \"IPv6\": field is immutable"]);
    }
}
