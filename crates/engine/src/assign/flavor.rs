//! The search for one flavor that suits all resources of a group.

use kueue_core::amount::Amount;
use kueue_core::gates::Gate;

use super::attempt::add_unique;
use super::{Attempt, Choice, Obstacle, Oracle, Outlook, Plan};
use crate::change::{Fungibility, PreemptionPolicy};
use crate::engine::Engine;
use crate::few::Few;
use crate::id::{FlavorId, NodeId, PoolId, ResourceId};
use crate::placement::Mismatch;
use crate::queue::Rules;
use crate::text::refusal::Refusal;

/// How good a flavor is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grade {
    /// What has to happen first.
    pub outlook: Outlook,
    /// How far up the tree quota is borrowed from.
    pub borrow: u32,
}

/// What the search found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) choices: Few<(ResourceId, Choice)>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) attempts: Vec<Attempt>,
}

/// How an amount relates to what the ClusterQueue may have of a pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Prospect {
    /// More than it could have if nothing were in use.
    TooLarge(Amount),
    /// In use, and it has no right to it.
    Full {
        borrow: u32,
        missing: Amount,
    },
    /// In use, but others may have to give it back.
    Contested {
        missing: Amount,
    },
    Fits {
        borrow: u32,
    },
}

/// What quota says about one resource in one flavor.
struct QuotaAnswer {
    grade: Grade,
    refusal: Option<Refusal>,
    obstacle: Obstacle,
}

impl Engine {
    pub(super) fn find_flavor(
        &mut self,
        plan: &Plan<'_>,
        members: &[usize],
        requests: &[(ResourceId, i64)],
        resource: ResourceId,
        assumed: &[(PoolId, Amount)],
    ) -> Found {
        let mut found = Found { choices: Few::new(), refusals: Vec::new(), attempts: Vec::new() };
        let Some(group) = plan.rules.group_of(resource) else {
            found.refusals.push(Refusal::NotCovered(resource));
            return found;
        };
        let is_fungible = self.settings.gates.enabled(Gate::FlavorFungibility);
        let wanted: Few<(ResourceId, i64)> =
            requests.iter().filter(|(resource, _)| group.resources.contains(resource)).copied().collect();
        let first = if is_fungible { next_index(plan, members[0], resource) } else { 0 };
        let mut best = Grade { outlook: Outlook::NoFit, borrow: u32::MAX };
        let mut last_tried = None;
        for (index, flavor) in group.flavors.iter().copied().enumerate().skip(first) {
            last_tried = Some(index);
            if is_pinned_elsewhere(plan, members, resource, flavor) {
                found.refusals.push(Refusal::NotNominated { flavor, resource });
                continue;
            }
            if !self.allows_flavor(plan.workload, flavor) {
                found.refusals.push(Refusal::NotAllowed(flavor));
                continue;
            }
            if let Some(refusal) = self.mismatch(plan, members, flavor) {
                found.refusals.push(refusal.clone());
                found.attempts.push(Attempt::refused(flavor, refusal));
                continue;
            }
            let (grade, choices) = self.try_flavor(plan, members, flavor, &wanted, assumed, &mut found);
            if is_fungible {
                let may_stop = !tries_next(grade, plan.rules.fungibility);
                if may_stop || grade.is_preferred_to(best, plan.rules.fungibility) {
                    best = grade;
                    found.choices = choices;
                }
                if may_stop {
                    break;
                }
            } else if grade.outlook > best.outlook {
                best = grade;
                found.choices = choices;
                if grade.outlook == Outlook::Fit {
                    break;
                }
            }
        }
        if is_fungible {
            let is_exhausted = last_tried.is_some_and(|index| index + 1 == group.flavors.len());
            let tried =
                if is_exhausted { -1 } else { last_tried.map_or(-1, |index| i32::try_from(index).unwrap_or(-1)) };
            for (_, choice) in &mut found.choices {
                choice.tried = tried;
            }
        }
        if best.outlook == Outlook::Fit {
            found.refusals.clear();
        }
        found
    }

