//! How many pods of one shape fit into each domain.
//!
//! Counting all domains costs a walk over all nodes, so a census is kept for the next workload of the same shape, and
//! only what was touched since is counted again.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::failure::Reason;
use super::filter::repels;
use super::ranking::Ranking;
use super::request::{Pods, Terms};
use super::sites::{Need, Room};
use super::tree::{DomainId, Leaf, Tree};
use crate::id::ResourceId;

/// What is counted: pods that ask for the same, in the same groups.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Shape {
    pub(super) workers: Arc<Pods>,
    /// One pod that goes with the workers.
    pub(super) leader: Option<Arc<Pods>>,
    pub(super) slice_level: usize,
    pub(super) slice_size: i32,
    pub(super) inner: Vec<i32>,
    /// As if no workload were there.
    pub(super) is_empty: bool,
    /// Only below this domain.
    pub(super) within: Option<DomainId>,
    /// Domains whose nodes are liked go first.
    pub(super) has_tastes: bool,
}

impl Shape {
    pub(super) fn new(workers: Pods, leader: Option<Pods>, terms: &Terms) -> Self {
        Self {
            workers: Arc::new(workers),
            leader: leader.map(Arc::new),
            slice_level: terms.slice_level,
            slice_size: terms.slice_size,
            inner: terms.inner.clone(),
            is_empty: false,
            within: None,
            has_tastes: false,
        }
    }
}

/// What fits into one domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Count {
    pub(super) pods: i32,
    /// Workers beside the leader.
    pub(super) pods_led: i32,
    /// Whole slices; 0 below their level.
    pub(super) slices: i32,
    pub(super) slices_led: i32,
    pub(super) leaders: i32,
    /// How much the pods like the nodes.
    pub(super) taste: i64,
}

/// The counts of all domains for one shape.
#[derive(Clone, Debug)]
pub(super) struct Census {
    pub(super) counts: Vec<Count>,
    /// The order of domains at the levels where searches begin.
    rankings: Vec<Option<Ranking>>,
    pub(super) exclusions: Exclusions,
    /// What one worker needs, by resource name.
    needs: Vec<Need>,
    leader_needs: Option<Vec<Need>>,
    /// How many resources nodes were known to have; of one more, needs know nothing.
    resources: usize,
    /// How far the touches were taken into account.
    seen: u64,
    used_at: u64,
}

/// The lowest domains that are out of the question for even one worker, and why.
#[derive(Clone, Debug, Default)]
pub(super) struct Exclusions {
    reasons: FxHashMap<DomainId, Reason>,
    tally: BTreeMap<Reason, u32>,
}

impl Exclusions {
    fn set(&mut self, leaf: DomainId, reason: Option<Reason>) {
        if self.reasons.get(&leaf) == reason.as_ref() {
            return;
        }
        if let Some(old) = self.reasons.remove(&leaf)
            && let Some(count) = self.tally.get_mut(&old)
        {
            *count -= 1;
            if *count == 0 {
                self.tally.remove(&old);
            }
        }
        if let Some(reason) = reason {
            *self.tally.entry(reason.clone()).or_default() += 1;
            self.reasons.insert(leaf, reason);
        }
    }

    /// How many are excluded for which reason.
    pub(super) fn tally(&self) -> &BTreeMap<Reason, u32> {
        &self.tally
    }
}

impl Census {
    /// The order of domains at a level that [`Tree::ask`] was told.
    pub(super) fn ranking(&self, level: usize) -> Option<&Ranking> {
        self.rankings.get(level)?.as_ref()
    }
}

/// The censuses of a tree and what happened since they were taken.
#[derive(Debug, Default)]
pub(crate) struct Censuses {
    kept: FxHashMap<Shape, Census>,
    /// What changed, the first being number `dropped`.
    touched: Vec<Touch>,
    dropped: u64,
    asked: u64,
    /// How far the last census that was asked has taken them into account.
    looked_at: u64,
}

/// Something changed in a lowest domain; or a domain came or went below a parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Touch {
    domain: DomainId,
    branch_of: Option<DomainId>,
}

/// How many counts are kept over all shapes of a tree; 64 MB.
const COUNTS_MAX: usize = 2 << 20;

impl Censuses {
    pub(super) fn touch(&mut self, leaf: DomainId) {
        self.push(Touch { domain: leaf, branch_of: None });
    }

    /// A domain came or went below a parent.
    pub(super) fn touch_branch(&mut self, domain: DomainId, parent: Option<DomainId>) {
        self.push(Touch { domain, branch_of: parent });
    }

    fn push(&mut self, touch: Touch) {
        // What was touched since anybody looked need not be told twice in a row.
        let is_told = self.now() > self.looked_at && self.touched.last() == Some(&touch);
        if !self.kept.is_empty() && !is_told {
            self.touched.push(touch);
        }
    }

