//! Policy `Targeted`: who is left asleep when quota comes free would have done nothing if it had been woken.

use std::collections::BTreeMap;

use kueue_core::amount::Amount;
use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;
use proptest::prelude::*;

use crate::assign::Mode;
use crate::id::WorkloadId;
use crate::workload::Place;
use crate::*;

/// One thing that happens.
#[derive(Clone, Debug)]
enum Step {
    Arrive { queue: u8, cpu: i64, gpu: i64, priority: i32, count: i32, min_count: Option<i32> },
    Finish(usize),
    Quota { queue: u8, cpu: i64 },
    Cycle,
}

/// A ClusterQueue of the history.
#[derive(Clone, Debug)]
struct Shape {
    cohort: Option<bool>,
    cpu: i64,
    borrowing_limit: Option<i64>,
    lending_limit: Option<i64>,
    within: PreemptionPolicy,
    reclaim: PreemptionPolicy,
    may_borrow: bool,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrive = (0..4u8, 0..6i64, 0..3i64, 0..3i32, 1..4i32, proptest::option::of(1..3i32)).prop_map(
        |(queue, cpu, gpu, priority, count, min_count)| Step::Arrive { queue, cpu, gpu, priority, count, min_count },
    );
    let step = prop_oneof![
        6 => arrive,
        4 => (0..40usize).prop_map(Step::Finish),
        1 => (0..4u8, 0..12i64).prop_map(|(queue, cpu)| Step::Quota { queue, cpu }),
        6 => Just(Step::Cycle),
    ];
    proptest::collection::vec(step, 1..60)
}

fn shapes() -> impl Strategy<Value = Vec<Shape>> {
    let policy =
        prop_oneof![Just(PreemptionPolicy::Never), Just(PreemptionPolicy::LowerPriority), Just(PreemptionPolicy::Any)];
    let limit = || proptest::option::of(0..6i64);
    let shape = (
        proptest::option::weighted(0.8, any::<bool>()),
        0..10i64,
        limit(),
        limit(),
        policy.clone(),
        policy,
        any::<bool>(),
    );
    let shape = shape.prop_map(|(cohort, cpu, borrowing_limit, lending_limit, within, reclaim, may_borrow)| Shape {
        cohort,
        cpu,
        borrowing_limit,
        lending_limit,
        within: if within == PreemptionPolicy::Any { PreemptionPolicy::LowerPriority } else { within },
        reclaim,
        may_borrow,
    });
    proptest::collection::vec(shape, 4)
}

struct World {
    engine: Engine,
    now: Time,
    shapes: Vec<Shape>,
    specs: Vec<WorkloadSpec>,
    /// How often somebody was left asleep, so that a test knows that it tested something.
    left_asleep: usize,
}

