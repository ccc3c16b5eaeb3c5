//! Whether a ClusterQueue may admit, and everything that is in its way.

use std::collections::{BTreeMap, BTreeSet};

use kueue_core::gates::{Gate, Gates};
use rustc_hash::FxHashMap;

use super::Queue;
use crate::change::{CheckController, CheckSpec, StopPolicy};
use crate::id::{FlavorId, Name};
use crate::names::Names;
use crate::placement::FlavorNodes;

/// Something that keeps a ClusterQueue from admitting, in the order in which users are told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Obstacle {
    Stopped,
    MissingFlavors(Vec<Name>),
    MissingChecks(Vec<Name>),
    InactiveChecks(Vec<Name>),
    SeveralMultiKueueChecks(Vec<Name>),
    MultiKueueCheckPerFlavor(Vec<Name>),
    MultiKueueWithProvisioning { multi_kueue: Vec<Name>, provisioning: Vec<Name> },
    MissingTopology { topology: Name, flavor: Name },
}

/// What exists around the queues.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) gates: Gates,
    pub(crate) names: &'a Names,
    pub(crate) flavors: &'a FxHashMap<FlavorId, FlavorNodes>,
    pub(crate) topologies: &'a BTreeMap<Name, Vec<Name>>,
    pub(crate) checks: &'a BTreeMap<Name, CheckSpec>,
}

impl Queue {
    /// Everything that is in the way; nothing when it may admit.
    pub(crate) fn obstacles(&self, around: Around<'_>) -> Vec<Obstacle> {
        let mut found = Vec::new();
        if self.spec.stop != StopPolicy::None {
            found.push(Obstacle::Stopped);
        }
        let missing = self.rules.flavors().filter(|flavor| !around.flavors.contains_key(flavor));
        let missing: Vec<Name> = missing.map(|flavor| around.names.flavor(flavor).clone()).collect();
        if !missing.is_empty() {
            found.push(Obstacle::MissingFlavors(missing));
        }
        let has_multi_kueue = self.check_obstacles(around, &mut found);
        // Where jobs run in other clusters, those place the pods.
        if around.gates.enabled(Gate::TopologyAwareScheduling) && !(has_multi_kueue && found.is_empty()) {
            self.topology_obstacles(around, &mut found);
        }
        found
    }

    /// Says whether a check leads to other clusters.
    fn check_obstacles(&self, around: Around<'_>, found: &mut Vec<Obstacle>) -> bool {
        let names = |passes: &dyn Fn(Option<&CheckSpec>, &[FlavorId]) -> bool| -> Vec<Name> {
            let checks = self.rules.checks.iter();
            let passing = checks.filter(|(name, flavors)| passes(around.checks.get(name), flavors));
            passing.map(|(name, _)| name.clone()).collect::<BTreeSet<Name>>().into_iter().collect()
        };
        let is_by = |check: Option<&CheckSpec>, controller| check.is_some_and(|check| check.controller == controller);
        let missing = names(&|check, _| check.is_none());
        let inactive = names(&|check, _| check.is_some_and(|check| !check.is_active));
        let multi_kueue = names(&|check, _| is_by(check, CheckController::MultiKueue));
        let per_flavor =
            names(&|check, flavors| is_by(check, CheckController::MultiKueue) && !self.rules.are_all_flavors(flavors));
        let provisioning = names(&|check, _| is_by(check, CheckController::Provisioning));
        if !missing.is_empty() {
            found.push(Obstacle::MissingChecks(missing));
        }
        if !inactive.is_empty() {
            found.push(Obstacle::InactiveChecks(inactive));
        }
        if multi_kueue.len() > 1 {
            found.push(Obstacle::SeveralMultiKueueChecks(multi_kueue.clone()));
        }
        if !per_flavor.is_empty() {
            found.push(Obstacle::MultiKueueCheckPerFlavor(per_flavor));
        }
        let has_multi_kueue = !multi_kueue.is_empty();
        if has_multi_kueue && !provisioning.is_empty() {
            found.push(Obstacle::MultiKueueWithProvisioning { multi_kueue, provisioning });
        }
        has_multi_kueue
    }

    fn topology_obstacles(&self, around: Around<'_>, found: &mut Vec<Obstacle>) {
        for flavor in self.rules.flavors() {
            if let Some(topology) = around.flavors.get(&flavor).and_then(|nodes| nodes.topology.as_ref())
                && !around.topologies.contains_key(topology)
            {
                let obstacle = Obstacle::MissingTopology {
                    topology: topology.clone(),
                    flavor: around.names.flavor(flavor).clone(),
                };
                if !found.contains(&obstacle) {
                    found.push(obstacle);
                }
            }
        }
    }
}
