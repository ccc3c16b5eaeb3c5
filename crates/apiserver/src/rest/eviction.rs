//! `eviction`: a deletion that asks the pod's disruption budget first.

use std::sync::Arc;

use kueue_core::selector::LabelSelector;

use super::delete::DeleteOptions;
use super::reply::Reply;
use super::service::{Call, Server};
use super::write::{Next, Part, Write, is_deleted};
use crate::json::{Value, json};
use crate::kinds::{Resource, text_at};
use crate::meta;
use crate::schema::object_at;
use crate::status::{About, Result, Status};
use crate::store::{Key, Object};

const BUDGETS: &str = "poddisruptionbudgets.policy";
const VIOLATES: &str = "Cannot evict pod as it would violate the pod's disruption budget.";
/// How many evictions may wait for the budget's controller to see them.
const DISRUPTED_MAX: usize = 2000;
/// Seconds after which a client may ask again while a budget is not yet up to date.
const RETRY_SECONDS: u32 = 10;

/// What a budget says to one more disruption.
enum Answer {
    /// The budget as it is after this one.
    Allowed(Value),
    /// The pod does not count.
    NotCounted,
}

impl Server {
    pub async fn evict(&self, call: &Call, resource: &Arc<Resource>) -> Result<Reply> {
        let encoding = super::body::encoding(call.content_type.as_deref())?;
        let mut eviction = super::body::parse(&call.body, encoding).map_err(Status::bad_request)?.value;
        if text_at(&eviction, &["metadata", "name"]) != call.path.name {
            return Err(Status::bad_request("name in URL does not match name in Eviction object"));
        }
        meta::settle_namespace(&mut eviction, &call.path.namespace)?;
        let mut options = DeleteOptions::default();
        options.read_body(&eviction["deleteOptions"])?;
        options.is_dry_run |= call.query.dry_run("CreateOptions")?;
        self.admit(call, resource, options.is_dry_run, &mut eviction).await?;
        let pod = self.store.get(&resource.storage, &call.key()).ok_or_else(|| call.not_found(resource))?;
        if !is_harmless(&pod.value)
            && let Some(refusal) = self.ask_budget(&pod, &mut options)?
        {
            return Ok(refusal);
        }
        if !options.is_dry_run {
            options.check(resource, &pod)?;
            let told = self.tell(call, resource).await?;
            options.renew(&pod, &told);
        }
        self.delete_one(call, resource, &call.key(), &options, || call.not_found(resource)).await?;
        Ok(Reply::created(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        })))
    }

    /// Takes one disruption from the budget of a pod. Gives an answer when the client gets one right away.
    fn ask_budget(&self, pod: &Object, options: &mut DeleteOptions) -> Result<Option<Reply>> {
        loop {
            let budgets = self.budgets_of(&pod.value);
            let [(key, budget)] = budgets.as_slice() else {
                return Ok((!budgets.is_empty()).then(two_budgets));
            };
            match disrupt(&budget.value, &pod.value, &self.clock.time().to_string())? {
                Answer::NotCounted => {
                    // Nobody may make the pod healthy in between.
                    options.require_version(&pod.value);
                    return Ok(None);
                }
                Answer::Allowed(_) if options.is_dry_run => return Ok(None),
                Answer::Allowed(next) => {
                    if self.store.update(BUDGETS, key.clone(), budget, next).is_ok() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn budgets_of(&self, pod: &Value) -> Vec<(Key, Arc<Object>)> {
        let namespace = text_at(pod, &["metadata", "namespace"]);
        let labels = meta::strings(&pod["metadata"]["labels"]);
        let Ok(found) = self.store.list(BUDGETS, namespace, None) else { return Vec::new() };
        let selects = |object: &Object| {
            let selector = &object.value["spec"]["selector"];
            let parsed: Option<LabelSelector> = crate::json::read(selector).ok();
            !selector.is_null() && parsed.is_some_and(|selector| selector.matches(&labels))
        };
        let all = found.objects.iter().filter(|(_, object)| selects(object));
        all.map(|(key, object)| (key.clone(), Arc::clone(object))).collect()
    }

    /// Writes into the pod why it ends.
    async fn tell(&self, call: &Call, resource: &Arc<Resource>) -> Result<Arc<Object>> {
        let write = Write { call, resource, part: Part::Whole, is_dry_run: false };
        let now = self.clock.time().to_string();
        self.replace(&write, 5, |read| {
            let mut value = read.value.clone();
            let condition = json!({
                "type": "DisruptionTarget", "status": "True", "lastTransitionTime": now,
                "reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting",
            });
            set_condition(&mut value, condition);
            Ok(Next { value, managed: None, is_shaped: false })
        })
        .await
    }
}

/// Whether a pod's end disturbs nobody: it has ended, has not begun, or is ending.
fn is_harmless(pod: &Value) -> bool {
    ["Succeeded", "Failed", "Pending"].contains(&text_at(pod, &["status", "phase"])) || is_deleted(pod)
}

fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}

/// A real server answers this with 201 and a failure inside.
fn two_budgets() -> Reply {
    let message = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    Reply::created(json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message, "code": 500,
    }))
}

