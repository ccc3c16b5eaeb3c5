//! The domains of one level in the order in which a search takes them, for one shape of pods.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::census::Count;
use super::tree::DomainId;

/// What decides who comes first: room for a leader, what pods like, the most room in slices, the least to spare in
/// pods, and then the name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Standing {
    leaders: Reverse<i32>,
    taste: Reverse<i64>,
    slices: Reverse<i32>,
    pods: i32,
    rank: u64,
}

/// Kept in order while counts change, so that a search need not sort what it does not look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranking {
    order: BTreeSet<(Standing, DomainId)>,
    standings: FxHashMap<DomainId, Standing>,
}

/// The domains that are alike in what comes before their room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Class {
    leaders: Reverse<i32>,
    taste: Reverse<i64>,
}

impl Standing {
    fn class(&self) -> Class {
        Class { leaders: self.leaders, taste: self.taste }
    }
}

impl Class {
    /// Where domains with that room begin in the order.
    fn with_room(self, slices: i32) -> (Standing, DomainId) {
        let Self { leaders, taste } = self;
        (Standing { leaders, taste, slices: Reverse(slices), pods: i32::MIN, rank: 0 }, DomainId(0))
    }

    /// Where domains with less room begin.
    fn past_room(self, slices: i32) -> (Standing, DomainId) {
        let (standing, _) = self.with_room(slices);
        (Standing { pods: i32::MAX, rank: u64::MAX, ..standing }, DomainId(u32::MAX))
    }
}

impl Ranking {
    /// A domain has this room now; none when it is gone.
    pub(super) fn set(&mut self, domain: DomainId, room: Option<(Count, u64)>) {
        let new = room.map(|(count, rank)| Standing {
            leaders: Reverse(count.leaders),
            taste: Reverse(count.taste),
            slices: Reverse(count.slices_led),
            pods: count.pods_led,
            rank,
        });
        let old = match new {
            Some(new) => self.standings.insert(domain, new),
            None => self.standings.remove(&domain),
        };
        if old == new {
            return;
        }
        old.map(|old| self.order.remove(&(old, domain)));
        new.map(|new| self.order.insert((new, domain)));
    }

    pub(super) fn first(&self) -> Option<DomainId> {
        self.order.first().map(|(_, domain)| *domain)
    }

    /// From the most room to the least; or the other way round, with what goes before room as ever.
    pub(super) fn in_order(&self, from_the_least: bool) -> impl Iterator<Item = DomainId> {
        let widest_first = (!from_the_least).then(|| self.order.iter());
        let tightest_first = from_the_least.then(|| {
            self.classes().flat_map(move |class| {
                let next = move |slices: &i32| slices.checked_add(1).and_then(|more| self.least_room(class, more));
                let rooms = std::iter::successors(self.least_room(class, i32::MIN), next);
                rooms.flat_map(move |slices| self.order.range(class.with_room(slices)..=class.past_room(slices)))
            })
        });
        let order = widest_first.into_iter().flatten().chain(tightest_first.into_iter().flatten());
        order.map(|(_, domain)| *domain)
    }

    /// Of the domains that a search likes as much as this one, the first with the least room that is enough.
    pub(super) fn tightest_like(&self, domain: DomainId, slices: i32) -> Option<DomainId> {
        let class = self.standings.get(&domain)?.class();
        self.tightest_in(class, slices)
    }

    /// The first domain, from the tightest on, that has room for so many slices and the leaders.
    pub(super) fn tightest(&self, leaders: i32, slices: i32) -> Option<DomainId> {
        self.classes().filter(|class| class.leaders.0 >= leaders).find_map(|class| self.tightest_in(class, slices))
    }

    fn tightest_in(&self, class: Class, slices: i32) -> Option<DomainId> {
        let room = self.least_room(class, slices)?;
        self.order.range(class.with_room(room)..).next().map(|(_, domain)| *domain)
    }

    /// The least room in a class that is not less than that.
    fn least_room(&self, class: Class, slices: i32) -> Option<i32> {
        let (standing, _) = self.order.range(class.with_room(i32::MAX)..=class.past_room(slices)).next_back()?;
        Some(standing.slices.0)
    }

    fn classes(&self) -> impl Iterator<Item = Class> {
        let class_from = |entry: Option<&(Standing, DomainId)>| entry.map(|(standing, _)| standing.class());
        std::iter::successors(class_from(self.order.first()), move |class| {
            class_from(self.order.range(class.past_room(i32::MIN)..).next())
        })
    }
}
