//! What is to be written for one Workload, as values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kueue_api::autoscaling::{PodTemplateReference, ProvisioningRequest, ProvisioningRequestSpec, RequestedPodSet};
use kueue_api::core_v1::{PodTemplate, PodTemplateSpec};
use kueue_api::kueue::names::{CONTROLLER_PROVISIONING_REQUEST, annotation, condition, event, label};
use kueue_api::kueue::v1beta2::{AdmissionCheckState, CheckState, ProvisioningRequestConfig, ResourceFlavor, Workload};
use kueue_api::limit_range::Summary;
use kueue_api::lookup::NotFound;
use kueue_api::meta::{Object, ObjectMeta, OwnerReference};
use kueue_api::pod_set_info::{Conflict, PodSetInfo};
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;

use super::name::{attempt_of, request_name, template_name};
use super::need::{Inconsistent, Wanted, is_needed, wanted};
use super::state::{answered, came_to_nothing, holds, inactive, is_strange, not_needed, unanswered_at};
use crate::check_states;

/// What a look at a Workload is based on.
pub struct World<'a> {
    pub workload: &'a Workload,
    /// The checks of the Workload that are ours, with their settings where these exist.
    pub checks: BTreeMap<String, Option<Arc<ProvisioningRequestConfig>>>,
    /// The requests that the Workload owns.
    pub requests: Vec<Arc<ProvisioningRequest>>,
    /// Finds requests in the Workload's namespace, whoever owns them.
    pub request: &'a dyn Fn(&str) -> Option<Arc<ProvisioningRequest>>,
    /// Finds pod templates in the Workload's namespace.
    pub template: &'a dyn Fn(&str) -> Option<Arc<PodTemplate>>,
    pub flavor: &'a dyn Fn(&str) -> Option<Arc<ResourceFlavor>>,
    pub gates: Gates,
    pub now: Time,
}

impl std::fmt::Debug for World<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("World").field("workload", &self.workload.metadata.name).finish_non_exhaustive()
    }
}

