//! After the storm: everything is mended, jobs run and end, and whoever can run must have run.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use kueue_core::selector::LabelSelector;
use kueue_engine::{
    Change, CheckProgress, CheckSpec, ConditionKind, FlavorNodes, FlavorQuotaSpec, FlavorSpec, Key, LocalQueueSpec,
    Name, NodeSpec, Owner, QueueSpec, QueueingStrategy, QuotaSpec, ResourceGroupSpec, StopPolicy, TopologyRequest,
    TopologySpec, Verdict, WorkloadSpec,
};

use crate::objects::{CHECKS, COHORTS, FLAVORS, LOCAL_QUEUES, NAMESPACES, QUEUES, RESOURCES};
use crate::places::{HOSTNAME, NODES, PODS, RACK, TOPOLOGIES};
use crate::statuses::set;
use crate::world::World;

/// Quota of every resource in the mended world: enough for each sensible workload alone.
const PLENTY: i64 = 240_000;

/// More cycles than it takes to look at everybody who waits; one who is refused in silence may stay at the head.
const MOST_HEADS: usize = 40;

/// More rounds than any mended world needs.
const MOST_ROUNDS: usize = 2000;

/// Longer than any limit or backoff of the mended world.
const LONGEST_WAIT: Duration = Duration::from_seconds(1000);

impl World {
    pub(crate) fn calm_down(&mut self) {
        self.weather.is_prompt = true;
        while self.write_next() {}
        self.forget_what_is_not_there();
        self.mend_objects();
        self.mend_workloads();
        self.run_to_rest();
        self.check_everybody_ran();
        self.remove_everything();
    }

    /// Old versions of workloads that are gone may still be believed to exist.
    fn forget_what_is_not_there(&mut self) {
        for key in std::mem::take(&mut self.ghosts) {
            if !self.workloads.contains_key(&key) {
                self.delete(&key);
            }
        }
    }

    fn mend_objects(&mut self) {
        for name in NAMESPACES {
            let labels = BTreeMap::from([("team".to_owned(), "red".to_owned())]);
            self.apply(Change::Namespace { name: (*name).into(), labels });
        }
        self.mend_nodes();
        for name in CHECKS {
            let spec = CheckSpec { name: (*name).into(), is_active: true, ..CheckSpec::default() };
            self.apply(Change::Check(spec));
        }
        for name in COHORTS {
            self.apply(Change::CohortGone((*name).into()));
        }
        for name in QUEUES {
            self.mend_queue(name);
        }
        for namespace in NAMESPACES {
            for (index, name) in LOCAL_QUEUES.iter().enumerate() {
                self.apply(Change::LocalQueue(LocalQueueSpec {
                    namespace: (*namespace).into(),
                    name: (*name).into(),
                    queue: QUEUES[index].into(),
                    weight: 1.0,
                    ..LocalQueueSpec::default()
                }));
            }
        }
    }

    /// A rack in which each node has enough of everything; workloads are placed there whether they ask for it or not.
    fn mend_nodes(&mut self) {
        for name in TOPOLOGIES {
            let levels = vec![RACK.into(), HOSTNAME.into()];
            self.apply(Change::Topology(TopologySpec { name: (*name).into(), levels }));
        }
        for (index, name) in NODES.iter().enumerate() {
            let zone = if index % 2 == 0 { "a" } else { "b" };
            let labels = [(RACK, "r0"), (HOSTNAME, *name), ("zone", zone)];
            self.apply(Change::Node(Box::new(NodeSpec {
                name: (*name).into(),
                labels: labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
                allocatable: RESOURCES.iter().map(|resource| ((*resource).into(), PLENTY)).collect(),
                ready: Some(true),
                ready_since: self.now,
                ..NodeSpec::default()
            })));
        }
        for name in PODS {
            self.apply(Change::PlainPodGone { namespace: "n0".into(), name: (*name).into() });
        }
        for name in FLAVORS {
            let nodes = FlavorNodes { topology: Some("t0".into()), ..FlavorNodes::default() };
            self.apply(Change::Flavor(FlavorSpec { name: (*name).into(), nodes }));
        }
    }

