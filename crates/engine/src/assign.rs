//! Which flavor each resource of a workload gets, and at what cost.
//!
//! Pod sets are served in order, each seeing what those before it were given. Places are found after all flavors are
//! chosen.

mod attempt;
mod flavor;
mod hope;
mod place;

use kueue_core::amount::Amount;
use kueue_core::gates::{Gate, Gates};
use smallvec::smallvec;

use crate::ask::{FlavorView, PodSetAssignmentView, WantedFlavor, WantedPodSet};
use crate::engine::Engine;
use crate::few::{Few, add_amount};
use crate::id::{FlavorId, Name, NodeId, PoolId, QueueId, ResourceId, WorkloadId};
use crate::names::Names;
use crate::queue::Rules;
use crate::slice::Replaced;
use crate::status::Delayed;
use crate::text;
use crate::text::refusal::Refusal;
use crate::topology::TopologyAssignment;
use crate::trace::PodSetTrace;
use crate::workload::{PodSet, Progress, Total};

pub(crate) use attempt::{Attempt, Obstacle};
use flavor::Found;
pub use flavor::Grade;
pub(crate) use place::{Unplaceable, WantedPlaces};

/// What has to happen before a flavor can be used; later is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Mode {
    /// Something else must change.
    NoFit,
    /// Room must be made.
    Preempt,
    /// It fits once the victims of others have left.
    DeferredFit,
    /// Nothing.
    Fit,
}

/// The same, seen closer; later is better.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Outlook {
    /// Preemption is not the question, or not allowed.
    NoFit,
    /// Preemption would be allowed, but there is nobody to preempt.
    NoCandidates,
    /// With victims in the same queue.
    Preempt,
    /// With victims in queues that borrow.
    Reclaim,
    /// Nobody has to go.
    Fit,
}

/// Who says what preemption could do for a flavor.
#[derive(Clone, Copy)]
pub enum Oracle<'a> {
    /// A search for victims.
    Search,
    /// Somebody who is asked by flavor and resource, and tells how far quota is borrowed from afterwards as well.
    Told(&'a dyn Fn(&str, &str) -> (Outlook, u32)),
}

impl std::fmt::Debug for Oracle<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Search => "Search",
            Self::Told(_) => "Told",
        })
    }
}

impl Outlook {
    fn mode(self) -> Mode {
        match self {
            Self::NoFit => Mode::NoFit,
            Self::NoCandidates | Self::Preempt | Self::Reclaim => Mode::Preempt,
            Self::Fit => Mode::Fit,
        }
    }
}

/// The flavor of one resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    pub(crate) flavor: FlavorId,
    pub(crate) mode: Mode,
    /// How far up the tree quota is borrowed from; 0 when it is not.
    pub(crate) borrow: u32,
    /// Where the scan stopped; -1 when it reached the end.
    tried: i32,
}

/// What one pod set gets.
#[derive(Clone, Debug)]
pub(crate) struct PodSetAssignment {
    /// Its position among the workload's pod sets.
    pub(crate) index: usize,
    pub(crate) count: i32,
    pub(crate) requests: Few<(ResourceId, i64)>,
    /// By resource name.
    pub(crate) flavors: Few<(ResourceId, Choice)>,
    refusals: Vec<Refusal>,
    /// By flavor name.
    attempts: Vec<Attempt>,
    /// Where its pods go.
    pub(crate) place: Option<TopologyAssignment>,
    pub(crate) delayed: Option<Delayed>,
    unplaceable: Option<Unplaceable>,
}

/// What a workload gets.
#[derive(Clone, Debug)]
pub(crate) struct Assignment {
    pub(crate) pod_sets: Vec<PodSetAssignment>,
    /// The furthest borrowing of all resources.
    pub(crate) borrowing: u32,
    pub(crate) usage: Few<(PoolId, Amount)>,
    pub(crate) mode: Mode,
    pub(crate) obstacle: Option<&'static str>,
    /// Not even an empty cluster has room for it.
    is_unplaced: bool,
    pub(crate) progress: Progress,
}

