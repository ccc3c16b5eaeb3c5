//! Places for all pod sets of a workload: in groups, after a node failed, and as a job grows or shrinks.

use super::census::Shape;
use super::failure::Failure;
use super::request::{SliceSpec, Terms, TopologyRequest, Wanted};
use super::search::{Habits, Places};
use super::sites::Sites;
use super::tree::{DomainId, Tree};
use super::{DomainShare, TopologyAssignment};
use crate::id::{FlavorId, Name};

/// How places are looked for.
#[derive(Clone, Debug)]
pub(crate) struct Manner {
    /// As if no other workload were there.
    pub(crate) is_empty: bool,
    pub(crate) habits: Habits,
    /// Why there is no room is of interest, not only that there is none.
    pub(crate) explains: bool,
    /// Slices of a job that grows or shrinks keep their places.
    pub(crate) keeps_places: bool,
    pub(crate) repair: Option<Repair>,
}

/// Pods on a node that failed have to find another one; all others stay.
#[derive(Clone, Debug)]
pub(crate) struct Repair {
    pub(crate) node: Name,
    /// Where the pods are, by pod set.
    pub(crate) current: Vec<(usize, TopologyAssignment)>,
    /// The one pod cannot move; nothing changes.
    pub(crate) is_pinned: bool,
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// By position of the pod set.
    pub(crate) places: Vec<(usize, TopologyAssignment)>,
    /// The first pod set for which there is none, its flavor, and why.
    pub(crate) failure: Option<(usize, FlavorId, Failure)>,
}

impl Sites {
    /// Finds places for the pod sets of a workload, by flavor. Each pod set sees what those before it were given.
    pub(crate) fn find_places(&mut self, wanted: &[(FlavorId, Vec<Wanted>)], manner: &Manner) -> Found {
        let mut found = Found::default();
        for (number, (flavor, pod_sets)) in (1..).zip(wanted) {
            let is_last = number == wanted.len();
            let places = &mut found.places;
            if let Err((index, failure)) = self.find_in_flavor(*flavor, pod_sets, is_last, manner, places) {
                found.failure.get_or_insert((index, *flavor, failure));
            }
        }
        self.forget_assumed();
        found
    }

    fn find_in_flavor(
        &mut self,
        flavor: FlavorId,
        pod_sets: &[Wanted],
        is_last: bool,
        manner: &Manner,
        places: &mut Vec<(usize, TopologyAssignment)>,
    ) -> Result<(), (usize, Failure)> {
        let groups = groups(pod_sets);
        for (number, group) in (1..).zip(&groups) {
            if let Some(repair) = &manner.repair {
                for wanted in group.iter().copied() {
                    let repaired = self.repair(flavor, wanted, repair, manner);
                    places.extend(repaired.map_err(|failure| (wanted.index, failure))?.map(|new| (wanted.index, new)));
                }
                continue;
            }
            let (leader, workers) = roles(group);
            let kept = if manner.keeps_places { self.keep_places(flavor, workers, leader, manner) } else { None };
            let new = match kept {
                Some(kept) => kept,
                // Nobody looks after the last one.
                None if is_last && number == groups.len() => self.find_for_group(flavor, workers, leader, None, manner),
                None => self.find_for_group(flavor, workers, leader, None, manner).inspect(|new| {
                    self.assume_places(flavor, workers, &new.workers);
                    if let (Some(leader), Some(place)) = (leader, &new.leader) {
                        self.assume_places(flavor, leader, place);
                    }
                }),
            };
            let new = new.map_err(|failure| (group[0].index, failure))?;
            places.push((workers.index, new.workers));
            places.extend(leader.zip(new.leader).map(|(leader, place)| (leader.index, place)));
        }
        Ok(())
    }

