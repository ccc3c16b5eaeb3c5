//! The workloads that wait in one ClusterQueue.
//!
//! Workloads of one class and LocalQueue form a group: any cycle would treat them alike. A group's members are awake
//! (the next may be taken) or asleep (parked until something changes). A class that cannot fit is put to sleep, and
//! woken, by swapping the two sets, so that neither costs more for a thousand members than for one.
//!
//! The groups of one LocalQueue stand in one line. With admission fair sharing the line whose LocalQueue used least
//! goes first, whoever waits in it; without, no line has used anything, and the tickets alone decide.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::id::{ClassId, LocalQueueId, WorkloadId};
use crate::ledger::Usage;
use crate::workload::{Seat, Ticket};

/// All that wait. Invariants: a workload is in one set of one group or held; a line has the first awake member of
/// each of its groups that has one, and `order` the first of each line; `sleepers` names the classes with a sleeping
/// member.
#[derive(Debug)]
pub(crate) struct Pending {
    groups: FxHashMap<ClassId, BTreeMap<LocalQueueId, Group>>,
    lines: BTreeMap<LocalQueueId, Line>,
    order: BTreeSet<(Usage, Ticket, LocalQueueId)>,
    /// What each LocalQueue has used by now; nothing where there is no entry.
    used: FxHashMap<LocalQueueId, Usage>,
    /// Lines whose place in `order` is not that of their LocalQueue's usage any more.
    moved: BTreeSet<LocalQueueId>,
    /// LocalQueues whose usage has a part that is not settled yet.
    unsettled: BTreeSet<LocalQueueId>,
    sleepers: BTreeSet<ClassId>,
    held: BTreeSet<Ticket>,
    /// Who preempts at the moment; it is taken first while it is sticky.
    pub(crate) preemptor: Option<Preemptor>,
    /// Classes that were found not to fit, and why; new members go to sleep at once.
    pub(crate) no_fit: FxHashMap<ClassId, &'static str>,
    /// Counts how often a head was asked for.
    pub(crate) pop_cycle: i64,
    /// The `pop_cycle` when the sleepers were last woken.
    pub(crate) wake_cycle: i64,
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
            groups: FxHashMap::default(),
            lines: BTreeMap::new(),
            order: BTreeSet::new(),
            used: FxHashMap::default(),
            moved: BTreeSet::new(),
            unsettled: BTreeSet::new(),
            sleepers: BTreeSet::new(),
            held: BTreeSet::new(),
            preemptor: None,
            no_fit: FxHashMap::default(),
            pop_cycle: 0,
            wake_cycle: -1,
        }
    }
}

impl Pending {
    pub(crate) fn push(&mut self, seat: &Seat) {
        self.change(seat.class, seat.local_queue, |group| {
            group.awake.insert(seat.ticket.clone());
        });
    }

    pub(crate) fn park(&mut self, seat: &Seat) {
        self.change(seat.class, seat.local_queue, |group| {
            group.asleep.insert(seat.ticket.clone());
        });
    }

    pub(crate) fn hold(&mut self, seat: &Seat) {
        self.held.insert(seat.ticket.clone());
    }

    pub(crate) fn remove_queued(&mut self, seat: &Seat) {
        self.change(seat.class, seat.local_queue, |group| {
            if !group.awake.remove(&seat.ticket) {
                group.asleep.remove(&seat.ticket);
            }
        });
    }

    pub(crate) fn remove_held(&mut self, seat: &Seat) {
        self.held.remove(&seat.ticket);
    }

    pub(crate) fn is_awake(&self, seat: &Seat) -> bool {
        self.group(seat).is_some_and(|group| group.awake.contains(&seat.ticket))
    }

    pub(crate) fn has_awake(&self) -> bool {
        !self.order.is_empty()
    }

