//! The search for domains: at which level, which ones, and down to the nodes.

use super::census::{Census, Shape};
use super::failure::{Excluded, Failure, Spot, Unit};
use super::place::Manner;
use super::ranking::Ranking;
use super::request::Terms;
use super::sites::Room;
use super::spread::{Field, Measure, Share};
use super::tree::{DomainId, Tree};
use super::{DomainShare, TopologyAssignment, balanced};

/// How a search goes about it: the settings that matter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Habits {
    /// Pods that may go anywhere fill gaps.
    pub(crate) fills_gaps: bool,
    pub(crate) has_tastes: bool,
    pub(crate) is_balanced: bool,
}

/// Where workers, and the leader if there is one, go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Places {
    pub(super) workers: TopologyAssignment,
    pub(super) leader: Option<TopologyAssignment>,
}

impl Tree {
    /// Finds places for so many workers of a shape and its leader.
    pub(super) fn search(
        &mut self,
        shape: &Shape,
        terms: &Terms,
        count: i32,
        manner: &Manner,
        room: Room<'_>,
    ) -> Result<Places, Failure> {
        let habits = manner.habits;
        let levels = if terms.is_required { terms.level..=terms.level } else { 0..=terms.level };
        self.ask(shape, room, levels, |tree, census| {
            let field = Field {
                tree,
                counts: &census.counts,
                terms,
                count,
                leaders: i32::from(shape.leader.is_some()),
                fills_gaps: habits.fills_gaps && terms.is_unconstrained,
                has_tastes: habits.has_tastes,
            };
            let found = field.find(census, shape, habits.is_balanced);
            let why = |lack| if manner.explains { field.failure(lack, census) } else { Failure::NoRoom };
            let shares = found.map_err(why)?;
            Ok(tree.places(shares, shape.leader.is_some()))
        })
    }

    fn places(&self, mut shares: Vec<Share>, has_leader: bool) -> Places {
        shares.sort_by_key(|share| self.domain(share.domain).rank);
        let assignment = |count_of: fn(&Share) -> i32| TopologyAssignment {
            levels: self.assigned_levels(),
            domains: shares
                .iter()
                .filter(|share| count_of(share) > 0)
                .map(|share| DomainShare { values: self.assigned_values(share.domain), count: count_of(share) })
                .collect(),
        };
        Places {
            workers: assignment(|share| share.pods),
            leader: has_leader.then(|| assignment(|share| share.leaders)),
        }
    }
}

/// How far a search came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lack {
    level: usize,
    /// Units that fit.
    fitting: i32,
}

