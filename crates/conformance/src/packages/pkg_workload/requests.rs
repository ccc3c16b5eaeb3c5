//! What the pods of a workload ask for.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::core_v1::{LimitRange, PodSpec, ResourceList};
use kueue_api::kueue::names::HOSTNAME_LABEL;
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::limit_range::Summary;
use kueue_core::resource::Formatter;
use kueue_engine::{Name, PodSetDemand, PodSetRequests};
use kueue_translate::{ResourceRules, Transformation, status_to_engine};
use serde_json::{Map, Value, json};

use super::super::field_errors::{Compared, same_errors};
use super::{Bench, from_json, named_queue};
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};

pub(super) fn adjust_resources(case: &Case) -> Result<(), Failure> {
    let mut workload: Workload = case.arg("wl")?;
    let ranges: Vec<LimitRange> = case.arg("limitranges")?;
    let overheads: BTreeMap<String, ResourceList> = case
        .raw("runtimeClasses")
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|class| {
            let overhead = serde_json::from_value(class["overhead"]["podFixed"].clone()).ok()?;
            Some((class["metadata"]["name"].as_str()?.to_owned(), overhead))
        })
        .collect();
    let limits = Summary::of(&ranges);
    for pod_set in &mut workload.spec.pod_sets {
        kueue_translate::adjust(&mut Arc::make_mut(&mut pod_set.template).spec, &limits, &overheads);
    }
    equal(&case.arg::<Workload>("wantWl")?, &workload)
}

pub(super) fn new_info(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    let mut bench = Bench::new(case, None, rules_of(case.raw("infoOptions"))?)?;
    let key = bench.tell("wl", &workload)?;
    let got = shown(&bench.engine().requests(&key));
    let rules = Rules::equate_empty().ignoring(&["$type", "TopologyRequest"]);
    rules.same(&without_zeros(case.raw("wantInfo.TotalRequests")), &got)?;
    for pod_set in case.raw("wantInfo.TotalRequests").as_array().into_iter().flatten() {
        same_room(case, &workload, pod_set)?;
    }
    let queue = workload.status.admission.map(|admission| admission.cluster_queue.clone()).unwrap_or_default();
    equal(&case.arg::<String>("wantInfo.ClusterQueue")?, &queue)
}

/// What the pods of a placed pod set use of their nodes, which is theirs and not what it was made to count for.
fn same_room(case: &Case, workload: &Workload, wanted: &Value) -> Result<(), Failure> {
    let domains: Vec<&Value> = wanted["TopologyRequest"]["DomainRequests"].as_array().into_iter().flatten().collect();
    if domains.is_empty() {
        return Ok(());
    }
    let queue = workload.status.admission.as_ref().map(|admission| named_queue(&admission.cluster_queue));
    let mut bench = Bench::new(case, queue, rules_of(case.raw("infoOptions"))?)?;
    let flavor = wanted["Flavors"]["cpu"].as_str().unwrap_or_default();
    let levels = json!({"levels": [{"nodeLabel": HOSTNAME_LABEL}]});
    bench.add("Topology", &json!({"metadata": {"name": "t"}, "spec": levels}))?;
    bench.add("ResourceFlavor", &json!({"metadata": {"name": flavor}, "spec": {"topologyName": "t"}}))?;
    for domain in &domains {
        let name = &domain["Values"][0];
        let status = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        bench.add("Node", &json!({"metadata": {"name": name, "labels": {HOSTNAME_LABEL: name}}, "status": status}))?;
    }
    bench.tell("wl", workload)?;
    let mut wanted: Vec<Value> = Vec::new();
    for domain in &domains {
        let count = domain["Count"].as_i64().unwrap_or_default();
        let one = domain["SinglePodRequests"].as_object().into_iter().flatten();
        let mut all: BTreeMap<String, i64> =
            one.map(|(name, amount)| (name.clone(), amount.as_i64().unwrap_or_default() * count)).collect();
        all.insert("pods".to_owned(), count);
        wanted.push(json!({"at": domain["Values"], "used": all}));
    }
    let found = bench.engine().domains(flavor).into_iter().map(|domain| {
        let used: BTreeMap<&str, i64> = domain.used.iter().map(|(name, amount)| (&**name, *amount)).collect();
        let at: Vec<&str> = domain.values.iter().map(|value| &**value).collect();
        json!({"at": at, "used": used})
    });
    equal(&json!(wanted), &json!(found.collect::<Vec<_>>()))
}

pub(super) fn update(case: &Case) -> Result<(), Failure> {
    let mut bench = Bench::new(case, None, ResourceRules::default())?;
    bench.tell("wl", &case.arg("initial")?)?;
    let key = bench.tell("wl", &case.arg("updated")?)?;
    let got = shown(&bench.engine().requests(&key));
    Rules::equate_empty().ignoring(&["$type", "Flavors"]).same(&without_zeros(case.raw("wantRequests")), &got)
}

pub(super) fn propagate(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("wl")?;
    let mut status = status_to_engine(&workload.status);
    let found = || {
        let requests = recorded(case.raw("info.TotalRequests")).into_iter();
        requests.map(|found| PodSetRequests { name: found.name, requests: found.requests }).collect()
    };
    equal(&case.arg::<bool>("want")?, &status.set_requests(found()))?;
    equal(&false, &status.set_requests(found()))
}

pub(super) fn validate_resources(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workloadInfo.Obj")?;
    let errors = kueue_translate::requests_above_limits(templates(&workload));
    same_errors(case.raw("wantError"), &errors, Compared::Everything)
}

