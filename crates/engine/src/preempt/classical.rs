//! Preemption by priority and by reclaiming what others borrowed, in cohort trees of any depth.
//!
//! Every queue keeps its workloads in the order in which they would go, so candidates are merged from the queues
//! one by one as they are needed: nothing is collected or sorted for a decision.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::{Demand, Judge, Queues, Standing, Target, Workloads, fill_back, fits, remove_claim};
use crate::change::{Preemption, PreemptionPolicy};
use crate::engine::Engine;
use crate::id::{NodeId, QueueId, WorkloadId};
use crate::quota::Quotas;
use crate::reserving::{self, Line};
use crate::settings::Settings;
use crate::text;
use crate::workload::Rank;

/// Why the workloads of a queue are candidates; they are taken in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Claimed {
    /// The preemptor's part of the tree has a right to what they borrowed.
    ByHierarchy,
    /// The preemptor would borrow as well.
    ByPriority,
    /// They are in the preemptor's own queue.
    InQueue,
}

const ORDER: [Claimed; 3] = [Claimed::ByHierarchy, Claimed::ByPriority, Claimed::InQueue];

/// A queue that candidates come from.
#[derive(Debug)]
struct Source {
    queue: QueueId,
    node: NodeId,
    claimed: Claimed,
    /// The lowest cohort above both queues.
    common: Option<NodeId>,
}

/// What a search looks at and never changes.
struct Field<'a> {
    queues: &'a Queues,
    workloads: &'a Workloads,
    settings: &'a Settings,
    preemption: Preemption,
    standing: Standing,
    demand: &'a Demand,
    sources: Vec<Source>,
    departed: &'a BTreeSet<WorkloadId>,
}

impl Engine {
    pub(super) fn classical_targets(&mut self, demand: &Demand) -> Vec<Target> {
        let Self { quotas, queues, workloads, settings, departed, .. } = self;
        let preemption = queues[demand.queue].rules.preemption;
        let mut field = Field {
            queues,
            workloads,
            settings,
            preemption,
            standing: Standing::of(&workloads[demand.preemptor], settings),
            demand,
            sources: Vec::new(),
            departed,
        };
        field.find_sources(quotas);
        for may_borrow in field.attempts(quotas) {
            let mark = quotas.open_mark();
            let targets = field.search(quotas, *may_borrow);
            quotas.close_mark(mark);
            if !targets.is_empty() {
                return targets;
            }
        }
        Vec::new()
    }
}

impl<'a> Field<'a> {
    fn find_sources(&mut self, quotas: &Quotas) {
        let Demand { queue, node, .. } = *self.demand;
        if self.preemption.within_queue != PreemptionPolicy::Never {
            self.sources.push(Source { queue, node, claimed: Claimed::InQueue, common: None });
        }
        if self.preemption.reclaim_within_cohort == PreemptionPolicy::Never {
            return;
        }
        let mut remaining = self.demand.requests.clone();
        let mut has_advantage = quotas.fit_in_quota(node, &mut remaining);
        let mut visited = node;
        for above in quotas.ancestors(node) {
            let claimed = if has_advantage { Claimed::ByHierarchy } else { Claimed::ByPriority };
            self.find_below(quotas, above, visited, above, claimed);
            has_advantage |= quotas.fit_in_quota(above, &mut remaining);
            visited = above;
        }
    }

    fn find_below(&mut self, quotas: &Quotas, cohort: NodeId, visited: NodeId, common: NodeId, claimed: Claimed) {
        let here = quotas.node(cohort);
        for child in &here.child_cohorts {
            if *child != visited && !quotas.is_within_nominal(*child, &self.demand.pools) {
                self.find_below(quotas, *child, visited, common, claimed);
            }
        }
        for child in &here.child_queues {
            let queue = quotas.node(*child).queue.expect("a child queue is a ClusterQueue");
            let is_candidate = *child != self.demand.node && self.queues[queue].is_active;
            if is_candidate && !quotas.is_within_nominal(*child, &self.demand.pools) {
                self.sources.push(Source { queue, node: *child, claimed, common: Some(common) });
            }
        }
    }

