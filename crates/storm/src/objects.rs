//! Random namespaces, flavors, cohorts, queues and checks, from few names so that they meet.

use std::collections::BTreeMap;

use kueue_core::amount::Amount;
use kueue_core::selector::LabelSelector;
use kueue_engine::{
    BorrowWithinCohort, Change, CheckController, CheckSpec, CohortSpec, ConcurrentAdmission, FlavorNodes,
    FlavorQuotaSpec, FlavorSpec, Fungibility, LocalQueueSpec, Preemption, PreemptionPolicy, QueueCheckSpec, QueueSpec,
    QueueingStrategy, QuotaSpec, ResourceGroupSpec, StopPolicy, Taint, TaintEffect,
};

use crate::places::TOPOLOGIES;
use crate::random::Random;
use crate::world::World;

pub(crate) const NAMESPACES: &[&str] = &["n0", "n1"];
pub(crate) const FLAVORS: &[&str] = &["f0", "f1", "f2"];
pub(crate) const RESOURCES: &[&str] = &["cpu", "memory", "pods", "gpu"];
pub(crate) const COHORTS: &[&str] = &["c0", "c1", "c2", "c3"];
pub(crate) const QUEUES: &[&str] = &["q0", "q1", "q2", "q3", "q4"];
pub(crate) const LOCAL_QUEUES: &[&str] = &["l0", "l1", "l2"];
pub(crate) const CHECKS: &[&str] = &["k0", "k1"];

/// Numbers that break careless arithmetic.
const ODD_NUMBERS: &[i64] = &[i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, -1, -1000, 1, i64::MAX / 2, 1 << 53];

impl World {
    pub(crate) fn amount(&self, random: &mut Random) -> i64 {
        if self.weather.has_nonsense && random.once_in(6) {
            return *random.pick(ODD_NUMBERS);
        }
        i64::try_from(random.below(12)).expect("a small number") * 1000
    }

    pub(crate) fn change_namespace(&mut self, random: &mut Random) {
        let name = (*random.pick(NAMESPACES)).into();
        if random.once_in(4) {
            return self.apply(Change::NamespaceGone(name));
        }
        let team = if random.once_in(4) { "blue" } else { "red" };
        let labels = BTreeMap::from([("team".to_owned(), team.to_owned())]);
        self.apply(Change::Namespace { name, labels });
    }

    pub(crate) fn change_flavor(&mut self, random: &mut Random) {
        let name = (*random.pick(FLAVORS)).into();
        if random.once_in(4) {
            return self.apply(Change::FlavorGone(name));
        }
        let mut nodes = FlavorNodes::default();
        if random.once_in(3) {
            nodes.labels.insert("zone".into(), "a".into());
        }
        if random.once_in(4) {
            nodes.taints.push(Taint { key: "spot".into(), value: "".into(), effect: TaintEffect::NoSchedule });
        }
        nodes.topology = random.once_in(2).then(|| (*random.pick(TOPOLOGIES)).into());
        self.apply(Change::Flavor(FlavorSpec { name, nodes }));
    }

    pub(crate) fn change_check(&mut self, random: &mut Random) {
        let name = (*random.pick(CHECKS)).into();
        if random.once_in(4) {
            return self.apply(Change::CheckGone(name));
        }
        let controller = match random.below(6) {
            0 => CheckController::MultiKueue,
            1 => CheckController::Provisioning,
            _ => CheckController::Other,
        };
        self.apply(Change::Check(CheckSpec { name, controller, is_active: !random.once_in(4) }));
    }

    pub(crate) fn change_cohort(&mut self, random: &mut Random) {
        let name = (*random.pick(COHORTS)).into();
        if random.once_in(4) {
            return self.apply(Change::CohortGone(name));
        }
        let groups = if random.once_in(2) { self.groups(random) } else { Vec::new() };
        let weight = self.weight(random);
        self.apply(Change::Cohort(CohortSpec {
            name,
            parent: random.once_in(2).then(|| (*random.pick(COHORTS)).into()),
            groups,
            weight,
            revision: random.word(),
            ..CohortSpec::default()
        }));
    }

