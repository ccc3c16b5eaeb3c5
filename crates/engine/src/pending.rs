//! The workloads that wait in one ClusterQueue.
//!
//! Workloads of one class and origin form a group: any cycle would treat them alike. A group's members are awake
//! (the next may be taken) or asleep (parked until something changes). A class that cannot fit is put to sleep, and
//! woken, by swapping the two sets, so that neither costs more for a thousand members than for one.
//!
//! The groups of one LocalQueue stand in one line. With admission fair sharing the line whose LocalQueue used least
//! goes first, whoever waits in it; without, no line has used anything, and the tickets alone decide.

mod in_order;
mod tally;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::id::{ClassId, LocalQueueId, WorkloadId};
use crate::ledger::Usage;
use crate::trace::Trace;
use crate::workload::{Origin, Seat, Ticket};

use in_order::InOrder;
pub use tally::PendingCount;
pub(crate) use tally::Tally;

/// All that wait. Invariants: a workload is in one set of one group or held; a line has the first awake member of
/// each of its groups that has one, and `order` the first of each line; `sleepers` names the classes with a sleeping
/// member; `tally` counts them all.
#[derive(Debug)]
pub(crate) struct Pending {
    classes: FxHashMap<ClassId, Members>,
    lines: BTreeMap<LocalQueueId, Line>,
    order: BTreeSet<(Usage, Ticket, LocalQueueId)>,
    /// What each LocalQueue has used by now; nothing where there is no entry.
    used: FxHashMap<LocalQueueId, Usage>,
    /// Lines whose place in `order` is not that of their LocalQueue's usage any more.
    moved: BTreeSet<LocalQueueId>,
    /// LocalQueues whose usage has a part that is not settled yet.
    unsettled: BTreeSet<LocalQueueId>,
    sleepers: BTreeSet<ClassId>,
    held: BTreeMap<Ticket, LocalQueueId>,
    tally: Tally,
    /// Taken out by a cycle that has not decided yet.
    pub(crate) in_flight: Option<Seat>,
    /// Who preempts at the moment; it is taken first while it is sticky.
    pub(crate) preemptor: Option<Preemptor>,
    /// Classes that were found not to fit, and why; new members go to sleep at once.
    pub(crate) no_fit: FxHashMap<ClassId, NoFit>,
    /// Counts how often a head was asked for.
    pub(crate) pop_cycle: i64,
    /// The `pop_cycle` when the sleepers were last woken.
    pub(crate) wake_cycle: i64,
}

/// The members of a class, by where they came from.
#[derive(Debug, Default)]
struct Members {
    groups: BTreeMap<Origin, Group>,
    awake: usize,
    asleep: usize,
    held: usize,
}

#[derive(Debug, Default)]
struct Group {
    awake: BTreeSet<Ticket>,
    asleep: BTreeSet<Ticket>,
}

/// Those of one LocalQueue.
#[derive(Debug)]
struct Line {
    /// By which it stands in the order.
    usage: Usage,
    heads: BTreeSet<(Ticket, ClassId)>,
}

/// That a class does not fit, and what the look at one of its members found.
#[derive(Debug)]
pub(crate) struct NoFit {
    /// In one word.
    pub(crate) why: &'static str,
    pub(crate) looked_at: WorkloadId,
    pub(crate) trace: Arc<Trace>,
}

/// The workload that waits for its victims to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Preemptor {
    pub(crate) workload: WorkloadId,
    pub(crate) generation: i64,
    pub(crate) is_sticky: bool,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            classes: FxHashMap::default(),
            lines: BTreeMap::new(),
            order: BTreeSet::new(),
            used: FxHashMap::default(),
            moved: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            sleepers: BTreeSet::new(),
            held: BTreeMap::new(),
            tally: Tally::default(),
            in_flight: None,
            preemptor: None,
            no_fit: FxHashMap::default(),
            pop_cycle: 0,
            wake_cycle: -1,
        }
    }
}

impl Pending {
    pub(crate) fn push(&mut self, seat: &Seat) {
        self.tally.add_requests(&seat.requests);
        self.change(seat.class, seat.origin, |group| {
            group.awake.insert(seat.ticket.clone());
        });
    }

