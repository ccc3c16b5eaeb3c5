//! Who waits, who has room where, and the next decision.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kueue_core::quantity::Quantity;
use kueue_core::requests::{Requests, ResourceNames};
use kueue_core::time::Time;
use kueue_runtime::key::Key;

use super::fit::{Room, fullness, preference, refusal, shortages};
use super::spread::{Neighbours, keeps_others_away};
use crate::kinds::{Node, Pod};

/// What every pod takes one of.
const PODS: &str = "pods";

/// What is to be written next.
#[derive(Debug)]
pub(super) enum Decision {
    Bind { key: Key, pod: Arc<Pod>, node: Arc<str> },
    Wait { key: Key, pod: Arc<Pod>, why: String },
}

/// Who goes first: the higher priority, then the older one.
type Rank = (Reverse<i32>, Time, Key);

#[derive(Default)]
pub(super) struct Ledger {
    names: ResourceNames,
    nodes: BTreeMap<Arc<str>, (Arc<Node>, Room)>,
    /// Pods on nodes, those whose binding is under way among them.
    placed: HashMap<Key, Placed>,
    /// How many of them keep others away.
    guards: usize,
    waiting: BTreeMap<Rank, Arc<Pod>>,
    /// Who fits nowhere at present.
    parked: BTreeMap<Rank, Arc<Pod>>,
}

struct Placed {
    node: Arc<str>,
    asked: Requests,
    pod: Arc<Pod>,
    /// Whether the server has said so too.
    is_seen: bool,
}

fn rank(key: &Key, pod: &Pod) -> Rank {
    (Reverse(pod.spec.priority.unwrap_or(0)), pod.metadata.creation_timestamp, key.clone())
}

/// Whether a pod waits for us.
fn waits(pod: &Pod) -> bool {
    let is_ours = matches!(pod.spec.scheduler_name.as_str(), "" | "default-scheduler");
    is_ours && pod.is_active() && pod.spec.node_name.is_empty() && pod.spec.scheduling_gates.is_empty()
}

impl Ledger {
    pub(super) fn see_pod(&mut self, key: &Key, old: Option<&Arc<Pod>>, new: Option<&Arc<Pod>>) {
        let is_same_wait = old.zip(new).is_some_and(|(old, new)| waits(old) && waits(new) && old.spec == new.spec);
        if let Some(old) = old.filter(|_| !is_same_wait) {
            let rank = rank(key, old);
            self.waiting.remove(&rank);
            self.parked.remove(&rank);
        }
        match new {
            Some(pod) if !pod.spec.node_name.is_empty() && !pod.is_terminal() => {
                self.place(key, pod, &pod.spec.node_name, true);
            }
            // The server does not know of the binding yet.
            Some(pod) if waits(pod) && self.placed.get(key).is_some_and(|placed| !placed.is_seen) => {}
            Some(pod) if waits(pod) => {
                let rank = rank(key, pod);
                if !is_same_wait {
                    self.waiting.insert(rank, Arc::clone(pod));
                } else if let Some(known) = self.waiting.get_mut(&rank).or(self.parked.get_mut(&rank)) {
                    known.clone_from(pod);
                }
            }
            _ => self.release(key),
        }
    }

    pub(super) fn see_node(&mut self, name: &Arc<str>, node: Option<Arc<Node>>) {
        let known = self.nodes.remove(name);
        let Some(node) = node else { return };
        let mut used = Requests::default();
        match known {
            Some((_, room)) => used = room.used,
            // Pods may be known before their node is.
            None => {
                for placed in self.placed.values().filter(|placed| placed.node == *name) {
                    used.add(&placed.asked);
                }
            }
        }
        let allocatable = Requests::from_list(&node.status.allocatable, &mut self.names);
        self.nodes.insert(Arc::clone(name), (node, Room { allocatable, used }));
        self.wake();
    }

    /// Something could not be written: what is there is looked at again.
    pub(super) fn take_back(&mut self, key: &Key, pod: Option<&Arc<Pod>>) {
        if self.placed.get(key).is_some_and(|placed| !placed.is_seen) {
            self.release(key);
        }
        if let Some(pod) = pod.filter(|pod| waits(pod)) {
            self.waiting.insert(rank(key, pod), Arc::clone(pod));
        }
    }

