//! Which nodes a flavor stands for, what they have, and who uses it.

use std::collections::{BTreeMap, BTreeSet};

use kueue_api::core_v1::Pod;
use kueue_controllers::topology::pods::AtWork;
use kueue_core::quantity::Quantity;
use kueue_core::resource::base_units;
use kueue_engine::{Change, DomainView, Name};
use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, read};
use crate::compare::equal;
use crate::corpus::{Case, Failure, decode};
use crate::trace::Replay;

const HOSTNAME: &str = "kubernetes.io/hostname";
/// The flavor over all nodes of a case.
const FLAVOR: &str = "flavor";
/// What [`with_nodes`] gives each node, in milli-units.
const NODE_CPU: i64 = 1_000_000;

/// Amounts by resource, by the name of the lowest domain; none where there is nothing.
type Amounts = BTreeMap<String, BTreeMap<String, i64>>;

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

/// A flavor with these labels, over nodes that have these levels.
fn flavor(name: &str, labels: &Value, levels: &[&str]) -> Value {
    let levels: Vec<Value> = levels.iter().map(|level| json!({"nodeLabel": level})).collect();
    let labels = if labels.is_null() { json!({}) } else { labels.clone() };
    json!([
        {"kind": "Topology", "metadata": {"name": format!("topology-of-{name}")}, "spec": {"levels": levels}},
        {"kind": "ResourceFlavor", "metadata": {"name": name},
         "spec": {"nodeLabels": labels, "topologyName": format!("topology-of-{name}")}},
    ])
}

/// The node with a name of its own among its labels, as every node has it.
fn with_hostname(node: &Value) -> Value {
    let mut node = node.clone();
    node["metadata"]["labels"][HOSTNAME] = json!(name_of(&node));
    node
}

fn amounts(of: impl IntoIterator<Item = (Name, i64)>) -> BTreeMap<String, i64> {
    of.into_iter().filter(|(_, amount)| *amount != 0).map(|(name, amount)| (name.to_string(), amount)).collect()
}

fn by_domain(domains: Vec<DomainView>, part: impl Fn(DomainView) -> Vec<(Name, i64)>) -> Amounts {
    let named = domains.into_iter().map(|domain| {
        let name = domain.values.last().map(ToString::to_string).unwrap_or_default();
        (name, amounts(part(domain)))
    });
    named.filter(|(_, amounts)| !amounts.is_empty()).collect()
}

/// Amounts as the case wants them.
fn wanted_amounts(wanted: &Value) -> Amounts {
    let amounts = |of: &Value| {
        let of = of.as_object().into_iter().flatten();
        of.map(|(name, amount)| (name.clone(), amount.as_i64().unwrap_or_default()))
            .filter(|(_, amount)| *amount != 0)
            .collect::<BTreeMap<_, _>>()
    };
    let wanted = wanted.as_object().into_iter().flatten();
    wanted.map(|(name, of)| (name.clone(), amounts(of))).filter(|(_, of)| !of.is_empty()).collect()
}

fn known_nodes(cluster: &Cluster) -> BTreeSet<String> {
    let domains = cluster.engine.domains(FLAVOR);
    domains.iter().filter_map(|domain| Some(domain.values.last()?.to_string())).collect()
}

/// A flavor over all nodes, after they came and went as recorded.
fn after_nodes(case: &Case) -> Result<Cluster, Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(&flavor(FLAVOR, &Value::Null, &[HOSTNAME]))?;
    for call in list(&case.trace) {
        match call["op"].as_str() {
            Some("nodes.delete") => {
                let name = call["args"][0].as_str().unwrap_or_default().into();
                cluster.engine.apply(Change::NodeGone(name), cluster.now);
            }
            _ => cluster.add(&with_hostname(&call["args"][0]))?,
        }
    }
    Ok(cluster)
}

pub(super) fn usable(case: &Case) -> Result<(), Failure> {
    let wanted: BTreeSet<String> = list(case.raw("wantNodes")).map(|node| name_of(node).to_owned()).collect();
    equal(&wanted, &known_nodes(&after_nodes(case)?))
}

pub(super) fn synced(case: &Case) -> Result<(), Failure> {
    equal(&case.arg::<BTreeSet<String>>("wantSchedulableAndReady")?, &known_nodes(&after_nodes(case)?))
}

