//! Gives pods to domains: as few as possible, and the last of them the tightest that will do.

use std::cmp::Ordering;

use super::census::Count;
use super::request::Terms;
use super::tree::{DomainId, Tree};

/// When more domains than that are needed, it is cheaper to sort them.
const MOST_LOOKED_FOR: usize = 6;

/// What a domain is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    pub(super) domain: DomainId,
    pub(super) pods: i32,
    pub(super) leaders: i32,
}

/// The unit that pods are given out in, and how many of them fit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measure {
    /// One by one.
    Pods,
    /// Whole slices of the outermost size.
    Slices(i32),
    /// Groups of that size within a slice.
    Groups(i32),
}

/// What a search looks at and never changes.
#[derive(Clone, Copy)]
pub(super) struct Field<'a> {
    pub(super) tree: &'a Tree,
    pub(super) counts: &'a [Count],
    pub(super) terms: &'a Terms,
    /// Workers.
    pub(super) count: i32,
    pub(super) leaders: i32,
    /// Fill the smallest gaps first, rather than the widest.
    pub(super) fills_gaps: bool,
    /// What pods like comes before what fits best.
    pub(super) has_tastes: bool,
}

impl Measure {
    fn size(self) -> i32 {
        match self {
            Self::Pods => 1,
            Self::Slices(size) | Self::Groups(size) => size,
        }
    }

    /// How many units fit without and with a leader beside them.
    fn units(self, count: Count) -> (i32, i32) {
        match self {
            Self::Pods => (count.pods, count.pods_led),
            Self::Slices(_) => (count.slices, count.slices_led),
            Self::Groups(size) => (count.pods / size, count.pods_led / size),
        }
    }
}

impl<'a> Field<'a> {
    pub(super) fn count_of(&self, domain: DomainId) -> Count {
        self.counts[domain.index()]
    }

    fn rank(&self, domain: DomainId) -> u64 {
        self.tree.domain(domain).rank
    }

    /// Which of two domains workers are given to first.
    fn compare(&self, a: DomainId, b: DomainId) -> Ordering {
        let (x, y) = (self.count_of(a), self.count_of(b));
        let by_taste = if self.has_tastes { y.taste.cmp(&x.taste) } else { Ordering::Equal };
        let by_slices = if self.fills_gaps { x.slices.cmp(&y.slices) } else { y.slices.cmp(&x.slices) };
        by_taste.then(by_slices).then(x.pods.cmp(&y.pods)).then_with(|| self.rank(a).cmp(&self.rank(b)))
    }

    /// Sorts as workers are placed.
    pub(super) fn sort(&self, domains: &mut [DomainId]) {
        domains.sort_unstable_by(|a, b| self.compare(*a, *b));
    }

    /// Sorts as a leader is placed with workers.
    pub(super) fn sort_led(&self, domains: &mut [DomainId]) {
        domains.sort_unstable_by(|a, b| {
            let (x, y) = (self.count_of(*a), self.count_of(*b));
            let by_taste = if self.has_tastes { y.taste.cmp(&x.taste) } else { Ordering::Equal };
            let by_slices =
                if self.fills_gaps { x.slices_led.cmp(&y.slices_led) } else { y.slices_led.cmp(&x.slices_led) };
            let by_rest = x.pods_led.cmp(&y.pods_led).then_with(|| self.rank(*a).cmp(&self.rank(*b)));
            y.leaders.cmp(&x.leaders).then(by_taste).then(by_slices).then(by_rest)
        });
    }

    /// The first domain with the smallest room that is enough; the first of all when none is.
    pub(super) fn best_fit(&self, domains: &[DomainId], measure: Measure, needed: i32, leaders: i32) -> DomainId {
        let liked = match domains.first() {
            Some(first) if self.has_tastes => {
                let taste = self.count_of(*first).taste;
                let end = domains.iter().position(|domain| self.count_of(*domain).taste != taste);
                &domains[..end.unwrap_or(domains.len())]
            }
            _ => domains,
        };
        let room = |domain: DomainId| {
            let count = self.count_of(domain);
            let (units, units_led) = measure.units(count);
            (count.leaders >= leaders).then_some(if leaders > 0 { units_led } else { units })
        };
        let enough =
            liked.iter().filter_map(|domain| Some((room(*domain)?, *domain))).filter(|(room, _)| *room >= needed);
        enough.min_by_key(|(room, _)| *room).map_or(domains[0], |(_, domain)| domain)
    }

