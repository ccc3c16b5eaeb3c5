//! Whether what queues gave away is theirs to give.

use std::collections::BTreeMap;

use kueue_core::quantity::Quantity;
use serde_json::Value;

use super::starts::is_gated;
use super::{Owners, Workloads, is_true};

/// Thousandths of a resource.
type Amount = i64;
/// A flavor and a resource of it.
type Pool = (String, String);

/// What ClusterQueues have to give.
#[derive(Debug, Default)]
pub struct Quotas(BTreeMap<String, ClusterQueue>);

#[derive(Debug, Default)]
struct ClusterQueue {
    cohort: Option<String>,
    pools: BTreeMap<Pool, Limits>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Limits {
    nominal: Amount,
    borrowing: Option<Amount>,
    lending: Option<Amount>,
}

impl Quotas {
    pub fn set(&mut self, name: &str, queue: Option<&Value>) {
        match queue {
            Some(queue) => drop(self.0.insert(name.to_owned(), ClusterQueue::read(queue))),
            None => drop(self.0.remove(name)),
        }
    }

    /// Why a Workload should not have got what it has now and did not have before.
    pub fn overcommitted_by(
        &self,
        old: Option<&Value>,
        new: &Value,
        all: &Workloads,
        owners: &Owners,
    ) -> Option<String> {
        let (name, got) = reserved(new)?;
        if old.and_then(reserved).is_some_and(|had| had == (name.clone(), got.clone())) {
            return None;
        }
        let Some(queue) = self.0.get(&name) else { return Some(format!("{name} gave quota and does not exist")) };
        let used = used(all, owners);
        got.keys().find_map(|pool| {
            let amount = |name: &str| used.get(name).and_then(|used| used.get(pool)).copied().unwrap_or(0);
            let limits = queue.pools.get(pool).copied().unwrap_or_default();
            let wrong = |what: &str, used: Amount, has: Amount| {
                (used > has).then(|| format!("{what} has {has}m of {} in {} and gave {used}m", pool.1, pool.0))
            };
            let Some(cohort) = &queue.cohort else { return wrong(&name, amount(&name), limits.nominal) };
            let members = || self.0.iter().filter(|(_, member)| member.cohort.as_ref() == Some(cohort));
            let of = |member: &ClusterQueue| member.pools.get(pool).copied().unwrap_or_default();
            let others = members().filter(|(other, _)| **other != name);
            let lent: Amount =
                others.map(|(_, member)| of(member)).map(|of| of.lending.unwrap_or(of.nominal).min(of.nominal)).sum();
            let borrowed = limits.borrowing.map_or(lent, |limit| limit.min(lent));
            let has: Amount = members().map(|(_, member)| of(member).nominal).sum();
            let gave = members().map(|(member, _)| amount(member)).sum();
            wrong(&name, amount(&name), limits.nominal + borrowed).or_else(|| wrong(cohort, gave, has))
        })
    }
}

/// What each queue has given to those who still have something of it.
fn used(all: &Workloads, owners: &Owners) -> BTreeMap<String, BTreeMap<Pool, Amount>> {
    let mut used: BTreeMap<String, BTreeMap<Pool, Amount>> = BTreeMap::new();
    // As in Kueue, whoever is deactivated has nothing from that moment, although it still has to be stopped.
    let active = all.values().filter(|workload| workload["spec"]["active"] != false);
    let holding = active.filter(|workload| !is_over(workload, owners));
    for (queue, pools) in holding.filter_map(reserved) {
        let of_queue = used.entry(queue).or_default();
        for (pool, amount) in pools {
            *of_queue.entry(pool).or_default() += amount;
        }
    }
    used
}

/// What still runs for a Workload that gave its quota back.
pub fn runs_without_quota(old: Option<&Value>, new: &Value, owners: &Owners) -> Option<String> {
    old.and_then(reserved)?;
    if reserved(new).is_some() || is_true(new, "Finished") {
        return None;
    }
    let mut uids = items(&new["metadata"]["ownerReferences"]).filter_map(|owner| owner["uid"].as_str());
    let running = uids.find_map(|uid| owners.get(uid).filter(|owner| !has_ended(owner) && !is_idle(owner)))?;
    Some(format!("{} runs, and {} gave its quota back", running["metadata"]["name"], new["metadata"]["name"]))
}

/// Whether nothing runs for a Workload any more, although that does not say so yet: writes of different objects do not
/// wait for each other.
fn is_over(workload: &Value, owners: &Owners) -> bool {
    let is_evicted = is_true(workload, "Evicted");
    let has_stopped =
        |owner: &Value| has_ended(owner) || is_evicted && owner["spec"].get("template").is_some() && is_idle(owner);
    let mut uids = items(&workload["metadata"]["ownerReferences"]).filter_map(|owner| owner["uid"].as_str());
    uids.all(|uid| owners.get(uid).is_none_or(has_stopped))
}

/// Whether a job or pod never runs again.
fn has_ended(owner: &Value) -> bool {
    let ended = ["Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"];
    let phase = &owner["status"]["phase"];
    ended.iter().any(|kind| is_true(owner, kind))
        || phase == "Succeeded"
        || phase == "Failed"
        || owner["spec"].get("template").is_none() && !owner["metadata"]["deletionTimestamp"].is_null()
}

/// Whether nothing of a job or pod runs now.
fn is_idle(owner: &Value) -> bool {
    let is_suspended = owner["spec"]["suspend"] == true && owner["status"]["active"].as_i64().unwrap_or(0) == 0;
    is_suspended || is_gated(owner)
}

impl ClusterQueue {
    fn read(queue: &Value) -> Self {
        let cohort = queue["spec"]["cohortName"].as_str().filter(|name| !name.is_empty()).map(str::to_owned);
        let mut pools = BTreeMap::new();
        for group in items(&queue["spec"]["resourceGroups"]) {
            for flavor in items(&group["flavors"]) {
                for resource in items(&flavor["resources"]) {
                    let limits = Limits {
                        nominal: amount(&resource["nominalQuota"]).unwrap_or(0),
                        borrowing: amount(&resource["borrowingLimit"]),
                        lending: amount(&resource["lendingLimit"]),
                    };
                    pools.insert((text(&flavor["name"]), text(&resource["name"])), limits);
                }
            }
        }
        Self { cohort, pools }
    }
}

/// The queue that a Workload has quota of, and how much.
fn reserved(workload: &Value) -> Option<(String, BTreeMap<Pool, Amount>)> {
    let admission = &workload["status"]["admission"];
    if admission.is_null() || !is_true(workload, "QuotaReserved") || is_true(workload, "Finished") {
        return None;
    }
    let mut pools: BTreeMap<Pool, Amount> = BTreeMap::new();
    for set in items(&admission["podSetAssignments"]) {
        let count = set["count"].as_i64().unwrap_or(1).max(1);
        let mut ended = items(&workload["status"]["reclaimablePods"]).filter(|ended| ended["name"] == set["name"]);
        let ended = ended.next().and_then(|ended| ended["count"].as_i64()).unwrap_or(0).min(count);
        for (resource, used) in set["resourceUsage"].as_object().into_iter().flatten() {
            let used = amount(used).unwrap_or(0) / count * (count - ended);
            *pools.entry((text(&set["flavors"][resource]), resource.clone())).or_default() += used;
        }
    }
    Some((text(&admission["clusterQueue"]), pools))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn amount(value: &Value) -> Option<Amount> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    text.parse::<Quantity>().ok().map(|quantity| quantity.milli_value())
}
