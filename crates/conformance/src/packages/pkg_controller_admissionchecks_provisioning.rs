//! Checks that ask the autoscaler for nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::autoscaling::ProvisioningRequest;
use kueue_api::core_v1::PodTemplate;
use kueue_api::kueue::names::CONTROLLER_PROVISIONING_REQUEST;
use kueue_api::kueue::v1beta2::{
    AdmissionCheck, AdmissionCheckState, ProvisioningRequestConfig, ProvisioningRequestConfigSpec, ResourceFlavor,
    Workload,
};
use kueue_api::meta::Object;
use kueue_controllers::check_states;
use kueue_controllers::provisioning::check::{check_values, config_of, config_values, decided_by, judged};
use kueue_controllers::provisioning::need;
use kueue_controllers::provisioning::plan::{self, NoPlan, Plan, World};
use kueue_controllers::provisioning::reconciler::{is_unseen, owner_values};
use kueue_runtime::client;
use serde_json::{Value, json};

use super::Runners;
use crate::compare::{Rules, equal};
use crate::corpus::{Case, Failure};
use crate::objects::{Objects, same_events};

pub const RUNNERS: Runners = &[
    ("TestActiveOrLastPRForChecks", latest_request),
    ("TestIndexAdmissionChecks", |case| indexed::<AdmissionCheck>(case, "checks", config_values)),
    ("TestIndexProvisioningRequests", |case| indexed::<ProvisioningRequest>(case, "requests", owner_values)),
    ("TestIndexWorkload", |case| indexed::<Workload>(case, "workloads", check_values)),
    ("TestIsMissingInCache", missing_in_cache),
    ("TestMergePodSetsSkipsZeroCounts", merged_pod_sets),
    ("TestReconcile", reconcile),
    ("TestReconcileAdmissionCheck", check),
    ("TestReqIsNeeded", is_needed),
    ("TestUpdateCheckMessage", check_message),
];

/// The objects around a Workload, as a look finds them.
struct Found {
    workload: Workload,
    checks: BTreeMap<String, Option<Arc<ProvisioningRequestConfig>>>,
    requests: Vec<Arc<ProvisioningRequest>>,
    templates: Vec<Arc<PodTemplate>>,
    flavors: Vec<Arc<ResourceFlavor>>,
}

impl Found {
    fn of(objects: &Objects, workload: Workload) -> Result<Self, Failure> {
        let checks: Vec<AdmissionCheck> = objects.all()?;
        let configs: Vec<ProvisioningRequestConfig> = objects.all()?;
        let find = |name: &str| checks.iter().find(|check| check.metadata.name == name);
        let config = |name: &str| configs.iter().find(|config| config.metadata.name == name).cloned().map(Arc::new);
        let ours = decided_by(CONTROLLER_PROVISIONING_REQUEST, &workload.status.admission_checks, find);
        let owner = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
        let mut requests: Vec<ProvisioningRequest> = objects.all()?;
        requests.retain(|request| owner_values(request).contains(&owner));
        Ok(Self {
            checks: ours.iter().map(|check| (check.metadata.name.clone(), config_of(check, config).ok())).collect(),
            requests: requests.into_iter().map(Arc::new).collect(),
            templates: objects.all()?.into_iter().map(Arc::new).collect(),
            flavors: objects.all()?.into_iter().map(Arc::new).collect(),
            workload,
        })
    }

