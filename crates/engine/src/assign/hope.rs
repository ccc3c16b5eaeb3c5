//! Whether it is worth looking at a class of workloads again, without looking at any of them.

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;

use super::flavor::Prospect;
use crate::engine::Engine;
use crate::id::{ClassId, FlavorId, NodeId, QueueId, ResourceId};
use crate::queue::Rules;
use crate::workload::PodSet;

impl Engine {
    /// Whether a look at a member of the class could come to anything but "nothing fits". Who might start, preempt, or
    /// keep quota for itself while it waits is worth a look; for all others it would only say the same once more.
    ///
    /// Each pod set is asked about alone and with as few pods as it can start with: what is not possible then is not
    /// possible together with the others or with more pods.
    pub(crate) fn is_worth_a_look(&self, queue: QueueId, class: ClassId) -> bool {
        let likeness = self.classes.likeness(class);
        // A variant may move its job, and a slice needs only what it has beyond the one it replaces.
        if likeness.allowed_flavors.is_some() || self.classes.has_slices(class) {
            return true;
        }
        let can_shrink = self.settings.gates.enabled(Gate::PartialAdmission);
        likeness.pod_sets.iter().zip(&likeness.counts).all(|(pod_set, count)| {
            let least = pod_set.spec.min_count.filter(|_| can_shrink).map_or(*count, |min| min.min(*count));
            self.has_prospects(queue, pod_set, least)
        })
    }

    fn has_prospects(&self, queue: QueueId, pod_set: &PodSet, count: i32) -> bool {
        let queue = &self.queues[queue];
        let rules = &queue.rules;
        let pods = self.names.pods();
        let mut wanted = pod_set.total(count).requests;
        if rules.group_of(pods).is_some() {
            wanted.retain(|(resource, _)| *resource != pods);
            wanted.push((pods, i64::from(count)));
        }
        wanted.iter().all(|(resource, amount)| match rules.group_of(*resource) {
            None => *amount == 0 || self.ignores_undeclared(),
            Some(group) => group.flavors.iter().any(|flavor| {
                let in_group = wanted.iter().filter(|(resource, _)| group.resources.contains(resource));
                let is_suitable =
                    self.flavors.get(flavor).is_some_and(|nodes| nodes.mismatch(&pod_set.spec.placement).is_none());
                is_suitable && self.may_have(rules, queue.node, *flavor, in_group)
            }),
        })
    }

    fn may_have<'a>(
        &self,
        rules: &Rules,
        node: NodeId,
        flavor: FlavorId,
        mut wanted: impl Iterator<Item = &'a (ResourceId, i64)>,
    ) -> bool {
        wanted.all(|(resource, amount)| match self.names.known_pool(flavor, *resource) {
            None => *amount == 0,
            Some(pool) => match self.prospect(rules, node, pool, Amount::new(*amount)) {
                Prospect::TooLarge(_) | Prospect::Full { .. } => false,
                Prospect::Contested { .. } | Prospect::Fits { .. } => true,
            },
        })
    }
}
