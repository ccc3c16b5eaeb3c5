//! The lines about nodes, and what jobs say about their places.
//!
//! ```text
//! topology T LEVEL... | place F in T (in `look`)
//! node NAME cpu=N [LABEL=VALUE]... [unready] [cordoned] [taint=KEY]   (every node has its hostname, and 100 pods)
//! lose node NAME | pod NAME on NODE cpu=N | lose pod NAME | failed JOB NODE
//! provisions CHECK      (places are found after it)
//! domains F             (what is free and used in each lowest domain)
//! job ... [required=LEVEL] [preferred=LEVEL] [anywhere] [slices=LEVEL:SIZE]
//! ```

use super::Stage;
use crate::topology::HOSTNAME;
use crate::*;
use std::collections::BTreeMap;

/// The short name for the level of nodes.
pub(super) fn level(name: &str) -> Name {
    if name == "host" { HOSTNAME.into() } else { name.into() }
}

/// What the options of a job say about the places of its pods.
pub(super) fn dress(spec: &mut WorkloadSpec, options: &BTreeMap<&str, &str>) {
    let named = |key: &str| options.get(key).map(|name| level(name));
    let slices = options.get("slices").map(|slice| {
        let (name, size) = slice.split_once(':').unwrap();
        SliceSpec { level: level(name), size: size.parse().unwrap() }
    });
    let request = TopologyRequest {
        required: named("required"),
        preferred: named("preferred"),
        is_unconstrained: options.contains_key("anywhere"),
        slices: slices.into_iter().collect(),
    };
    if request != TopologyRequest::default() {
        spec.pod_sets.iter_mut().for_each(|pod_set| pod_set.topology = Some(request.clone()));
    }
}

/// Where the pods of a decision go, in a few words.
pub(super) fn places(admission: &Admission) -> String {
    let mut told = String::new();
    for share in admission.pod_sets.iter().filter_map(|set| set.topology.as_ref()).flat_map(|place| &place.domains) {
        told += &format!(" {}:{}", share.values.join("/"), share.count);
    }
    if told.is_empty() { told } else { format!(" at{told}") }
}

impl Stage {
    /// Plays a line; says whether it was one of these.
    pub(super) fn play_nodes(&mut self, verb: &str, words: &[&str]) -> bool {
        match (verb, words) {
            ("topology", [name, levels @ ..]) => {
                let levels = levels.iter().map(|name| level(name)).collect();
                self.apply(Change::Topology(TopologySpec { name: (*name).into(), levels }));
            }
            ("node", [name, options @ ..]) => self.node(name, options),
            ("lose", ["node", name]) => self.apply(Change::NodeGone((*name).into())),
            ("pod", [name, "on", node, cpu]) => {
                let cpu: i64 = cpu.trim_start_matches("cpu=").parse().unwrap();
                self.apply(Change::PlainPod(PlainPodSpec {
                    namespace: "ns".into(),
                    name: (*name).into(),
                    node: (*node).into(),
                    requests: vec![("cpu".into(), cpu.saturating_mul(1000))],
                }));
            }
            ("lose", ["pod", name]) => {
                self.apply(Change::PlainPodGone { namespace: "ns".into(), name: (*name).into() });
            }
            ("provisions", [check]) => {
                let controller = CheckController::Provisioning;
                self.apply(Change::Check(CheckSpec { name: (*check).into(), controller, is_active: true }));
            }
            ("domains", [flavor]) => {
                for domain in self.engine.domains(flavor) {
                    let cpu = |amounts: &[(Name, i64)]| {
                        amounts.iter().find(|(name, _)| **name == *"cpu").map_or(0, |(_, amount)| *amount)
                    };
                    let (path, free, used) = (domain.values.join("/"), cpu(&domain.free), cpu(&domain.used));
                    self.told += &format!("  {path}: {used} of {free}\n");
                }
            }
            _ => return false,
        }
        true
    }

    fn node(&mut self, name: &str, options: &[&str]) {
        let mut spec = NodeSpec {
            name: name.into(),
            labels: BTreeMap::from([(HOSTNAME.into(), name.into())]),
            allocatable: vec![("pods".into(), 100)],
            ready: Some(true),
            ready_since: self.now,
            ..NodeSpec::default()
        };
        for option in options {
            match option.split_once('=').unwrap_or((option, "")) {
                ("cpu", number) => {
                    spec.allocatable.push(("cpu".into(), number.parse::<i64>().unwrap().saturating_mul(1000)));
                }
                ("unready", _) => spec.ready = Some(false),
                ("cordoned", _) => spec.is_cordoned = true,
                ("taint", key) => {
                    let effect = TaintEffect::NoSchedule;
                    spec.taints.push(Taint { key: key.into(), value: "".into(), effect });
                }
                (key, value) => drop(spec.labels.insert(level(key), value.into())),
            }
        }
        self.apply(Change::Node(Box::new(spec)));
    }
}