/// The nodes are in Kueue's cache already, so they can be used.
pub(super) fn found(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let levels = list(case.raw("levels")).filter_map(Value::as_str).chain([HOSTNAME]).collect::<Vec<_>>();
    cluster.add(&flavor(FLAVOR, case.raw("nodeLabels"), &levels))?;
    for node in case.scope("nc")["nodes"].as_object().into_iter().flat_map(Map::values) {
        let mut node = with_hostname(node);
        node["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
        cluster.add(&node)?;
    }
    let wanted: BTreeSet<String> = list(case.raw("wantNodes")).map(|node| name_of(node).to_owned()).collect();
    equal(&wanted, &known_nodes(&cluster))
}

/// Every domain with its values, and what the lowest have where they are more than one node.
pub(super) fn tree(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    let levels: Vec<&str> = list(case.raw("levels")).filter_map(Value::as_str).collect();
    cluster.add(&flavor(FLAVOR, &Value::Null, &levels))?;
    cluster.add(case.raw("nodes"))?;
    let mut found: BTreeMap<Vec<String>, Option<i64>> = BTreeMap::new();
    for domain in cluster.engine.domains(FLAVOR) {
        let values: Vec<String> = domain.values.iter().map(ToString::to_string).collect();
        for depth in 1..values.len() {
            found.insert(values[..depth].to_vec(), None);
        }
        found.insert(values, amounts(domain.free).get("cpu").copied());
    }
    let wanted = case.raw("want").as_object().into_iter().flat_map(Map::values);
    let wanted = wanted.map(|domain| {
        let values = list(&domain["LevelValues"]).filter_map(Value::as_str).map(str::to_owned).collect();
        (values, domain["CPUCapacity"].as_i64())
    });
    equal(&wanted.collect(), &found)
}

/// What is free and what workloads use, by lowest domain.
pub(super) fn shown(case: &Case) -> Result<(), Failure> {
    let replay = Replay::of(case)?;
    let wanted: Vec<String> = case.arg("wantFreeCapacityPerDomain")?;
    let mut flavors = list(&case.trace).filter(|call| call["op"] == "cache.AddOrUpdateResourceFlavor");
    let flavor = flavors.next().map(|call| name_of(&call["args"][0])).unwrap_or_default();
    let domains = replay.cluster.engine.domains(flavor);
    let wanted: Value = serde_json::from_str(wanted.first().map_or("{}", String::as_str)).unwrap_or_default();
    for (part, found) in [
        ("freeCapacity", by_domain(domains.clone(), |domain| domain.free)),
        ("tasUsage", by_domain(domains, |domain| domain.used)),
    ] {
        let mut amounts = Amounts::new();
        for (name, domain) in wanted.as_object().into_iter().flatten() {
            let quantities: BTreeMap<String, Quantity> = decode("amounts", &domain[part])?.unwrap_or_default();
            let of: BTreeMap<String, i64> =
                quantities.iter().map(|(name, amount)| (name.clone(), base_units(name, amount))).collect();
            if !of.is_empty() {
                amounts.insert(name.clone(), of);
            }
        }
        equal(&amounts, &found)?;
    }
    Ok(())
}

/// A Workload whose pods are on nodes.
fn placed(key: &str, requests: &Value, domains: &[(&Value, &Value)]) -> Value {
    let (namespace, name) = key.split_once('/').unwrap_or(("default", key));
    let requests: Map<String, Value> = requests
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(resource, _)| *resource != "pods")
        .map(|(resource, amount)| {
            let unit = if resource == "cpu" { "m" } else { "" };
            (resource.clone(), json!(format!("{}{unit}", amount.as_i64().unwrap_or_default())))
        })
        .collect();
    let flavors: Map<String, Value> = requests.keys().map(|resource| (resource.clone(), json!(FLAVOR))).collect();
    let count: i64 = domains.iter().filter_map(|(_, count)| count.as_i64()).sum();
    let slices: Vec<Value> = domains
        .iter()
        .map(|(values, count)| {
            let values: Vec<Value> = list(values).map(|value| json!({"universal": value})).collect();
            json!({"domainCount": 1, "podCounts": {"universal": count}, "valuesPerLevel": values})
        })
        .collect();
    json!({
        "kind": "Workload",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"podSets": [{"name": "main", "count": count, "template": {"spec": {"containers": [
            {"name": "c", "resources": {"requests": requests}}]}}}]},
        "status": {
            "admission": {"clusterQueue": "queue", "podSetAssignments": [{
                "name": "main", "count": count, "flavors": flavors, "resourceUsage": {},
                "topologyAssignment": {"levels": [HOSTNAME], "slices": slices}}]},
            "conditions": [{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "",
                            "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        },
    })
}

/// Nodes by name, each with room for everything.
fn with_nodes<'a>(case: &Case, names: impl IntoIterator<Item = &'a str>) -> Result<Cluster, Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    cluster.add(&flavor(FLAVOR, &Value::Null, &[HOSTNAME]))?;
    cluster.add(&json!({"kind": "ClusterQueue", "metadata": {"name": "queue"}, "spec": {}}))?;
    for name in names {
        let node = json!({"kind": "Node", "metadata": {"name": name},
            "status": {"allocatable": {"cpu": "1k"}, "conditions": [{"type": "Ready", "status": "True"}]}});
        cluster.add(&with_hostname(&node))?;
    }
    Ok(cluster)
}

