//! Several sorted sets of tickets read as one.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, btree_set};

use crate::id::WorkloadId;
use crate::ledger::Usage;
use crate::workload::Ticket;

/// What its LocalQueue used, whether it is not the sticky one, the ticket, and the set it was taken from.
type Entry<'a> = (Usage, bool, &'a Ticket, Option<usize>);

/// The tickets of several sets, in the order in which they are served: by what their LocalQueue used, a sticky one
/// before its equals, then as the tickets say.
pub(super) struct InOrder<'a> {
    sets: Vec<(Usage, btree_set::Iter<'a, Ticket>)>,
    next: BinaryHeap<Reverse<Entry<'a>>>,
    /// Listed on its own, and so left out of its set.
    sticky: Option<WorkloadId>,
}

impl<'a> InOrder<'a> {
    pub(super) fn new(
        sets: impl Iterator<Item = (Usage, &'a BTreeSet<Ticket>)>,
        singles: impl Iterator<Item = (Usage, &'a Ticket)>,
        sticky: Option<(Usage, &'a Ticket)>,
    ) -> Self {
        let sets = sets.map(|(usage, tickets)| (usage, tickets.iter())).collect();
        let id = sticky.map(|(_, ticket)| ticket.id);
        let mut merged = Self { sets, next: BinaryHeap::new(), sticky: id };
        merged.next.extend(sticky.map(|(usage, ticket)| Reverse((usage, false, ticket, None))));
        let singles = singles.filter(|(_, ticket)| id != Some(ticket.id));
        merged.next.extend(singles.map(|(usage, ticket)| Reverse((usage, true, ticket, None))));
        for set in 0..merged.sets.len() {
            merged.refill(set);
        }
        merged
    }

    fn refill(&mut self, set: usize) {
        let (usage, tickets) = &mut self.sets[set];
        let sticky = self.sticky;
        if let Some(ticket) = tickets.find(|ticket| sticky != Some(ticket.id)) {
            self.next.push(Reverse((*usage, true, ticket, Some(set))));
        }
    }
}

impl<'a> Iterator for InOrder<'a> {
    type Item = &'a Ticket;

    fn next(&mut self) -> Option<&'a Ticket> {
        let Reverse((_, _, ticket, set)) = self.next.pop()?;
        if let Some(set) = set {
            self.refill(set);
        }
        Some(ticket)
    }
}