    pub(crate) fn park(&mut self, seat: &Seat) {
        self.tally.add_requests(&seat.requests);
        self.change(seat.class, seat.origin, |group| {
            group.asleep.insert(seat.ticket.clone());
        });
    }

    pub(crate) fn hold(&mut self, seat: &Seat) {
        self.tally.add_requests(&seat.requests);
        self.held.insert(seat.ticket.clone(), seat.origin.local_queue);
        self.change_members(seat.class, |members| members.held += 1);
        self.tally.move_by(seat.origin, 0, 1);
    }

    pub(crate) fn remove_queued(&mut self, seat: &Seat) {
        self.tally.remove_requests(&seat.requests);
        self.change(seat.class, seat.origin, |group| {
            if !group.awake.remove(&seat.ticket) {
                group.asleep.remove(&seat.ticket);
            }
        });
    }

    pub(crate) fn remove_held(&mut self, seat: &Seat) {
        self.tally.remove_requests(&seat.requests);
        self.held.remove(&seat.ticket);
        self.change_members(seat.class, |members| members.held -= 1);
        self.tally.move_by(seat.origin, 0, -1);
    }

    pub(crate) fn is_awake(&self, seat: &Seat) -> bool {
        self.group(seat).is_some_and(|group| group.awake.contains(&seat.ticket))
    }

    /// Whether nobody sleeps, is held back, or would be put to sleep on arrival.
    pub(crate) fn is_all_awake(&self) -> bool {
        self.sleepers.is_empty() && self.held.is_empty() && self.no_fit.is_empty()
    }

    pub(crate) fn has_awake(&self) -> bool {
        !self.order.is_empty()
    }

    /// The ticket that is served next; the sticky one, given by its seat, goes before all whose LocalQueue used as
    /// much as its own.
    pub(crate) fn first(&self, sticky: Option<&Seat>) -> Option<WorkloadId> {
        let (least, ticket, _) = self.order.first()?;
        match sticky {
            Some(seat) if self.is_awake(seat) && self.lines[&seat.origin.local_queue].usage == *least => {
                Some(seat.ticket.id)
            }
            _ => Some(ticket.id),
        }
    }

    /// The LocalQueue has used that much by now, and whether a part of it is not settled.
    pub(crate) fn note_usage(&mut self, local_queue: LocalQueueId, usage: Usage, has_unsettled: bool) {
        if has_unsettled {
            self.unsettled.insert(local_queue);
        } else {
            self.unsettled.remove(&local_queue);
        }
        self.used.insert(local_queue, usage);
        if self.lines.get(&local_queue).is_some_and(|line| line.usage != usage) {
            self.moved.insert(local_queue);
        }
    }

    /// What the LocalQueue has used by now.
    pub(crate) fn usage(&self, local_queue: LocalQueueId) -> Usage {
        self.used.get(&local_queue).copied().unwrap_or_default()
    }

    /// The LocalQueue does not lead here any more.
    pub(crate) fn forget_usage(&mut self, local_queue: LocalQueueId) {
        self.note_usage(local_queue, Usage::default(), false);
        self.used.remove(&local_queue);
    }

    /// Brings the lines into the order of what their LocalQueues used.
    pub(crate) fn reorder(&mut self) {
        for local_queue in std::mem::take(&mut self.moved) {
            let usage = self.usage(local_queue);
            if let Some(line) = self.lines.get_mut(&local_queue) {
                let (first, _) = line.heads.first().expect("a line is not empty");
                self.order.remove(&(line.usage, first.clone(), local_queue));
                self.order.insert((usage, first.clone(), local_queue));
                line.usage = usage;
            }
        }
    }

    /// The same before somebody is served, if usage has a part that is not settled: Kueue looks at its heap again only
    /// then, and otherwise after each one that it serves.
    pub(crate) fn reorder_if_unsettled(&mut self) {
        if !self.unsettled.is_empty() {
            self.reorder();
        }
    }

    /// Puts all members of a class to sleep.
    pub(crate) fn put_to_sleep(&mut self, class: ClassId) {
        for origin in self.origins(class) {
            self.change(class, origin, |group| merge(&mut group.awake, &mut group.asleep));
        }
    }