impl Field<'_> {
    fn find(&self, census: &Census, shape: &Shape, is_balanced: bool) -> Result<Vec<Share>, Lack> {
        if is_balanced
            && !self.terms.is_required
            && !self.terms.is_unconstrained
            && let Some(shares) = balanced::find(self, shape)
        {
            return Ok(shares);
        }
        let (level, domains) = self.find_level(self.terms.level, census)?;
        let lack = Lack { level, fitting: 0 };
        let slices = Measure::Slices(self.terms.slice_size);
        let mut shares = self.spread(domains, slices, self.count, self.leaders).ok_or(lack)?;
        let mut level = level;
        while level < self.terms.slice_level {
            // Above the slices it does not matter what a domain was given, as long as all pods find a place below.
            let below: Vec<DomainId> =
                shares.iter().flat_map(|share| self.tree.domain(share.domain).children().iter().copied()).collect();
            shares = self.spread_unsorted(below, slices, self.count, self.leaders).ok_or(lack)?;
            level += 1;
        }
        self.descend(shares, level).ok_or(lack)
    }

    /// Gives what each domain got to those below it, down to the lowest level.
    pub(super) fn descend(&self, mut shares: Vec<Share>, from: usize) -> Option<Vec<Share>> {
        for level in from..self.tree.lowest() {
            let size = if level < self.terms.slice_level {
                self.terms.slice_size
            } else {
                self.terms.inner_size(level + 1).unwrap_or(1)
            };
            let measure = if size > 1 { Measure::Groups(size) } else { Measure::Pods };
            let mut below = Vec::new();
            for share in shares {
                let children = self.tree.domain(share.domain).children().to_vec();
                below.extend(self.spread_unsorted(children, measure, share.pods, share.leaders)?);
            }
            shares = below;
        }
        Some(shares)
    }

    /// The domains that have room, at that level or above it.
    fn find_level(&self, level: usize, census: &Census) -> Result<(usize, Vec<DomainId>), Lack> {
        let needed = self.count / self.terms.slice_size;
        let lack = |fitting| Lack { level, fitting };
        let Some((ranking, first)) = census.ranking(level).and_then(|ranking| Some((ranking, ranking.first()?))) else {
            return Err(lack(0));
        };
        let takes_all = |domain: &DomainId| {
            let count = self.count_of(*domain);
            count.slices_led >= needed && count.leaders >= self.leaders
        };
        let tightest = if self.fills_gaps {
            ranking.tightest(self.leaders, needed)
        } else {
            // With tastes, a required level may do with what is liked less.
            let is_picky = !(self.has_tastes && self.terms.is_required);
            let start = if is_picky { Some(first).filter(takes_all) } else { ranking.in_order(false).find(takes_all) };
            start.and_then(|start| ranking.tightest_like(start, needed))
        };
        if let Some(domain) = tightest {
            return Ok((level, vec![domain]));
        }
        if self.terms.is_required {
            let last = self.fills_gaps.then(|| ranking.in_order(true).last()).flatten();
            return Err(lack(last.map_or(self.count_of(first).slices, |last| self.count_of(last).pods)));
        }
        if level > 0 && !self.terms.is_unconstrained {
            return self.find_level(level - 1, census);
        }
        self.take_several(ranking, needed).map(|taken| (level, taken)).map_err(lack)
    }

    /// Domains until all have room: first for the leader, then for the workers. Else how many units fit.
    fn take_several(&self, ranking: &Ranking, needed: i32) -> Result<Vec<DomainId>, i32> {
        if self.leaders == 0 {
            return self.take_for_workers(ranking, needed);
        }
        let slices = Measure::Slices(self.terms.slice_size);
        let mut domains: Vec<DomainId> = ranking.in_order(self.fills_gaps).collect();
        self.put_leader_first(&mut domains, slices, needed, self.leaders);
        let (mut left, mut leaders_left) = (needed, self.leaders);
        let mut taken = Vec::new();
        let mut from = 0;
        while leaders_left > 0 && from < domains.len() && self.count_of(domains[from]).leaders > 0 {
            let mut domain = domains[from];
            if !self.fills_gaps && self.count_of(domain).slices_led >= left {
                domain = self.best_fit(&domains[from..], slices, left, leaders_left);
            }
            taken.push(domain);
            leaders_left -= self.count_of(domain).leaders;
            left -= self.count_of(domain).slices_led;
            from += 1;
        }
        if leaders_left > 0 {
            return Err(self.leaders - leaders_left);
        }
        let rest = &mut domains[from..];
        self.sort(rest);
        for index in 0..rest.len() {
            if left <= 0 {
                break;
            }
            let mut domain = rest[index];
            if !self.fills_gaps && self.count_of(domain).slices >= left {
                domain = self.best_fit(&rest[index..], slices, left, 0);
            }
            taken.push(domain);
            left -= self.count_of(domain).slices;
        }
        if left > 0 { Err(needed - left) } else { Ok(taken) }
    }

    /// The same where there is no leader: no more domains are looked at than are taken.
    fn take_for_workers(&self, ranking: &Ranking, needed: i32) -> Result<Vec<DomainId>, i32> {
        let slices = |domain: DomainId| self.count_of(domain).slices;
        let mut left = needed;
        let mut taken = Vec::new();
        for domain in ranking.in_order(self.fills_gaps).filter(|domain| slices(*domain) > 0) {
            if left <= 0 {
                break;
            }
            let is_last = !self.fills_gaps && slices(domain) >= left;
            let tighter = is_last.then(|| ranking.tightest_like(domain, left)).flatten();
            // What is as wide may have been taken before.
            let domain = tighter.filter(|tighter| slices(*tighter) < slices(domain)).unwrap_or(domain);
            taken.push(domain);
            left -= slices(domain);
        }
        if left > 0 { Err(needed - left) } else { Ok(taken) }
    }

    fn failure(&self, lack: Lack, census: &Census) -> Failure {
        let topology = self.tree.topology.clone();
        if !self.tree.has_domains() {
            return Failure::NoDomains(self.tree.levels[lack.level].clone());
        }
        let one = census.ranking(lack.level).filter(|_| self.terms.is_required).and_then(Ranking::first);
        let domain = one.map(|domain| self.tree.values(domain)).unwrap_or_default();
        let spot = Spot { level: self.tree.levels[lack.level].clone(), domain };
        let excluded = Excluded { total: self.tree.leaf_count(), reasons: census.exclusions.tally().clone() };
        if self.terms.layers.is_empty() {
            let unit = if self.terms.slice_size == 1 { Unit::Pod } else { Unit::Slice };
            let wanted = self.count / self.terms.slice_size;
            return Failure::TooFew { topology, spot, fitting: lack.fitting, wanted, unit, excluded };
        }
        let best = self.tree.at_level(lack.level).into_iter().reduce(|best, domain| {
            if self.count_of(domain).slices > self.count_of(best).slices { domain } else { best }
        });
        let fits = self.terms.layers.iter().filter_map(|layer| {
            let target = self.tree.level_of(&layer.level)?;
            let size = layer.size.max(1);
            let fitting = self.groups_below(best?, lack.level, target, size);
            Some((fitting, self.count / size, layer.level.clone()))
        });
        Failure::Layers { topology, spot, fits: fits.collect(), excluded }
    }

    fn groups_below(&self, domain: DomainId, level: usize, target: usize, size: i32) -> i32 {
        if level >= target {
            return self.count_of(domain).pods / size;
        }
        let below = self.tree.domain(domain).children().iter();
        below.map(|child| self.groups_below(*child, level + 1, target, size)).sum()
    }
}