    fn look<T>(&self, case: &Case, objects: &Objects, at: impl FnOnce(&World<'_>) -> T) -> Result<T, Failure> {
        let template = |name: &str| self.templates.iter().find(|template| template.metadata.name == name).cloned();
        let flavor = |name: &str| self.flavors.iter().find(|flavor| flavor.metadata.name == name).cloned();
        let request = |name: &str| self.requests.iter().find(|request| request.metadata.name == name).cloned();
        Ok(at(&World {
            workload: &self.workload,
            checks: self.checks.clone(),
            requests: self.requests.clone(),
            request: &request,
            template: &template,
            flavor: &flavor,
            gates: case.gates()?,
            now: objects.now,
        }))
    }
}

/// Two looks: what the first makes is taken over by the second, as the request itself brings about.
fn reconcile(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    let meta: Workload = case.arg("workload")?;
    for _ in 0..2 {
        let workload = objects.get(&meta.metadata.namespace, &meta.metadata.name)?;
        let found = Found::of(&objects, workload.ok_or_else(|| Failure("the workload is gone".to_owned()))?)?;
        let planned: Result<Plan, NoPlan> = found.look(case, &objects, plan::plan)?;
        let outcome = match planned {
            Ok(planned) => carry_out(case, &mut objects, &found.workload, planned)?,
            Err(why) => Err(why.to_string()),
        };
        if let Err(why) = outcome {
            let wanted = case.raw("wantReconcileError.error").as_str().unwrap_or_default();
            equal(&true, &(!wanted.is_empty() && why.contains(wanted)))?;
            return compare(case, &objects);
        }
    }
    equal(&false, &case.has("wantReconcileError"))?;
    compare(case, &objects)
}

fn carry_out(
    case: &Case,
    objects: &mut Objects,
    workload: &Workload,
    planned: Plan,
) -> Result<Result<(), String>, Failure> {
    let mut current = workload.clone();
    if let Some(judged) = planned.workload {
        objects.update_status(workload, &judged)?;
        current = judged;
    }
    for (reason, message) in planned.events {
        objects.tell(workload, false, reason, &message);
    }
    for template in planned.dropped {
        objects.delete(&*template);
    }
    for request in planned.deleted {
        objects.delete(&*request);
    }
    for question in planned.asked {
        for template in &question.templates {
            if let Some(why) = refusal(case, objects, &current, &question.check, template)? {
                return Ok(Err(why));
            }
            objects.create(template)?;
        }
        if let Some(why) = refusal(case, objects, &current, &question.check, &question.request)? {
            return Ok(Err(why));
        }
        objects.create(&question.request)?;
        let note = format!("Created ProvisioningRequest: {:?}", question.request.metadata.name);
        objects.tell(workload, false, "ProvisioningRequestCreated", &note);
    }
    for (template, adopted) in planned.adopted {
        objects.update(&*template, &adopted)?;
    }
    Ok(planned.unaskable.first().map_or(Ok(()), |unaskable| Err(unaskable.why.to_string())))
}

/// A server that does not make the object, which is code: what it answers is what the look is to fail with, and the
/// kind is told by the event.
fn refusal<T: Object>(
    case: &Case,
    objects: &mut Objects,
    workload: &Workload,
    check: &str,
    object: &T,
) -> Result<Option<String>, Failure> {
    let is_about_templates = case.raw("wantEvents").to_string().contains("Error creating PodTemplate");
    if !case.has("interceptorFuncsCreate") || (T::KIND == PodTemplate::KIND) != is_about_templates {
        return Ok(None);
    }
    let message: String = case.arg("wantReconcileError.error")?;
    let code = case.raw("wantReconcileError.status.code").as_u64().and_then(|code| u16::try_from(code).ok());
    let failure = client::Failure::Refused {
        code: code.unwrap_or(500),
        reason: String::new(),
        message: message.clone(),
        retry_after: None,
    };
    // Whether it was seen meanwhile is code too: then there is something to tell.
    if !is_unseen(case.has("wantEvents"), &failure) {
        let what = format!("{} {:?}", T::KIND, object.metadata().name);
        let (note, shown) = plan::unasked(workload, check, &what, &message);
        objects.tell(workload, true, "FailedCreate", &note);
        objects.update_status(workload, &shown)?;
    }
    Ok(Some(message))
}

fn compare(case: &Case, objects: &Objects) -> Result<(), Failure> {
    let rules =
        Rules::equate_empty().ignoring(&["lastTransitionTime", "requeueAt", "restartPolicy", "resourceVersion"]);
    let namespace = case.raw("workload.metadata.namespace").as_str().unwrap_or_default().to_owned();
    each::<Workload>(case, "wantWorkloads", objects, &namespace, |object| json!([object.spec, object.status]), &rules)?;
    let request = |object: ProvisioningRequest| json!([object.metadata.labels, object.spec, object.status]);
    each(case, "wantRequests", objects, &namespace, request, &rules)?;
    let template =
        |object: PodTemplate| json!([object.metadata.labels, object.metadata.owner_references, object.template]);
    each(case, "wantTemplates", objects, &namespace, template, &rules)?;
    for name in case.arg::<Vec<String>>("wantRequestsNotFound")? {
        equal(&(&name, true), &(&name, objects.raw(ProvisioningRequest::KIND, &namespace, &name).is_none()))?;
    }
    same_events(case, &objects.events)
}

fn each<T: Object>(
    case: &Case,
    field: &str,
    objects: &Objects,
    namespace: &str,
    shown: impl Fn(T) -> Value,
    rules: &Rules,
) -> Result<(), Failure> {
    for (name, wanted) in case.arg::<BTreeMap<String, T>>(field)? {
        let got: Option<T> = objects.get(namespace, &name)?;
        let said = &case.raw(field)[&name];
        if said["metadata"]["name"].is_null() && said["spec"]["podSets"].is_null() {
            // An object with nothing in it stands for none.
            equal(&(&name, true), &(&name, got.is_none()))?;
            continue;
        }
        let got = got.ok_or_else(|| Failure(format!("{} {name} is missing", T::KIND)))?;
        let told = |Failure(why): Failure| Failure(format!("{} {name}{why}", T::KIND));
        rules.same(&shown(wanted), &shown(got)).map_err(told)?;
    }
    Ok(())
}

/// The condition of a check.
fn check(case: &Case) -> Result<(), Failure> {
    let objects = Objects::of_case(case)?;
    let check: AdmissionCheck = case.arg("check")?;
    let configs: Vec<ProvisioningRequestConfig> = case.arg("configs")?;
    let find = |name: &str| configs.iter().find(|config| config.metadata.name == name);
    let judged = judged(&check, &config_of(&check, find).map(|_| ()), objects.now).unwrap_or(check);
    let condition = judged.status.conditions.iter().find(|condition| condition.r#type == "Active");
    Rules::equate_empty().ignoring(&["lastTransitionTime"]).same(case.raw("wantCondition"), &json!(condition))
}

/// The request that a check goes by.
fn latest_request(case: &Case) -> Result<(), Failure> {
    let mut objects = Objects::of_case(case)?;
    objects.add(case.raw("requests"))?;
    let scope = |name: &str| case.scope(name);
    let config: ProvisioningRequestConfig = crate::cluster::read(&scope("baseConfig")["ProvisioningRequestConfig"])?;
    let workload: Workload = crate::cluster::read(unwrapped(scope("baseWorkload"), "Workload"))?;
    let found = Found::of(&objects, workload)?;
    let latest = found.look(case, &objects, |world| {
        plan::latest_request(world, "check", &config)
            .map(|request| request.map(|request| request.metadata.name.clone()))
    })?;
    let wanted = case.raw("wantResult.check.metadata.name").as_str().map(str::to_owned);
    equal(&wanted, &latest.map_err(|why| Failure(why.to_string()))?)
}

/// What a builder of Kueue's tests made.
fn unwrapped<'v>(value: &'v Value, kind: &str) -> &'v Value {
    if value[kind].is_null() { value } else { &value[kind] }
}