    /// One flavor with enough of everything, and nobody who only stands for others; how it preempts and shares stays.
    /// A senseless workload would hold up all others of a strict queue for ever, and rightly.
    fn mend_queue(&mut self, name: &str) {
        let quota = |resource: &&str| QuotaSpec {
            resource: (*resource).into(),
            nominal: Amount::new(PLENTY),
            ..QuotaSpec::default()
        };
        let flavor = FlavorQuotaSpec { flavor: "f0".into(), resources: RESOURCES.iter().map(quota).collect() };
        let resources = RESOURCES.iter().map(|resource| (*resource).into()).collect();
        let old = self.queues.get(name).cloned().unwrap_or_default();
        let gates = self.weather.settings.gates;
        let can_run = |spec: &WorkloadSpec| is_sensible(spec) && is_placeable(spec, gates);
        let is_held_up = self.weather.has_nonsense || !self.workloads.values().all(can_run);
        let mut spec = QueueSpec {
            name: name.into(),
            groups: vec![ResourceGroupSpec { resources, flavors: vec![flavor] }],
            namespaces: Some(LabelSelector::default()),
            strategy: if is_held_up { QueueingStrategy::BestEffortFifo } else { old.strategy },
            stop: StopPolicy::None,
            weight: 1.0,
            concurrent: None,
            revision: old.revision.wrapping_add(1),
            ..old
        };
        for check in &mut spec.checks {
            check.flavors.clear();
        }
        self.apply(Change::Queue(Box::new(spec)));
    }

    /// Takes back what only whoever wrote it can take back.
    fn mend_workloads(&mut self) {
        let keys: Vec<Key> = self.workloads.keys().cloned().collect();
        for key in keys {
            let now = self.now;
            self.apply(Change::JobHold { namespace: key.namespace.clone(), name: key.name.clone(), hold: None });
            self.edit(&key, |spec| {
                spec.is_active = true;
                spec.owner = Owner::Job;
                spec.is_deleting = false;
                spec.variant = None;
                spec.preemption_gates.clear();
                spec.gated_by = None;
                spec.invalid = None;
                let status = &mut spec.status;
                status.conditions.retain(|condition| {
                    !matches!(condition.kind, ConditionKind::WaitingForReplacementPods) && condition.reason != "OnHold"
                });
                // As in Kueue, who was to be placed after a check that is gone waits for its place for ever.
                for pod_set in status.admission.iter_mut().flat_map(|admission| &mut Arc::make_mut(admission).pod_sets)
                {
                    if pod_set.topology.is_none() {
                        pod_set.delayed = None;
                    }
                }
                if let Some(requeue) = &mut status.requeue {
                    requeue.at = requeue.at.map(|at| at.min(now));
                }
            });
        }
    }

    fn run_to_rest(&mut self) {
        let mut idle = 0;
        let mut last_decision = self.now;
        for _ in 0..MOST_ROUNDS {
            let decided = self.settle() + self.cycle();
            let played = self.play_jobs() + self.play_checks();
            self.flush();
            idle = if decided + played > 0 { 0 } else { idle + 1 };
            if idle == 0 {
                self.advance(1);
                last_decision = self.now;
                continue;
            }
            if self.engine.has_heads() && idle < MOST_HEADS {
                continue;
            }
            match self.engine.next_timer() {
                // Usage is counted for ever.
                Some(at) if at > last_decision + LONGEST_WAIT => return,
                Some(at) if at > self.now => self.now = at,
                Some(_) => {}
                None => return,
            }
        }
        panic!("the mended world does not come to rest");
    }