    /// Wakes all members of the groups whose class may wake and whose LocalQueue passes.
    pub(crate) fn wake(&mut self, may_wake: impl Fn(ClassId) -> bool, passes: impl Fn(LocalQueueId) -> bool) {
        let sleepers: Vec<ClassId> = self.sleepers.iter().copied().filter(|class| may_wake(*class)).collect();
        for class in sleepers {
            for origin in self.origins(class) {
                if passes(origin.local_queue) {
                    self.change(class, origin, |group| merge(&mut group.asleep, &mut group.awake));
                }
            }
        }
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &Ticket> {
        self.held.keys()
    }

    /// Everybody, awake or not, in the order in which they would be served by what is known now. Costs what is taken
    /// from it, and a little per group.
    pub(crate) fn in_order<'a>(&'a self, sticky: Option<&'a Seat>) -> impl Iterator<Item = &'a Ticket> {
        let sets = self.groups().flat_map(|(origin, group)| [(origin, &group.awake), (origin, &group.asleep)]);
        self.merged(sets, self.held.iter(), sticky)
    }

    /// All awake, in the same order.
    pub(crate) fn awake<'a>(&'a self, sticky: Option<&'a Seat>) -> impl Iterator<Item = &'a Ticket> {
        let sets = self.groups().map(|(origin, group)| (origin, &group.awake));
        self.merged(sets, [].into_iter(), sticky.filter(|seat| self.is_awake(seat)))
    }

    pub(crate) fn asleep(&self) -> impl Iterator<Item = &Ticket> {
        self.groups().flat_map(|(_, group)| &group.asleep).chain(self.held.keys())
    }

    /// The numbers, without the workload that a cycle has taken.
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Whether somebody of the class is awake, and whether anybody is here.
    pub(crate) fn knows(&self, class: ClassId) -> (bool, bool) {
        self.classes.get(&class).map_or((false, false), |members| (members.awake > 0, true))
    }

    fn merged<'a>(
        &'a self,
        sets: impl Iterator<Item = (Origin, &'a BTreeSet<Ticket>)>,
        singles: impl Iterator<Item = (&'a Ticket, &'a LocalQueueId)>,
        sticky: Option<&'a Seat>,
    ) -> InOrder<'a> {
        let used = |local_queue: LocalQueueId| self.usage(local_queue);
        let sticky = sticky.map(|seat| (used(seat.origin.local_queue), &seat.ticket));
        let sets = sets.map(|(origin, tickets)| (used(origin.local_queue), tickets));
        InOrder::new(sets, singles.map(|(ticket, local_queue)| (used(*local_queue), ticket)), sticky)
    }

    fn groups(&self) -> impl Iterator<Item = (Origin, &Group)> {
        self.classes.values().flat_map(|members| members.groups.iter().map(|(origin, group)| (*origin, group)))
    }

    fn group(&self, seat: &Seat) -> Option<&Group> {
        self.classes.get(&seat.class)?.groups.get(&seat.origin)
    }

    fn origins(&self, class: ClassId) -> Vec<Origin> {
        self.classes.get(&class).into_iter().flat_map(|members| members.groups.keys().copied()).collect()
    }

    /// Changes one group and keeps what is derived from it in step.
    fn change(&mut self, class: ClassId, origin: Origin, edit: impl FnOnce(&mut Group)) {
        let (mut first, mut awake, mut asleep) = ((None, None), 0, 0);
        self.change_members(class, |members| {
            let group = members.groups.entry(origin).or_default();
            let (old_first, old_awake, old_asleep) =
                (group.awake.first().cloned(), group.awake.len(), group.asleep.len());
            edit(group);
            first = (old_first, group.awake.first().cloned());
            (awake, asleep) = (difference(old_awake, group.awake.len()), difference(old_asleep, group.asleep.len()));
            if group.awake.is_empty() && group.asleep.is_empty() {
                members.groups.remove(&origin);
            }
            members.awake = members.awake.saturating_add_signed(awake);
            members.asleep = members.asleep.saturating_add_signed(asleep);
        });
        self.tally.move_by(origin, awake, asleep);
        let (old, new) = first;
        if old != new {
            self.change_line(origin.local_queue, |heads| {
                if let Some(old) = old {
                    heads.remove(&(old, class));
                }
                if let Some(new) = new {
                    heads.insert((new, class));
                }
            });
        }
    }

