//! Cells of kinds around services, and of autoscalers.

use jiff::Timestamp;

use super::cells::text;
use crate::json::Value;

/// The first few of a list, and how many more there are.
pub fn first_few(all: &[String], shown: usize) -> String {
    let text = all.iter().take(shown).cloned().collect::<Vec<String>>().join(",");
    match all.len().saturating_sub(shown) {
        _ if all.is_empty() => "<unset>".to_owned(),
        0 => text,
        more => format!("{text} + {more} more..."),
    }
}

pub fn endpoints(object: &Value, _: Timestamp) -> Value {
    let mut found = Vec::new();
    for subset in object["subsets"].as_array().into_iter().flatten() {
        let addresses = || subset["addresses"].as_array().into_iter().flatten().map(|address| text(&address["ip"]));
        match subset["ports"].as_array().filter(|ports| !ports.is_empty()) {
            None => found.extend(addresses().map(str::to_owned)),
            Some(ports) => {
                for port in ports {
                    found.extend(addresses().map(|address| host_port(address, &port["port"])));
                }
            }
        }
    }
    if object["subsets"].as_array().is_none_or(Vec::is_empty) {
        return "<none>".into();
    }
    if found.is_empty() { "".into() } else { first_few(&found, 3).into() }
}

fn host_port(address: &str, port: &Value) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

pub fn slice_ports(object: &Value, _: Timestamp) -> Value {
    let port = |port: &Value| match (port["port"].as_i64(), port["name"].as_str()) {
        (Some(number), _) => number.to_string(),
        (None, Some(name)) => name.to_owned(),
        (None, None) => "*".to_owned(),
    };
    let all: Vec<String> = object["ports"].as_array().into_iter().flatten().map(port).collect();
    first_few(&all, 3).into()
}

pub fn slice_endpoints(object: &Value, _: Timestamp) -> Value {
    let lists = object["endpoints"].as_array().into_iter().flatten();
    let addresses = lists.flat_map(|endpoint| endpoint["addresses"].as_array().into_iter().flatten());
    let all: Vec<String> = addresses.map(|address| text(address).to_owned()).collect();
    first_few(&all, 3).into()
}

pub fn ingress_hosts(object: &Value, _: Timestamp) -> Value {
    let rules = object["spec"]["rules"].as_array().into_iter().flatten();
    let hosts: Vec<String> = rules.map(|rule| text(&rule["host"]).to_owned()).filter(|host| !host.is_empty()).collect();
    if hosts.is_empty() { "*".into() } else { first_few(&hosts, 3).into() }
}

pub fn ingress_address(object: &Value, _: Timestamp) -> Value {
    let given = object["status"]["loadBalancer"]["ingress"].as_array().into_iter().flatten();
    let one = |one: &Value| match text(&one["ip"]) {
        "" => text(&one["hostname"]).to_owned(),
        address => address.to_owned(),
    };
    let mut all: Vec<String> = given.map(one).filter(|address| !address.is_empty()).collect();
    all.sort();
    all.dedup();
    all.join(",").into()
}

pub fn ingress_ports(object: &Value, _: Timestamp) -> Value {
    let has_tls = object["spec"]["tls"].as_array().is_some_and(|tls| !tls.is_empty());
    if has_tls { "80, 443".into() } else { "80".into() }
}

pub fn class_parameters(object: &Value, _: Timestamp) -> Value {
    let parameters = &object["spec"]["parameters"];
    if parameters.is_null() {
        return "<none>".into();
    }
    let group = match text(&parameters["apiGroup"]) {
        "" => String::new(),
        group => format!(".{group}"),
    };
    format!("{}{group}/{}", text(&parameters["kind"]), text(&parameters["name"])).into()
}

pub fn scale_target(object: &Value, _: Timestamp) -> Value {
    let target = &object["spec"]["scaleTargetRef"];
    format!("{}/{}", text(&target["kind"]), text(&target["name"])).into()
}

/// What is measured and what is wanted, of the first two metrics.
pub fn metrics(object: &Value, _: Timestamp) -> Value {
    let spec = &object["spec"];
    // The first version has one number instead of a list.
    if let Some(target) = spec["targetCPUUtilizationPercentage"].as_i64() {
        let current = object["status"]["currentCPUUtilizationPercentage"].as_i64();
        let current = current.map_or_else(|| "<unknown>".to_owned(), |share| format!("{share}%"));
        return format!("cpu: {current}/{target}%").into();
    }
    let metrics = spec["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    if metrics.is_empty() {
        return "<none>".into();
    }
    let statuses = &object["status"]["currentMetrics"];
    let shown: Vec<String> =
        metrics.iter().take(2).enumerate().map(|(index, metric)| one_metric(metric, &statuses[index])).collect();
    match metrics.len().saturating_sub(2) {
        0 => shown.join(", ").into(),
        more => format!("{} + {more} more...", shown.join(", ")).into(),
    }
}

fn one_metric(metric: &Value, status: &Value) -> String {
    let field = match text(&metric["type"]) {
        "ContainerResource" => "containerResource",
        "External" => "external",
        "Object" => "object",
        "Pods" => "pods",
        "Resource" => "resource",
        _ => return "<unknown type>".to_owned(),
    };
    let (target, current) = (&metric[field]["target"], &status[field]["current"]);
    let known = |name: &str| current[name].as_str().unwrap_or("<unknown>").to_owned();
    let (average, value) = (target["averageValue"].as_str(), target["value"].as_str());
    let is_resource = ["resource", "containerResource"].contains(&field);
    let text = match (average, value) {
        (Some(average), _) if is_resource || field == "pods" => format!("{}/{average}", known("averageValue")),
        (Some(average), _) => format!("{}/{average} (avg)", known("averageValue")),
        (None, Some(value)) if !is_resource => format!("{}/{value}", known("value")),
        _ => {
            let share = |value: &Value| value.as_i64().map(|share| format!("{share}%"));
            let current = share(&current["averageUtilization"]).unwrap_or_else(|| "<unknown>".to_owned());
            let wanted = share(&target["averageUtilization"]).unwrap_or_else(|| "<auto>".to_owned());
            format!("{current}/{wanted}")
        }
    };
    if is_resource { format!("{}: {text}", metric[field]["name"].as_str().unwrap_or_default()) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn long_lists_are_cut() {
        let all: Vec<String> = (1..=5).map(|number: i32| number.to_string()).collect();
        assert_eq!(first_few(&all, 3), "1,2,3 + 2 more...");
        assert_eq!(first_few(&all[..2], 3), "1,2");
        assert_eq!(first_few(&[], 3), "<unset>");
    }

    #[test]
    fn endpoints_are_addresses_with_ports() {
        let one = json!({"subsets": [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}]}]});
        assert_eq!(endpoints(&one, NOW), "10.0.0.1:80,[fd00::1]:80");
        assert_eq!(endpoints(&json!({}), NOW), "<none>");
        let slice = json!({"ports": [{"port": 80}, {"name": "x"}], "endpoints": [{"addresses": ["10.0.0.1"]}]});
        assert_eq!((slice_ports(&slice, NOW), slice_endpoints(&slice, NOW)), (json!("80,x"), json!("10.0.0.1")));
    }

    #[test]
    fn metrics_show_what_is_and_what_should_be() {
        let target = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
        let scaler = json!({"spec": {"metrics": [target]}});
        assert_eq!(metrics(&scaler, NOW), "cpu: <unknown>/80%");
    }
}