    /// Evicted jobs stop, admitted jobs end; says how many.
    fn play_jobs(&mut self) -> usize {
        let is = |spec: &WorkloadSpec, kind| spec.status.is_true(kind);
        let living = |spec: &&WorkloadSpec| !is(spec, ConditionKind::Finished);
        let key = |spec: &WorkloadSpec| Key { namespace: spec.namespace.clone(), name: spec.name.clone() };
        let reserving = self.workloads.values().filter(living).filter(|spec| spec.status.has_reservation());
        let (evicted, running): (Vec<_>, Vec<_>) = reserving.partition(|spec| is(spec, ConditionKind::Evicted));
        let evicted: Vec<Key> = evicted.into_iter().map(key).collect();
        let admitted: Vec<Key> =
            running.into_iter().filter(|spec| is(spec, ConditionKind::Admitted)).map(key).collect();
        let count = evicted.len() + admitted.len();
        for key in evicted {
            self.apply(Change::JobStopped { namespace: key.namespace, name: key.name });
        }
        for key in admitted {
            let now = self.now;
            self.edit(&key, |spec| set(spec, ConditionKind::Finished, Verdict::True, "Succeeded", now));
        }
        count
    }

    /// Every check of a workload with quota turns ready, and one that failed is tried again; workloads that were switched
    /// off are switched on again, whatever it takes. Says how many.
    fn play_checks(&mut self) -> usize {
        let key = |spec: &WorkloadSpec| Key { namespace: spec.namespace.clone(), name: spec.name.clone() };
        let living = self.workloads.values().filter(|spec| !spec.status.is_true(ConditionKind::Finished));
        let unanswered = |spec: &&WorkloadSpec| {
            let answer = answer(spec);
            spec.status.checks.iter().any(|check| check.progress != answer && check.progress != CheckProgress::Ready)
        };
        let waiting: Vec<Key> = living.clone().filter(unanswered).map(key).collect();
        let kept_out: Vec<Key> = living.clone().filter(|spec| is_kept_out(spec)).map(key).collect();
        let inactive: Vec<Key> = living.filter(|spec| !spec.is_active).map(key).collect();
        let count = waiting.len() + kept_out.len() + inactive.len();
        for key in kept_out {
            self.edit(&key, |spec| {
                spec.status.conditions.retain(|condition| condition.kind != ConditionKind::Requeued);
            });
        }
        for key in waiting {
            self.edit(&key, |spec| {
                let answer = answer(spec);
                for check in &mut spec.status.checks {
                    check.progress = answer;
                }
            });
        }
        for key in inactive {
            self.edit(&key, |spec| {
                spec.max_execution_s = None;
                spec.is_active = true;
                spec.generation += 1;
            });
        }
        count
    }

    fn check_everybody_ran(&self) {
        // As in Kueue, who is parked because one like it was looked at hears why only where gates ask for it.
        let gates = self.weather.settings.gates;
        let is_explicit = gates.enabled(Gate::UnadmittedWorkloadsObservability)
            && gates.enabled(Gate::UnadmittedWorkloadsExplicitStatus);
        // As in Kueue, without flavor fungibility a scan is never at its end: who waits for victims that never come is
        // looked at again and again, before all others.
        let is_held_up = self.weather.has_nonsense && !gates.enabled(Gate::FlavorFungibility);
        for (key, spec) in &self.workloads {
            let engine = self.engine.status(key).expect("the engine knows every workload");
            assert_eq!(*engine, spec.status, "the engine and the API server agree about {key}");
            let has_run = spec.status.is_true(ConditionKind::Finished);
            let can_run = is_sensible(spec) && is_placeable(spec, gates);
            assert!(has_run || is_held_up || !can_run, "{key} never ran: {spec:?}");
            if !has_run {
                let why = spec.status.condition(ConditionKind::QuotaReserved);
                assert!(
                    why.map_or(!is_explicit, |why| !why.reason.is_empty()),
                    "{key} waits without a reason: {spec:?}"
                );
            }
        }
    }

