//! Services: addresses and ports are the server's to give.

use kueue_core::name;

use super::{Moment, Rules, UnknownSelector, set_default};
use crate::json::{Value, json};

mod allocate;
mod validate;

pub static RULES: Rules = Rules {
    answers_deleted: true,
    creates_on_update: true,
    check_name: name::dns1123_label,
    selectable: &["spec.clusterIP", "spec.type"],
    unknown_selector: UnknownSelector::Kind,
    default,
    prepare_create,
    prepare_update,
    validate: |_| Vec::new(),
    validate_create: |object| validate::validate(object, None),
    validate_update: validate::validate_update,
    validate_status: validate::validate_status,
    allocate: allocate::allocate,
    ..Rules::PLAIN
};

/// What a Service of a type has.
fn needs_address(spec: &Value) -> bool {
    spec["type"] != "ExternalName"
}

fn needs_node_port(spec: &Value) -> bool {
    spec["type"] == "NodePort" || spec["type"] == "LoadBalancer"
}

/// Whether it can be reached from outside of the cluster.
fn is_reachable(spec: &Value) -> bool {
    let has_addresses = spec["externalIPs"].as_array().is_some_and(|addresses| !addresses.is_empty());
    needs_node_port(spec) || spec["type"] == "ClusterIP" && has_addresses
}

fn needs_health_port(spec: &Value) -> bool {
    spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local"
}

fn is_headless(spec: &Value) -> bool {
    spec["clusterIPs"] == json!(["None"])
}

fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    set_default(spec, "type", "ClusterIP");
    set_default(spec, "sessionAffinity", "None");
    if spec["sessionAffinity"] == "None" {
        take(spec, "sessionAffinityConfig");
    }
    if spec["sessionAffinity"] == "ClientIP" {
        set_default(spec, "sessionAffinityConfig", json!({}));
        set_default(&mut spec["sessionAffinityConfig"], "clientIP", json!({}));
        set_default(&mut spec["sessionAffinityConfig"]["clientIP"], "timeoutSeconds", 10_800);
    }
    if needs_address(spec) {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if is_reachable(spec) && spec.get("externalTrafficPolicy").is_none_or(|policy| policy == "") {
        spec["externalTrafficPolicy"] = "Cluster".into();
    }
    if spec["type"] == "LoadBalancer" {
        set_default(spec, "allocateLoadBalancerNodePorts", true);
    }
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        set_default(port, "protocol", "TCP");
        let number = port["port"].clone();
        if port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = Value::Null;
        }
        set_default(port, "targetPort", number);
    }
    for ingress in
        object.pointer_mut("/status/loadBalancer/ingress").and_then(Value::as_array_mut).into_iter().flatten()
    {
        if ingress["ip"].as_str().is_some_and(|address| !address.is_empty()) {
            set_default(ingress, "ipMode", "VIP");
        }
    }
}

/// One address stands for a list of one.
fn prepare_create(object: &mut Value, _: Moment<'_>) {
    object["status"] = json!({"loadBalancer": {}});
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    let address = spec["clusterIP"].clone();
    if address.as_str().is_some_and(|address| !address.is_empty()) {
        set_default(spec, "clusterIPs", json!([address]));
    }
}

/// What is not given again stays, and what a type does not have goes, unless it was changed too.
fn prepare_update(new: &mut Value, old: &Value) {
    let old = &old["spec"];
    let Some(spec) = new.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    keep_addresses(spec, old);
    let is_same = |spec: &Value, name: &str| spec.get(name) == old.get(name);
    if needs_address(old) && !needs_address(spec) {
        if is_same(spec, "clusterIP") && is_same(spec, "clusterIPs") {
            take(spec, "clusterIP");
            take(spec, "clusterIPs");
        }
        for name in ["ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if is_same(spec, name) {
                take(spec, name);
            }
        }
    }
    keep_node_ports(spec, old);
    let health = "healthCheckNodePort";
    if needs_health_port(old) && !needs_health_port(spec) && is_same(spec, health) {
        take(spec, health);
    }
    for name in ["allocateLoadBalancerNodePorts", "loadBalancerClass"] {
        if old["type"] == "LoadBalancer" && spec["type"] != "LoadBalancer" && is_same(spec, name) {
            take(spec, name);
        }
    }
    if is_reachable(old) && !is_reachable(spec) && is_same(spec, "externalTrafficPolicy") {
        take(spec, "externalTrafficPolicy");
    }
    if spec["type"] != "LoadBalancer" {
        new["status"]["loadBalancer"] = json!({});
    }
}

