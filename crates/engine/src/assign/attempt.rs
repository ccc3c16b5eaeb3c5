//! What came of trying one flavor, kept to explain the outcome.

use super::{Assignment, Mode, Outlook, PodSetAssignment, sentences};
use crate::ask::AttemptView;
use crate::explain::{FlavorLook, Shortage};
use crate::id::{FlavorId, ResourceId};
use crate::names::Names;
use crate::queue::Rules;
use crate::text;
use crate::text::refusal::Refusal;

/// Why nothing fits, from the mildest to the hardest.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Obstacle {
    None,
    TopologyPlacementFailed,
    WaitingForQuota,
    ExceedsMaxQuota,
    NoMatchingFlavor,
}

impl Obstacle {
    pub(super) fn reason(self) -> &'static str {
        match self {
            // Flavors were found for some resources and one is not covered at all. Kueue leaves the reason empty
            // here, and the API server refuses the write.
            Self::None | Self::NoMatchingFlavor => text::NO_MATCHING_FLAVOR,
            Self::WaitingForQuota => text::WAITING_FOR_QUOTA,
            Self::TopologyPlacementFailed => text::TOPOLOGY_PLACEMENT_FAILED,
            Self::ExceedsMaxQuota => text::EXCEEDS_MAX_QUOTA,
        }
    }
}

/// One flavor and what spoke against it.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(super) flavor: FlavorId,
    pub(super) mode: Mode,
    /// What preemption could do, where it is the question.
    pub(super) outlook: Option<Outlook>,
    pub(super) borrow: u32,
    pub(super) refusals: Vec<Refusal>,
    pub(super) obstacle: Obstacle,
}

impl Attempt {
    pub(super) fn refused(flavor: FlavorId, refusal: Refusal) -> Self {
        Self {
            flavor,
            mode: Mode::NoFit,
            outlook: None,
            borrow: 0,
            refusals: vec![refusal],
            obstacle: Obstacle::NoMatchingFlavor,
        }
    }

    /// As it is shown to whoever asks.
    pub(super) fn view(&self, names: &Names) -> AttemptView {
        AttemptView {
            flavor: names.flavor(self.flavor).clone(),
            mode: self.mode,
            preemption: self.outlook,
            borrow: self.borrow,
            reasons: sentences(&self.refusals, names),
            obstacle: (self.obstacle != Obstacle::None).then(|| self.obstacle.reason()),
        }
    }

    /// The flavor, if preemption was the question.
    pub(crate) fn contested(&self) -> Option<FlavorId> {
        self.outlook.map(|_| self.flavor)
    }

    pub(super) fn has(&self, refusal: &Refusal) -> bool {
        self.refusals.contains(refusal)
    }

    fn state(&self) -> &'static str {
        match (self.outlook, self.mode) {
            (Some(Outlook::NoCandidates), _) => "preemptionMode=NoCandidates",
            (Some(Outlook::Preempt), _) => "preemptionMode=Preempt",
            (Some(Outlook::Reclaim), _) => "preemptionMode=Reclaim",
            (_, Mode::NoFit) => "NoFit",
            (_, Mode::Preempt) => "Preempt",
            (_, Mode::DeferredFit) => "DeferredFit",
            (_, Mode::Fit) => "Fit",
        }
    }

    /// As an explanation shows it.
    pub(crate) fn tell(&self, names: &Names) -> FlavorLook {
        let shortages: Vec<Shortage> = self.refusals.iter().filter_map(|refusal| refusal.shortage(names)).collect();
        let others = self.refusals.iter().filter(|refusal| refusal.shortage(names).is_none());
        FlavorLook {
            flavor: names.flavor(self.flavor).clone(),
            state: self.state(),
            borrowing_level: self.borrow,
            refusals: others.map(|refusal| refusal.render(names)).collect(),
            shortages,
        }
    }

    /// As the event about a reservation shows it; nothing to say about a plain fit.
    pub(super) fn render(&self, names: &Names) -> Option<String> {
        if self.mode == Mode::Fit && self.borrow == 0 {
            return None;
        }
        let mut text = format!("{}({}", names.flavor(self.flavor), self.state());
        if self.borrow > 0 {
            text.push_str(&format!(";borrow={}", self.borrow));
        }
        for reason in sentences(&self.refusals, names) {
            text.push(';');
            text.push_str(&reason);
        }
        text.push(')');
        Some(text)
    }
}

