//! Who holds quota in one ClusterQueue, in the order in which they would be preempted.
//!
//! Where LocalQueues are ordered by usage, those of the one that used most go first. Usage changes all the time and
//! for many workloads at once, so each LocalQueue has a line of its own, and lines are merged when they are read.

use std::cmp::Reverse;
use std::collections::btree_set::Range;
use std::collections::{BTreeMap, BTreeSet};

use kueue_core::time::Time;

use crate::id::{Id as _, LocalQueueId, WorkloadId};
use crate::ledger::Usage;
use crate::workload::Rank;

/// All that hold quota. Only where it `is_by_usage` is there more than one line.
#[derive(Debug, Default)]
pub(crate) struct Reserving {
    is_by_usage: bool,
    lines: BTreeMap<Option<LocalQueueId>, BTreeSet<Rank>>,
}

/// A line while it is read: those that leave anyway, or those that would stay.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    usage: Reverse<Usage>,
    rest: Range<'a, Rank>,
    next: Option<&'a Rank>,
    is_over: bool,
}

/// Whether a workload may be preempted, or none that is ranked after it in its line either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Eligibility {
    Yes,
    No,
    NoneAfter,
}

impl Reserving {
    pub(crate) fn insert(&mut self, rank: Rank) {
        self.lines.entry(self.line_of(&rank)).or_default().insert(rank);
    }

    pub(crate) fn remove(&mut self, rank: &Rank) {
        let line = self.line_of(rank);
        if let Some(ranks) = self.lines.get_mut(&line) {
            ranks.remove(rank);
            if ranks.is_empty() {
                self.lines.remove(&line);
            }
        }
    }

    /// In no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Rank> {
        self.lines.values().flatten()
    }

    /// Forms one line per LocalQueue, or one for all.
    pub(crate) fn set_by_usage(&mut self, is_by_usage: bool) {
        if self.is_by_usage != is_by_usage {
            self.is_by_usage = is_by_usage;
            for rank in std::mem::take(&mut self.lines).into_values().flatten() {
                self.insert(rank);
            }
        }
    }

    fn line_of(&self, rank: &Rank) -> Option<LocalQueueId> {
        self.is_by_usage.then_some(rank.local_queue)
    }

    /// Opens the lines of those that leave anyway, or of those that would stay, for [`next`].
    pub(crate) fn lines<'a>(
        &'a self,
        is_staying: bool,
        usage: impl Fn(LocalQueueId) -> Usage,
    ) -> impl Iterator<Item = Line<'a>> {
        self.lines.iter().filter_map(move |(local_queue, ranks)| {
            let has_leaving = ranks.first().is_some_and(|first| !first.is_staying);
            let rest = match (is_staying, has_leaving) {
                (true, true) => ranks.range(first_staying()..),
                (true, false) => ranks.range(..),
                (false, true) => ranks.range(..first_staying()),
                (false, false) => return None,
            };
            let usage = Reverse(local_queue.map(&usage).unwrap_or_default());
            Some(Line { usage, rest, next: None, is_over: false })
        })
    }

    /// Whether there is anybody who may go.
    pub(crate) fn has_any(&self, judge: impl Fn(&Rank) -> Eligibility) -> bool {
        self.lines.values().any(|ranks| {
            let verdict = ranks.iter().map(&judge).find(|verdict| *verdict != Eligibility::No);
            verdict == Some(Eligibility::Yes)
        })
    }
}

impl<'a> Line<'a> {
    fn peek(&mut self, judge: impl Fn(&Rank) -> Eligibility) -> Option<&'a Rank> {
        while self.next.is_none() && !self.is_over {
            let Some(rank) = self.rest.next() else {
                self.is_over = true;
                break;
            };
            match judge(rank) {
                Eligibility::Yes => self.next = Some(rank),
                Eligibility::No => {}
                Eligibility::NoneAfter => self.is_over = true,
            }
        }
        self.next
    }
}

/// The next of all lines who may go.
pub(crate) fn next<'a>(lines: &mut [Line<'a>], judge: impl Fn(&Rank) -> Eligibility) -> Option<&'a Rank> {
    let heads = lines.iter_mut().filter_map(|line| Some((line.usage, line.peek(&judge)?, line)));
    let (_, rank, line) = heads.min_by_key(|(usage, rank, _)| (*usage, *rank))?;
    line.next = None;
    Some(rank)
}

/// Between those that leave anyway and those that would stay.
fn first_staying() -> Rank {
    Rank {
        is_staying: true,
        priority: i64::MIN,
        // No priority is this low, so nothing after it is ever compared.
        reserved: Reverse(Time::default()),
        uid: "".into(),
        id: WorkloadId::from_index(0),
        local_queue: LocalQueueId::from_index(0),
    }
}
