//! What there is in the lowest domains of a topology, and what workloads use of it.

use crate::engine::Engine;
use crate::id::Name;

/// A lowest domain of a flavor: a node, or nodes that are not told apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DomainView {
    /// Its values at each level, from the top.
    pub values: Vec<Name>,
    /// What its nodes have, less what pods of nobody use; by resource name.
    pub free: Vec<(Name, i64)>,
    /// What workloads use of that; by resource name.
    pub used: Vec<(Name, i64)>,
}

impl Engine {
    /// The lowest domains of a flavor, in the order of their values. None where it has no topology.
    pub fn domains(&self, flavor: &str) -> Vec<DomainView> {
        let Some(flavor) = self.names.known_flavor(&flavor.into()) else { return Vec::new() };
        let named = |amounts: Vec<_>| {
            let mut named: Vec<(Name, i64)> =
                amounts.into_iter().map(|(resource, amount)| (self.names.resource(resource).clone(), amount)).collect();
            named.sort();
            named
        };
        let domains = self.quotas.sites.lowest_domains(flavor);
        domains.map(|(values, free, used)| DomainView { values, free: named(free), used: named(used) }).collect()
    }
}