/// One attempt to assign, with everything it depends on.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) workload: WorkloadId,
    pub(crate) queue: QueueId,
    pub(crate) node: NodeId,
    pub(crate) rules: &'a Rules,
    pub(crate) progress: Option<&'a Progress>,
    /// Per pod set the flavors that an earlier attempt in the same cycle chose: no others are tried.
    pub(crate) pins: Option<&'a [Vec<(ResourceId, FlavorId)>]>,
    /// The slice whose place the workload takes: only what it needs beyond that one counts.
    pub(crate) replaced: Option<&'a Replaced>,
    pub(crate) oracle: Oracle<'a>,
}

impl Engine {
    pub(crate) fn assign(&mut self, plan: &Plan<'_>, totals: &[Total]) -> Assignment {
        let pods = self.names.pods();
        let counts_pods = plan.rules.group_of(pods).is_some();
        let mut assignment = Assignment {
            pod_sets: Vec::with_capacity(totals.len()),
            borrowing: 0,
            usage: Few::new(),
            mode: Mode::NoFit,
            obstacle: None,
            is_unplaced: false,
            progress: Progress {
                tried: smallvec![Few::new(); totals.len()],
                generation: self.quotas.node(plan.node).generation,
                cycle: self.cycles,
            },
        };
        let held = self.held_assignment(plan);
        let is_held = held.is_some();
        for pod_set in held.into_iter().flatten() {
            let name = &self.workloads[plan.workload].pod_sets[pod_set.index].spec.name;
            assignment.add(pod_set, name, plan.replaced, &mut self.names);
        }
        for first in 0..if is_held { 0 } else { totals.len() } {
            let alone = [first];
            let together = self.group_led_by(plan.workload, first);
            let members = together.as_deref().unwrap_or(&alone);
            let mut group: Vec<Total> = members.iter().map(|index| totals[*index].clone()).collect();
            if counts_pods {
                group.iter_mut().for_each(|total| self.set_pods(total, pods));
            }
            let mut is_failed = false;
            for pod_set in self.assign_group(plan, members, group, &assignment.usage) {
                is_failed |= !pod_set.requests.is_empty() && pod_set.flavors.is_empty();
                let name = &self.workloads[plan.workload].pod_sets[pod_set.index].spec.name;
                assignment.add(pod_set, name, plan.replaced, &mut self.names);
            }
            if is_failed {
                break;
            }
        }
        assignment.pod_sets.sort_by_key(|pod_set| pod_set.index);
        assignment.mode = assignment.pod_sets.iter().map(PodSetAssignment::mode).min().unwrap_or(Mode::NoFit);
        if assignment.mode != Mode::NoFit && self.settings.gates.enabled(Gate::TopologyAwareScheduling) {
            self.place(plan, &mut assignment);
        }
        if assignment.mode == Mode::NoFit && self.settings.gates.enabled(Gate::UnadmittedWorkloadsObservability) {
            assignment.obstacle = Some(assignment.obstacle_reason(plan.rules));
        }
        assignment
    }

    fn set_pods(&self, total: &mut Total, pods: ResourceId) {
        let count = i64::from(total.count);
        match total.requests.iter_mut().find(|(resource, _)| *resource == pods) {
            Some((_, sum)) => *sum = count,
            None => {
                total.requests.push((pods, count));
                self.names.sort_requests(&mut total.requests);
            }
        }
    }

    /// The pod sets that share flavors with this one; nobody if that is another's to say, nothing if it is alone.
    fn group_led_by(&self, workload: WorkloadId, first: usize) -> Option<Vec<usize>> {
        let pod_sets = &self.workloads[workload].pod_sets;
        let group = pod_sets[first].spec.group.as_ref()?;
        let members: Vec<usize> =
            (0..pod_sets.len()).filter(|index| pod_sets[*index].spec.group.as_ref() == Some(group)).collect();
        Some(if members.first() == Some(&first) { members } else { Vec::new() })
    }

