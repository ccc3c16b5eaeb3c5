//! How a pod is treated when memory runs out, from what its containers ask for.

use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;

use crate::json::Value;

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub fn class(spec: &Value) -> &'static str {
    let lists = ["containers", "initContainers"];
    let mut asking: Vec<&Value> = lists.iter().flat_map(|list| spec[list].as_array().into_iter().flatten()).collect();
    // What a pod asks for as a whole counts instead.
    if spec["resources"].is_object() {
        asking = vec![spec];
    }
    let (mut requests, mut limits) = (BTreeMap::new(), BTreeMap::new());
    let mut limits_everything = true;
    for container in asking {
        let asked = amounts(container, "requests");
        let limit = amounts(container, "limits");
        limits_everything &= limit.len() == 2;
        for (total, part) in [(&mut requests, asked), (&mut limits, limit)] {
            for (name, amount) in part {
                *total.entry(name).or_insert_with(Quantity::default) += &amount;
            }
        }
    }
    if requests.is_empty() && limits.is_empty() {
        "BestEffort"
    } else if limits_everything && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// What of processor and memory is asked for, where it is more than nothing.
fn amounts<'v>(container: &'v Value, of: &str) -> BTreeMap<&'v str, Quantity> {
    let found = container["resources"][of].as_object().into_iter().flatten();
    found
        .filter(|(name, _)| ["cpu", "memory"].contains(&name.as_str()))
        .filter_map(|(name, amount)| Some((name.as_str(), amount.as_str()?.parse::<Quantity>().ok()?)))
        .filter(|(_, amount)| amount.sign() > 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn it_follows_from_requests_and_limits() {
        let spec = |resources: Value| json!({"containers": [{"resources": resources}]});
        assert_eq!(class(&spec(json!({}))), "BestEffort");
        assert_eq!(class(&spec(json!({"requests": {"cpu": "1"}}))), "Burstable");
        assert_eq!(class(&spec(json!({"requests": {"cpu": "0"}}))), "BestEffort");
        let both = json!({"cpu": "1", "memory": "1Gi"});
        assert_eq!(class(&spec(json!({"requests": both, "limits": both}))), "Guaranteed");
        let written = json!({"cpu": "1000m", "memory": "1024Mi"});
        assert_eq!(class(&spec(json!({"requests": written, "limits": both}))), "Guaranteed");
        let pod = json!({"containers": [{"resources": {}}], "resources": {"requests": both, "limits": both}});
        assert_eq!(class(&pod), "Guaranteed");
    }
}
