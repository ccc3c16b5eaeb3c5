//! The Workload of a group: how it is made, and who owns it.

use kueue_api::kueue::names::{annotation, label};
use kueue_api::kueue::v1beta2::{PodSet, Workload};
use kueue_api::meta::{Object, OwnerReference};
use kueue_api::priority::Priority;
use kueue_core::gates::{Gate, Gates};

use super::Look;
use crate::kinds::pod::Pod;
use crate::kinds::pod::group::{BadGroup, check_roles};
use crate::kinds::pod::members::{newest, partition};
use crate::step;
use crate::workload::{self, Copied, owner_reference};

impl Look<'_> {
    /// A Workload for the group as it is; pods that are lost or too many are let go on the way.
    pub(super) fn construct(&mut self) -> Option<Workload> {
        let (mut active, inactive) = partition(&self.members);
        self.let_go(inactive, false);
        let total = match self.group.check(&self.members, active.len()) {
            Ok(total) => total,
            Err(error) => {
                self.refuse(&error);
                return None;
            }
        };
        let excess = newest(&mut active, total);
        if !excess.is_empty() {
            self.let_go(excess, true);
            self.members = active;
        }
        match self.new_workload() {
            Ok(workload) => Some(workload),
            Err(NoWorkload::Group(error)) => {
                self.refuse(&error);
                None
            }
            Err(NoWorkload::Priority(busy)) => {
                busy.actions.into_iter().for_each(|action| self.act(action));
                self.outcome.failure = busy.failure;
                None
            }
        }
    }

    fn new_workload(&self) -> Result<Workload, NoWorkload> {
        let settings = self.around.settings;
        let mut pod_sets = self.group.pod_sets(&self.members, settings.gates)?;
        workload::sanitize(&mut pod_sets);
        check_roles(&pod_sets)?;
        let first = self.group.first();
        let priority = step::priority(&**first, &pod_sets, self.around)
            .map_err(|outcome| NoWorkload::Priority(Box::new(outcome)))?;
        let mut made = group_workload(&**first, self.workload_name(), pod_sets, priority, settings.gates);
        for pod in &self.members {
            set_owner(&mut made.metadata.owner_references, owner_reference(&**pod));
        }
        self.copy_common(&settings.copied, &mut made)?;
        Ok(made)
    }

    /// Labels and annotations that go to the Workload; pods that have them must agree.
    fn copy_common(&self, copied: &Copied, made: &mut Workload) -> Result<(), BadGroup> {
        for pod in &self.members {
            for key in &copied.labels {
                let Some(value) = pod.metadata.labels.get(key) else { continue };
                if made.metadata.labels.insert(key.clone(), value.clone()).is_some_and(|known| known != *value) {
                    return Err(BadGroup::Labels);
                }
            }
            if !self.around.settings.gates.enabled(Gate::CustomMetricLabels) {
                continue;
            }
            for key in &copied.annotations {
                let Some(value) = pod.metadata.annotations.get(key) else { continue };
                if made.metadata.annotations.insert(key.clone(), value.clone()).is_some_and(|known| known != *value) {
                    return Err(BadGroup::Annotations);
                }
            }
        }
        Ok(())
    }
}

/// Why there can be no Workload now.
enum NoWorkload {
    Group(BadGroup),
    Priority(Box<step::Outcome<Pod>>),
}

impl From<BadGroup> for NoWorkload {
    fn from(error: BadGroup) -> Self {
        Self::Group(error)
    }
}

/// A new Workload for pods of a group, on behalf of the object that speaks for them.
pub fn group_workload<T: Object>(
    job: &T,
    name: &str,
    pod_sets: Vec<PodSet>,
    priority: Priority,
    gates: Gates,
) -> Workload {
    let mut made = workload::plain(job.metadata(), name.to_owned(), pod_sets, priority, &Copied::default(), gates);
    made.metadata.annotations.insert(annotation::IS_GROUP_WORKLOAD.to_owned(), label::TRUE.to_owned());
    made
}

/// Adds an owner; one of the same kind and name gives way, for it is no more.
pub fn set_owner(owners: &mut Vec<OwnerReference>, owner: OwnerReference) {
    let is_same = |known: &&mut OwnerReference| {
        (&known.api_version, &known.kind, &known.name) == (&owner.api_version, &owner.kind, &owner.name)
    };
    match owners.iter_mut().find(is_same) {
        Some(known) => known.uid.clone_from(&owner.uid),
        None => owners.push(owner),
    }
}
