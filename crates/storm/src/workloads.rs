//! Random workloads: few shapes, so that classes have several members.

use kueue_engine::{
    Change, Key, Owner, PodPlacement, PodSetSpec, PriorityClass, Status, Toleration, TolerationOperator, WorkloadSpec,
};

use crate::objects::{LOCAL_QUEUES, NAMESPACES, RESOURCES};
use crate::random::Random;
use crate::world::World;

/// How many names for workloads there are in a namespace.
pub(crate) const NAMES: usize = 12;

const ODD_COUNTS: &[i32] = &[0, -1, i32::MAX, i32::MIN, 1_000_000];

impl World {
    /// One of the workloads that exist.
    pub(crate) fn any_workload(&self, random: &mut Random) -> Option<Key> {
        let count = self.workloads.len();
        (count > 0).then(|| self.workloads.keys().nth(random.below(count)).expect("fewer than there are").clone())
    }

    pub(crate) fn create_workload(&mut self, random: &mut Random) {
        let namespace = *random.pick(NAMESPACES);
        let name = format!("w{}", random.below(NAMES));
        let key = Key { namespace: namespace.into(), name: name.as_str().into() };
        let uid = format!("{name}-{}", random.below(1000));
        let mut spec = WorkloadSpec {
            namespace: namespace.into(),
            name: name.as_str().into(),
            uid: uid.as_str().into(),
            job_uid: Some(format!("job-of-{uid}").as_str().into()),
            is_guarded: true,
            created: self.now,
            generation: 1,
            local_queue: (*random.pick(LOCAL_QUEUES)).into(),
            priority: i32::try_from(random.below(3)).expect("a small number"),
            is_active: true,
            pod_sets: self.pod_sets(random),
            status: Status::default(),
            ..WorkloadSpec::default()
        };
        if random.once_in(6) {
            spec.owner = Owner::Pod;
        }
        if random.once_in(8) {
            spec.priority_class = Some(PriorityClass::Workload("high".into()));
        }
        if random.once_in(10) {
            spec.max_execution_s = Some(i32::try_from(random.below(100)).expect("a small number"));
        }
        if random.once_in(20) {
            spec.gated_by = Some("somebody".into());
        }
        if random.once_in(10) {
            spec.preemption_gates.push("gate".into());
        }
        if random.once_in(20) {
            spec.invalid = Some("requests exceed limits".into());
        }
        if self.weather.has_nonsense && random.once_in(4) {
            spec.priority_boost = *random.pick(ODD_COUNTS);
            spec.max_execution_s = Some(*random.pick(ODD_COUNTS));
        }
        let is_known = self.workloads.contains_key(&key);
        self.workloads.insert(key.clone(), spec);
        if is_known && random.once_in(2) {
            self.apply(Change::WorkloadGone { namespace: key.namespace.clone(), name: key.name.clone() });
        }
        self.resync(&key);
    }

    fn pod_sets(&self, random: &mut Random) -> Vec<PodSetSpec> {
        let count = if random.once_in(4) { 2 } else { 1 };
        let count = if self.weather.has_nonsense && random.once_in(8) { random.below(12) } else { count };
        let mut pod_sets: Vec<PodSetSpec> = (0..count).map(|index| self.pod_set(random, index)).collect();
        if random.once_in(3) {
            pod_sets.iter_mut().for_each(|pod_set| pod_set.group = Some("together".into()));
            if let [leader, workers] = &mut pod_sets[..]
                && !self.weather.has_nonsense
            {
                // Where they are placed, one leads the others, and both ask for the same place.
                leader.topology.clone_from(&workers.topology);
                if let Some(request) = &mut leader.topology {
                    request.slices.clear();
                    (leader.count, leader.min_count) = (1, None);
                }
            }
        }
        pod_sets
    }

    fn pod_set(&self, random: &mut Random, index: usize) -> PodSetSpec {
        let name = if self.weather.has_nonsense && random.once_in(8) { "p0".to_owned() } else { format!("p{index}") };
        let mut pod_set = PodSetSpec {
            name: name.as_str().into(),
            count: i32::try_from(1 + random.below(3)).expect("a small number"),
            requests: vec![("cpu".into(), 1000 * i64::try_from(1 + random.below(4)).expect("a small number"))],
            ..PodSetSpec::default()
        };
        if random.once_in(3) {
            pod_set.requests.push(((*random.pick(&RESOURCES[1..])).into(), 1000));
        }
        if random.once_in(4) {
            pod_set.count += 2;
            pod_set.min_count = Some(1);
        }
        if random.once_in(4) {
            pod_set.placement.node_selector.insert("zone".into(), if random.once_in(2) { "a" } else { "b" }.into());
        }
        if random.once_in(2) {
            let any = Toleration {
                key: "".into(),
                operator: TolerationOperator::Exists,
                value: "".into(),
                effect: None,
                is_limited: false,
            };
            pod_set.placement = PodPlacement { tolerations: vec![any], ..pod_set.placement };
        }
        pod_set.topology = self.topology_request(random);
        if let Some(slice) =
            pod_set.topology.as_ref().and_then(|request| request.slices.first()).filter(|slice| slice.size > 0)
        {
            // Whole slices, and all of them: a part of a slice is nowhere at home.
            pod_set.count *= slice.size;
            pod_set.min_count = None;
        }
        if self.weather.has_nonsense && random.once_in(3) {
            pod_set.requests.push(((*random.pick(RESOURCES)).into(), self.amount(random)));
            pod_set.requests.push(("unheard-of".into(), self.amount(random)));
            pod_set.count = *random.pick(ODD_COUNTS);
            pod_set.min_count = random.once_in(2).then(|| *random.pick(ODD_COUNTS));
        }
        pod_set
    }

    pub(crate) fn change_workload(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let pod_sets = self.pod_sets(random);
        self.edit(&key, |spec| {
            spec.generation += 1;
            match random.below(6) {
                0 => spec.priority = i32::try_from(random.below(3)).expect("a small number"),
                1 => spec.is_active = !spec.is_active,
                2 => spec.local_queue = (*random.pick(LOCAL_QUEUES)).into(),
                3 => spec.gated_by = random.once_in(2).then(|| "somebody".into()),
                4 => spec.priority_class = random.once_in(2).then(|| PriorityClass::Workload("low".into())),
                _ => spec.pod_sets = pod_sets,
            }
        });
    }

    pub(crate) fn delete_workload(&mut self, random: &mut Random) {
        if let Some(key) = self.any_workload(random) {
            self.delete(&key);
        }
    }
}