    /// Everything goes; nothing may be left behind.
    fn remove_everything(&mut self) {
        for name in QUEUES.iter().skip(2) {
            self.apply(Change::QueueGone((*name).into()));
        }
        let keys: Vec<Key> = self.workloads.keys().cloned().collect();
        for key in keys {
            self.delete(&key);
        }
        for name in QUEUES {
            self.apply(Change::QueueGone((*name).into()));
        }
        for namespace in NAMESPACES {
            for name in LOCAL_QUEUES {
                self.apply(Change::LocalQueueGone { namespace: (*namespace).into(), name: (*name).into() });
            }
        }
        self.settle();
        assert!(self.engine.next_timer().is_none(), "a timer is left behind");
    }
}

/// What the controllers of its checks say.
fn answer(spec: &WorkloadSpec) -> CheckProgress {
    if spec.status.has_reservation() { CheckProgress::Ready } else { CheckProgress::Pending }
}

/// Whether the workload can run in the mended world.
fn is_sensible(spec: &WorkloadSpec) -> bool {
    let fits = |resource: &str| {
        let of = |pod_set: &kueue_engine::PodSetSpec| -> i128 {
            let requests = pod_set.requests.iter().filter(|(name, _)| **name == *resource);
            requests.map(|(_, one)| i128::from(*one).max(0) * i128::from(pod_set.count)).sum()
        };
        spec.pod_sets.iter().map(of).sum::<i128>() <= i128::from(PLENTY)
    };
    let are_counts_fine = spec.pod_sets.iter().all(|pod_set| {
        pod_set.count > 0
            && pod_set.requests.iter().all(|(name, one)| RESOURCES.contains(&&**name) && *one >= 0)
            && pod_set.min_count.is_none_or(|min| min > 0 && min <= pod_set.count)
    });
    spec.invalid.is_none() && !spec.pod_sets.is_empty() && are_counts_fine && RESOURCES.iter().all(|name| fits(name))
}

/// Whether the workload can have a place in the mended world: what it asks for exists, its groups are a leader and its
/// workers, and it does not grow while it must stay in one place.
fn is_placeable(spec: &WorkloadSpec, gates: Gates) -> bool {
    let mut asked = spec.pod_sets.iter().filter(|pod_set| pod_set.topology.is_some()).peekable();
    if asked.peek().is_some() && !gates.enabled(Gate::TopologyAwareScheduling) {
        return false;
    }
    let is_known = |level: &Name| [RACK, HOSTNAME].contains(&&**level);
    let grows = spec.is_elastic && gates.enabled(Gate::ElasticJobsViaWorkloadSlicesWithTAS);
    let of_group = |name: &Name| -> Vec<i32> {
        let members = spec.pod_sets.iter().filter(|other| other.group.as_ref() == Some(name));
        members.map(|other| other.count).collect()
    };
    asked.all(|pod_set| {
        let TopologyRequest { required, preferred, slices, .. } = pod_set.topology.as_ref().expect("it was asked for");
        let is_group_fine = pod_set.group.as_ref().is_none_or(|group| {
            let counts = of_group(group);
            counts.len() < 2 || counts.len() == 2 && counts.contains(&1)
        });
        let is_placed_freely = required.is_none() && preferred.is_none();
        is_group_fine
            && required.iter().chain(preferred).all(is_known)
            && slices.iter().all(|slice| slice.size > 0 && pod_set.count % slice.size == 0)
            && (is_placed_freely || !grows)
    })
}

/// As in Kueue, who was switched off by a limit stays out of its queue until somebody removes the mark; and so does who
/// was given a mark that Kueue itself never gives.
fn is_kept_out(spec: &WorkloadSpec) -> bool {
    let requeued = spec.status.condition(ConditionKind::Requeued);
    spec.is_active
        && requeued.is_some_and(|requeued| {
            let is_foreign = matches!(&*requeued.reason, "" | "Preempted" | "OnHold" | "Pending");
            requeued.verdict == Verdict::False && (is_foreign || requeued.reason.starts_with("DeactivatedDueTo"))
        })
}