    fn find_for_group(
        &mut self,
        flavor: FlavorId,
        workers: &Wanted,
        leader: Option<&Wanted>,
        within: Option<DomainId>,
        manner: &Manner,
    ) -> Result<Places, Failure> {
        if let Some(conflict) = &workers.conflict {
            return Err(Failure::Conflict(conflict.clone()));
        }
        let Some((tree, room)) = self.tree_and_room(flavor) else { return Err(Failure::NoLevel) };
        let terms = Terms::new(workers.request.as_ref(), tree)?;
        // Pods that are part of a slice only need a place as well, and get room for a whole one.
        let is_whole = manner.repair.is_some() || workers.count % terms.slice_size == 0;
        let padding = if is_whole { 0 } else { terms.slice_size - workers.count % terms.slice_size };
        let count = workers.count.saturating_add(padding);
        let shape = Shape {
            is_empty: manner.is_empty,
            within,
            has_tastes: manner.habits.has_tastes,
            ..Shape::new(workers.pods.clone(), leader.map(|leader| leader.pods.clone()), &terms)
        };
        let mut found = tree.search(&shape, &terms, count, manner, room)?;
        if !is_whole {
            found.workers = found.workers.truncated(workers.count);
        }
        Ok(found)
    }

    fn assume_places(&mut self, flavor: FlavorId, wanted: &Wanted, places: &TopologyAssignment) {
        let occupied = self.occupied(flavor, places, &wanted.pods.requests);
        self.assume(&occupied);
    }

    /// Where the pods go of which some were on a node that failed. Nothing for a pod set that has no place.
    fn repair(
        &mut self,
        flavor: FlavorId,
        wanted: &Wanted,
        repair: &Repair,
        manner: &Manner,
    ) -> Result<Option<TopologyAssignment>, Failure> {
        let Some((_, current)) = repair.current.iter().find(|(index, _)| *index == wanted.index) else {
            return Ok(None);
        };
        if repair.is_pinned {
            return Ok(Some(current.clone()));
        }
        let (lost, staying): (Vec<DomainShare>, Vec<DomainShare>) =
            current.domains.iter().cloned().partition(|domain| domain.is_on(&repair.node));
        let staying = TopologyAssignment { levels: current.levels.clone(), domains: staying };
        let mut wanted = Wanted { count: lost.last().map_or(0, |domain| domain.count), ..wanted.clone() };
        let Some(tree) = self.tree(flavor) else { return Err(Failure::NoLevel) };
        if let Some(stale) = tree.first_stale(&staying) {
            return Err(Failure::StaleDomain(stale));
        }
        let slice_size = wanted.request.as_ref().map_or(Ok(1), TopologyRequest::slice_size)?;
        let within = tree.domain_to_complete(&wanted, &staying, slice_size);
        if within.is_some()
            && wanted.count % slice_size != 0
            && let Some(request) = &mut wanted.request
        {
            // The pods complete a slice that is there already: what still stays together is the largest group in it.
            let whole = request.slices.iter().rev().find(|slice| slice.size > 0 && wanted.count % slice.size == 0);
            request.slices = whole.cloned().into_iter().collect();
        }
        let new = self.find_for_group(flavor, &wanted, None, within, manner)?.workers;
        if new.domains.is_empty() {
            return Err(Failure::NoReplacement(repair.node.clone()));
        }
        self.assume_places(flavor, &wanted, &new);
        Ok(self.tree(flavor).map(|tree| tree.merged(&new, &staying)))
    }

    /// Leaves the pods of the slice that is replaced where they are, and places only those that are new.
    /// `None` when there is no such slice or its places are gone.
    fn keep_places(
        &mut self,
        flavor: FlavorId,
        workers: &Wanted,
        leader: Option<&Wanted>,
        manner: &Manner,
    ) -> Option<Result<Places, Failure>> {
        let previous = workers.previous.as_ref()?;
        let led = leader.and_then(|leader| leader.previous.as_ref());
        let tree = self.tree(flavor)?;
        if tree.first_stale(previous).is_some() || led.is_some_and(|led| tree.first_stale(led).is_some()) {
            return None;
        }
        let grown = workers.count - previous.pods();
        let kept = previous.truncated(workers.count);
        self.assume_places(flavor, workers, &kept);
        if let (Some(leader), Some(led)) = (leader, led) {
            self.assume_places(flavor, leader, led);
        }
        if grown <= 0 {
            return Some(Ok(Places { workers: kept, leader: led.cloned() }));
        }
        let added = Wanted { count: grown, previous: None, ..workers.clone() };
        let new_leader = leader.filter(|_| led.is_none());
        let new = match self.find_for_group(flavor, &added, new_leader, None, manner) {
            Ok(new) => new,
            Err(failure) => return Some(Err(failure)),
        };
        self.assume_places(flavor, workers, &new.workers);
        if let (Some(leader), Some(place)) = (new_leader, &new.leader) {
            self.assume_places(flavor, leader, place);
        }
        let tree = self.tree(flavor)?;
        let workers = tree.merged(&new.workers, &kept);
        Some(Ok(Places { workers, leader: led.cloned().or(new.leader) }))
    }
}

