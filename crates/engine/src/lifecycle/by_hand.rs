//! One step by hand: what one look at a workload comes to.
//!
//! Kueue's own tests look once and compare; a settled workload has often gone further. Only their replays need this,
//! so only they compile it (feature `by-hand`).

use kueue_core::resource_list::ResourceList;
use kueue_core::time::Time;

use super::Step;
use crate::effect::{Effect, Key};
use crate::engine::Engine;
use crate::queue::LocalQueue;

impl Engine {
    /// Lets a workload take the one step that is due; returns what it came to, and when it wants to be looked at again.
    pub fn step_by_hand(&mut self, workload: &Key, now: Time) -> (Vec<Effect>, Option<Time>) {
        let step = self.workload_ids.get(workload).copied().map(|id| self.step(id, now));
        let again = match step {
            Some(Step::Rest(at)) => at,
            _ => None,
        };
        (self.take_effects(), again)
    }

    /// Charges a workload to a LocalQueue, as a cycle does when it gives it quota.
    pub fn charge_by_hand(&mut self, local_queue: &Key, workload: Key, penalty: ResourceList) {
        let id = self.names.known_local_queue(&local_queue.namespace, &local_queue.name);
        let lq = id.and_then(|id| self.local_queues.get_mut(&id));
        if let Some(ledger) = lq.and_then(LocalQueue::ledger_mut) {
            ledger.charge(workload, penalty);
        }
    }
}