    /// Finds flavors for what all members need together; each member takes those of the resources it asks for.
    fn assign_group(
        &mut self,
        plan: &Plan<'_>,
        members: &[usize],
        totals: Vec<Total>,
        assumed: &[(PoolId, Amount)],
    ) -> Vec<PodSetAssignment> {
        let requests = self.sum_of(&totals);
        let found = self.find_flavors(plan, members, &requests, assumed);
        let mut assigned: Vec<PodSetAssignment> = members
            .iter()
            .zip(totals)
            .map(|(index, total)| PodSetAssignment {
                index: *index,
                count: total.count,
                flavors: self.choices_for(plan.workload, *index, &total, &found.choices),
                requests: total.requests,
                refusals: Vec::new(),
                attempts: Vec::new(),
                place: None,
                delayed: None,
                unplaceable: None,
            })
            .collect();
        if let Some((last, others)) = assigned.split_last_mut() {
            for other in others {
                other.refusals.clone_from(&found.refusals);
                other.attempts.clone_from(&found.attempts);
            }
            last.refusals = found.refusals;
            last.attempts = found.attempts;
        }
        assigned
    }

    /// What a member of a group gets of the group's flavors: those of the resources it asks for. One that asks for
    /// nothing, and is to be near the others, goes where they go.
    fn choices_for(
        &self,
        workload: WorkloadId,
        index: usize,
        total: &Total,
        choices: &[(ResourceId, Choice)],
    ) -> Few<(ResourceId, Choice)> {
        let is_follower = total.requests.is_empty() && self.workloads[workload].pod_sets[index].spec.group.is_some();
        let is_given = |(resource, choice): &&(ResourceId, Choice)| match is_follower {
            true => self.quotas.sites.tree(choice.flavor).is_some(),
            false => total.asks_for(*resource),
        };
        choices.iter().filter(is_given).copied().collect()
    }

    fn sum_of(&self, totals: &[Total]) -> Few<(ResourceId, i64)> {
        if let [alone] = totals {
            return alone.requests.clone();
        }
        let mut sums: Few<(ResourceId, i64)> = Few::new();
        for (resource, amount) in totals.iter().flat_map(|total| &total.requests) {
            match sums.iter_mut().find(|(known, _)| known == resource) {
                Some((_, sum)) => *sum = sum.saturating_add(*amount),
                None => sums.push((*resource, *amount)),
            }
        }
        self.names.sort_requests(&mut sums);
        sums
    }

    /// One flavor per resource group, by resource name.
    fn find_flavors(
        &mut self,
        plan: &Plan<'_>,
        members: &[usize],
        requests: &[(ResourceId, i64)],
        assumed: &[(PoolId, Amount)],
    ) -> Found {
        let mut all = Found { choices: Few::new(), refusals: Vec::new(), attempts: Vec::new() };
        for (resource, amount) in requests.iter().copied() {
            let is_covered = plan.rules.group_of(resource).is_some();
            if !is_covered && (amount == 0 || self.ignores_undeclared()) {
                continue;
            }
            if all.choices.iter().any(|(known, _)| *known == resource) {
                // It came with another resource of its group.
                continue;
            }
            let found = self.find_flavor(plan, members, requests, resource, assumed);
            attempt::merge(&mut all.attempts, found.attempts, resource, plan.rules, &self.names);
            if found.choices.is_empty() {
                all.choices.clear();
                all.refusals = found.refusals;
                break;
            }
            for (resource, choice) in found.choices {
                match all.choices.iter_mut().find(|(known, _)| *known == resource) {
                    // It stands in two groups, which validation refuses; as in Kueue, the later one counts.
                    Some((_, known)) => *known = choice,
                    None => all.choices.push((resource, choice)),
                }
            }
            all.refusals.extend(found.refusals);
        }
        let names = &self.names;
        all.choices.sort_by(|(a, _), (b, _)| names.resource(*a).cmp(names.resource(*b)));
        all
    }

    fn ignores_undeclared(&self) -> bool {
        self.settings.ignores_undeclared && self.settings.gates.enabled(Gate::QuotaCheckStrategy)
    }
}

