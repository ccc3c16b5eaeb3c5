//! How many pods of one shape fit into each domain.
//!
//! Counting all domains costs a walk over all nodes, so a census is kept for the next workload of the same shape, and
//! only what was touched since is counted again.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::failure::Reason;
use super::filter::repels;
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
    /// What one worker needs, by resource name.
    needs: Vec<Need>,
    leader_needs: Option<Vec<Need>>,
    /// How far the touches were taken into account.
    seen: u64,
    used_at: u64,
}

/// The censuses of a tree and what happened since they were taken.
#[derive(Debug, Default)]
pub(crate) struct Censuses {
    kept: FxHashMap<Shape, Census>,
    /// Lowest domains in which something changed, the first being number `dropped`.
    touched: Vec<DomainId>,
    dropped: u64,
    asked: u64,
}

/// How many counts are kept over all shapes of a tree; 64 MB.
const COUNTS_MAX: usize = 2 << 20;

impl Censuses {
    pub(super) fn touch(&mut self, leaf: DomainId) {
        if !self.kept.is_empty() {
            self.touched.push(leaf);
        }
    }

    /// Everything has to be counted anew.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.dropped += self.touched.len() as u64;
        self.touched.clear();
    }

    fn now(&self) -> u64 {
        self.dropped + self.touched.len() as u64
    }

    fn take(&mut self, shape: &Shape) -> Option<Census> {
        self.kept.remove(shape).filter(|census| census.seen >= self.dropped)
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
    /// Takes the census of a shape, or brings up to date the one that was taken before, and asks it something.
    pub(super) fn ask<T>(&mut self, shape: &Shape, room: Room<'_>, answer: impl FnOnce(&Self, &Census) -> T) -> T {
        self.order();
        let mut census = match self.censuses.take(shape) {
            Some(mut census) => {
                self.refresh(&mut census, shape, room);
                census
            }
            None => self.count_all(shape, room),
        };
        let censuses = &mut self.censuses;
        censuses.asked += 1;
        (census.seen, census.used_at) = (censuses.now(), censuses.asked);
        let answered = answer(self, &census);
        self.censuses.keep(shape.clone(), census);
        answered
    }

    fn count_all(&self, shape: &Shape, room: Room<'_>) -> Census {
        let needs = |pods: &Arc<Pods>| room.needs(&pods.requests);
        let mut census = Census {
            counts: vec![Count::default(); self.domains.len()],
            needs: needs(&shape.workers),
            leader_needs: shape.leader.as_ref().map(needs),
            seen: 0,
            used_at: 0,
        };
        for leaf in self.at_level(self.lowest()) {
            census.counts[leaf.index()] = self.count_leaf(*leaf, &census, shape, room);
        }
        for level in (0..self.lowest()).rev() {
            for domain in self.at_level(level) {
                census.counts[domain.index()] = self.sum_up(*domain, level, &census.counts, shape);
            }
        }
        census
    }

    fn refresh(&self, census: &mut Census, shape: &Shape, room: Room<'_>) {
        let from = usize::try_from(census.seen - self.censuses.dropped).unwrap_or_default();
        let touched = &self.censuses.touched[from..];
        let mut dirty: Vec<DomainId> = Vec::new();
        for leaf in touched {
            let count = self.count_leaf(*leaf, census, shape, room);
            let known = &mut census.counts[leaf.index()];
            if *known != count {
                *known = count;
                dirty.extend(self.domain(*leaf).parent);
            }
        }
        let mut level = self.lowest();
        while !dirty.is_empty() && level > 0 {
            level -= 1;
            dirty.sort_unstable();
            dirty.dedup();
            let mut above = Vec::new();
            for domain in dirty {
                let count = self.sum_up(domain, level, &census.counts, shape);
                if census.counts[domain.index()] != count {
                    census.counts[domain.index()] = count;
                    above.extend(self.domain(domain).parent);
                }
            }
            dirty = above;
        }
    }

    fn count_leaf(&self, id: DomainId, census: &Census, shape: &Shape, room: Room<'_>) -> Count {
        let Some(leaf) = &self.domain(id).leaf else { return Count::default() };
        if self.barred(id, leaf, shape).is_some() {
            return Count::default();
        }
        let left = |column: usize| room.left(leaf, column, shape.is_empty);
        let (pods, _) = fitting(&census.needs, left);
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
        if shape.has_tastes {
            count.taste = shape.workers.placement.taste(&leaf.node.name, &leaf.node.labels);
        }
        count
    }

    /// Why no worker may go into a lowest domain, whatever room it has.
    pub(super) fn barred(&self, id: DomainId, leaf: &Leaf, shape: &Shape) -> Option<Reason> {
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
        for child in &self.domain(domain).children {
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

    /// The resource that keeps even one worker out of a lowest domain.
    pub(super) fn shortage(&self, leaf: DomainId, shape: &Shape, room: Room<'_>) -> Option<ResourceId> {
        let leaf = self.domain(leaf).leaf.as_ref()?;
        let needs = room.needs(&shape.workers.requests);
        let (pods, tightest) = fitting(&needs, |column| room.left(leaf, column, shape.is_empty));
        tightest.filter(|_| pods == 0)
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