    /// Decides about the next pod that waits.
    pub(super) fn decide(&mut self) -> Option<Decision> {
        let (rank, pod) = self.waiting.pop_first()?;
        let key = rank.2.clone();
        let asked = self.asked(&pod);
        let neighbours = self.neighbours(&pod);
        let mut why: BTreeMap<String, usize> = BTreeMap::new();
        let mut best: Option<(Reverse<i64>, i64, &Arc<str>)> = None;
        for (name, (node, room)) in &self.nodes {
            let refused: Vec<String> =
                refusal(&pod.spec, node).or_else(|| neighbours.refusal(node)).into_iter().collect();
            let refused = if refused.is_empty() { shortages(&asked, room, &self.names) } else { refused };
            if refused.is_empty() {
                let liked = preference(&pod.spec, node) + neighbours.preference(node);
                let candidate = (Reverse(liked), fullness(&asked, room), name);
                best = Some(best.map_or(candidate, |best| best.min(candidate)));
            }
            for reason in refused {
                *why.entry(reason).or_default() += 1;
            }
        }
        Some(match best.map(|(_, _, name)| Arc::clone(name)) {
            Some(node) => {
                self.place(&key, &pod, &node, false);
                Decision::Bind { key, pod, node }
            }
            None => {
                let reasons: Vec<String> = why.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
                let count = self.nodes.len();
                let why = match count {
                    0 => "no nodes available to schedule pods".to_owned(),
                    _ => format!("0/{count} nodes are available: {}.", reasons.join(", ")),
                };
                self.parked.insert(rank, Arc::clone(&pod));
                Decision::Wait { key, pod, why }
            }
        })
    }

    fn neighbours(&self, pod: &Pod) -> Neighbours {
        if self.guards == 0 && !Neighbours::matter_to(pod) {
            return Neighbours::nobody();
        }
        let on_node = |placed: &'_ Placed| -> Option<(Arc<Node>, Arc<Pod>)> {
            Some((Arc::clone(&self.nodes.get(&placed.node)?.0), Arc::clone(&placed.pod)))
        };
        let placed: Vec<(Arc<Node>, Arc<Pod>)> = self.placed.values().filter_map(on_node).collect();
        let placed: Vec<(&Node, &Pod)> = placed.iter().map(|(node, pod)| (&**node, &**pod)).collect();
        let nodes: Vec<&Node> = self.nodes.values().map(|(node, _)| &**node).collect();
        Neighbours::of(pod, &placed, &nodes)
    }

    fn asked(&mut self, pod: &Pod) -> Requests {
        let mut list = pod.spec.requests();
        list.insert(PODS.to_owned(), Quantity::from_units(1));
        Requests::from_list(&list, &mut self.names)
    }

    fn place(&mut self, key: &Key, pod: &Arc<Pod>, node: &str, is_seen: bool) {
        if let Some(placed) = self.placed.get_mut(key).filter(|placed| *placed.node == *node) {
            placed.is_seen |= is_seen;
            placed.pod = Arc::clone(pod);
            return;
        }
        self.release(key);
        let asked = self.asked(pod);
        let node = match self.nodes.get_key_value(node) {
            Some((name, _)) => Arc::clone(name),
            None => node.into(),
        };
        if let Some((_, room)) = self.nodes.get_mut(&node) {
            room.used.add(&asked);
        }
        self.guards += usize::from(keeps_others_away(pod));
        self.placed.insert(key.clone(), Placed { node, asked, pod: Arc::clone(pod), is_seen });
    }

    fn release(&mut self, key: &Key) {
        let Some(placed) = self.placed.remove(key) else { return };
        self.guards -= usize::from(keeps_others_away(&placed.pod));
        if let Some((_, room)) = self.nodes.get_mut(&placed.node) {
            room.used.subtract(&placed.asked);
        }
        self.wake();
    }

    /// Whoever fitted nowhere may fit now.
    fn wake(&mut self) {
        self.waiting.append(&mut self.parked);
    }
}