    pub(crate) fn change_queue(&mut self, random: &mut Random) {
        let name = (*random.pick(QUEUES)).into();
        if random.once_in(6) {
            return self.apply(Change::QueueGone(name));
        }
        let groups = self.groups(random);
        let weight = self.weight(random);
        let flavors = |random: &mut Random| {
            if random.once_in(2) { Vec::new() } else { vec![(*random.pick(FLAVORS)).into()] }
        };
        let checks = if random.once_in(4) {
            (0..=random.below(2))
                .map(|_| QueueCheckSpec { name: (*random.pick(CHECKS)).into(), flavors: flavors(random) })
                .collect()
        } else {
            Vec::new()
        };
        let namespaces = match random.below(8) {
            0 => None,
            1 => Some(LabelSelector {
                match_labels: BTreeMap::from([("team".to_owned(), "red".to_owned())]),
                ..LabelSelector::default()
            }),
            _ => Some(LabelSelector::default()),
        };
        let strategy = if random.once_in(3) { QueueingStrategy::StrictFifo } else { QueueingStrategy::BestEffortFifo };
        self.apply(Change::Queue(Box::new(QueueSpec {
            name,
            cohort: (!random.once_in(4)).then(|| (*random.pick(COHORTS)).into()),
            groups,
            strategy,
            namespaces,
            preemption: preemption(random),
            fungibility: Fungibility {
                try_next_before_borrowing: random.once_in(2),
                try_next_before_preempting: random.once_in(2),
                prefers_preemption: random.once_in(2),
            },
            checks,
            stop: stop(random),
            weight,
            concurrent: random.once_in(5).then(|| ConcurrentAdmission {
                last_acceptable_flavor: random.once_in(2).then(|| (*random.pick(FLAVORS)).into()),
            }),
            is_usage_based: random.once_in(2),
            revision: random.word(),
            ..QueueSpec::default()
        })));
    }

    pub(crate) fn change_local_queue(&mut self, random: &mut Random) {
        let namespace = (*random.pick(NAMESPACES)).into();
        let name = (*random.pick(LOCAL_QUEUES)).into();
        if random.once_in(6) {
            return self.apply(Change::LocalQueueGone { namespace, name });
        }
        self.apply(Change::LocalQueue(LocalQueueSpec {
            namespace,
            name,
            queue: (*random.pick(QUEUES)).into(),
            stop: stop(random),
            weight: self.weight(random),
            ..LocalQueueSpec::default()
        }));
    }

    fn weight(&self, random: &mut Random) -> f64 {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 1e300, 1e-300];
        match random.below(8) {
            0 => 0.0,
            1 => 2.0,
            2 => 0.5,
            3 if self.weather.has_nonsense => *random.pick(&odd),
            _ => 1.0,
        }
    }

    fn groups(&self, random: &mut Random) -> Vec<ResourceGroupSpec> {
        // A sensible ClusterQueue names each resource and each flavor once.
        let split = 1 + random.below(RESOURCES.len());
        let halves = [&RESOURCES[..split], &RESOURCES[split..]];
        let mut flavors: Vec<&str> = FLAVORS.to_vec();
        let mut groups = Vec::new();
        for resources in halves.into_iter().filter(|half| !half.is_empty()).take(1 + random.below(2)) {
            let mut count = 1 + random.below(2);
            let mut quotas = Vec::new();
            while count > 0 && !flavors.is_empty() {
                let flavor = flavors.remove(random.below(flavors.len()));
                quotas.push(self.flavor_quota(random, flavor, resources));
                if self.weather.has_nonsense && random.once_in(8) {
                    quotas.push(self.flavor_quota(random, flavor, RESOURCES));
                }
                count -= 1;
            }
            groups.push(ResourceGroupSpec {
                resources: resources.iter().map(|resource| (*resource).into()).collect(),
                flavors: quotas,
            });
        }
        groups
    }

    fn flavor_quota(&self, random: &mut Random, flavor: &str, resources: &[&str]) -> FlavorQuotaSpec {
        let quota = |resource: &&str| {
            let mut limit = || random.once_in(4).then(|| Amount::new(self.amount(random)));
            let (borrowing_limit, lending_limit) = (limit(), limit());
            let nominal = Amount::new(self.amount(random));
            QuotaSpec { resource: (*resource).into(), nominal, borrowing_limit, lending_limit }
        };
        FlavorQuotaSpec { flavor: flavor.into(), resources: resources.iter().map(quota).collect() }
    }
}

fn stop(random: &mut Random) -> StopPolicy {
    match random.below(10) {
        0 => StopPolicy::Hold,
        1 => StopPolicy::HoldAndDrain,
        _ => StopPolicy::None,
    }
}

fn preemption(random: &mut Random) -> Preemption {
    const POLICIES: &[PreemptionPolicy] = &[
        PreemptionPolicy::Never,
        PreemptionPolicy::LowerPriority,
        PreemptionPolicy::LowerOrNewerEqualPriority,
        PreemptionPolicy::Any,
    ];
    let max_priority = random.once_in(2).then_some(1);
    Preemption {
        within_queue: *random.pick(POLICIES),
        reclaim_within_cohort: *random.pick(POLICIES),
        borrow_within_cohort: random.once_in(3).then_some(BorrowWithinCohort { max_priority }),
    }
}