    /// Whether to try with or without borrowing, and what first.
    fn attempts(&self, quotas: &Quotas) -> &'static [bool] {
        let may_not_borrow = self.preemption.borrow_within_cohort.is_none();
        let has_hierarchy = self.has_candidate(Claimed::ByHierarchy);
        let has_others = has_hierarchy || self.has_candidate(Claimed::ByPriority);
        let is_below_nominal = || {
            let node = self.demand.node;
            self.demand.pools.iter().all(|pool| quotas.nominal(node, *pool) > quotas.usage(node, *pool))
        };
        if !has_others || (may_not_borrow && !is_below_nominal()) {
            &[true]
        } else if may_not_borrow && !has_hierarchy {
            &[false, true]
        } else {
            &[true, false]
        }
    }

    fn has_candidate(&self, claimed: Claimed) -> bool {
        let policy = self.policy(claimed);
        let mut sources = self.sources.iter().filter(|source| source.claimed == claimed);
        let judge = self.judge(policy);
        sources.any(|source| self.queues[source.queue].reserving.has_any(|rank| judge.judge(rank)))
    }

    fn policy(&self, claimed: Claimed) -> PreemptionPolicy {
        match claimed {
            Claimed::InQueue => self.preemption.within_queue,
            Claimed::ByHierarchy | Claimed::ByPriority => self.preemption.reclaim_within_cohort,
        }
    }

    fn search(&self, quotas: &mut Quotas, may_borrow: bool) -> Vec<Target> {
        let mut targets = Vec::new();
        for is_staying in [false, true] {
            for claimed in ORDER {
                let mut merge = Merge::new(self, claimed, is_staying);
                while let Some((rank, source)) = merge.next(self) {
                    if claimed == Claimed::ByPriority && may_borrow && self.spares_borrowers(rank) {
                        if merge.is_by_priority() {
                            // All that come after are spared as well.
                            break;
                        }
                        continue;
                    }
                    if !self.is_source_borrowing(quotas, source) {
                        // Removing others never makes it borrow again.
                        merge.close_last();
                        continue;
                    }
                    remove_claim(quotas, self.workloads, self.queues, rank.id);
                    targets.push(Target { workload: rank.id, reason: self.reason(rank, source) });
                    if fits(quotas, self.demand, may_borrow) {
                        fill_back(quotas, self.workloads, self.queues, self.demand, &mut targets, may_borrow);
                        return targets;
                    }
                }
            }
        }
        Vec::new()
    }

    /// Whether something can be reclaimed from the queue at this point of the search.
    fn is_source_borrowing(&self, quotas: &Quotas, source: &Source) -> bool {
        let pools = &self.demand.pools;
        let Some(common) = source.common else { return true };
        let path = quotas.ancestors(source.node).take_while(|above| *above != common);
        std::iter::once(source.node).chain(path).all(|node| !quotas.is_within_nominal(node, pools))
    }

    /// By which rule the candidate goes.
    fn reason(&self, rank: &Rank, source: &Source) -> &'static str {
        match source.claimed {
            Claimed::InQueue => text::IN_CLUSTER_QUEUE,
            Claimed::ByPriority if !self.spares_borrowers(rank) => text::IN_COHORT_RECLAIM_WHILE_BORROWING,
            Claimed::ByHierarchy | Claimed::ByPriority => text::IN_COHORT_RECLAMATION,
        }
    }

    fn judge(&self, policy: PreemptionPolicy) -> Judge<'_> {
        let Self { workloads, settings, departed, standing, demand, .. } = *self;
        Judge { workloads, settings, departed, standing, policy, pools: &demand.pools }
    }

    /// Whether the candidate may only go if the preemptor does not borrow.
    fn spares_borrowers(&self, rank: &Rank) -> bool {
        match self.preemption.borrow_within_cohort {
            None => true,
            Some(borrow) => {
                rank.priority >= self.standing.priority
                    || borrow.max_priority.is_some_and(|highest| rank.priority > i64::from(highest))
            }
        }
    }
}

/// The candidates of several queues in one order.
struct Merge<'a> {
    /// The lines of all queues, those of one side by side.
    lines: Vec<Line<'a>>,
    /// Which lines and which source belong together.
    cursors: Vec<(std::ops::Range<usize>, usize)>,
    heads: BinaryHeap<Reverse<(&'a Rank, usize)>>,
    policy: PreemptionPolicy,
    /// The cursor of the last candidate; it moves on when the next one is asked for.
    last: Option<usize>,
}

impl<'a> Merge<'a> {
    fn new(field: &Field<'a>, claimed: Claimed, is_staying: bool) -> Self {
        let mut merge = Self {
            lines: Vec::new(),
            cursors: Vec::new(),
            heads: BinaryHeap::new(),
            policy: field.policy(claimed),
            last: None,
        };
        for (index, source) in field.sources.iter().enumerate().filter(|(_, source)| source.claimed == claimed) {
            let queue = &field.queues[source.queue];
            let start = merge.lines.len();
            merge.lines.extend(queue.reserving.lines(is_staying, |lq| queue.pending.usage(lq)));
            if merge.lines.len() > start {
                merge.cursors.push((start..merge.lines.len(), index));
                merge.advance(field, merge.cursors.len() - 1);
            }
        }
        merge
    }

    fn next<'s>(&mut self, field: &'s Field<'a>) -> Option<(&'a Rank, &'s Source)> {
        if let Some(cursor) = self.last.take() {
            self.advance(field, cursor);
        }
        let Reverse((rank, cursor)) = self.heads.pop()?;
        self.last = Some(cursor);
        Some((rank, &field.sources[self.cursors[cursor].1]))
    }

    /// Nothing more is wanted from the queue of the last candidate.
    fn close_last(&mut self) {
        self.last = None;
    }

    /// Whether priorities grow: with several lines in a queue they grow in each of them only.
    fn is_by_priority(&self) -> bool {
        self.lines.len() == self.cursors.len()
    }

    fn advance(&mut self, field: &Field<'a>, cursor: usize) {
        let judge = field.judge(self.policy);
        if let Some(rank) = reserving::next(&mut self.lines[self.cursors[cursor].0.clone()], |rank| judge.judge(rank)) {
            self.heads.push(Reverse((rank, cursor)));
        }
    }
}