/// Whether a budget allows this pod to go, and the budget afterwards.
fn disrupt(budget: &Value, pod: &Value, now: &str) -> Result<Answer> {
    let status = &budget["status"];
    let number = |name: &str| status[name].as_i64().unwrap_or_default();
    let name = text_at(budget, &["metadata", "name"]);
    let (healthy, desired, allowed) =
        (number("currentHealthy"), number("desiredHealthy"), number("disruptionsAllowed"));
    if !is_ready(pod) {
        let always = budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow";
        if always || healthy >= desired && desired > 0 {
            return Ok(Answer::NotCounted);
        }
    }
    if number("observedGeneration") < budget["metadata"]["generation"].as_i64().unwrap_or_default() {
        let why = format!("The disruption budget {name} is still being processed by the server.");
        return Err(refuse(&why, RETRY_SECONDS));
    }
    let about = About { group: "policy", kind: "poddisruptionbudget", name };
    if allowed < 0 {
        return Err(Status::forbidden(about, "pdb disruptions allowed is negative"));
    }
    if status["disruptedPods"].as_object().is_some_and(|pods| pods.len() > DISRUPTED_MAX) {
        let why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
        return Err(Status::forbidden(about, why));
    }
    if allowed == 0 {
        return Err(refuse(&why_not(status, name, healthy, desired), 0));
    }
    let mut next = budget.clone();
    next["status"]["disruptionsAllowed"] = (allowed - 1).into();
    if allowed == 1 {
        let mut condition = json!({
            "type": "DisruptionAllowed", "status": "False", "lastTransitionTime": now, "reason": "InsufficientPods",
            "message": "",
        });
        if let Some(generation) = status.get("observedGeneration") {
            condition["observedGeneration"] = generation.clone();
        }
        set_condition(&mut next, condition);
    }
    if let Some(pods) = object_at(&mut next, &["status", "disruptedPods"]) {
        pods.insert(text_at(pod, &["metadata", "name"]).to_owned(), now.into());
    }
    Ok(Answer::Allowed(next))
}

fn why_not(status: &Value, name: &str, healthy: i64, desired: i64) -> String {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = conditions.iter().find(|condition| condition["type"] == "DisruptionAllowed");
    let text = |field: &str| found.map(|condition| text_at(condition, &[field])).unwrap_or_default();
    let says_no = text("status") == "False" && !text("message").is_empty();
    match () {
        () if says_no && text("reason") == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            text("message")
        ),
        () if healthy <= desired => {
            format!("The disruption budget {name} needs {desired} healthy pods and has {healthy} currently")
        }
        () if says_no => format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            text("reason"),
            text("message")
        ),
        () => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

fn refuse(why: &str, retry_seconds: u32) -> Status {
    let causes = json!([{"reason": "DisruptionBudget", "message": why}]);
    Status::too_many_requests(VIOLATES, &causes, retry_seconds)
}

/// Sets a condition in place of the one with the same type; the time stays when its status does.
pub fn set_condition(object: &mut Value, mut condition: Value) {
    let Some(status) = object_at(object, &["status"]) else { return };
    let list = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else { return };
    match list.iter_mut().find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] && !known["lastTransitionTime"].is_null() {
                condition["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = condition;
        }
        None => list.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(ready: &str) -> Value {
        json!({"metadata": {"name": "p"}, "status": {"conditions": [{"type": "Ready", "status": ready}]}})
    }

    fn budget(allowed: i64, healthy: i64, desired: i64) -> Value {
        json!({"metadata": {"name": "b", "generation": 1}, "spec": {}, "status": {"observedGeneration": 1,
            "disruptionsAllowed": allowed, "currentHealthy": healthy, "desiredHealthy": desired}})
    }

    /// What is allowed afterwards, or why not.
    fn ask(budget: &Value, ready: &str) -> String {
        match disrupt(budget, &pod(ready), "now") {
            Ok(Answer::Allowed(next)) => format!("{} left", next["status"]["disruptionsAllowed"]),
            Ok(Answer::NotCounted) => "not counted".to_owned(),
            Err(status) => status.to_value()["details"]["causes"][0]["message"].as_str().unwrap_or_default().to_owned(),
        }
    }

    #[test]
    fn a_budget_allows_so_many_disruptions() {
        assert_eq!(ask(&budget(2, 3, 1), "True"), "1 left");
        assert_eq!(ask(&budget(0, 1, 1), "True"), "The disruption budget b needs 1 healthy pods and has 1 currently");
        let next = match disrupt(&budget(1, 2, 1), &pod("True"), "now") {
            Ok(Answer::Allowed(next)) => next,
            _ => Value::Null,
        };
        assert_eq!(next["status"]["conditions"][0]["reason"], "InsufficientPods");
        assert_eq!(next["status"]["disruptedPods"], json!({"p": "now"}));
    }

    #[test]
    fn an_unhealthy_pod_counts_only_while_others_are_missing() {
        assert_eq!(ask(&budget(0, 2, 2), "False"), "not counted");
        assert_eq!(ask(&budget(0, 1, 2), "False"), "The disruption budget b needs 2 healthy pods and has 1 currently");
        let mut always = budget(0, 0, 2);
        always["spec"]["unhealthyPodEvictionPolicy"] = "AlwaysAllow".into();
        assert_eq!(ask(&always, "False"), "not counted");
    }

    #[test]
    fn a_budget_that_is_out_of_date_allows_nothing_yet() {
        let mut stale = budget(1, 2, 1);
        stale["metadata"]["generation"] = 2.into();
        assert_eq!(ask(&stale, "True"), "The disruption budget b is still being processed by the server.");
    }
}
