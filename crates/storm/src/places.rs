//! Random topologies, nodes and pods on them, and that no node is promised twice.

use std::collections::BTreeMap;

use kueue_engine::{
    Change, Decision, Effect, Key, Name, NodeSpec, PlainPodSpec, SliceSpec, Taint, TaintEffect, TopologyRequest,
    TopologySpec,
};

use crate::objects::{FLAVORS, RESOURCES};
use crate::random::Random;
use crate::world::World;

pub(crate) const RACK: &str = "rack";
pub(crate) const HOSTNAME: &str = "kubernetes.io/hostname";
pub(crate) const TOPOLOGIES: &[&str] = &["t0", "t1"];
pub(crate) const NODES: &[&str] = &["h0", "h1", "h2", "h3", "h4", "h5"];
const RACKS: &[&str] = &["r0", "r1"];
pub(crate) const PODS: &[&str] = &["d0", "d1", "d2", "d3"];

/// What there is of each resource in a lowest domain of a flavor beyond what is used; negative where it is too much.
pub(crate) type Left = BTreeMap<(Name, Vec<Name>, Name), i64>;

impl World {
    pub(crate) fn change_topology(&mut self, random: &mut Random) {
        let name: Name = (*random.pick(TOPOLOGIES)).into();
        if random.once_in(4) {
            return self.apply(Change::TopologyGone(name));
        }
        let levels: &[&str] = match random.below(4) {
            0 => &[RACK],
            1 => &[HOSTNAME],
            2 if self.weather.has_nonsense => &[],
            _ => &[RACK, HOSTNAME],
        };
        let levels = levels.iter().map(|level| (*level).into()).collect();
        self.apply(Change::Topology(TopologySpec { name, levels }));
    }

    pub(crate) fn change_node(&mut self, random: &mut Random) {
        let name: Name = (*random.pick(NODES)).into();
        if random.once_in(5) {
            return self.apply(Change::NodeGone(name));
        }
        let mut labels: BTreeMap<Name, Name> = BTreeMap::new();
        // A node may lose the label of a level, or stand in another rack than before.
        for (key, values) in [(RACK, RACKS), ("zone", &["a", "b"])] {
            if !random.once_in(8) {
                labels.insert(key.into(), (*random.pick(values)).into());
            }
        }
        let host = if self.weather.has_nonsense && random.once_in(8) { *random.pick(NODES) } else { &name };
        labels.insert(HOSTNAME.into(), host.into());
        let taint = Taint { key: "spot".into(), value: "".into(), effect: TaintEffect::NoSchedule };
        let allocatable = RESOURCES.iter().map(|resource| ((*resource).into(), self.amount(random))).collect();
        self.apply(Change::Node(Box::new(NodeSpec {
            name,
            labels,
            taints: if random.once_in(5) { vec![taint] } else { Vec::new() },
            allocatable,
            ready: (!random.once_in(10)).then(|| !random.once_in(6)),
            ready_since: self.now,
            is_cordoned: random.once_in(10),
        })));
    }

    pub(crate) fn change_plain_pod(&mut self, random: &mut Random) {
        let (namespace, name): (Name, Name) = ("n0".into(), (*random.pick(PODS)).into());
        if random.once_in(3) {
            return self.apply(Change::PlainPodGone { namespace, name });
        }
        let requests = vec![("cpu".into(), self.amount(random) / 4)];
        let node = (*random.pick(NODES)).into();
        self.apply(Change::PlainPod(PlainPodSpec { namespace, name, node, requests }));
    }

    /// Pods of a workload run on some nodes, whether or not it was sent there.
    pub(crate) fn move_pods(&mut self, random: &mut Random) {
        let Some(Key { namespace, name }) = self.any_workload(random) else { return };
        let nodes = (0..random.below(3)).map(|_| (*random.pick(NODES)).into()).collect();
        self.apply(Change::PodsOnNodes { namespace, name, nodes });
    }

    /// What a pod set says about its place.
    pub(crate) fn topology_request(&self, random: &mut Random) -> Option<TopologyRequest> {
        let level = |random: &mut Random| Some((*random.pick(&[RACK, HOSTNAME])).into());
        let mut request = TopologyRequest::default();
        match random.below(8) {
            0 => request.required = level(random),
            1 => request.preferred = level(random),
            2 => request.is_unconstrained = true,
            3 if self.weather.has_nonsense => request.required = Some("nowhere".into()),
            _ => return None,
        }
        if random.once_in(4) {
            let size = i32::try_from(random.below(3)).expect("a small number") + i32::from(!self.weather.has_nonsense);
            request.slices.push(SliceSpec { level: HOSTNAME.into(), size });
        }
        Some(request)
    }

    /// What is left in every lowest domain.
    pub(crate) fn left_on_nodes(&self) -> Left {
        let mut left = Left::new();
        for flavor in FLAVORS {
            for domain in self.engine.domains(flavor) {
                for (resource, amount) in domain.free.iter().cloned().chain(negative(&domain.used)) {
                    let key = ((*flavor).into(), domain.values.clone(), resource);
                    let sum: &mut i64 = left.entry(key).or_default();
                    *sum = sum.saturating_add(amount);
                }
            }
        }
        left
    }

    /// Nobody was sent where there is no room: where pods were sent in this cycle, no more is used than there is, unless
    /// it was so before and got no worse.
    pub(crate) fn check_places(&self, before: &Left, effects: &[Effect]) {
        let replaced = |new: &Key| {
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Status { decision: Decision::Replaced { by }, .. } if by == new))
        };
        let after = self.left_on_nodes();
        for effect in effects {
            let Effect::Status { workload, status, decision: Decision::Reserved | Decision::Placed } = effect else {
                continue;
            };
            // The larger slice holds what it adds, and the smaller one goes as soon as that is written.
            if replaced(workload) {
                continue;
            }
            for pod_set in status.admission.iter().flat_map(|admission| &admission.pod_sets) {
                for share in pod_set.topology.iter().flat_map(|place| &place.domains) {
                    for (_, flavor) in &pod_set.flavors {
                        self.check_domain(workload, flavor, &share.values, before, &after);
                    }
                }
            }
        }
    }

    fn check_domain(&self, workload: &Key, flavor: &Name, values: &[Name], before: &Left, after: &Left) {
        let is_here = |path: &[Name]| path.ends_with(values);
        for ((known, path, resource), left) in
            after.iter().filter(|((known, path, _), _)| known == flavor && is_here(path))
        {
            let was = before.get(&(known.clone(), path.clone(), resource.clone())).copied().unwrap_or_default();
            assert!(*left >= 0 || *left >= was, "{workload} was sent to {path:?}, where {resource} is short by {left}");
        }
    }
}

fn negative(amounts: &[(Name, i64)]) -> impl Iterator<Item = (Name, i64)> {
    amounts.iter().map(|(name, amount)| (name.clone(), amount.saturating_neg()))
}