    fn change_members(&mut self, class: ClassId, edit: impl FnOnce(&mut Members)) {
        let members = self.classes.entry(class).or_default();
        let before = members.stirrings();
        edit(members);
        let after = members.stirrings();
        let has_sleepers = members.asleep > 0;
        if after == (false, false) {
            self.classes.remove(&class);
        }
        self.tally.class_changed(before, after);
        if has_sleepers {
            self.sleepers.insert(class);
        } else {
            self.sleepers.remove(&class);
        }
    }

    fn change_line(&mut self, local_queue: LocalQueueId, edit: impl FnOnce(&mut BTreeSet<(Ticket, ClassId)>)) {
        let line = self.lines.entry(local_queue).or_insert_with(|| Line {
            usage: self.used.get(&local_queue).copied().unwrap_or_default(),
            heads: BTreeSet::new(),
        });
        let first = |heads: &BTreeSet<(Ticket, ClassId)>| heads.first().map(|(ticket, _)| ticket.clone());
        let old = first(&line.heads);
        edit(&mut line.heads);
        let new = first(&line.heads);
        let usage = line.usage;
        if new.is_none() {
            self.lines.remove(&local_queue);
            self.moved.remove(&local_queue);
        }
        if old != new {
            if let Some(old) = old {
                self.order.remove(&(usage, old, local_queue));
            }
            if let Some(new) = new {
                self.order.insert((usage, new, local_queue));
            }
        }
    }

    pub(crate) fn check_invariants(&self) {
        let mut heads: BTreeMap<LocalQueueId, BTreeSet<(Ticket, ClassId)>> = BTreeMap::new();
        let mut held = 0;
        let mut count = PendingCount { active: 0, inadmissible: self.held.len() };
        for (class, members) in &self.classes {
            for (origin, group) in &members.groups {
                assert!(!group.awake.is_empty() || !group.asleep.is_empty(), "an empty group is dropped");
                assert!(group.awake.is_disjoint(&group.asleep), "nobody is awake and asleep");
                if let Some(first) = group.awake.first() {
                    heads.entry(origin.local_queue).or_default().insert((first.clone(), *class));
                }
                count.active += group.awake.len();
                count.inadmissible += group.asleep.len();
            }
            assert_eq!(members.awake, members.groups.values().map(|group| group.awake.len()).sum::<usize>());
            assert_eq!(members.asleep, members.groups.values().map(|group| group.asleep.len()).sum::<usize>());
            assert_ne!(members.stirrings(), (false, false), "an empty class is dropped");
            assert_eq!(self.sleepers.contains(class), members.asleep > 0, "sleepers are known");
            held += members.held;
        }
        assert_eq!(held, self.held.len(), "who is held counts for its class");
        assert_eq!(self.tally.total(), count, "all are counted");
        assert_eq!(self.tally.distinct_shapes(), self.classes.len(), "all classes are counted");
        let lines: BTreeMap<LocalQueueId, _> = self.lines.iter().map(|(id, line)| (*id, line.heads.clone())).collect();
        assert_eq!(lines, heads, "one head per group with somebody awake");
        let firsts = self.lines.iter().map(|(id, line)| {
            let (ticket, _) = line.heads.first().expect("a line is not empty");
            (line.usage, ticket.clone(), *id)
        });
        assert_eq!(self.order, firsts.collect(), "one first per line");
        for (id, line) in &self.lines {
            let is_placed = self.usage(*id) == line.usage;
            assert!(is_placed || self.moved.contains(id), "a line that moved is known");
        }
    }
}

impl Members {
    /// Whether somebody is awake, and whether somebody is not.
    fn stirrings(&self) -> (bool, bool) {
        (self.awake > 0, self.asleep + self.held > 0)
    }
}

fn difference(old: usize, new: usize) -> isize {
    new.cast_signed() - old.cast_signed()
}

/// Moves all of `from` into `into`; free when `into` is empty.
fn merge(from: &mut BTreeSet<Ticket>, into: &mut BTreeSet<Ticket>) {
    if into.is_empty() {
        std::mem::swap(from, into);
    } else {
        into.append(from);
    }
}
