//! Where pods of a flavor would go.

use super::preemption::WantedPodSet;
use crate::assign::{Assignment, Oracle};
use crate::change::PodSetSpec;
use crate::effect::Key;
use crate::engine::Engine;
use crate::id::Name;
use crate::topology::{Manner, Pods, Repair, TopologyAssignment, Wanted};

/// Pods that need places.
#[derive(Clone, Debug, Default)]
pub struct PlaceQuestion {
    /// What they are like, how many, and how close together they should be.
    pub pod_sets: Vec<PodSetSpec>,
    /// By pod set: where the pods of a smaller slice are, which stay.
    pub previous: Vec<Option<TopologyAssignment>>,
    /// By pod set: where they are now, if a node among those failed.
    pub current: Vec<Option<TopologyAssignment>>,
    /// The node that failed.
    pub failed_node: Option<Name>,
    /// Whether the only pod cannot move.
    pub is_pinned: bool,
}

/// Where the pods of one pod set would go, or why nowhere.
pub type PlaceAnswer = Result<TopologyAssignment, String>;

impl Engine {
    /// The pod sets of a workload that would be placed if they had these flavors in a ClusterQueue, by name; or why
    /// one of them can have no place, whatever room there is.
    pub fn would_place(&mut self, workload: &Key, queue: &str, given: &[WantedPodSet]) -> Result<Vec<Name>, String> {
        let Some((id, queue)) = self.find(workload, queue) else { return Ok(Vec::new()) };
        let mut assignment = Assignment::given(given, &mut self.names);
        let wanted =
            self.with_plan(id, queue, None, Oracle::Search, |engine, plan| engine.wanted_places(plan, &mut assignment));
        if let Some(why) = assignment.unplaceable(&self.names) {
            return Err(why);
        }
        let pod_sets = &self.workloads[id].pod_sets;
        let named = wanted.iter().flat_map(|(_, wanted)| wanted).map(|wanted| pod_sets[wanted.index].spec.name.clone());
        Ok(named.collect())
    }

    /// Where pods would go on the nodes of a flavor, by pod set; none for those that were not come to.
    pub fn places(&mut self, flavor: &Name, question: &PlaceQuestion) -> Vec<Option<PlaceAnswer>> {
        let mut answers: Vec<Option<PlaceAnswer>> = vec![None; question.pod_sets.len()];
        let Some(flavor) = self.names.known_flavor(flavor) else { return answers };
        let specs = question.pod_sets.clone();
        let pod_sets = self.pod_sets_of(specs);
        let at = |list: &[Option<TopologyAssignment>], index: usize| list.get(index).cloned().flatten();
        let wanted: Vec<Wanted> = pod_sets
            .iter()
            .enumerate()
            .map(|(index, pod_set)| Wanted {
                index,
                count: pod_set.spec.count,
                pods: Pods { requests: pod_set.room.clone(), placement: pod_set.spec.placement.clone() },
                conflict: None,
                request: pod_set.spec.topology.clone(),
                group: pod_set.spec.group.clone(),
                previous: at(&question.previous, index),
            })
            .collect();
        let current = (0..wanted.len()).filter_map(|index| Some((index, at(&question.current, index)?)));
        let repair = question.failed_node.clone().map(|node| Repair {
            node,
            current: current.collect(),
            is_pinned: question.is_pinned,
        });
        let manner = Manner { repair, ..self.manner_of_search(false) };
        let found = self.quotas.sites.find_places(&[(flavor, wanted)], &manner);
        for (index, place) in found.places {
            answers[index] = Some(Ok(place));
        }
        if let Some((index, _, failure)) = found.failure {
            answers[index] = Some(Err(failure.render(&self.names)));
        }
        answers
    }
}
