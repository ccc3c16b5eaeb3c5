//! The steps of a search by hand, on domains whose room somebody else made up.
//!
//! Kueue's own tests look at single steps: in which order domains come, which of them are chosen, how assignments are
//! put together. Only their replays need this, so only they compile it (feature `by-hand`).

use std::cmp::Ordering;
use std::sync::Arc;

use super::balanced;
use super::census::{Count, Shape};
use super::node::{Node, SharedNames};
use super::request::{Pods, Terms};
use super::spread::Field;
use super::tree::{DomainId, Leaf, Tree};
use super::{NodeSpec, TopologyAssignment, TopologyRequest, domain_id};
use crate::id::Name;

/// Domains with the room that somebody says they have.
#[derive(Debug)]
pub struct Sketch {
    tree: Tree,
    counts: Vec<Count>,
    /// By the names that they were given here.
    named: Vec<(Name, DomainId)>,
}

/// How many fit into a domain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SketchRoom {
    /// Pods.
    pub pods: i32,
    /// Pods beside the leader.
    pub pods_led: i32,
    /// Whole slices.
    pub slices: i32,
    /// Whole slices beside the leader.
    pub slices_led: i32,
    /// Leaders.
    pub leaders: i32,
    /// How much pods like it there.
    pub taste: i64,
}

/// Who looks for room.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// Workers.
    pub pods: i32,
    /// Leaders beside them.
    pub leaders: i32,
    /// How many workers stay together.
    pub slice_size: i32,
    /// Where those that stay together have to be.
    pub slice_level: usize,
    /// Whether small gaps are filled first.
    pub fills_gaps: bool,
    /// Whether what pods like counts.
    pub has_tastes: bool,
}

impl Default for Wish {
    fn default() -> Self {
        Self { pods: 0, leaders: 0, slice_size: 1, slice_level: 0, fills_gaps: false, has_tastes: false }
    }
}

impl From<SketchRoom> for Count {
    fn from(room: SketchRoom) -> Self {
        let SketchRoom { pods, pods_led, slices, slices_led, leaders, taste } = room;
        Self { pods, pods_led, slices, slices_led, leaders, taste }
    }
}

impl From<Count> for SketchRoom {
    fn from(count: Count) -> Self {
        let Count { pods, pods_led, slices, slices_led, leaders, taste } = count;
        Self { pods, pods_led, slices, slices_led, leaders, taste }
    }
}

impl Sketch {
    /// No domains yet, of a topology with these levels.
    #[must_use]
    pub fn new(levels: &[Name]) -> Self {
        let tree = Tree::new("sketch".into(), levels.to_vec(), std::collections::BTreeMap::new(), Vec::new());
        Self { tree, counts: Vec::new(), named: Vec::new() }
    }

    /// Adds a domain below those that were added before it.
    pub fn add(&mut self, name: Name, path: &[Name], room: SketchRoom) {
        let domain = if path.len() == self.tree.levels.len() { self.add_lowest(path) } else { self.add_wider(path) };
        let Some(domain) = domain else { return };
        self.counts.resize(self.tree.domains.len(), Count::default());
        self.counts[domain.index()] = room.into();
        self.named.push((name, domain));
    }

    fn add_lowest(&mut self, path: &[Name]) -> Option<DomainId> {
        let labels = self.tree.levels.iter().cloned().zip(path.iter().cloned()).collect();
        let spec = NodeSpec { name: path.last()?.clone(), labels, ready: Some(true), ..NodeSpec::default() };
        let node = Arc::new(Node::new(spec, Vec::new(), &mut SharedNames::default()));
        let id = if self.tree.is_by_host() { path.last()?.clone() } else { domain_id(path) };
        let cell = u32::try_from(self.named.len()).ok()?;
        self.tree.set_leaf(&id, Leaf { cell, free: Box::default(), node });
        self.tree.leaf(&id)
    }

