//! Concurrent admission: a job waits for several flavors at once.
//!
//! The job's own workload is the *parent* and never queued. One *variant* per flavor waits on its behalf; the flavors
//! of the queue's first resource group are in order of preference. When a variant could start while a less favourable
//! sibling runs, the job moves: the sibling is evicted, and the variant starts when it is gone.

use std::cmp::Ordering;

use crate::change::VariantSpec;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::{FlavorId, Name, QueueId, WorkloadId};
use crate::status::ConditionKind;

impl Engine {
    /// Whether variants do the waiting, so that the workload itself is not queued there and holds no quota.
    pub(crate) fn is_stand_in(&self, id: WorkloadId, queue: QueueId) -> bool {
        self.queues[queue].spec.concurrent.is_some() && !self.workloads[id].is_variant()
    }

    /// Whether variants are to wait on its behalf and nobody has said so yet.
    pub(crate) fn is_unmarked_parent(&self, id: WorkloadId) -> bool {
        let workload = &self.workloads[id];
        !workload.is_parent() && self.queue_of(workload.local_queue).is_some_and(|queue| self.is_stand_in(id, queue))
    }

    /// Whether the workload may get the flavor.
    pub(crate) fn allows_flavor(&self, id: WorkloadId, flavor: FlavorId) -> bool {
        let allowed = self.workloads[id].variant.as_ref().and_then(|variant| variant.allowed_flavors.as_ref());
        allowed.is_none_or(|allowed| allowed.contains(self.names.flavor(flavor)))
    }

    /// A sibling that is admitted in the same queue, with a flavor whose place in the order of preference compares so
    /// with the workload's own; the first by name if there are several.
    pub(crate) fn admitted_sibling(&self, id: WorkloadId, queue: QueueId, wanted: Ordering) -> Option<WorkloadId> {
        let variant = self.workloads[id].variant.as_ref()?;
        let own = self.preference(variant, queue)?;
        let family = self.families.get(variant.variant_of.as_ref().filter(|uid| !uid.is_empty())?)?;
        family.values().copied().find(|sibling| {
            let other = &self.workloads[*sibling];
            let preference = other.variant.as_ref().and_then(|variant| self.preference(variant, queue));
            *sibling != id
                && other.status.is_true(ConditionKind::Admitted)
                && other.claim.as_ref().is_some_and(|claim| claim.queue == queue)
                && preference.is_some_and(|preference| preference.cmp(&own) == wanted)
        })
    }

    /// Whether the queue lets an admitted job move to the flavor of this variant.
    pub(crate) fn may_migrate(&self, id: WorkloadId, queue: QueueId) -> bool {
        let last = self.queues[queue].spec.concurrent.as_ref().and_then(|rule| rule.last_acceptable_flavor.as_ref());
        let Some(last) = last else { return true };
        let own = self.workloads[id].variant.as_ref().and_then(|variant| self.preference(variant, queue));
        match (own, self.position(last, queue)) {
            (Some(own), Some(last)) => own <= last,
            _ => false,
        }
    }

    /// The place of a variant's flavor in the order of preference; the first is the best.
    fn preference(&self, variant: &VariantSpec, queue: QueueId) -> Option<usize> {
        self.position(variant.allowed_flavors.as_ref()?.first()?, queue)
    }

    fn position(&self, flavor: &Name, queue: QueueId) -> Option<usize> {
        let group = self.queues[queue].rules.groups.first()?;
        group.flavors.iter().position(|known| self.names.flavor(*known) == flavor)
    }

    /// Keeps the list of siblings in step with what the workload says about its parent.
    pub(crate) fn change_family(&mut self, id: WorkloadId, old: Option<&VariantSpec>) {
        let workload = &self.workloads[id];
        let uid_of = |variant: Option<&VariantSpec>| variant.and_then(|variant| variant.variant_of.clone());
        let (old, new) = (uid_of(old), uid_of(workload.variant.as_deref()));
        if old == new {
            return;
        }
        let key = workload.key.clone();
        if let Some(uid) = old {
            self.remove_from_family(&uid, &key);
        }
        if let Some(uid) = new {
            self.families.entry(uid).or_default().insert(key, id);
        }
    }

    pub(crate) fn leave_family(&mut self, id: WorkloadId) {
        let workload = &self.workloads[id];
        if let Some(uid) = workload.variant.as_ref().and_then(|variant| variant.variant_of.clone()) {
            let key = workload.key.clone();
            self.remove_from_family(&uid, &key);
        }
    }

    fn remove_from_family(&mut self, uid: &Name, key: &Key) {
        if let Some(family) = self.families.get_mut(uid) {
            family.remove(key);
            if family.is_empty() {
                self.families.remove(uid);
            }
        }
    }
}
