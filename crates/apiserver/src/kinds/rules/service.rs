//! Services: addresses and ports are the server's to give.

use kueue_core::name;
use serde_json::{Value, json};

use super::{Moment, Rules, UnknownSelector, set_default};

pub static RULES: Rules = Rules {
    answers_deleted: true,
    creates_on_update: true,
    check_name: name::dns1035_label,
    selectable: &["spec.clusterIP", "spec.type"],
    unknown_selector: UnknownSelector::Kind,
    default,
    prepare_create,
    prepare_update,
    ..Rules::PLAIN
};

/// First of the ports that every node listens on for a service, and how many there are.
const NODE_PORT_MIN: u64 = 30_000;
const NODE_PORTS: u64 = 2768;

fn default(object: &mut Value) {
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    set_default(spec, "type", "ClusterIP");
    set_default(spec, "sessionAffinity", "None");
    if spec["sessionAffinity"] == "ClientIP" {
        set_default(spec, "sessionAffinityConfig", json!({"clientIP": {"timeoutSeconds": 10_800}}));
    }
    let kind = spec["type"].as_str().unwrap_or_default().to_owned();
    if kind != "ExternalName" {
        set_default(spec, "internalTrafficPolicy", "Cluster");
    }
    if ["NodePort", "LoadBalancer"].contains(&kind.as_str()) {
        set_default(spec, "externalTrafficPolicy", "Cluster");
    }
    if kind == "LoadBalancer" {
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
}

fn prepare_create(object: &mut Value, moment: Moment<'_>) {
    object["status"] = json!({"loadBalancer": {}});
    let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
    if spec["type"] == "ExternalName" {
        return;
    }
    let [high, low] = [moment.random.below(256), 1 + moment.random.below(254)];
    let given = spec["clusterIP"].as_str().unwrap_or_default().to_owned();
    let address = if given.is_empty() { format!("10.96.{high}.{low}") } else { given };
    spec["clusterIP"] = address.clone().into();
    spec["clusterIPs"] = json!([address]);
    set_default(spec, "ipFamilies", json!(["IPv4"]));
    set_default(spec, "ipFamilyPolicy", "SingleStack");
    if spec["type"] == "NodePort" || spec["type"] == "LoadBalancer" {
        for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            set_default(port, "nodePort", NODE_PORT_MIN + moment.random.below(NODE_PORTS));
        }
    }
}

/// An address that is not given again stays.
fn prepare_update(new: &mut Value, old: &Value) {
    for name in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        let kept = old["spec"].get(name).cloned();
        if let Some(kept) = kept.filter(|_| new["spec"]["type"] != "ExternalName")
            && let Some(spec) = new.get_mut("spec")
        {
            set_default(spec, name, kept);
        }
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
}