/// Objects that are found by a value.
fn indexed<T: Object>(case: &Case, field: &str, values: fn(&T) -> Vec<String>) -> Result<(), Failure> {
    let wanted = case.raw("filter").as_object().and_then(|filter| filter.values().next()).and_then(Value::as_str);
    let wanted = wanted.unwrap_or_default();
    // Ours has the namespace in the value where names alone would not do.
    let is_meant = |value: &String| value.rsplit('/').next() == Some(wanted);
    let objects: Vec<T> = case.arg(field)?;
    let found = objects.iter().filter(|object| values(object).iter().any(is_meant));
    let mut names: Vec<String> = found.map(|object| object.metadata().name.clone()).collect();
    names.sort();
    equal(&case.arg::<Vec<String>>("wantList")?, &names)
}

fn missing_in_cache(case: &Case) -> Result<(), Failure> {
    let requests: Vec<ProvisioningRequest> = case.arg("requests")?;
    let asked = case.scope("request")["metadata"]["name"].as_str().unwrap_or_default();
    let is_seen = requests.iter().any(|request| request.metadata.name == asked);
    let exists = client::Failure::Refused {
        code: 409,
        reason: "AlreadyExists".to_owned(),
        message: String::new(),
        retry_after: None,
    };
    equal(&case.arg("want")?, &is_unseen(is_seen, &exists))
}

fn merged_pod_sets(case: &Case) -> Result<(), Failure> {
    let workload: Workload = case.arg("workload")?;
    let config = ProvisioningRequestConfigSpec { pod_set_merge_policy: case.get("mergePolicy")?, ..Default::default() };
    let wanted = need::wanted(&workload, &config).map_err(|why| Failure(why.to_string()))?;
    let names: Vec<String> = wanted.iter().map(|wanted| wanted.pod_set.name.clone()).collect();
    equal(&case.arg::<Vec<String>>("wantNames")?, &names)?;
    equal(&case.arg::<Vec<i32>>("wantCounts")?, &wanted.iter().map(|wanted| wanted.count).collect::<Vec<_>>())
}

fn is_needed(case: &Case) -> Result<(), Failure> {
    let config: ProvisioningRequestConfig = crate::cluster::read(case.scope("prc"))?;
    match need::is_needed(&case.arg("workload")?, &config.spec) {
        Ok(is_needed) => equal(&(case.arg("want")?, case.has("wantErr")), &(is_needed, false)),
        Err(why) => {
            let wanted: String = case.arg("wantErr.error")?;
            equal(&true, &why.to_string().starts_with(&wanted))
        }
    }
}

/// What a check says is replaced, also by nothing.
fn check_message(case: &Case) -> Result<(), Failure> {
    let state = json!({"name": "check1", "state": "Pending", "message": case.arg::<String>("message")?});
    let old: AdmissionCheckState = crate::cluster::read(&state)?;
    let mut states = vec![old.clone()];
    let new = AdmissionCheckState { message: case.arg("newMessage")?, ..old.clone() };
    check_states::set(&mut states, new, case.now()?);
    equal(&case.arg::<String>("wantMessage")?, &states[0].message)?;
    equal(&case.arg("wantChanged")?, &(states[0].message != old.message))
}
