//! When parked workloads are looked at again.
//!
//! A trigger names the tree of queues that it may help. Scopes collect until they are served; serving wakes the
//! sleepers of the tree whose namespace is accepted and whose backoff is over. With policy `Targeted` those of a class
//! that still does not fit sleep on: a look at them would change nothing.

use kueue_core::time::Time;
use rustc_hash::FxHashSet;

use crate::engine::{Engine, Scope};
use crate::id::{ClassId, NodeId, QueueId, WorkloadId};
use crate::settings::WakePolicy;
use crate::workload::{Place, Ticket};

impl Engine {
    /// The scopes that wait to be served.
    pub fn scopes(&self) -> impl Iterator<Item = &Scope> {
        self.scopes.iter()
    }

    /// Serves all scopes that wait.
    pub fn flush(&mut self, now: Time) {
        for scope in std::mem::take(&mut self.scopes) {
            let node = match &scope {
                Scope::Cohort(name) => self.quotas.cohort(name),
                Scope::Queue(name) => self.queue_ids.get(name).map(|queue| self.queues[*queue].node),
            };
            let Some(node) = node.filter(|node| !self.quotas.node(*node).is_in_cycle) else { continue };
            let mut nodes = Vec::new();
            match scope {
                Scope::Cohort(_) => self.quotas.queues_below(node, &mut nodes),
                Scope::Queue(_) => nodes.push(node),
            }
            for node in nodes {
                let queue = self.quotas.node(node).queue.expect("only ClusterQueues are listed");
                self.wake_queue(queue, now);
            }
        }
    }

    /// Serves the scopes if that is due before a cycle.
    pub(crate) fn flush_before_cycle(&mut self, now: Time) {
        if self.settings.wake == WakePolicy::Targeted {
            self.flush(now);
        }
    }

    pub(crate) fn notify(&mut self, queues: &[QueueId]) {
        for queue in queues {
            self.notify_tree(self.queues[*queue].node);
        }
    }

    pub(crate) fn notify_tree(&mut self, node: NodeId) {
        if self.quotas.node(node).is_in_cycle {
            return;
        }
        let root = self.quotas.node(self.quotas.root(node));
        self.scopes.insert(match root.queue {
            Some(_) => Scope::Queue(root.name.clone()),
            None => Scope::Cohort(root.name.clone()),
        });
    }

    /// Quota of the workload came free: its queue's tree may use it.
    pub(crate) fn notify_associated(&mut self, id: WorkloadId) {
        let workload = &self.workloads[id];
        let lq = match (workload.assigned, self.settings.wake) {
            (Some(lq), _) => lq,
            // Kueue wakes nobody for one that it never saw waiting; after a restart that would leave others asleep.
            (None, WakePolicy::Targeted) => workload.local_queue,
            (None, WakePolicy::Batched) => return,
        };
        if let Some(queue) = self.queue_of(lq) {
            self.notify(&[queue]);
        }
    }

    fn wake_queue(&mut self, id: QueueId, now: Time) {
        let pending = &mut self.queues[id].pending;
        if pending.is_all_awake() {
            pending.wake_cycle = pending.pop_cycle;
            return;
        }
        let rested: Vec<Ticket> = self.queues[id]
            .pending
            .held()
            .filter(|ticket| {
                let workload = &self.workloads[ticket.id];
                workload.is_backoff_over(now) && self.serves(id, workload.namespace)
            })
            .cloned()
            .collect();
        let hopeless = self.hopeless_classes(id);
        let Self { queues, namespaces, classes, names, .. } = self;
        let queue = &mut queues[id];
        queue.pending.wake_cycle = queue.pending.pop_cycle;
        queue.pending.no_fit.retain(|class, _| {
            let stays = hopeless.contains(class);
            if !stays {
                classes.leave(*class);
            }
            stays
        });
        let rules = queue.rules.clone();
        let may_wake = |class| !hopeless.contains(&class);
        queue.pending.wake(may_wake, |local_queue| {
            match (namespaces.get(&names.namespace_of(local_queue)), &rules.namespaces) {
                (Some(labels), Some(selector)) => selector.matches(labels),
                _ => false,
            }
        });
        for ticket in rested {
            if let Place::Held(seat) = std::mem::take(&mut self.workloads[ticket.id].place) {
                let pending = &mut self.queues[id].pending;
                pending.remove_held(&seat);
                pending.push(&seat);
                self.workloads[ticket.id].place = Place::Queued(seat);
            }
        }
        self.refresh_ready(id);
    }

    /// The classes that do not fit, and would not if they were looked at again: they go on sleeping.
    fn hopeless_classes(&self, id: QueueId) -> FxHashSet<ClassId> {
        if self.settings.wake != WakePolicy::Targeted {
            return FxHashSet::default();
        }
        let asleep = self.queues[id].pending.no_fit.keys().copied();
        asleep.filter(|class| !self.is_worth_a_look(id, *class)).collect()
    }

    pub(crate) fn refresh_ready(&mut self, id: QueueId) {
        if self.queues[id].pending.has_awake() {
            self.ready.insert(id);
        } else {
            self.ready.remove(&id);
        }
    }
}