/// Pod sets of the same group, in the order of the first of each.
fn groups(pod_sets: &[Wanted]) -> Vec<Vec<&Wanted>> {
    let mut groups: Vec<Vec<&Wanted>> = Vec::new();
    for wanted in pod_sets {
        let known = groups.iter_mut().find(|group| wanted.group.is_some() && group[0].group == wanted.group);
        match known {
            Some(group) => group.push(wanted),
            None => groups.push(vec![wanted]),
        }
    }
    groups
}

/// The smaller of two pod sets leads; of two equal ones the second.
fn roles<'a>(group: &[&'a Wanted]) -> (Option<&'a Wanted>, &'a Wanted) {
    match group {
        [first, second, ..] if second.count > first.count => (Some(first), second),
        [first, second, ..] => (Some(second), first),
        group => (None, group[0]),
    }
}

impl Tree {
    /// The first domain of an assignment that is not there any more.
    pub(super) fn first_stale(&self, assignment: &TopologyAssignment) -> Option<Name> {
        let gone = assignment.domains.iter().find(|domain| self.leaf(&domain.id()).is_none());
        gone.map(|domain| domain.values.first().cloned().unwrap_or_default())
    }

    /// Both assignments as one.
    pub(super) fn merged(&self, new: &TopologyAssignment, staying: &TopologyAssignment) -> TopologyAssignment {
        let mut all: Vec<(Option<u64>, DomainShare)> = new
            .domains
            .iter()
            .chain(&staying.domains)
            .map(|share| (self.leaf(&share.id()).map(|leaf| self.domain(leaf).rank), share.clone()))
            .collect();
        all.sort_by_key(|(rank, _)| *rank);
        let mut domains: Vec<DomainShare> = Vec::with_capacity(all.len());
        for (_, share) in all {
            match domains.last_mut() {
                Some(last) if last.values == share.values => last.count = last.count.saturating_add(share.count),
                _ => domains.push(share),
            }
        }
        TopologyAssignment { levels: new.levels.clone(), domains }
    }

    /// The domain that pods of a failed node must not leave, lest a slice be torn or a requirement broken.
    fn domain_to_complete(&self, wanted: &Wanted, staying: &TopologyAssignment, slice_size: i32) -> Option<DomainId> {
        let level = Terms::level_of(wanted.request.as_ref(), self)?;
        let first = self.leaf(&staying.domains.first()?.id())?;
        let slices = wanted.request.as_ref().map_or(&[][..], |request| &request.slices);
        if wanted.count % slice_size != 0 {
            let is_broken = |slice: &&SliceSpec| slice.size > 0 && wanted.count % slice.size != 0;
            let broken = slices.iter().rev().find(is_broken)?;
            return self.incomplete(self.level_of(&broken.level)?, broken.size, wanted.count, staying);
        }
        let is_required = wanted.request.as_ref().is_some_and(|request| request.required.is_some());
        is_required.then(|| self.ancestor(first, level))
    }

    /// The domain of a level that so many more pods would complete.
    fn incomplete(&self, level: usize, size: i32, missing: i32, staying: &TopologyAssignment) -> Option<DomainId> {
        let mut pods: Vec<(DomainId, i32)> = Vec::new();
        for share in &staying.domains {
            let Some(leaf) = self.leaf(&share.id()) else { continue };
            let domain = self.ancestor(leaf, level);
            match pods.iter_mut().find(|(known, _)| *known == domain) {
                Some((_, sum)) => *sum = sum.saturating_add(share.count),
                None => pods.push((domain, share.count)),
            }
        }
        pods.iter().find(|(_, sum)| sum.saturating_add(missing) % size == 0).map(|(domain, _)| *domain)
    }
}
