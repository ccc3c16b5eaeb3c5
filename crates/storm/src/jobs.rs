//! What jobs do: they grow and shrink, wait for several flavors at once, pause, lose their owner, and have pods.

use kueue_engine::{Change, ConditionKind, Hold, Key, Owner, PreemptionGate, VariantSpec, Verdict, WorkloadSpec};

use crate::objects::FLAVORS;
use crate::random::Random;
use crate::statuses::set;
use crate::workloads::NAMES;
use crate::world::World;

impl World {
    /// Another workload of the same queue and pods, under a name that may be free or not.
    fn like(&self, key: &Key, random: &mut Random) -> Option<WorkloadSpec> {
        let name = format!("w{}", random.below(NAMES));
        let uid = format!("{name}-{}", random.below(1000));
        let (name, uid) = (name.as_str().into(), uid.as_str().into());
        let status = Default::default();
        let like = WorkloadSpec { name, uid, created: self.now, status, ..self.workloads.get(key)?.clone() };
        (like.name != key.name).then_some(like)
    }

    fn create(&mut self, spec: WorkloadSpec) {
        let key = Key { namespace: spec.namespace.clone(), name: spec.name.clone() };
        self.workloads.insert(key.clone(), spec);
        self.resync(&key);
    }

    /// A larger slice is to take the place of a workload, or by mistake a smaller one.
    pub(crate) fn grow_job(&mut self, random: &mut Random) {
        let Some(old) = self.any_workload(random) else { return };
        let Some(mut slice) = self.like(&old, random) else { return };
        for pod_set in &mut slice.pod_sets {
            let more = if random.once_in(6) { -1 } else { 1 };
            pod_set.count = pod_set.count.saturating_add(more).max(1);
        }
        slice.replaces = Some(old);
        self.create(slice);
    }

    pub(crate) fn shrink_job(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        self.edit(&key, |spec| {
            spec.generation += 1;
            for pod_set in spec.pod_sets.iter_mut().filter(|pod_set| pod_set.count > 1) {
                pod_set.count -= 1;
                pod_set.min_count = pod_set.min_count.map(|min| min.min(pod_set.count));
            }
        });
    }

    /// Variants wait on behalf of a workload, each for a flavor.
    pub(crate) fn make_variants(&mut self, random: &mut Random) {
        let Some(parent) = self.any_workload(random) else { return };
        for _ in 0..=random.below(3) {
            let Some(mut variant) = self.like(&parent, random) else { continue };
            let Some(uid) = self.workloads.get(&parent).map(|parent| parent.uid.clone()) else { return };
            let allowed = (0..random.below(3)).map(|_| (*random.pick(FLAVORS)).into()).collect();
            variant.variant = Some(Box::new(VariantSpec {
                is_parent: random.once_in(16),
                variant_of: Some(uid),
                allowed_flavors: (!random.once_in(8)).then_some(allowed),
            }));
            self.create(variant);
        }
    }

    pub(crate) fn hold_job(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let hold = *random.pick(&[None, Some(Hold::Job), Some(Hold::ScaledToZero)]);
        self.apply(Change::JobHold { namespace: key.namespace, name: key.name, hold });
    }

    pub(crate) fn orphan_workload(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        self.edit(&key, |spec| {
            spec.owner = *random.pick(&[Owner::Job, Owner::Pod, Owner::Nobody, Owner::Nobody, Owner::Nobody]);
            spec.is_deleting = random.once_in(2);
        });
    }

    /// The pods of a job run, or do not any more.
    pub(crate) fn tell_pods(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let (verdict, reason) = match random.below(4) {
            0 => (Verdict::False, "WaitForStart"),
            1 => (Verdict::False, "WaitForRecovery"),
            2 => (Verdict::True, "Recovered"),
            _ => (Verdict::True, "Started"),
        };
        let now = self.now;
        self.edit(&key, |spec| set(spec, ConditionKind::PodsReady, verdict, reason, now));
    }

    /// Somebody opens a preemption gate, or closes it again.
    pub(crate) fn turn_gate(&mut self, random: &mut Random) {
        let Some(key) = self.any_workload(random) else { return };
        let since = self.now;
        self.edit(&key, |spec| {
            let gates = spec.preemption_gates.iter().cloned();
            spec.status.preemption_gates =
                gates.map(|name| PreemptionGate { name, is_open: !random.once_in(4), since }).collect();
        });
    }
}