    fn add_wider(&mut self, path: &[Name]) -> Option<DomainId> {
        let (last, above) = path.split_last()?;
        let mut parent = None;
        for value in above {
            parent = Some(self.tree.child(parent, value)?);
        }
        Some(self.tree.add_domain(above.len(), parent, last))
    }

    fn name(&self, domain: DomainId) -> Name {
        let known = self.named.iter().find(|(_, known)| *known == domain);
        known.map(|(name, _)| name.clone()).unwrap_or_default()
    }

    fn domain(&self, name: &str) -> Option<DomainId> {
        self.named.iter().find(|(known, _)| **known == *name).map(|(_, domain)| *domain)
    }

    fn with_field<T>(&self, wish: Wish, answer: impl FnOnce(&Field<'_>) -> T) -> T {
        let terms = Terms {
            level: 0,
            is_required: false,
            is_unconstrained: wish.fills_gaps,
            slice_level: wish.slice_level,
            slice_size: wish.slice_size,
            inner: Vec::new(),
            layers: Vec::new(),
        };
        answer(&Field {
            tree: &self.tree,
            counts: &self.counts,
            terms: &terms,
            count: wish.pods,
            leaders: wish.leaders,
            fills_gaps: wish.fills_gaps,
            has_tastes: wish.has_tastes,
        })
    }

    /// The domains in the order in which workers are given to them, or workers with a leader.
    #[must_use]
    pub fn in_order(&self, wish: Wish, is_led: bool) -> Vec<Name> {
        let mut domains: Vec<DomainId> = self.named.iter().map(|(_, domain)| *domain).collect();
        self.with_field(wish, |field| if is_led { field.sort_led(&mut domains) } else { field.sort(&mut domains) });
        domains.into_iter().map(|domain| self.name(domain)).collect()
    }

    /// Which of two domains comes first where nothing but their names tells them apart.
    #[must_use]
    pub fn compare(&self, one: &str, other: &str) -> Option<Ordering> {
        let rank = |name| Some(self.tree.domain(self.domain(name)?).rank);
        Some(rank(one)?.cmp(&rank(other)?))
    }

    /// As few domains as possible that have room for all.
    #[must_use]
    pub fn fewest(&self, wish: Wish) -> Option<Vec<Name>> {
        let chosen = self.with_field(wish, |field| field.fewest(&self.tree.at_level(0), false))?;
        Some(chosen.into_iter().map(|domain| self.name(domain)).collect())
    }

    /// What each domain is given so that none has less than the threshold.
    #[must_use]
    pub fn level_out(&self, wish: Wish, threshold: i32) -> Option<Vec<(Name, SketchRoom)>> {
        let given = self.with_field(wish, |field| field.level_out(&self.tree.at_level(0), threshold))?;
        let shown = |(domain, slices, leaders): (DomainId, i32, i32)| {
            (self.name(domain), balanced::given(slices, leaders, wish.slice_size).into())
        };
        Some(given.into_iter().map(shown).collect())
    }

    /// The threshold that siblings can be levelled out to, and how many siblings there are.
    #[must_use]
    pub fn best_threshold(&self, wish: Wish) -> Option<(i32, usize)> {
        self.with_field(wish, |field| {
            let leader = (wish.leaders > 0).then(Pods::default);
            let shape = Shape::new(Pods::default(), leader, field.terms);
            balanced::best_threshold(field, &shape)
        })
    }

    /// The first domain of an assignment that is not there.
    #[must_use]
    pub fn first_stale(&self, assignment: &TopologyAssignment) -> Option<Name> {
        self.tree.first_stale(assignment)
    }

    /// Two assignments as one.
    #[must_use]
    pub fn merged(&self, one: &TopologyAssignment, other: &TopologyAssignment) -> TopologyAssignment {
        self.tree.merged(one, other)
    }

    /// Whether there are all the levels that a request names.
    #[must_use]
    pub fn knows(&self, request: &TopologyRequest) -> bool {
        request.is_known_to(&self.tree)
    }
}