    /// The ticket that is served next; the sticky one, given by its seat, goes before all whose LocalQueue used as
    /// much as its own.
    pub(crate) fn first(&self, sticky: Option<&Seat>) -> Option<WorkloadId> {
        let (least, ticket, _) = self.order.first()?;
        match sticky {
            Some(seat) if self.is_awake(seat) && self.lines[&seat.local_queue].usage == *least => Some(seat.ticket.id),
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
        for local_queue in self.local_queues_with(class) {
            self.change(class, local_queue, |group| merge(&mut group.awake, &mut group.asleep));
        }
    }

    fn local_queues_with(&self, class: ClassId) -> Vec<LocalQueueId> {
        self.groups.get(&class).into_iter().flat_map(|groups| groups.keys().copied()).collect()
    }

    /// Wakes all members of the groups whose LocalQueue passes; says whether there was one.
    pub(crate) fn wake(&mut self, passes: impl Fn(LocalQueueId) -> bool) -> bool {
        let mut is_any = false;
        for class in std::mem::take(&mut self.sleepers) {
            for local_queue in self.local_queues_with(class) {
                let may_wake = passes(local_queue);
                self.change(class, local_queue, |group| {
                    if may_wake && !group.asleep.is_empty() {
                        is_any = true;
                        merge(&mut group.asleep, &mut group.awake);
                    }
                });
            }
        }
        is_any
    }

    pub(crate) fn held(&self) -> impl Iterator<Item = &Ticket> {
        self.held.iter()
    }

    /// All awake, in the order in which they would be served by what is known now.
    pub(crate) fn awake(&self) -> Vec<&Ticket> {
        let sticky = self.preemptor.filter(|preemptor| preemptor.is_sticky).map(|preemptor| preemptor.workload);
        let groups = self.groups.values().flatten();
        let mut all: Vec<(Usage, bool, &Ticket)> = groups
            .flat_map(|(local_queue, group)| {
                let usage = self.usage(*local_queue);
                group.awake.iter().map(move |ticket| (usage, sticky != Some(ticket.id), ticket))
            })
            .collect();
        all.sort();
        all.into_iter().map(|(_, _, ticket)| ticket).collect()
    }

    pub(crate) fn asleep(&self) -> impl Iterator<Item = &Ticket> {
        self.groups.values().flat_map(BTreeMap::values).flat_map(|group| &group.asleep).chain(&self.held)
    }

    fn group(&self, seat: &Seat) -> Option<&Group> {
        self.groups.get(&seat.class)?.get(&seat.local_queue)
    }

    /// Changes one group and keeps what is derived from it in step.
    fn change(&mut self, class: ClassId, local_queue: LocalQueueId, edit: impl FnOnce(&mut Group)) {
        let groups = self.groups.entry(class).or_default();
        let group = groups.entry(local_queue).or_default();
        let old = group.awake.first().cloned();
        edit(group);
        let new = group.awake.first().cloned();
        if group.awake.is_empty() && group.asleep.is_empty() {
            groups.remove(&local_queue);
        }
        let has_sleepers = groups.values().any(|group| !group.asleep.is_empty());
        if groups.is_empty() {
            self.groups.remove(&class);
        }
        if has_sleepers {
            self.sleepers.insert(class);
        } else {
            self.sleepers.remove(&class);
        }
        if old != new {
            self.change_line(local_queue, |heads| {
                if let Some(old) = old {
                    heads.remove(&(old, class));
                }
                if let Some(new) = new {
                    heads.insert((new, class));
                }
            });
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
        for (class, groups) in &self.groups {
            assert!(!groups.is_empty(), "an empty class is dropped");
            for (local_queue, group) in groups {
                assert!(!group.awake.is_empty() || !group.asleep.is_empty(), "an empty group is dropped");
                assert!(group.awake.is_disjoint(&group.asleep), "nobody is awake and asleep");
                if let Some(first) = group.awake.first() {
                    heads.entry(*local_queue).or_default().insert((first.clone(), *class));
                }
            }
            let has_sleepers = groups.values().any(|group| !group.asleep.is_empty());
            assert_eq!(self.sleepers.contains(class), has_sleepers, "sleepers are known");
        }
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

/// Moves all of `from` into `into`; free when `into` is empty.
fn merge(from: &mut BTreeSet<Ticket>, into: &mut BTreeSet<Ticket>) {
    if into.is_empty() {
        std::mem::swap(from, into);
    } else {
        into.append(from);
    }
}