    fn mismatch(&self, plan: &Plan<'_>, members: &[usize], flavor: FlavorId) -> Option<Refusal> {
        let Some(nodes) = self.flavors.get(&flavor) else { return Some(Refusal::NoSuchFlavor(flavor)) };
        let pod_sets = &self.workloads[plan.workload].pod_sets;
        members.iter().find_map(|index| {
            let of_nodes = || match nodes.mismatch(&pod_sets[*index].spec.placement)? {
                Mismatch::Taint(taint) => Some(Refusal::Taint { taint, flavor }),
                Mismatch::Affinity => Some(Refusal::Affinity(flavor)),
            };
            self.topology_mismatch(plan, *index, flavor).or_else(of_nodes)
        })
    }

    /// The worst grade over the resources, and what each would get.
    fn try_flavor(
        &mut self,
        plan: &Plan<'_>,
        members: &[usize],
        flavor: FlavorId,
        wanted: &[(ResourceId, i64)],
        assumed: &[(PoolId, Amount)],
        found: &mut Found,
    ) -> (Grade, Few<(ResourceId, Choice)>) {
        let mut worst = Grade { outlook: Outlook::Fit, borrow: 0 };
        let mut choices = Few::with_capacity(wanted.len());
        let mut attempt = Attempt {
            flavor,
            mode: super::Mode::NoFit,
            outlook: None,
            borrow: 0,
            refusals: Vec::new(),
            obstacle: Obstacle::None,
        };
        for (resource, amount) in wanted {
            let pool = self.names.pool_id(flavor, *resource);
            let already = assumed.iter().find(|(known, _)| *known == pool).map_or(Amount::ZERO, |(_, sum)| *sum);
            let (missing, mismatch) = self.beyond_replaced(plan, members, *resource, flavor, *amount);
            let answer = self.ask_quota(plan, pool, already, Amount::new(missing));
            if mismatch.is_some() {
                worst = Grade { outlook: Outlook::NoFit, borrow: u32::MAX };
            }
            let mismatch = mismatch.map(|refusal| (refusal, Obstacle::NoMatchingFlavor));
            for (refusal, obstacle) in
                mismatch.into_iter().chain(answer.refusal.map(|refusal| (refusal, answer.obstacle)))
            {
                found.refusals.push(refusal.clone());
                add_unique(&mut attempt.refusals, refusal);
                attempt.obstacle = attempt.obstacle.max(obstacle);
            }
            attempt.borrow = attempt.borrow.max(answer.grade.borrow);
            if worst.is_preferred_to(answer.grade, plan.rules.fungibility) {
                worst = answer.grade;
            }
            if worst.outlook != Outlook::NoFit {
                let Grade { outlook, borrow } = answer.grade;
                choices.push((*resource, Choice { flavor, mode: outlook.mode(), borrow, tried: 0 }));
            }
        }
        attempt.mode = worst.outlook.mode();
        attempt.outlook = Some(worst.outlook).filter(|outlook| !matches!(outlook, Outlook::Fit | Outlook::NoFit));
        found.attempts.push(attempt);
        (worst, choices)
    }

    /// What is needed beyond what the slice that is replaced holds, and whether that one has another flavor.
    fn beyond_replaced(
        &self,
        plan: &Plan<'_>,
        members: &[usize],
        resource: ResourceId,
        flavor: FlavorId,
        amount: i64,
    ) -> (i64, Option<Refusal>) {
        let Some(replaced) = plan.replaced else { return (amount, None) };
        let mut missing = amount;
        for pod_set in members.iter().map(|index| &self.workloads[plan.workload].pod_sets[*index]) {
            match replaced.holding(&pod_set.spec.name, resource) {
                Some((held_flavor, held)) if held_flavor == flavor => missing = missing.saturating_sub(held),
                // A member of a group that has no use for the resource.
                None if members.len() > 1 && !pod_set.requests.iter().any(|(known, _)| *known == resource) => {}
                held => {
                    let held = held.map(|(held, _)| held);
                    return (missing, Some(Refusal::OtherFlavorHeld { flavor, held }));
                }
            }
        }
        (missing, None)
    }

