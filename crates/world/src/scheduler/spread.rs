//! What pods want of the pods around them: affinity, anti-affinity and even spreading over topology domains.

use std::collections::BTreeMap;

use kueue_api::wire::wire_struct;
use kueue_core::selector::LabelSelector;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::fit::is_selected;
use crate::kinds::{Node, Pod};

wire_struct! {
    pub struct PodTerms {
        #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
        pub required?: Vec<Term>,
        #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
        pub preferred?: Vec<WeightedTerm>,
    }
}

wire_struct! {
    pub struct Term {
        pub label_selector?: Option<LabelSelector>,
        pub namespaces?: Vec<String>,
        pub topology_key: String,
    }
}

wire_struct! {
    pub struct WeightedTerm {
        pub weight: i32,
        pub pod_affinity_term: Term,
    }
}

wire_struct! {
    pub struct Constraint {
        pub max_skew: i64,
        pub topology_key: String,
        /// `DoNotSchedule` or `ScheduleAnyway`.
        pub when_unsatisfiable: String,
        pub label_selector?: Option<LabelSelector>,
    }
}

impl Term {
    /// Whether the term of a pod in `namespace` is about the other pod.
    fn means(&self, namespace: &str, other: &Pod) -> bool {
        let is_near = match self.namespaces.is_empty() {
            true => other.metadata.namespace == namespace,
            false => self.namespaces.contains(&other.metadata.namespace),
        };
        is_near && self.label_selector.as_ref().is_some_and(|selector| selector.matches(&other.metadata.labels))
    }
}

/// How many pods that something is about there are in each domain.
struct Counted {
    key: String,
    by_domain: BTreeMap<String, i64>,
}

impl Counted {
    fn at(&self, node: &Node) -> Option<i64> {
        let domain = node.metadata.labels.get(&self.key)?;
        Some(self.by_domain.get(domain).copied().unwrap_or(0))
    }

    fn total(&self) -> i64 {
        self.by_domain.values().sum()
    }
}

/// What a pod wants of its neighbours, with how many there are.
pub(super) struct Neighbours {
    together: Vec<(Counted, bool)>,
    apart: Vec<Counted>,
    liked: Vec<(Counted, i64)>,
    /// With the greatest difference, and how many the emptiest domain has.
    spread: Vec<(Counted, i64, i64)>,
}

/// Whether a pod on a node keeps others away from it.
pub(super) fn keeps_others_away(pod: &Pod) -> bool {
    !terms(pod, "podAntiAffinity").required.is_empty()
}

fn part<T: DeserializeOwned>(value: Option<&Value>) -> Option<T> {
    serde_json::from_value(value?.clone()).ok()
}

fn terms(pod: &Pod, kind: &str) -> PodTerms {
    part(pod.spec.affinity.as_ref().and_then(|affinity| affinity.rest.get(kind))).unwrap_or_default()
}

impl Neighbours {
    /// `placed` are all pods that run, each with its node.
    pub(super) fn of(pod: &Pod, placed: &[(&Node, &Pod)], nodes: &[&Node]) -> Self {
        let namespace = pod.metadata.namespace.as_str();
        let (near, away) = (terms(pod, "podAffinity"), terms(pod, "podAntiAffinity"));
        let constraints: Vec<Constraint> = part(pod.spec.rest.get("topologySpreadConstraints")).unwrap_or_default();
        let count = |key: &str, means: &dyn Fn(&Pod) -> bool| count(placed, key, means);
        let of_term = |term: &Term| count(&term.topology_key, &|other| term.means(namespace, other));
        let together = near.required.iter().map(|term| (of_term(term), term.means(namespace, pod))).collect();
        let mut apart: Vec<Counted> = away.required.iter().map(of_term).collect();
        for (_, guard) in placed.iter().filter(|(_, other)| keeps_others_away(other)) {
            for term in terms(guard, "podAntiAffinity").required {
                if term.means(&guard.metadata.namespace, pod) {
                    apart.push(count(&term.topology_key, &|other| other.metadata.uid == guard.metadata.uid));
                }
            }
        }
        let weighted = |terms: &[WeightedTerm], sign: i64| -> Vec<(Counted, i64)> {
            terms.iter().map(|term| (of_term(&term.pod_affinity_term), sign * i64::from(term.weight))).collect()
        };
        let mut liked = weighted(&near.preferred, 1);
        liked.extend(weighted(&away.preferred, -1));
        let mut spread = Vec::new();
        for constraint in constraints {
            let selector = constraint.label_selector.unwrap_or_default();
            let means = |other: &Pod| other.metadata.namespace == namespace && selector.matches(&other.metadata.labels);
            let counted = count(&constraint.topology_key, &means);
            if constraint.when_unsatisfiable == "ScheduleAnyway" {
                liked.push((counted, -1));
                continue;
            }
            let eligible = nodes.iter().filter(|node| is_selected(&pod.spec, node));
            let least = eligible.filter_map(|node| counted.at(node)).min().unwrap_or(0);
            spread.push((counted, constraint.max_skew, least));
        }
        Self { together, apart, liked, spread }
    }

    pub(super) fn nobody() -> Self {
        Self { together: Vec::new(), apart: Vec::new(), liked: Vec::new(), spread: Vec::new() }
    }

    /// Whether a pod cares for its neighbours at all.
    pub(super) fn matter_to(pod: &Pod) -> bool {
        let has = |key: &str| pod.spec.affinity.as_ref().is_some_and(|affinity| affinity.rest.contains_key(key));
        has("podAffinity") || has("podAntiAffinity") || pod.spec.rest.contains_key("topologySpreadConstraints")
    }

    /// Why a node will not do, in the words of kube-scheduler.
    pub(super) fn refusal(&self, node: &Node) -> Option<String> {
        let is_with = |(counted, is_own): &(Counted, bool)| match counted.at(node) {
            None => false,
            // The first of a group has nobody to be with.
            Some(0) => *is_own && counted.total() == 0,
            Some(_) => true,
        };
        if !self.together.iter().all(is_with) {
            return Some("node(s) didn't match pod affinity rules".to_owned());
        }
        if self.apart.iter().any(|counted| counted.at(node).is_some_and(|count| count > 0)) {
            return Some("node(s) didn't match pod anti-affinity rules".to_owned());
        }
        for (counted, max_skew, least) in &self.spread {
            match counted.at(node) {
                None => {
                    let why = "node(s) didn't match pod topology spread constraints (missing required label)";
                    return Some(why.to_owned());
                }
                Some(count) if count + 1 - least > *max_skew => {
                    return Some("node(s) didn't match pod topology spread constraints".to_owned());
                }
                Some(_) => {}
            }
        }
        None
    }

    pub(super) fn preference(&self, node: &Node) -> i64 {
        self.liked.iter().map(|(counted, weight)| counted.at(node).unwrap_or(0) * weight).sum()
    }
}

fn count(placed: &[(&Node, &Pod)], key: &str, means: &dyn Fn(&Pod) -> bool) -> Counted {
    let mut by_domain = BTreeMap::new();
    for (node, pod) in placed.iter().filter(|(_, pod)| means(pod)) {
        if let Some(domain) = node.metadata.labels.get(key).filter(|_| !pod.is_going()) {
            *by_domain.entry(domain.clone()).or_default() += 1;
        }
    }
    Counted { key: key.to_owned(), by_domain }
}