impl PodSetAssignment {
    /// As it is shown to whoever asks.
    pub(crate) fn view(&self, name: &Name, names: &Names) -> PodSetAssignmentView {
        let flavor = |(resource, choice): &(ResourceId, Choice)| FlavorView {
            resource: names.resource(*resource).clone(),
            flavor: names.flavor(choice.flavor).clone(),
            mode: choice.mode,
            tried: choice.tried,
        };
        PodSetAssignmentView {
            name: name.clone(),
            count: self.count,
            requests: self.requests.iter().map(|(id, sum)| (names.resource(*id).clone(), *sum)).collect(),
            flavors: self.flavors.iter().map(flavor).collect(),
            reasons: sentences(&self.refusals, names),
            attempts: self.attempts.iter().map(|attempt| attempt.view(names)).collect(),
            error: self.unplaceable.as_ref().map(|why| why.render(names)),
        }
    }

    fn mode(&self) -> Mode {
        if self.unplaceable.is_some() {
            Mode::NoFit
        } else if self.refusals.is_empty() {
            Mode::Fit
        } else {
            self.flavors.iter().map(|(_, choice)| choice.mode).min().unwrap_or(Mode::NoFit)
        }
    }
}

impl Assignment {
    /// What is assigned when somebody else chose the flavors.
    pub(crate) fn given(wanted: &[WantedPodSet], names: &mut Names) -> Self {
        let mut choice = |wanted: &WantedFlavor| {
            let mode = if wanted.needs_room { Mode::Preempt } else { Mode::Fit };
            let flavor = names.flavor_id(&wanted.flavor);
            (names.resource_id(&wanted.resource), Choice { flavor, mode, borrow: 0, tried: -1 })
        };
        let pod_sets = wanted.iter().enumerate().map(|(index, pod_set)| PodSetAssignment {
            index,
            count: pod_set.count,
            requests: Few::new(),
            flavors: pod_set.flavors.iter().map(&mut choice).collect(),
            refusals: Vec::new(),
            attempts: Vec::new(),
            place: None,
            delayed: None,
            unplaceable: None,
        });
        Self {
            pod_sets: pod_sets.collect(),
            borrowing: 0,
            usage: Few::new(),
            mode: Mode::Preempt,
            obstacle: None,
            is_unplaced: false,
            progress: Progress::default(),
        }
    }

    fn add(&mut self, pod_set: PodSetAssignment, name: &Name, replaced: Option<&Replaced>, names: &mut Names) {
        let mut tried = Few::with_capacity(pod_set.flavors.len());
        for (resource, choice) in &pod_set.flavors {
            self.borrowing = self.borrowing.max(choice.borrow);
            let pool = names.pool_id(choice.flavor, *resource);
            let amount = pod_set.requests.iter().find(|(known, _)| known == resource).map_or(0, |(_, amount)| *amount);
            let held = replaced.and_then(|replaced| replaced.holding(name, *resource)).map_or(0, |(_, held)| held);
            add_amount(&mut self.usage, pool, Amount::new(amount.saturating_sub(held)));
            tried.push((*resource, choice.tried));
        }
        self.progress.tried[pod_set.index] = tried;
        self.pod_sets.push(pod_set);
    }

    /// Makes the mode of everything this one.
    pub(crate) fn force_mode(&mut self, mode: Mode) {
        self.mode = mode;
        for (_, choice) in self.pod_sets.iter_mut().flat_map(|pod_set| &mut pod_set.flavors) {
            choice.mode = mode;
        }
    }

    /// Why not everything fits, pod set by pod set.
    pub(crate) fn message(&self, pod_sets: &[PodSet], names: &Names) -> String {
        let mut message = String::new();
        for pod_set in &self.pod_sets {
            if let Some(why) = &pod_set.unplaceable {
                return text::no_place(&pod_sets[pod_set.index].spec.name, &why.render(names));
            }
            if pod_set.refusals.is_empty() {
                continue;
            }
            if !message.is_empty() {
                message.push_str("; ");
            }
            let reasons = sentences(&pod_set.refusals, names);
            message.push_str(&text::no_flavors(&pod_sets[pod_set.index].spec.name, &reasons));
        }
        message
    }