    fn ask_quota(&mut self, plan: &Plan<'_>, pool: PoolId, assumed: Amount, request: Amount) -> QuotaAnswer {
        let needed = assumed.plus(request);
        let insufficient = |missing| Some(Refusal::Insufficient { pool, missing });
        match self.prospect(plan.rules, plan.node, pool, needed) {
            Prospect::TooLarge(capacity) => QuotaAnswer {
                grade: Grade { outlook: Outlook::NoFit, borrow: 0 },
                refusal: Some(Refusal::ExceedsCapacity { pool, assumed, request, capacity }),
                obstacle: Obstacle::ExceedsMaxQuota,
            },
            Prospect::Fits { borrow } => {
                let grade = Grade { outlook: Outlook::Fit, borrow };
                QuotaAnswer { grade, refusal: None, obstacle: Obstacle::None }
            }
            Prospect::Full { borrow, missing } => {
                let grade = Grade { outlook: Outlook::NoFit, borrow };
                QuotaAnswer { grade, refusal: insufficient(missing), obstacle: Obstacle::WaitingForQuota }
            }
            Prospect::Contested { missing } => {
                let (outlook, borrow) = match plan.oracle {
                    Oracle::Search => self.foresee_preemption(plan, pool, needed),
                    Oracle::Told(answer) => {
                        let (flavor, resource) = self.names.pool(pool);
                        answer(flavor, resource)
                    }
                };
                QuotaAnswer {
                    grade: Grade { outlook, borrow },
                    refusal: insufficient(missing),
                    obstacle: Obstacle::None,
                }
            }
        }
    }

    /// What quota alone says, before anybody is asked to go.
    pub(super) fn prospect(&self, rules: &Rules, node: NodeId, pool: PoolId, needed: Amount) -> Prospect {
        let capacity = self.quotas.capacity(node, pool);
        if needed > capacity {
            return Prospect::TooLarge(capacity);
        }
        let lowest = self.quotas.lowest_fit(node, pool, needed);
        let available = self.quotas.available(node, pool);
        if needed <= available {
            return Prospect::Fits { borrow: lowest.height };
        }
        let missing = needed.minus(available);
        let is_entitled = self.quotas.nominal(node, pool) >= needed;
        if is_entitled || lowest.is_below_root || self.may_preempt_while_borrowing(rules) {
            Prospect::Contested { missing }
        } else {
            Prospect::Full { borrow: lowest.height, missing }
        }
    }

    fn may_preempt_while_borrowing(&self, rules: &Rules) -> bool {
        let preemption = &rules.preemption;
        preemption.borrow_within_cohort.is_some()
            || (self.settings.fair_sharing.is_some() && preemption.reclaim_within_cohort != PreemptionPolicy::Never)
    }
}

fn next_index(plan: &Plan<'_>, pod_set: usize, resource: ResourceId) -> usize {
    let tried =
        plan.progress.and_then(|progress| progress.tried.get(pod_set)?.iter().find(|(known, _)| *known == resource));
    tried.map_or(0, |(_, index)| usize::try_from(index + 1).unwrap_or(0))
}

fn is_pinned_elsewhere(plan: &Plan<'_>, members: &[usize], resource: ResourceId, flavor: FlavorId) -> bool {
    let is_pinned = |pins: &[Vec<_>]| {
        members.iter().any(|index| pins.get(*index).is_some_and(|pins| pins.contains(&(resource, flavor))))
    };
    plan.pins.is_some_and(|pins| !is_pinned(pins))
}

fn tries_next(grade: Grade, fungibility: Fungibility) -> bool {
    match grade.outlook {
        Outlook::NoFit | Outlook::NoCandidates => return true,
        Outlook::Preempt | Outlook::Reclaim if fungibility.try_next_before_preempting => return true,
        _ => {}
    }
    grade.borrow > 0 && fungibility.try_next_before_borrowing
}

impl Grade {
    /// Whether a flavor of this grade is chosen rather than one of the other.
    pub fn is_preferred_to(self, other: Self, fungibility: Fungibility) -> bool {
        if self.outlook == Outlook::NoFit {
            return false;
        }
        if other.outlook == Outlook::NoFit {
            return true;
        }
        if (self.outlook == Outlook::NoCandidates) != (other.outlook == Outlook::NoCandidates) {
            return other.outlook == Outlook::NoCandidates;
        }
        if fungibility.prefers_preemption && self.borrow != other.borrow {
            return self.borrow < other.borrow;
        }
        if self.outlook != other.outlook {
            return self.outlook > other.outlook;
        }
        !fungibility.prefers_preemption && self.borrow < other.borrow
    }
}