    /// The ranks of a level are others now.
    pub(super) fn rank_anew(&mut self, level: usize) {
        for census in self.kept.values_mut() {
            census.rankings[level] = None;
        }
    }

    fn now(&self) -> u64 {
        self.dropped + self.touched.len() as u64
    }

    fn take(&mut self, shape: &Shape, room: Room<'_>) -> Option<(Shape, Census)> {
        let is_current = |census: &Census| census.seen >= self.dropped && census.resources == room.resources();
        self.kept.remove_entry(shape).filter(|(_, census)| is_current(census))
    }

    fn keep(&mut self, shape: Shape, census: Census) {
        let size = census.counts.len().max(1);
        while !self.kept.is_empty() && (self.kept.len() + 1) * size > COUNTS_MAX {
            let oldest = self.kept.iter().min_by_key(|(_, census)| census.used_at).map(|(shape, _)| shape.clone());
            oldest.and_then(|shape| self.kept.remove(&shape));
        }
        self.kept.insert(shape, census);
        if self.touched.len() > 2 * size + 1024 {
            // Whoever is that far behind counts anew, which costs no more.
            self.dropped += self.touched.len() as u64;
            self.touched.clear();
        }
    }
}

impl Tree {
    /// Takes the census of a shape, or brings up to date the one that was taken before, and asks it something about
    /// domains that are in order at some levels.
    pub(super) fn ask<T>(
        &mut self,
        shape: &Shape,
        room: Room<'_>,
        levels: impl IntoIterator<Item = usize>,
        answer: impl FnOnce(&Self, &Census) -> T,
    ) -> T {
        let (shape, mut census) = match self.censuses.take(shape, room) {
            Some((shape, mut census)) => {
                self.refresh(&mut census, &shape, room);
                (shape, census)
            }
            None => (shape.clone(), self.count_all(shape, room)),
        };
        for level in levels {
            if census.rankings[level].is_none() {
                census.rankings[level] = Some(self.rank(level, &census));
            }
        }
        let censuses = &mut self.censuses;
        censuses.asked += 1;
        (census.seen, census.used_at) = (censuses.now(), censuses.asked);
        censuses.looked_at = census.seen;
        let answered = answer(self, &census);
        self.censuses.keep(shape, census);
        answered
    }

    fn rank(&self, level: usize, census: &Census) -> Ranking {
        let mut ranking = Ranking::default();
        for domain in self.at_level(level) {
            ranking.set(domain, Some((census.counts[domain.index()], self.domain(domain).rank)));
        }
        ranking
    }

    fn count_all(&self, shape: &Shape, room: Room<'_>) -> Census {
        let needs = |pods: &Arc<Pods>| room.needs(&pods.requests);
        let mut census = Census {
            counts: vec![Count::default(); self.domains.len()],
            rankings: vec![None; self.levels.len()],
            exclusions: Exclusions::default(),
            needs: needs(&shape.workers),
            leader_needs: shape.leader.as_ref().map(needs),
            resources: room.resources(),
            seen: 0,
            used_at: 0,
        };
        for leaf in self.at_level(self.lowest()) {
            self.recount_leaf(leaf, &mut census, shape, room);
        }
        for level in (0..self.lowest()).rev() {
            for domain in self.at_level(level) {
                census.counts[domain.index()] = self.sum_up(domain, level, &census.counts, shape);
            }
        }
        census
    }

    fn refresh(&self, census: &mut Census, shape: &Shape, room: Room<'_>) {
        let from = usize::try_from(census.seen - self.censuses.dropped).unwrap_or_default();
        census.counts.resize(self.domains.len(), Count::default());
        // What has to be summed up again, by level.
        let mut dirty: Vec<Vec<DomainId>> = vec![Vec::new(); self.levels.len()];
        for Touch { domain, branch_of } in &self.censuses.touched[from..] {
            dirty[self.domain(*domain).level].push(*domain);
            if let Some(parent) = branch_of {
                dirty[self.domain(*parent).level].push(*parent);
            }
        }
        let mut leaves = std::mem::take(&mut dirty[self.lowest()]);
        leaves.sort_unstable();
        leaves.dedup();
        for leaf in leaves {
            if self.recount_leaf(leaf, census, shape, room) && self.lowest() > 0 {
                dirty[self.lowest() - 1].extend(self.domain(leaf).parent);
            }
        }
        for level in (0..self.lowest()).rev() {
            let mut domains = std::mem::take(&mut dirty[level]);
            domains.sort_unstable();
            domains.dedup();
            for domain in domains {
                let count = self.sum_up(domain, level, &census.counts, shape);
                if self.set_count(domain, count, census) && level > 0 {
                    dirty[level - 1].extend(self.domain(domain).parent);
                }
            }
        }
    }

