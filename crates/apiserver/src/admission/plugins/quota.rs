//! ResourceQuota: what a namespace may hold in all. A request is charged before it is stored; what a quota allows and
//! what is used stands in its status, which on a cluster a controller fills first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kueue_core::quantity::Quantity;
use kueue_core::resource_list::{Keep, ResourceList, merge};

use super::{Plugin, forbidden};
use crate::admission::Attributes;
use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::kinds::pod_resources::list;
use crate::rest::service::Server;
use crate::status::Result;
use crate::store::{Key, Object};

mod scope;
mod usage;

const QUOTAS: &str = "resourcequotas";
/// How often a charge is tried again when somebody else charged the same quota.
const TRIES: usize = 4;
/// What is never counted: it lives shortly, or not at all.
const IGNORED: [&str; 2] = ["events", "bindings"];

pub const PLUGIN: Plugin = Plugin {
    applies: |attributes| {
        attributes.subresource.is_empty()
            && !attributes.namespace.is_empty()
            && usage::may_charge(attributes.resource, attributes.operation)
            && !IGNORED.contains(&attributes.resource.storage.as_str())
            && attributes.resource.allows("list")
    },
    account: Some(charge),
    ..Plugin::NONE
};

/// What is left to write when nothing is exceeded.
type Charged = Vec<(Key, Arc<Object>, ResourceList)>;

fn charge(server: &Server, attributes: &Attributes<'_>, object: Option<&Value>, old: Option<&Value>) -> Result<()> {
    let Some(object) = object else { return Ok(()) };
    for _ in 0..TRIES {
        let charged = check(server, attributes, object, old)?;
        if attributes.is_dry_run {
            return Ok(());
        }
        let mut is_done = true;
        for (key, quota, used) in charged {
            let mut value = quota.value.clone();
            value["status"]["used"] = json!(used);
            is_done &= server.store.update(QUOTAS, key, &quota, value).is_ok();
        }
        if is_done {
            return Ok(());
        }
    }
    Err(crate::status::Status::internal("resource quota evaluation timed out"))
}

fn check(server: &Server, attributes: &Attributes<'_>, object: &Value, old: Option<&Value>) -> Result<Charged> {
    let quotas = server.store.list(QUOTAS, attributes.namespace, None).map(|found| found.objects).unwrap_or_default();
    let resource = attributes.resource;
    if quotas.is_empty() || !usage::is_charged(resource, attributes.operation, object, old) {
        return Ok(Vec::new());
    }
    let now = server.clock.now();
    let whole = usage::of(resource, object, now);
    let mut charged = Vec::new();
    for (key, quota) in quotas {
        let status = &quota.value["status"];
        let (hard, used) = (list(&status["hard"]), list(&status["used"]));
        let names = usage::matching(resource, &hard);
        if names.is_empty() || !scope::covers(&quota.value["spec"], resource, object) {
            continue;
        }
        let refuse = |why: String| forbidden(attributes, &why);
        if let Some(missing) = missing_resources(resource, object, &names) {
            return Err(refuse(format!("failed quota: {}: must specify {missing}", key.name)));
        }
        if names.iter().any(|name| !used.contains_key(name)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(refuse(format!("status unknown for quota: {}, resources: {}", key.name, names.join(","))));
        }
        // What stood there is already charged, if this quota covered it.
        let before = old.filter(|old| scope::covers(&quota.value["spec"], resource, old));
        let more = match before {
            Some(old) => usage::beyond(&whole, &usage::of(resource, old, now)),
            None => whole.clone(),
        };
        let more: ResourceList =
            more.into_iter().filter(|(name, amount)| hard.contains_key(name) && !amount.is_zero()).collect();
        if more.is_empty() {
            continue;
        }
        let mut next = used.clone();
        merge(&mut next, &more, Keep::Sum);
        let exceeded: Vec<&String> = more.keys().filter(|name| next[*name] > hard[*name]).collect();
        if !exceeded.is_empty() {
            let shown = |of: &ResourceList| {
                let pairs = exceeded.iter().filter_map(|name| of.get(*name).map(|amount| format!("{name}={amount}")));
                pairs.collect::<Vec<_>>().join(",")
            };
            return Err(refuse(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                key.name,
                shown(&more),
                shown(&used),
                shown(&hard)
            )));
        }
        charged.push((key, quota, next));
    }
    Ok(charged)
}

/// Where a quota counts cpu or memory, every container must say how much it takes: `requests.cpu for: a,b`.
fn missing_resources(resource: &Resource, object: &Value, names: &BTreeSet<String>) -> Option<String> {
    if resource.storage != "pods" || object["spec"]["resources"].is_object() {
        return None;
    }
    let mut missing: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let spec = &object["spec"];
    let lists = ["containers", "initContainers"];
    for container in lists.iter().flat_map(|which| spec[which].as_array().into_iter().flatten()) {
        let given = usage::of_container(container);
        for name in names.iter().filter(|name| usage::must_be_given(name) && !given.contains_key(*name)) {
            let container = container["name"].as_str().unwrap_or_default();
            missing.entry(name).or_default().insert(container);
        }
    }
    let shown = missing
        .iter()
        .map(|(name, containers)| format!("{name} for: {}", containers.iter().copied().collect::<Vec<_>>().join(",")));
    (!missing.is_empty()).then(|| shown.collect::<Vec<_>>().join("; "))
}

impl Server {
    /// Counts again what a namespace holds, as the quota controller of a cluster does: the status says what the spec
    /// allows and what is there.
    pub fn recount_quotas(&self, namespace: &str) {
        let quotas = self.store.list(QUOTAS, namespace, None).map(|found| found.objects).unwrap_or_default();
        for (key, quota) in quotas {
            let hard = list(&quota.value["spec"]["hard"]);
            let mut used: ResourceList = hard.keys().map(|name| (name.clone(), Quantity::from_units(0))).collect();
            let registry = self.registry();
            let mut counted = BTreeSet::new();
            for resource in registry.all().filter(|resource| resource.is_namespaced && resource.allows("list")) {
                let names = usage::matching(resource, &hard);
                // Several versions of a resource are the same objects.
                if names.is_empty() || !counted.insert(resource.storage.as_str()) {
                    continue;
                }
                let found = self.store.list(&resource.storage, namespace, None).map(|found| found.objects);
                for (_, object) in found.unwrap_or_default() {
                    if scope::covers(&quota.value["spec"], resource, &object.value) {
                        let mut own = usage::of(resource, &object.value, self.clock.now());
                        own.retain(|name, _| names.contains(name));
                        merge(&mut used, &own, Keep::Sum);
                    }
                }
            }
            let mut value = quota.value.clone();
            value["status"] = json!({"hard": hard, "used": used});
            if value != quota.value {
                // Whoever was faster makes this count stale, and is counted by their own write.
                let _ = self.store.update(QUOTAS, key, &quota, value);
            }
        }
    }
}