    /// The flavors that were looked at, for the event about the reservation.
    pub(crate) fn considered(&self, pod_sets: &[PodSet], names: &Names) -> String {
        let mut considered = String::new();
        for pod_set in &self.pod_sets {
            let name = &pod_sets[pod_set.index].spec.name;
            let attempts = pod_set.attempts.iter().filter_map(|attempt| attempt.render(names));
            for (index, attempt) in attempts.enumerate() {
                match (index, considered.is_empty()) {
                    (0, true) => considered.push_str(&format!("{name}: ")),
                    (0, false) => considered.push_str(&format!(" | {name}: ")),
                    _ => considered.push_str(", "),
                }
                considered.push_str(&attempt);
            }
        }
        considered
    }

    /// Pools in which room has to be made.
    pub(crate) fn pools_to_preempt(&self, names: &mut Names) -> Vec<PoolId> {
        let mut pools = Vec::new();
        for (resource, choice) in self.pod_sets.iter().flat_map(|pod_set| &pod_set.flavors) {
            let pool = names.pool_id(choice.flavor, *resource);
            if choice.mode == Mode::Preempt && !pools.contains(&pool) {
                pools.push(pool);
            }
        }
        pools
    }

    /// Requests per pool, without what is only counted per pod. Where a slice is replaced, only those of the pods
    /// that are new.
    pub(crate) fn requests(&self, totals: &[Total], held: &[i32], names: &mut Names) -> Few<(PoolId, Amount)> {
        let mut requests = Few::new();
        for pod_set in &self.pod_sets {
            let (Some(total), Some(held)) = (totals.get(pod_set.index), held.get(pod_set.index)) else { continue };
            for (resource, amount) in total.scaled_to(pod_set.count.saturating_sub(*held)).requests {
                let choice = pod_set.flavors.iter().find(|(known, _)| *known == resource);
                if let Some((_, choice)) = choice.filter(|_| amount != 0) {
                    add_amount(&mut requests, names.pool_id(choice.flavor, resource), Amount::new(amount));
                }
            }
        }
        requests
    }

    /// What was tried, to be kept; the assignment is of no further use.
    pub(crate) fn into_traces(self) -> Vec<PodSetTrace> {
        let trace = |mut pod_set: PodSetAssignment| {
            let is_told = |refusal: &Refusal| pod_set.attempts.iter().any(|attempt| attempt.has(refusal));
            pod_set.refusals.retain(|refusal| !is_told(refusal));
            PodSetTrace { attempts: pod_set.attempts, refusals: pod_set.refusals }
        };
        self.pod_sets.into_iter().map(trace).collect()
    }

    /// The flavors per pod set, to try no others.
    pub(crate) fn pins(&self) -> Vec<Vec<(ResourceId, FlavorId)>> {
        let count = self.pod_sets.last().map_or(0, |last| last.index + 1);
        let mut pins = vec![Vec::new(); count];
        for pod_set in &self.pod_sets {
            pins[pod_set.index] = pod_set.flavors.iter().map(|(resource, choice)| (*resource, choice.flavor)).collect();
        }
        pins
    }
}

impl Progress {
    /// Whether quota came free since, so that the scan begins anew. Where progress is preserved, the next cycle goes on
    /// regardless.
    pub(crate) fn is_outdated(&self, generation: u64, cycle: u64, gates: Gates) -> bool {
        let is_recent = cycle.saturating_sub(self.cycle) <= 1;
        let goes_on = is_recent && gates.enabled(Gate::FlavorFungibilityPreserveScanProgress);
        !goes_on && generation > self.generation
    }

    /// Whether a scan stopped before the last flavor.
    pub(crate) fn has_more(&self) -> bool {
        self.tried.iter().flatten().any(|(_, index)| *index != -1)
    }
}

fn sentences(refusals: &[Refusal], names: &Names) -> Vec<String> {
    let mut sentences: Vec<String> = refusals.iter().map(|refusal| refusal.render(names)).collect();
    sentences.sort();
    sentences
}
