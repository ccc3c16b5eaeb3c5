//! Whether ClusterQueues may admit and why not, and which of them refer to something.

use crate::engine::Engine;
use crate::id::{Name, QueueId};
use crate::queue::{Around, Obstacle};
use crate::text::readiness;

/// What a ClusterQueue's Active condition says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readiness {
    /// Whether it may admit.
    pub is_active: bool,
    /// Why, in one word.
    pub reason: &'static str,
    /// Why, in a sentence.
    pub message: Name,
}

impl Engine {
    /// Whether a ClusterQueue may admit, and why not.
    pub fn readiness(&self, queue: &str) -> Readiness {
        let fixed = |is_active, (reason, message): (&'static str, &str)| Readiness {
            is_active,
            reason,
            message: message.into(),
        };
        let Some(id) = self.queue_ids.get(queue) else { return fixed(false, readiness::NOT_FOUND) };
        if self.queues[*id].spec.is_terminating {
            return fixed(false, readiness::TERMINATING);
        }
        let obstacles = self.obstacles(*id);
        if obstacles.is_empty() {
            return fixed(true, readiness::READY);
        }
        let (reason, message) = readiness::not_ready(&obstacles);
        Readiness { is_active: false, reason, message }
    }

    /// Whether a ClusterQueue may admit, apart from a cycle of cohorts above it.
    pub(crate) fn is_ready(&self, id: QueueId) -> bool {
        !self.queues[id].spec.is_terminating && self.obstacles(id).is_empty()
    }

    /// What keeps a ClusterQueue from admitting, apart from a cycle of cohorts above it.
    fn obstacles(&self, id: QueueId) -> Vec<Obstacle> {
        self.queues[id].obstacles(Around {
            gates: self.settings.gates,
            names: &self.names,
            flavors: &self.flavors,
            topologies: &self.topologies,
            checks: &self.checks,
        })
    }

    /// The ClusterQueues that offer a flavor, by name.
    pub fn queues_with_flavor(&self, flavor: &str) -> Vec<Name> {
        let Some(flavor) = self.names.known_flavor(&flavor.into()) else { return Vec::new() };
        self.queues_where(|id| self.queues[id].rules.flavors().any(|offered| offered == flavor))
    }

    /// The ClusterQueues that ask for an admission check, by name.
    pub fn queues_with_check(&self, check: &str) -> Vec<Name> {
        self.queues_where(|id| self.queues[id].rules.checks.iter().any(|(name, _)| **name == *check))
    }

    /// The ClusterQueues that have quota for one of the resources, by name.
    pub fn queues_with_resource(&self, resources: &[Name]) -> Vec<Name> {
        let is_asked = |resource| resources.contains(self.names.resource(resource));
        self.queues_where(|id| {
            let mut groups = self.queues[id].rules.groups.iter();
            groups.any(|group| group.resources.iter().any(|resource| is_asked(*resource)))
        })
    }

    fn queues_where(&self, passes: impl Fn(QueueId) -> bool) -> Vec<Name> {
        let passing = self.queue_ids.iter().filter(|(_, id)| passes(**id));
        let mut names: Vec<Name> = passing.map(|(name, _)| name.clone()).collect();
        names.sort();
        names
    }
}
