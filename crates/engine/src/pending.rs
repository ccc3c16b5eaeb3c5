//! The workloads that wait in one ClusterQueue.
//!
//! Workloads of one class and namespace form a group: any cycle would treat them alike. A group's members are awake
//! (the next may be taken) or asleep (parked until something changes). A class that cannot fit is put to sleep, and
//! woken, by swapping the two sets, so that neither costs more for a thousand members than for one.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::id::{ClassId, NamespaceId, WorkloadId};
use crate::workload::{Seat, Ticket};

/// All that wait. Invariants: a workload is in one set of one group or held; `heads` has the first awake member of
/// each group that has one; `sleepers` names the classes with a sleeping member.
#[derive(Debug)]
pub(crate) struct Pending {
    groups: FxHashMap<ClassId, BTreeMap<NamespaceId, Group>>,
    heads: BTreeSet<(Ticket, ClassId, NamespaceId)>,
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
            heads: BTreeSet::new(),
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
        self.change(seat.class, seat.namespace, |group| {
            group.awake.insert(seat.ticket.clone());
        });
    }

    pub(crate) fn park(&mut self, seat: &Seat) {
        self.change(seat.class, seat.namespace, |group| {
            group.asleep.insert(seat.ticket.clone());
        });
    }

    pub(crate) fn hold(&mut self, seat: &Seat) {
        self.held.insert(seat.ticket.clone());
    }

    pub(crate) fn remove_queued(&mut self, seat: &Seat) {
        self.change(seat.class, seat.namespace, |group| {
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
        !self.heads.is_empty()
    }

    /// The ticket that is served next; the sticky one, given by its seat, goes before all others.
    pub(crate) fn first(&self, sticky: Option<&Seat>) -> Option<WorkloadId> {
        match sticky {
            Some(seat) if self.is_awake(seat) => Some(seat.ticket.id),
            _ => self.heads.first().map(|(ticket, _, _)| ticket.id),
        }
    }

    /// Puts all members of a class to sleep.
    pub(crate) fn put_to_sleep(&mut self, class: ClassId) {
        let namespaces: Vec<NamespaceId> =
            self.groups.get(&class).into_iter().flat_map(|groups| groups.keys().copied()).collect();
        for namespace in namespaces {
            self.change(class, namespace, |group| merge(&mut group.awake, &mut group.asleep));
        }
    }

    /// Wakes all members of the groups whose namespace passes; says whether there was one.
    pub(crate) fn wake(&mut self, passes: impl Fn(NamespaceId) -> bool) -> bool {
        let mut is_any = false;
        for class in std::mem::take(&mut self.sleepers) {
            let namespaces: Vec<NamespaceId> =
                self.groups.get(&class).into_iter().flat_map(|groups| groups.keys().copied()).collect();
            for namespace in namespaces {
                let may_wake = passes(namespace);
                self.change(class, namespace, |group| {
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

    /// All awake, in the order in which they would be served without a sticky one.
    pub(crate) fn awake(&self) -> Vec<&Ticket> {
        let mut all: Vec<&Ticket> =
            self.groups.values().flat_map(BTreeMap::values).flat_map(|group| &group.awake).collect();
        all.sort();
        all
    }

    pub(crate) fn asleep(&self) -> impl Iterator<Item = &Ticket> {
        self.groups.values().flat_map(BTreeMap::values).flat_map(|group| &group.asleep).chain(&self.held)
    }

    fn group(&self, seat: &Seat) -> Option<&Group> {
        self.groups.get(&seat.class)?.get(&seat.namespace)
    }

    /// Changes one group and keeps what is derived from it in step.
    fn change(&mut self, class: ClassId, namespace: NamespaceId, edit: impl FnOnce(&mut Group)) {
        let groups = self.groups.entry(class).or_default();
        let group = groups.entry(namespace).or_default();
        let old = group.awake.first().cloned();
        edit(group);
        let new = group.awake.first().cloned();
        if group.awake.is_empty() && group.asleep.is_empty() {
            groups.remove(&namespace);
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
            if let Some(old) = old {
                self.heads.remove(&(old, class, namespace));
            }
            if let Some(new) = new {
                self.heads.insert((new, class, namespace));
            }
        }
    }

    pub(crate) fn check_invariants(&self) {
        let mut heads = BTreeSet::new();
        for (class, groups) in &self.groups {
            assert!(!groups.is_empty(), "an empty class is dropped");
            for (namespace, group) in groups {
                assert!(!group.awake.is_empty() || !group.asleep.is_empty(), "an empty group is dropped");
                assert!(group.awake.is_disjoint(&group.asleep), "nobody is awake and asleep");
                heads.extend(group.awake.first().map(|first| (first.clone(), *class, *namespace)));
            }
            let has_sleepers = groups.values().any(|group| !group.asleep.is_empty());
            assert_eq!(self.sleepers.contains(class), has_sleepers, "sleepers are known");
        }
        assert_eq!(self.heads, heads, "one head per group with somebody awake");
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