pub(super) fn validate_limit_range(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    let range: Option<LimitRange> = case.get("limitRange")?;
    let limits = Summary::of(range.iter().filter(|range| range.metadata.namespace == workload.metadata.namespace));
    let errors = kueue_translate::outside_limit_ranges(templates(&workload), &limits);
    same_errors(case.raw("wantError"), &errors, Compared::Everything)
}

fn templates(workload: &Workload) -> impl Iterator<Item = &PodSpec> {
    workload.spec.pod_sets.iter().map(|pod_set| &pod_set.template.spec)
}

/// What a workload with such an admission counts for in its queue, and what of its requests has no flavor.
pub(super) fn usage(case: &Case) -> Result<(), Failure> {
    let requests = recorded(case.raw("info.TotalRequests"));
    let (pod_sets, assignments): (Vec<Value>, Vec<Value>) = requests.iter().enumerate().map(assigned).unzip();
    let workload = json!({
        "spec": {"podSets": pod_sets},
        "status": {
            "admission": {"clusterQueue": "cq", "podSetAssignments": assignments},
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "", "lastTransitionTime": case.base_time}],
        },
    });
    let mut bench = Bench::new(case, None, ResourceRules::default())?;
    let key = bench.tell("wl", &from_json(workload)?)?;
    let used = bench.engine().usage("cq");
    let used = used.iter().map(|(flavor, resource, amount)| (format!("{flavor}/{resource}"), json!(amount.get())));
    let mut without: BTreeMap<String, i64> = BTreeMap::new();
    for pod_set in bench.engine().requests(&key) {
        let has_flavor = |resource: &Name| pod_set.flavors.iter().any(|(known, _)| known == resource);
        for (resource, amount) in pod_set.requests.iter().filter(|(resource, _)| !has_flavor(resource)) {
            *without.entry(resource.to_string()).or_default() += amount;
        }
    }
    let got = json!({"Assigned": used.collect::<Map<_, _>>(), "Unassigned": without});
    Rules::equate_empty().ignoring(&["$type"]).same(case.raw("want"), &got)
}

fn assigned((index, requests): (usize, &PodSetDemand)) -> (Value, Value) {
    let name = format!("ps{index}");
    let flavors = requests.flavors.iter().map(|(resource, flavor)| (resource.to_string(), json!(flavor.to_string())));
    let formatter = Formatter::default();
    let usage =
        requests.requests.iter().map(|(name, amount)| (name.to_string(), json!(formatter.quantity(name, *amount))));
    (
        json!({"name": name, "count": 1, "template": {"spec": {"containers": []}}}),
        json!({"name": name, "count": 1, "flavors": flavors.collect::<Map<_, _>>(), "resourceUsage": usage.collect::<Map<_, _>>()}),
    )
}

/// The options of the configuration that a test hands over.
fn rules_of(options: &Value) -> Result<ResourceRules, Failure> {
    let mut rules = ResourceRules::default();
    for option in options.as_array().into_iter().flatten() {
        let sets = &option["sets"];
        let prefixes = sets["excludedResourcePrefixes"].as_array().into_iter().flatten();
        rules.excluded_prefixes.extend(prefixes.filter_map(Value::as_str).map(str::to_owned));
        for (input, rule) in sets["resourceTransformations"].as_object().into_iter().flatten() {
            let outputs = rule.get("outputs").cloned().unwrap_or_else(|| json!({}));
            let outputs = serde_json::from_value(outputs).map_err(|error| Failure(format!("outputs: {error}")))?;
            let multiply_by = rule["multiplyBy"].as_str().map(str::to_owned);
            let rule = Transformation { replaces: rule["strategy"] == "Replace", multiply_by, outputs };
            rules.transformations.insert(input.clone(), rule);
        }
    }
    Ok(rules)
}

/// Requests by the names of their Go fields; requests of nothing are left out.
fn shown(requests: &[PodSetDemand]) -> Value {
    let map = |pairs: Vec<(String, Value)>| Value::Object(pairs.into_iter().collect::<Map<_, _>>());
    let one = |pod_set: &PodSetDemand| {
        let amounts = pod_set.requests.iter().map(|(name, amount)| (name.to_string(), json!(amount)));
        let flavors = pod_set.flavors.iter().map(|(name, flavor)| (name.to_string(), json!(flavor.to_string())));
        json!({
            "Name": (!pod_set.name.is_empty()).then(|| pod_set.name.to_string()),
            "Count": (pod_set.count != 0).then_some(pod_set.count),
            "Requests": map(amounts.collect()),
            "Flavors": map(flavors.collect()),
        })
    };
    without_zeros(&Value::Array(requests.iter().map(one).collect()))
}

fn without_zeros(requests: &Value) -> Value {
    let mut requests = requests.clone();
    for pod_set in requests.as_array_mut().into_iter().flatten() {
        if let Some(amounts) = pod_set["Requests"].as_object_mut() {
            amounts.retain(|_, amount| *amount != json!(0));
        }
    }
    requests
}

fn recorded(requests: &Value) -> Vec<PodSetDemand> {
    let pairs = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let one = |pod_set: &Value| PodSetDemand {
        name: pod_set["Name"].as_str().unwrap_or_default().into(),
        count: pod_set["Count"].as_i64().and_then(|count| i32::try_from(count).ok()).unwrap_or(0),
        requests: pairs(&pod_set["Requests"])
            .iter()
            .map(|(name, amount)| (name.as_str().into(), amount.as_i64().unwrap_or(0)))
            .collect(),
        flavors: pairs(&pod_set["Flavors"])
            .iter()
            .map(|(name, flavor)| (name.as_str().into(), flavor.as_str().unwrap_or_default().into()))
            .collect(),
    };
    requests.as_array().into_iter().flatten().map(one).collect()
}