    /// Moves the first domain to the front that can take the leader and leaves enough room for the workers.
    pub(super) fn put_leader_first(&self, domains: &mut [DomainId], measure: Measure, needed: i32, leaders: i32) {
        if leaders == 0 || domains.len() < 2 {
            return;
        }
        let room: i32 =
            domains.iter().fold(0, |sum: i32, domain| sum.saturating_add(measure.units(self.count_of(*domain)).0));
        let chosen = domains.iter().position(|domain| {
            let count = self.count_of(*domain);
            let (units, units_led) = measure.units(count);
            count.leaders >= leaders && room - (units - units_led) >= needed
        });
        if let Some(chosen) = chosen {
            domains[..=chosen].rotate_right(1);
        }
    }

    /// Gives workers and leaders to domains that are in no order yet: mostly few of many are needed, and only those are
    /// looked for.
    pub(super) fn spread_unsorted(
        &self,
        mut domains: Vec<DomainId>,
        measure: Measure,
        count: i32,
        leaders: i32,
    ) -> Option<Vec<Share>> {
        if leaders > 0 {
            self.sort(&mut domains);
            return self.spread(domains, measure, count, leaders);
        }
        let room = |domain: DomainId| measure.units(self.count_of(domain)).0;
        let mut left = count / measure.size();
        let mut shares = Vec::new();
        for taken in 0..MOST_LOOKED_FOR.min(domains.len()) {
            let first = (taken..domains.len()).min_by(|a, b| self.compare(domains[*a], domains[*b]))?;
            domains.swap(taken, first);
            let mut domain = domains[taken];
            let is_last = room(domain) >= left;
            if is_last && !self.fills_gaps {
                let taste = self.count_of(domain).taste;
                let is_liked = |other: &DomainId| !self.has_tastes || self.count_of(*other).taste == taste;
                let enough = domains[taken..].iter().copied().filter(is_liked).filter(|other| room(*other) >= left);
                let tightest = enough.min_by(|a, b| room(*a).cmp(&room(*b)).then_with(|| self.compare(*a, *b)));
                domain = tightest.unwrap_or(domain);
            }
            let units = room(domain).min(left);
            shares.push(Share { domain, pods: units.saturating_mul(measure.size()), leaders: 0 });
            if is_last {
                return Some(shares);
            }
            left -= units;
        }
        let mut rest = domains.split_off(MOST_LOOKED_FOR.min(domains.len()));
        self.sort(&mut rest);
        shares.extend(self.spread(rest, measure, left.saturating_mul(measure.size()), 0)?);
        Some(shares)
    }

    /// Gives workers and leaders to domains in their order. `None` when there is not enough room after all.
    pub(super) fn spread(
        &self,
        mut domains: Vec<DomainId>,
        measure: Measure,
        count: i32,
        leaders: i32,
    ) -> Option<Vec<Share>> {
        let mut left = count / measure.size();
        let mut leaders_left = leaders;
        self.put_leader_first(&mut domains, measure, left, leaders);
        let mut shares = Vec::new();
        for index in 0..domains.len() {
            let is_led = leaders_left > 0;
            let room = |domain: DomainId| {
                let (units, units_led) = measure.units(self.count_of(domain));
                if is_led { units_led } else { units }
            };
            let mut domain = domains[index];
            let takes_all = |domain| room(domain) >= left && self.count_of(domain).leaders >= leaders_left;
            if !self.fills_gaps && takes_all(domain) {
                domain = self.best_fit(&domains[index..], measure, left, leaders_left);
            }
            let is_last = takes_all(domain);
            let units = room(domain).min(left);
            let leaders = if is_led { self.count_of(domain).leaders.min(leaders_left) } else { 0 };
            shares.push(Share { domain, pods: units.saturating_mul(measure.size()), leaders });
            if is_last {
                return Some(shares);
            }
            left -= units;
            leaders_left -= leaders;
        }
        None
    }
}