fn used(cluster: &Cluster) -> Amounts {
    by_domain(cluster.engine.domains(FLAVOR), |domain| domain.used)
}

/// What workloads use, after they came and went as recorded.
pub(super) fn used_by_workloads(case: &Case) -> Result<(), Failure> {
    let mut cluster = with_nodes(case, ["domain1", "domain2"])?;
    for call in list(&case.trace) {
        let key = call["args"][0].as_str().unwrap_or_default();
        if call["op"] == "tasFlavor.removeUsage" {
            let (namespace, name) = key.split_once('/').unwrap_or_default();
            let gone = Change::WorkloadGone { namespace: namespace.into(), name: name.into() };
            cluster.engine.apply(gone, cluster.now);
            continue;
        }
        for usage in list(&call["args"][1]) {
            cluster.add(&placed(key, &usage["SinglePodRequests"], &[(&usage["Values"], &usage["Count"])]))?;
        }
    }
    equal(&wanted_amounts(case.raw("wantUsage")), &used(&cluster))
}

/// What the pods of an assignment use, beside what others use.
pub(super) fn used_by_assignment(case: &Case) -> Result<(), Failure> {
    let domains: Vec<(&Value, &Value)> =
        list(&case.raw("assignment")["Domains"]).map(|domain| (&domain["Values"], &domain["Count"])).collect();
    let others = case.raw("assumedUsage");
    let names = domains.iter().filter_map(|(values, _)| values[0].as_str());
    let mut cluster =
        with_nodes(case, names.chain(others.as_object().into_iter().flat_map(Map::keys).map(String::as_str)))?;
    for (name, usage) in others.as_object().into_iter().flatten() {
        cluster.add(&placed(&format!("others/{name}"), usage, &[(&json!([name]), &usage["pods"])]))?;
    }
    let requests = case.raw("tasRequests").get("SinglePodRequests").unwrap_or(case.scope("singlePodRequests"));
    cluster.add(&placed("default/asking", requests, &domains))?;
    equal(&wanted_amounts(case.raw("want")), &used(&cluster))
}

/// What each flavor knows to be used where several stand for the same nodes.
pub(super) fn shared(case: &Case) -> Result<(), Failure> {
    let mut replay = Replay::new(case)?;
    let is_usage = |call: &&Value| call["op"] == "tasFlavor.addUsage";
    let others: Vec<&Value> = list(&case.trace).filter(|call| !is_usage(call)).collect();
    replay.play(&json!(others))?;
    let queue = name_of(&case.raw("cqs")[0]);
    for (flavor, domains) in case.raw("tasFlavorUsage").as_object().into_iter().flatten() {
        list(domains).try_for_each(|domain| replay.cluster.occupy(queue, flavor, domain))?;
    }
    for (flavor, wanted) in case.raw("wantTASUsage").as_object().into_iter().flatten() {
        let found = by_domain(replay.cluster.engine.domains(flavor), |domain| domain.used);
        equal(&(flavor, wanted_amounts(wanted)), &(flavor, found))?;
    }
    Ok(())
}

/// What pods that no workload placed use, after they came and went as recorded.
pub(super) fn used_by_pods(case: &Case) -> Result<(), Failure> {
    let names = list(&case.trace).filter_map(|call| call["args"][0]["spec"]["nodeName"].as_str());
    let mut cluster = with_nodes(case, names.collect::<BTreeSet<_>>())?;
    let mut pods = Pods::default();
    list(&case.trace).try_for_each(|call| pods.play(&mut cluster, call))?;
    let used = by_domain(cluster.engine.domains(FLAVOR), |domain| {
        let had = |name: &str| if name == "cpu" { NODE_CPU } else { 0 };
        domain.free.into_iter().map(|(name, free)| (name.clone(), had(&name) - free)).collect()
    });
    equal(&wanted_amounts(case.raw("wantNodeUsage")), &used)
}

/// Lets pods come and go as the pods' controller would tell.
#[derive(Default)]
struct Pods {
    seen: BTreeMap<String, Pod>,
    at_work: AtWork,
}