impl World {
    fn new(shapes: Vec<Shape>, is_fair: bool, gates: Gates) -> Self {
        let strategies = vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare];
        let fair_sharing = is_fair.then_some(FairSharing { strategies });
        let engine = Engine::new(Settings { fair_sharing, gates, wake: WakePolicy::Targeted, ..Settings::default() });
        let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
        let mut world = Self { engine, now, shapes, specs: Vec::new(), left_asleep: 0 };
        world.engine.apply(Change::Namespace { name: "ns".into(), labels: BTreeMap::new() }, now);
        for flavor in ["f", "g"] {
            let flavor = FlavorSpec { name: flavor.into(), nodes: FlavorNodes::default() };
            world.engine.apply(Change::Flavor(flavor), now);
        }
        for cohort in ["left", "right"] {
            world.engine.apply(
                Change::Cohort(CohortSpec {
                    name: cohort.into(),
                    parent: Some("root".into()),
                    groups: Vec::new(),
                    weight: 1.0,
                    revision: 0,
                }),
                now,
            );
        }
        for queue in 0..4 {
            world.set_queue(queue);
            world.engine.apply(
                Change::LocalQueue(LocalQueueSpec {
                    namespace: "ns".into(),
                    name: format!("q{queue}").into(),
                    queue: format!("q{queue}").into(),
                    ..LocalQueueSpec::default()
                }),
                now,
            );
        }
        world
    }

    fn set_queue(&mut self, queue: u8) {
        let shape = &self.shapes[usize::from(queue)];
        let amount = |cpus: i64| Amount::new(cpus * 1000);
        let quota = |resource: &str, nominal: Amount| QuotaSpec {
            resource: resource.into(),
            nominal,
            borrowing_limit: shape.borrowing_limit.filter(|_| shape.cohort.is_some()).map(amount),
            lending_limit: shape.lending_limit.filter(|_| shape.cohort.is_some()).map(amount),
        };
        let flavor = |name: &str, cpu: i64| FlavorQuotaSpec {
            flavor: name.into(),
            resources: vec![quota("cpu", amount(cpu)), quota("gpu", Amount::new(cpu / 2))],
        };
        let spec = QueueSpec {
            name: format!("q{queue}").into(),
            cohort: shape.cohort.map(|is_left| if is_left { "left".into() } else { "right".into() }),
            groups: vec![ResourceGroupSpec {
                resources: vec!["cpu".into(), "gpu".into()],
                flavors: vec![flavor("f", shape.cpu), flavor("g", shape.cpu / 2)],
            }],
            namespaces: Some(LabelSelector::default()),
            preemption: Preemption {
                within_queue: shape.within,
                reclaim_within_cohort: shape.reclaim,
                borrow_within_cohort: shape.may_borrow.then_some(BorrowWithinCohort { max_priority: Some(1) }),
            },
            weight: 1.0,
            revision: self.specs.len() as u64,
            ..QueueSpec::default()
        };
        self.engine.apply(Change::Queue(Box::new(spec)), self.now);
    }

    fn arrive(&mut self, queue: u8, requests: [(&str, i64); 2], priority: i32, count: i32, min_count: Option<i32>) {
        let name: Name = format!("w{}", self.specs.len()).into();
        let requests = requests.into_iter().filter(|(_, amount)| *amount > 0);
        self.specs.push(WorkloadSpec {
            namespace: "ns".into(),
            name: name.clone(),
            uid: name,
            created: self.now,
            generation: 1,
            local_queue: format!("q{queue}").into(),
            priority,
            is_active: true,
            pod_sets: vec![PodSetSpec {
                name: "main".into(),
                count,
                min_count: min_count.filter(|min| *min < count),
                requests: requests.map(|(resource, amount)| (resource.into(), amount)).collect(),
                placement: PodPlacement::default(),
                topology: None,
                room: None,
                fingerprint: 0,
                group: None,
            }],
            ..WorkloadSpec::default()
        });
        self.tell(self.specs.len() - 1);
    }

    fn tell(&mut self, index: usize) {
        self.engine.apply(Change::Workload(Box::new(self.specs[index].clone())), self.now);
    }

    fn finish(&mut self, index: usize) {
        let Some(spec) = self.specs.get_mut(index) else { return };
        let is_over = spec.status.is_true(ConditionKind::Finished) || !spec.status.has_reservation();
        if !is_over {
            spec.status.conditions.push(Condition {
                kind: ConditionKind::Finished,
                verdict: Verdict::True,
                reason: "Succeeded".into(),
                message: "".into(),
                since: self.now,
                generation: 1,
            });
            self.tell(index);
        }
    }

    fn play(&mut self, step: &Step) {
        match *step {
            Step::Arrive { queue, cpu, gpu, priority, count, min_count } => {
                self.arrive(queue, [("cpu", cpu * 1000), ("gpu", gpu)], priority, count, min_count);
            }
            Step::Finish(index) => self.finish(index),
            Step::Quota { queue, cpu } => {
                self.shapes[usize::from(queue)].cpu = cpu;
                self.set_queue(queue);
            }
            Step::Cycle => {
                self.now = self.now + Duration::from_seconds(1);
                self.serve();
                let effects = self.engine.cycle(self.now);
                self.perform(effects);
            }
        }
        let effects = self.engine.settle(self.now);
        self.perform(effects);
        self.engine.check_invariants();
    }

    /// Serves what is due, and looks at everybody in those trees who is left asleep.
    fn serve(&mut self) {
        let scopes: Vec<Scope> = self.engine.scopes().cloned().collect();
        self.engine.flush(self.now);
        let ids: Vec<WorkloadId> = self.engine.workloads.ids().collect();
        for id in ids {
            let Place::Queued(seat) = self.engine.workloads[id].place.clone() else { continue };
            let queue = &self.engine.queues[seat.queue];
            let root = &self.engine.quotas.node(self.engine.quotas.root(queue.node)).name;
            let is_served = scopes.iter().any(|scope| {
                let (Scope::Cohort(name) | Scope::Queue(name)) = scope;
                name == root
            });
            if !is_served || queue.pending.is_awake(&seat) {
                continue;
            }
            self.left_asleep += 1;
            let progress = self.engine.workloads[id].progress.clone();
            let proposal = self.engine.find_assignment(id, seat.queue, None);
            self.engine.workloads[id].progress = progress;
            let key = &self.engine.workloads[id].key;
            assert_eq!(proposal.assignment.mode, Mode::NoFit, "{key} is left asleep and would have an effect");
        }
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Effect::Status { workload, status, .. } = effect {
                let index: usize = workload.name[1..].parse().unwrap();
                self.specs[index].status = (*status).clone();
                if status.is_evicted() && status.has_reservation() {
                    let Key { namespace, name } = workload;
                    self.engine.apply(Change::JobStopped { namespace, name }, self.now);
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn who_is_left_asleep_would_have_had_no_effect(
        shapes in shapes(),
        steps in steps(),
        is_fair in any::<bool>(),
        is_partial in any::<bool>(),
    ) {
        let gates = Gates::default().with(Gate::PartialAdmission, is_partial);
        let mut world = World::new(shapes, is_fair, gates);
        for step in &steps {
            world.play(step);
        }
    }
}

#[test]
fn too_large_a_workload_sleeps_on_when_a_little_comes_free() {
    let alone = Shape {
        cohort: None,
        cpu: 4,
        borrowing_limit: None,
        lending_limit: None,
        within: PreemptionPolicy::Never,
        reclaim: PreemptionPolicy::Never,
        may_borrow: false,
    };
    let mut world = World::new(vec![alone; 4], false, Gates::default());
    let arrive = |cpu, count| Step::Arrive { queue: 0, cpu, gpu: 0, priority: 0, count, min_count: None };
    for step in [arrive(1, 1), arrive(6, 1), arrive(1, 1), Step::Cycle, Step::Cycle, Step::Cycle] {
        world.play(&step);
    }
    assert_eq!(world.left_asleep, 0);
    world.play(&Step::Finish(0));
    world.play(&Step::Cycle);
    assert_eq!(world.left_asleep, 1, "the one that asks for more than there is");
}