/// Adds what was found for one resource to what is known about the pod set's flavors.
pub(super) fn merge(known: &mut Vec<Attempt>, found: Vec<Attempt>, resource: ResourceId, rules: &Rules, names: &Names) {
    let by_name = |a: &Attempt, b: &Attempt| names.flavor(a.flavor).cmp(names.flavor(b.flavor));
    if known.is_empty() {
        *known = found;
        return known.sort_by(by_name);
    }
    let tried: Vec<FlavorId> = found.iter().map(|attempt| attempt.flavor).collect();
    for attempt in found {
        match known.iter_mut().find(|other| other.flavor == attempt.flavor) {
            Some(other) => combine(other, attempt),
            None => known.push(attempt),
        }
    }
    if let Some(group) = rules.group_of(resource).filter(|_| !tried.is_empty()) {
        for attempt in known
            .iter_mut()
            .filter(|attempt| group.flavors.contains(&attempt.flavor) && !tried.contains(&attempt.flavor))
        {
            attempt.mode = Mode::NoFit;
            add_unique(&mut attempt.refusals, Refusal::NotProvided { flavor: attempt.flavor, resource });
            attempt.obstacle = Obstacle::NoMatchingFlavor;
        }
    }
    known.sort_by(by_name);
}

fn combine(known: &mut Attempt, other: Attempt) {
    known.mode = known.mode.min(other.mode);
    known.borrow = known.borrow.max(other.borrow);
    known.outlook = match (known.outlook, other.outlook) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    known.obstacle = known.obstacle.max(other.obstacle);
    for refusal in other.refusals {
        add_unique(&mut known.refusals, refusal);
    }
}

/// An attempt tells each reason once, however many resources met it.
pub(super) fn add_unique(refusals: &mut Vec<Refusal>, refusal: Refusal) {
    if !refusals.contains(&refusal) {
        refusals.push(refusal);
    }
}

impl Assignment {
    /// Why nothing fits, in one word. Kueue leaves it empty for pods that can have no place, or where the pod set
    /// that finds none in an empty cluster is not the one that finds none now; the API server refuses that write.
    pub(super) fn obstacle_reason(&self, rules: &Rules) -> &'static str {
        let is_unplaceable = self.pod_sets.iter().any(|pod_set| pod_set.unplaceable.is_some());
        match self.obstacle(rules) {
            Obstacle::None if is_unplaceable => text::MISCONFIGURED,
            Obstacle::None if self.is_unplaced => text::TOPOLOGY_PLACEMENT_FAILED,
            obstacle => obstacle.reason(),
        }
    }

    /// The hardest obstacle over pod sets and resource groups, where the flavors of a group are alternatives.
    pub(super) fn obstacle(&self, rules: &Rules) -> Obstacle {
        let failed = self.pod_sets.iter().filter(|pod_set| pod_set.mode() == Mode::NoFit);
        failed.map(|pod_set| pod_set.obstacle(rules)).max().unwrap_or(Obstacle::None)
    }
}

impl PodSetAssignment {
    fn obstacle(&self, rules: &Rules) -> Obstacle {
        if self.attempts.is_empty() {
            return Obstacle::NoMatchingFlavor;
        }
        let failed = || self.attempts.iter().filter(|attempt| attempt.mode == Mode::NoFit);
        let of_groups = rules.groups.iter().filter_map(|group| {
            failed().filter(|attempt| group.flavors.contains(&attempt.flavor)).map(|attempt| attempt.obstacle).min()
        });
        of_groups.max().unwrap_or(Obstacle::None)
    }
}