impl Pods {
    fn play(&mut self, cluster: &mut Cluster, call: &Value) -> Result<(), Failure> {
        let arg = &call["args"][0];
        let is_gone = call["op"] == "nonTasUsage.delete";
        let key = if is_gone {
            format!("{}/{}", arg["Namespace"], arg["Name"])
        } else {
            format!("{}/{}", arg["metadata"]["namespace"], arg["metadata"]["name"])
        };
        let old = self.seen.remove(&key);
        let mut new: Option<Pod> = if is_gone { None } else { Some(read(arg)?) };
        if let Some(pod) = &mut new {
            // The API server counts the changes of a pod's spec; the recorded pods were written by hand.
            pod.metadata.generation = old.as_ref().map_or(1, |old| old.metadata.generation + 1);
        }
        for change in self.at_work.changes(old.as_ref(), new.as_ref()) {
            cluster.engine.apply(change, cluster.now);
        }
        self.seen.extend(new.map(|pod| (key, pod)));
        Ok(())
    }
}

/// Lets somebody wait in a queue over some nodes whom no node is large enough for.
fn add_waiting(cluster: &mut Cluster, name: &str, labels: &Value, levels: &[&str]) -> Result<(), Failure> {
    let quota = json!([{"name": "cpu", "nominalQuota": "1M"}]);
    let groups = json!([{"coveredResources": ["cpu"], "flavors": [{"name": name, "resources": quota}]}]);
    cluster.add(&flavor(name, labels, levels))?;
    cluster.add(&json!([
        {"kind": "Namespace", "metadata": {"name": "ns"}},
        {"kind": "ClusterQueue", "metadata": {"name": name}, "spec": {"namespaceSelector": {}, "resourceGroups": groups}},
        {"kind": "LocalQueue", "metadata": {"name": name, "namespace": "ns"}, "spec": {"clusterQueue": name}},
        {"kind": "Workload", "metadata": {"name": name, "namespace": "ns"},
         "spec": {"queueName": name, "podSets": [{"name": "main", "count": 1,
            "topologyRequest": {"required": levels[levels.len() - 1]},
            "template": {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "10k"}}}]}}}]}},
    ]))?;
    Ok(())
}

/// All who wait have been looked at.
fn let_all_sleep(cluster: &mut Cluster) {
    cluster.engine.flush(cluster.now);
    let effects = cluster.engine.cycle(cluster.now);
    cluster.perform(&effects);
}

/// The queues of which somebody is looked at again.
fn woken(cluster: &mut Cluster, queues: &[&str]) -> BTreeSet<String> {
    cluster.engine.flush(cluster.now);
    let is_awake = |queue: &&&str| !cluster.engine.pending(queue).active.is_empty();
    queues.iter().filter(is_awake).map(|queue| (*queue).to_owned()).collect()
}

/// Whether the last thing that became of a node matters to those who wait.
pub(super) fn bumped(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    add_waiting(&mut cluster, FLAVOR, &Value::Null, &["cloud.provider.com/zone"])?;
    for (left, call) in (0..list(&case.trace).count()).rev().zip(list(&case.trace)) {
        if left == 0 {
            let_all_sleep(&mut cluster);
        }
        let arg = &call["args"][0];
        if let Some(gone) = arg.as_str() {
            cluster.engine.apply(Change::NodeGone(gone.into()), cluster.now);
        } else {
            cluster.add(arg)?;
        }
    }
    equal(&(case.arg::<i64>("wantDelta")? > 0), &!woken(&mut cluster, &[FLAVOR]).is_empty())
}

/// The same for a node that becomes another one.
pub(crate) fn node_matters(case: &Case) -> Result<(), Failure> {
    let mut cluster = Cluster::for_case(case, None)?;
    add_waiting(&mut cluster, FLAVOR, &Value::Null, &["topology.kubernetes.io/zone"])?;
    cluster.add(case.raw("oldNode"))?;
    let_all_sleep(&mut cluster);
    cluster.add(case.raw("newNode"))?;
    equal(&(case.arg::<i64>("wantChanged")? != 0), &!woken(&mut cluster, &[FLAVOR]).is_empty())
}

/// The node that the last thing that became of a pod freed, if it freed one.
pub(super) fn freed(case: &Case) -> Result<(), Failure> {
    let nodes = ["node-a", "node-b"];
    let mut cluster = with_nodes(case, nodes)?;
    for node in nodes {
        add_waiting(&mut cluster, node, &json!({HOSTNAME: node}), &[HOSTNAME])?;
    }
    let mut pods = Pods::default();
    for (left, call) in (0..list(&case.trace).count()).rev().zip(list(&case.trace)) {
        if left == 0 {
            let_all_sleep(&mut cluster);
        }
        pods.play(&mut cluster, call)?;
    }
    let freed = woken(&mut cluster, &nodes);
    equal(&case.arg::<String>("wantNode")?, &freed.into_iter().collect::<Vec<_>>().join(" "))
}