fn keep_addresses(spec: &mut Value, old: &Value) {
    if needs_address(old) && needs_address(spec) {
        for name in ["clusterIP", "clusterIPs"] {
            let is_unset = spec.get(name).is_none_or(|value| value.is_null() || value == "" || *value == json!([]));
            if let Some(kept) = old.get(name).filter(|_| is_unset) {
                spec[name] = kept.clone();
            }
        }
    }
    // A client that knows one address only changes one.
    if spec["clusterIP"] != old["clusterIP"] && spec["clusterIPs"] == old["clusterIPs"] {
        match spec["clusterIP"].as_str().unwrap_or_default() {
            "" => take(spec, "clusterIPs"),
            address => spec["clusterIPs"] = json!([address]),
        }
    }
}

fn keep_node_ports(spec: &mut Value, old: &Value) {
    let ports = |spec: &Value| -> Vec<(String, i64)> {
        let list = spec["ports"].as_array().into_iter().flatten();
        let name = |port: &Value| port["name"].as_str().unwrap_or_default().to_owned();
        list.map(|port| (name(port), port["nodePort"].as_i64().unwrap_or_default())).collect()
    };
    let (known, present) = (ports(old), ports(spec));
    let is_known = |number: i64| known.iter().any(|(_, known)| *known == number);
    let is_used = |number: i64| present.iter().any(|(_, used)| *used == number);
    let adds_none = present.iter().all(|(_, number)| *number == 0 || is_known(*number));
    let drops = needs_node_port(old) && !needs_node_port(spec) && adds_none;
    let keeps = needs_node_port(old) && needs_node_port(spec);
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if drops {
            take(port, "nodePort");
        }
        let name = port["name"].as_str().unwrap_or_default().to_owned();
        let before = known.iter().find(|(known, _)| *known == name).map(|(_, number)| *number).unwrap_or_default();
        if keeps && port["nodePort"].as_i64().unwrap_or_default() == 0 && before != 0 && !is_used(before) {
            port["nodePort"] = before.into();
        }
        if port["name"].is_null() {
            take(port, "name");
        }
        if port["nodePort"].is_null() {
            take(port, "nodePort");
        }
    }
}

fn take(value: &mut Value, name: &str) {
    if let Some(object) = value.as_object_mut() {
        object.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_leads_to_itself() {
        let mut service = json!({"spec": {"ports": [{"port": 80}, {"port": 81, "targetPort": "web"}]}});
        default(&mut service);
        let ports = &service["spec"]["ports"];
        assert_eq!((&ports[0]["targetPort"], &ports[1]["targetPort"]), (&json!(80), &json!("web")));
        assert_eq!(service["spec"]["type"], "ClusterIP");
    }

    #[test]
    fn what_a_type_does_not_have_goes() {
        let old = json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"],
            "externalTrafficPolicy": "Cluster", "ports": [{"port": 80, "nodePort": 30_001}]}, "status": {}});
        let mut plain = old.clone();
        plain["spec"]["type"] = "ClusterIP".into();
        prepare_update(&mut plain, &old);
        assert_eq!(plain["spec"]["ports"], json!([{"port": 80}]));
        assert!(plain["spec"].get("externalTrafficPolicy").is_none());
        let mut outside = old.clone();
        outside["spec"]["type"] = "ExternalName".into();
        prepare_update(&mut outside, &old);
        assert!(outside["spec"].get("clusterIP").is_none());
    }

    #[test]
    fn what_is_not_given_again_stays() {
        let old = json!({"spec": {"type": "NodePort", "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"],
            "ports": [{"port": 80, "nodePort": 30_001}]}});
        let mut new = json!({"spec": {"type": "NodePort", "ports": [{"port": 81}]}});
        prepare_update(&mut new, &old);
        assert_eq!(new["spec"]["clusterIPs"], json!(["10.0.0.5"]));
        assert_eq!(new["spec"]["ports"], json!([{"port": 81, "nodePort": 30_001}]));
    }
}