    /// Says whether the count is another one now.
    fn set_count(&self, domain: DomainId, count: Count, census: &mut Census) -> bool {
        let known = self.domain(domain);
        if let Some(ranking) = &mut census.rankings[known.level] {
            let is_there = known.leaf().is_some() || !known.children().is_empty();
            ranking.set(domain, is_there.then_some((count, known.rank)));
        }
        std::mem::replace(&mut census.counts[domain.index()], count) != count
    }

    fn recount_leaf(&self, id: DomainId, census: &mut Census, shape: &Shape, room: Room<'_>) -> bool {
        let (count, reason) = self.count_leaf(id, census, shape, room);
        census.exclusions.set(id, reason);
        self.set_count(id, count, census)
    }

    /// How many fit, and why not even one if so.
    fn count_leaf(&self, id: DomainId, census: &Census, shape: &Shape, room: Room<'_>) -> (Count, Option<Reason>) {
        let Some(leaf) = self.domain(id).leaf() else { return (Count::default(), None) };
        if let Some(reason) = self.barred(id, leaf, shape) {
            return (Count::default(), Some(reason));
        }
        let left = |column: usize| room.left(leaf, column, shape.is_empty);
        let (pods, tightest) = fitting(&census.needs, left);
        let mut count = Count { pods, pods_led: pods, ..Count::default() };
        if let Some(leader) = &census.leader_needs
            && fitting(leader, left).0 > 0
        {
            let taken =
                |column: usize| leader.iter().find(|need| need.column == Some(column)).map_or(0, |need| need.amount);
            count.leaders = 1;
            count.pods_led = fitting(&census.needs, |column| left(column).saturating_sub(taken(column))).0;
        }
        if shape.slice_level == self.lowest() {
            count.slices = count.pods / shape.slice_size;
            count.slices_led = count.pods_led / shape.slice_size;
        }
        // A domain of several nodes is liked as much as any other, whichever of them are.
        if shape.has_tastes && self.is_by_host() {
            count.taste = shape.workers.placement.taste(&leaf.node.name, &leaf.node.labels);
        }
        (count, tightest.filter(|_| pods == 0).map(Reason::Shortage))
    }

    /// Why no worker may go into a lowest domain, whatever room it has.
    fn barred(&self, id: DomainId, leaf: &Leaf, shape: &Shape) -> Option<Reason> {
        let repelled =
            || self.is_by_host().then(|| repels(&leaf.node, &shape.workers.placement, &self.tolerations)).flatten();
        let is_outside = || shape.within.is_some_and(|within| !self.upwards(id).any(|above| above == within));
        repelled().map(Reason::Repelled).or_else(|| is_outside().then_some(Reason::Outside))
    }

    /// What fits into a domain, from what fits into those below it.
    pub(super) fn sum_up(&self, domain: DomainId, level: usize, counts: &[Count], shape: &Shape) -> Count {
        let inner = shape.inner.get(level + 1).copied().filter(|size| *size > 0);
        let whole = |pods: i32| inner.map_or(pods, |size| pods / size * size);
        let mut sum = Count::default();
        // What the leader costs where it costs least.
        let mut cost: Option<(i32, i32)> = None;
        for child in self.domain(domain).children() {
            let below = counts[child.index()];
            let (pods, pods_led) = (whole(below.pods), whole(below.pods_led));
            sum.pods = sum.pods.saturating_add(pods);
            sum.slices = sum.slices.saturating_add(below.slices);
            sum.leaders = sum.leaders.max(below.leaders);
            sum.taste = sum.taste.saturating_add(below.taste);
            if shape.leader.is_none() || below.leaders > 0 {
                let here = (pods - pods_led, below.slices - below.slices_led);
                cost = Some(cost.map_or(here, |least| (least.0.min(here.0), least.1.min(here.1))));
            }
        }
        if let Some((pods, slices)) = cost {
            sum.pods_led = sum.pods - pods;
            sum.slices_led = sum.slices - slices;
        }
        if level == shape.slice_level {
            sum.slices = sum.pods / shape.slice_size;
            sum.slices_led = sum.pods_led / shape.slice_size;
        }
        sum
    }
}

/// How often the needs fit into what is left, and which is the tightest. What nobody has any of fits nowhere.
fn fitting(needs: &[Need], left: impl Fn(usize) -> i64) -> (i32, Option<ResourceId>) {
    let mut least = (i32::MAX, None);
    for need in needs.iter().filter(|need| need.amount > 0) {
        let times = need.column.map_or(0, |column| left(column) / need.amount).clamp(0, i64::from(i32::MAX));
        let times = i32::try_from(times).unwrap_or(i32::MAX);
        if times < least.0 {
            least = (times, Some(need.resource));
        }
    }
    least
}