/// What is to be done, in this order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The Workload with the new states of its checks.
    pub workload: Option<Workload>,
    /// Told when that is written: reason and sentence.
    pub events: Vec<(&'static str, String)>,
    /// Told as a warning: the same of checks that somebody else decided, too.
    pub contested: Vec<(&'static str, String)>,
    /// Requests that nobody needs any more.
    pub deleted: Vec<Arc<ProvisioningRequest>>,
    /// Their templates that still belong to the Workload, and would stay with it.
    pub dropped: Vec<Arc<PodTemplate>>,
    /// Requests of ours that somebody took from the Workload: as they are, and as they are to be.
    pub claimed: Vec<(Arc<ProvisioningRequest>, ProvisioningRequest)>,
    pub asked: Vec<Question>,
    /// What cannot be asked, and why.
    pub unaskable: Vec<Unaskable>,
    /// Templates that go with their request from now on: as they are, and as they are to be.
    pub adopted: Vec<(Arc<PodTemplate>, PodTemplate)>,
    /// When to look again, whether or not something changes.
    pub again: Option<Time>,
}

/// A template that cannot be made.
#[derive(Clone, Debug)]
pub struct Unaskable {
    pub check: String,
    pub template: String,
    pub why: NoPlan,
}

/// A new request to the autoscaler. Its templates belong to the Workload until the request exists.
#[derive(Clone, Debug)]
pub struct Question {
    pub check: String,
    /// Those that do not exist yet.
    pub templates: Vec<PodTemplate>,
    /// Those that an earlier request of the name left: as they are, and as they are to be. They would go after it.
    pub kept: Vec<(Arc<PodTemplate>, PodTemplate)>,
    pub request: ProvisioningRequest,
}

/// Why nothing can be planned.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoPlan {
    #[error(transparent)]
    Inconsistent(#[from] Inconsistent),
    #[error(transparent)]
    Flavor(#[from] NotFound),
    #[error(transparent)]
    Conflict(#[from] Conflict),
}

/// Looks at a Workload.
pub fn plan(world: &World<'_>) -> Result<Plan, NoPlan> {
    let told = |kind| holds(&world.workload.status.conditions, kind);
    let (is_finished, is_evicted) = (told(condition::FINISHED), told(condition::EVICTED));
    if is_finished || is_evicted && world.gates.enabled(Gate::CleanupProvisioningRequestsOnEviction) {
        let mut plan = Plan { deleted: world.requests.clone(), ..Plan::default() };
        plan.dropped = left_behind(world, &plan);
        return Ok(plan);
    }
    if is_evicted || !told(condition::QUOTA_RESERVED) {
        return Ok(Plan::default());
    }
    let mut latest = BTreeMap::new();
    for (check, config) in &world.checks {
        if let Some(config) = config
            && let Some(request) = latest_request(world, check, config)?
        {
            latest.insert(check.as_str(), request);
        }
    }
    let mut plan = Plan::default();
    let checks = plan_states(world, &latest, &mut plan)?;
    let is_latest = |request: &Arc<ProvisioningRequest>| latest.values().any(|latest| Arc::ptr_eq(latest, request));
    plan.deleted = world.requests.iter().filter(|request| !is_latest(request)).cloned().collect();
    plan.again = latest.values().filter_map(|request| unanswered_at(request)).filter(|time| *time > world.now).min();
    for check in &checks {
        let Some(Some(config)) = world.checks.get(&check.name) else { continue };
        if let Some(lost) = lost_request(world, check) {
            plan.claimed.push(lost);
            continue;
        }
        if check.state != CheckState::Ready && is_needed(world.workload, &config.spec)? {
            plan_request(world, check, config, latest.get(check.name.as_str()).copied(), &mut plan)?;
        }
    }
    plan.dropped = left_behind(world, &plan);
    plan.adopted = latest.values().flat_map(|request| adoptions(world, request)).collect();
    Ok(plan)
}

fn templates(world: &World<'_>, request: &ProvisioningRequest) -> Vec<Arc<PodTemplate>> {
    let names = request.spec.pod_sets.iter().map(|asked| &asked.pod_template_ref.name);
    names.filter_map(|name| (world.template)(name)).collect()
}

/// Templates go with their request as soon as there is one, whatever it says.
fn adoptions(world: &World<'_>, request: &ProvisioningRequest) -> Vec<(Arc<PodTemplate>, PodTemplate)> {
    let adopt = |template: Arc<PodTemplate>| {
        let adopted = adopted(&template, world.workload, request)?;
        Some((template, adopted))
    };
    templates(world, request).into_iter().filter_map(adopt).collect()
}

/// Templates of requests that go before they took them. What is asked anew may use them again.
fn left_behind(world: &World<'_>, plan: &Plan) -> Vec<Arc<PodTemplate>> {
    let asked = plan.asked.iter().flat_map(|question| &question.request.spec.pod_sets);
    let used: BTreeSet<&str> = asked.map(|asked| asked.pod_template_ref.name.as_str()).collect();
    let is_left = |template: &Arc<PodTemplate>| {
        let uid = &world.workload.metadata.uid;
        let mut owners = template.metadata.owner_references.iter().filter(|owner| owner.kind == Workload::KIND);
        !used.contains(template.metadata.name.as_str()) && owners.any(|owner| owner.uid == *uid)
    };
    plan.deleted.iter().flat_map(|request| templates(world, request)).filter(is_left).collect()
}

/// The latest request of a check that still asks what the settings say.
pub fn latest_request<'w>(
    world: &'w World<'_>,
    check: &str,
    config: &ProvisioningRequestConfig,
) -> Result<Option<&'w Arc<ProvisioningRequest>>, NoPlan> {
    if !is_needed(world.workload, &config.spec)? {
        return Ok(None);
    }
    let attempt =
        |request: &Arc<ProvisioningRequest>| attempt_of(&request.metadata.name, &world.workload.metadata.name, check);
    let current = world.requests.iter().filter(|request| attempt(request).is_some() && asks_for(request, config));
    Ok(current.max_by_key(|request| attempt(request)))
}

/// Whether the request is of the class and has the parameters of the settings.
fn asks_for(request: &ProvisioningRequest, config: &ProvisioningRequestConfig) -> bool {
    let mut parameters = config.spec.parameters.iter();
    request.spec.provisioning_class_name == config.spec.provisioning_class_name
        && parameters.all(|(name, value)| request.spec.parameters.get(name) == Some(value))
}

/// Puts the new states of the checks into the plan, and returns them.
fn plan_states(
    world: &World<'_>,
    latest: &BTreeMap<&str, &Arc<ProvisioningRequest>>,
    plan: &mut Plan,
) -> Result<Vec<AdmissionCheckState>, NoPlan> {
    let old = &world.workload.status.admission_checks;
    let mut checks = old.clone();
    for known in old {
        let Some(config) = world.checks.get(&known.name) else { continue };
        let mut check = known.clone();
        match config {
            None => inactive(&mut check),
            Some(config) if !is_needed(world.workload, &config.spec)? => not_needed(&mut check),
            Some(config) => {
                let Some(request) = latest.get(known.name.as_str()) else { continue };
                answered(&mut check, world.workload, request, config, world.now);
            }
        }
        if check.state != known.state {
            check.last_transition_time = Time::default();
            plan.events.push((event::workload::ADMISSION_CHECK_UPDATED, said(known, &check)));
            if is_strange(known) {
                plan.contested.push((event::workload::ADMISSION_CHECK_CONTESTED, contested(&check)));
            }
        }
        check_states::set(&mut checks, check, world.now);
    }
    if checks != *old {
        let mut workload = world.workload.clone();
        workload.status.admission_checks.clone_from(&checks);
        plan.workload = Some(workload);
    }
    Ok(checks)
}

fn contested(check: &AdmissionCheckState) -> String {
    let AdmissionCheckState { name, state, .. } = check;
    format!(
        "Somebody else made admission check {name} Ready, which {CONTROLLER_PROVISIONING_REQUEST} decides; it is {state} \
         again. Stop whoever else decides it, or give that an AdmissionCheck of its own"
    )
}

fn said(old: &AdmissionCheckState, new: &AdmissionCheckState) -> String {
    let with = if new.message.is_empty() { String::new() } else { format!(" with message: {}", new.message) };
    format!("Admission check {} updated state from {} to {}{with}", new.name, old.state, new.state)
}

/// A check that is not ready has a request: a new one if there is none, or if the last came to nothing and its turn has
/// come again.
fn plan_request(
    world: &World<'_>,
    check: &AdmissionCheckState,
    config: &ProvisioningRequestConfig,
    latest: Option<&Arc<ProvisioningRequest>>,
    plan: &mut Plan,
) -> Result<(), NoPlan> {
    let workload = world.workload;
    let attempt = match latest {
        // A request that was cleaned up left its count behind.
        None => check.retry_count.unwrap_or(0).saturating_add(1),
        Some(last) if check.state == CheckState::Pending && came_to_nothing(last, workload) => {
            attempt_of(&last.metadata.name, &workload.metadata.name, &check.name).unwrap_or(1).saturating_add(1)
        }
        Some(_) => return Ok(()),
    };
    let name = request_name(&workload.metadata.name, &check.name, attempt);
    if (world.request)(&name).is_some_and(|known| is_of_predecessor(&known, workload)) {
        // It goes with its owner, and that brings the next look about.
        return Ok(());
    }
    match question(world, check, config, &name)? {
        Ok(question) => plan.asked.push(question),
        Err(unaskable) => plan.unaskable.push(unaskable),
    }
    Ok(())
}

/// A request that is ours and belongs to nobody: somebody edited its owners.
fn lost_request(
    world: &World<'_>,
    check: &AdmissionCheckState,
) -> Option<(Arc<ProvisioningRequest>, ProvisioningRequest)> {
    let attempt = check.retry_count.unwrap_or(0).saturating_add(1);
    let known = (world.request)(&request_name(&world.workload.metadata.name, &check.name, attempt))?;
    let is_ours = known.metadata.labels.get(label::MANAGED).is_some_and(|value| value == label::TRUE);
    if !is_ours || !known.metadata.owner_references.is_empty() || known.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let mut own = (*known).clone();
    own.metadata.owner_references.push(controlled_by(world.workload));
    Some((known, own))
}

/// Whether a request belongs to a Workload of the same name that is gone.
fn is_of_predecessor(request: &ProvisioningRequest, workload: &Workload) -> bool {
    let meta = &workload.metadata;
    let mut owners = request.metadata.owner_references.iter().filter(|owner| owner.kind == Workload::KIND);
    owners.any(|owner| owner.name == meta.name && owner.uid != meta.uid)
}

fn question(
    world: &World<'_>,
    check: &AdmissionCheckState,
    config: &ProvisioningRequestConfig,
    name: &str,
) -> Result<Result<Question, Unaskable>, NoPlan> {
    let workload = world.workload;
    let (mut templates, mut kept) = (Vec::new(), Vec::new());
    let mut pod_sets = Vec::new();
    for wanted in wanted(workload, &config.spec)? {
        let template = template_name(name, &wanted.pod_set.name);
        if let Some(left) = (world.template)(&template) {
            let mut own = (*left).clone();
            own.metadata.owner_references = vec![controlled_by(workload)];
            kept.extend((own != *left).then_some((left, own)));
        } else {
            let pods = match pods_of(world, &wanted) {
                Ok(pods) => pods,
                Err(why) => return Ok(Err(Unaskable { check: check.name.clone(), template, why })),
            };
            let metadata = meta(&template, workload);
            templates.push(PodTemplate { metadata, template: pods, ..PodTemplate::default() });
        }
        let pod_template_ref = PodTemplateReference { name: template };
        pod_sets.push(RequestedPodSet { pod_template_ref, count: wanted.count });
    }
    let mut parameters = config.spec.parameters.clone();
    for (key, value) in &workload.metadata.annotations {
        if let Some(name) = key.strip_prefix(annotation::PROVISIONING_REQUEST_PREFIX) {
            parameters.insert(name.to_owned(), value.clone());
        }
    }
    let provisioning_class_name = config.spec.provisioning_class_name.clone();
    let spec = ProvisioningRequestSpec { pod_sets, provisioning_class_name, parameters };
    let request = ProvisioningRequest { metadata: meta(name, workload), spec, ..ProvisioningRequest::default() };
    Ok(Ok(Question { check: check.name.clone(), templates, kept, request }))
}

/// The pods as they will be started.
fn pods_of(world: &World<'_>, wanted: &Wanted<'_>) -> Result<PodTemplateSpec, NoPlan> {
    let flavors: Vec<Arc<ResourceFlavor>> =
        wanted.assignment.flavors.values().filter_map(|flavor| (world.flavor)(flavor)).collect();
    let find = |name: &str| flavors.iter().map(|flavor| &**flavor).find(|flavor| flavor.metadata.name == name);
    let info = PodSetInfo::from_assignment(wanted.assignment, wanted.pod_set, world.gates, find)?;
    let mut pods = PodTemplateSpec::clone(&wanted.pod_set.template);
    info.merge_into(&mut pods, world.gates)?;
    kueue_translate::adjust(&mut pods.spec, &Summary::default(), &BTreeMap::new());
    Ok(pods)
}

/// The metadata of something that goes with the Workload.
fn meta(name: &str, workload: &Workload) -> ObjectMeta {
    ObjectMeta {
        name: name.to_owned(),
        namespace: workload.metadata.namespace.clone(),
        labels: BTreeMap::from([(label::MANAGED.to_owned(), label::TRUE.to_owned())]),
        owner_references: vec![controlled_by(workload)],
        ..ObjectMeta::default()
    }
}

fn controlled_by<T: Object>(owner: &T) -> OwnerReference {
    OwnerReference {
        api_version: T::api_version(),
        kind: T::KIND.to_owned(),
        name: owner.metadata().name.clone(),
        uid: owner.metadata().uid.clone(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// The template as it goes with its request instead of the Workload; none if it does already.
pub fn adopted(template: &PodTemplate, workload: &Workload, request: &ProvisioningRequest) -> Option<PodTemplate> {
    let is_controlled_by = |owner: &OwnerReference, uid: &str| owner.controller == Some(true) && owner.uid == uid;
    let owners = &template.metadata.owner_references;
    if owners
        .iter()
        .any(|owner| is_controlled_by(owner, &request.metadata.uid) && owner.kind == ProvisioningRequest::KIND)
    {
        return None;
    }
    let mut adopted = template.clone();
    let owners = &mut adopted.metadata.owner_references;
    owners.retain(|owner| !(is_controlled_by(owner, &workload.metadata.uid) && owner.kind == Workload::KIND));
    owners.push(controlled_by(request));
    Some(adopted)
}

/// What is said when a request or one of its templates cannot be made: the event, and the Workload that shows it.
pub fn unasked(workload: &Workload, check: &str, what: &str, why: &str) -> (String, Workload) {
    let message = format!("Error creating {what}: {why}");
    let mut shown = workload.clone();
    if let Some(state) = shown.status.admission_checks.iter_mut().find(|state| state.name == check) {
        state.message = kueue_engine::condition_message(message.as_str().into()).to_string();
    }
    (message, shown)
}
