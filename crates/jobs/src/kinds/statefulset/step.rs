//! What is to be done about a StatefulSet, given its pods and its Workload, as a pure function.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, condition, event, label};
use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::Object as _;
use kueue_core::gates::Gate;

use super::webhook::is_on_hold;
use super::{StatefulSet, ungate};
use crate::kinds::pod::Pod;
use crate::kinds::pod::step::{group_workload, set_owner};
use crate::report::{Hold, Report};
use crate::step::{Action, Surroundings, follow_gate, gate_event, is_true, priority_of};
use crate::workload::{owner_reference, queue_name, sanitize};

/// One thing to be done.
#[derive(Clone, PartialEq, Debug)]
pub enum Act {
    /// A pod is to be like this.
    Pod { old: Arc<Pod>, new: Box<Pod> },
    /// About the Workload.
    Do(Box<Action<Pod>>),
    /// An event about the StatefulSet.
    Tell { is_warning: bool, reason: &'static str, message: String },
}

/// What a look at a StatefulSet came to.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// In order; after one that fails none of the others is carried out.
    pub acts: Vec<Act>,
    /// Something is missing that nobody will tell about: look again, later and later.
    pub failure: Option<String>,
}

impl Outcome {
    fn act(&mut self, action: Action<Pod>) {
        self.acts.push(match action {
            Action::Event { is_warning, reason, message } => Act::Tell { is_warning, reason, message },
            action => Act::Do(Box::new(action)),
        });
    }
}

/// What is to be done about a StatefulSet that is ours, its pods and its Workload, which is the first around it.
pub fn step(owner: &StatefulSet, pods: &[Arc<Pod>], around: &Surroundings<'_>) -> Outcome {
    let mut outcome = Outcome::default();
    for pod in pods {
        let mut new = (**pod).clone();
        let queue = queue_name(&owner.metadata);
        if owner.replicas() > 0 && !queue.is_empty() {
            new.metadata.labels.insert(label::QUEUE_NAME.to_owned(), queue.to_owned());
        }
        ungate(Some(owner), &mut new);
        if new != **pod {
            outcome.acts.push(Act::Pod { old: Arc::clone(pod), new: Box::new(new) });
        }
    }
    match around.workloads.first() {
        Some(workload) => follow(owner, workload, around, &mut outcome),
        None => create(owner, around, &mut outcome),
    }
    outcome
}

fn create(owner: &StatefulSet, around: &Surroundings<'_>, outcome: &mut Outcome) {
    let meta = &owner.metadata;
    let is_queued = !queue_name(meta).is_empty() || around.settings.manages_without_queue;
    if owner.replicas() <= 0 || !is_queued || owner.is_remote() {
        return;
    }
    let gates = around.settings.gates;
    let mut pod_sets = match owner.pod_set(gates) {
        Ok(pod_set) => vec![pod_set],
        Err(error) => return outcome.failure = Some(error.to_string()),
    };
    sanitize(&mut pod_sets);
    let priority = match priority_of(meta, None, &pod_sets, around) {
        Ok(priority) => priority,
        Err(missing) => {
            missing.actions.into_iter().for_each(|action| outcome.act(action));
            return outcome.failure = missing.failure;
        }
    };
    let [name, _] = owner.workload_names(gates);
    let mut made = group_workload(owner, &name, pod_sets, priority, gates);
    made.metadata.labels.insert(label::JOB_UID.to_owned(), meta.uid.clone());
    own(&mut made, owner);
    let message = format!("Created Workload: {}/{}", made.metadata.namespace, made.metadata.name);
    outcome.act(Action::CreateWorkload(Box::new(made)));
    outcome.act(Action::event(event::job::CREATED_WORKLOAD, message));
}

/// Lets the Workload say whose it is.
fn own(workload: &mut Workload, owner: &StatefulSet) {
    set_owner(&mut workload.metadata.owner_references, owner_reference(owner));
    let kind = format!("{}, Kind={}", StatefulSet::api_version(), StatefulSet::KIND);
    let annotations = &mut workload.metadata.annotations;
    annotations.insert(annotation::JOB_OWNER_GVK.to_owned(), kind);
    annotations.insert(annotation::JOB_OWNER_NAME.to_owned(), owner.metadata.name.clone());
}

/// Lets the Workload follow what the StatefulSet says now. Without replicas it is kept, and gives its quota back.
fn follow(owner: &StatefulSet, workload: &Arc<Workload>, around: &Surroundings<'_>, outcome: &mut Outcome) {
    let mut followed = (**workload).clone();
    let is_up = owner.replicas() > 0;
    let reference = owner_reference(owner);
    let is_owned = workload.metadata.owner_references.iter().any(|known| {
        (&known.api_version, &known.kind, &known.name) == (&reference.api_version, &reference.kind, &reference.name)
            && known.uid == reference.uid
    });
    if is_up && !is_owned {
        own(&mut followed, owner);
    }
    if is_up {
        queue_name(&owner.metadata).clone_into(&mut followed.spec.queue_name);
    }
    let is_gate_new =
        around.settings.gates.enabled(Gate::AdmissionGatedBy) && follow_gate(&owner.metadata, &mut followed.metadata);
    if followed != **workload {
        outcome.act(Action::UpdateWorkload { old: Arc::clone(workload), new: Box::new(followed) });
    }
    if is_gate_new {
        outcome.act(gate_event(&owner.metadata));
    }
    if let Some(report) = hold(owner, workload) {
        outcome.act(Action::Report(Arc::clone(workload), report));
    }
}

/// Whether the Workload has to give its quota back, or may ask for it again.
pub fn hold(owner: &StatefulSet, workload: &Workload) -> Option<Report> {
    if owner.replicas() > 0 {
        return is_on_hold(workload).then_some(Report::OnHold(None));
    }
    let has_quota = is_true(workload, condition::QUOTA_RESERVED);
    let is_active = workload.spec.active.unwrap_or(true) && !is_true(workload, condition::FINISHED);
    (has_quota && is_active).then_some(Report::OnHold(Some(Hold::ScaledToZero)))
}
