//! What a step of a storm does.

use kueue_engine::{Change, Key};

use crate::random::Random;
use crate::world::World;

type Step = fn(&mut World, &mut Random);

/// How often each thing happens, relative to the others.
const STEPS: &[(usize, Step)] = &[
    (30, World::look_at_heads),
    (25, World::take_steps),
    (5, |world, _| world.flush()),
    (25, World::create_workload),
    (6, World::change_workload),
    (4, World::delete_workload),
    (8, World::change_queue),
    (8, World::change_local_queue),
    (3, World::change_cohort),
    (4, World::change_flavor),
    (3, World::change_namespace),
    (2, World::change_check),
    (3, World::change_topology),
    (14, World::change_node),
    (5, World::change_plain_pod),
    (4, World::move_pods),
    (8, World::finish_one),
    (8, World::answer_check),
    (3, World::reclaim_pods),
    (3, World::reserve_elsewhere),
    (12, World::stop_job),
    (6, World::grow_job),
    (3, World::shrink_job),
    (4, World::make_variants),
    (3, World::hold_job),
    (2, World::orphan_workload),
    (10, World::tell_pods),
    (3, World::turn_gate),
    (2, |world, _| world.sample()),
    (6, World::pass_time),
    (12, World::write_some),
    (2, World::lose_one),
    (4, World::resync_one),
    (2, World::tell_old_version),
    (2, World::scribble_if_bad),
];

impl World {
    pub(crate) fn step(&mut self, word: u64) {
        let mut random = Random::new(word, "step", 0);
        let total: usize = STEPS.iter().map(|(weight, _)| weight).sum();
        let mut at = random.below(total);
        for (weight, step) in STEPS {
            if at < *weight {
                return step(self, &mut random);
            }
            at -= weight;
        }
    }

    fn look_at_heads(&mut self, _: &mut Random) {
        self.cycle();
    }

    fn take_steps(&mut self, _: &mut Random) {
        self.settle();
    }

    fn write_some(&mut self, random: &mut Random) {
        for _ in 0..=random.below(4) {
            self.write_next();
        }
    }

    /// A write that failed: nobody hears of the decision.
    fn lose_one(&mut self, _: &mut Random) {
        self.in_flight.pop_front();
    }

    fn stop_job(&mut self, random: &mut Random) {
        if let Some(key) = self.any_workload(random) {
            self.apply(Change::JobStopped { namespace: key.namespace, name: key.name });
        }
    }

    fn pass_time(&mut self, random: &mut Random) {
        match random.below(8) {
            0 => self.advance(-i64::try_from(random.below(1000)).expect("a small number")),
            1 => self.advance(3600),
            2 => {
                if let Some(at) = self.engine.next_timer() {
                    self.now = at;
                }
            }
            _ => self.advance(i64::try_from(random.below(5)).expect("a small number")),
        }
    }

    fn resync_one(&mut self, random: &mut Random) {
        if let Some(key) = self.any_workload(random) {
            self.resync(&key);
        }
    }

    /// The engine hears of a workload as it was a while ago, or of one that is gone.
    fn tell_old_version(&mut self, random: &mut Random) {
        let count = self.old_versions.len();
        if !self.weather.is_prompt && count > 0 {
            let old = self.old_versions[random.below(count)].clone();
            self.ghosts.insert(Key { namespace: old.namespace.clone(), name: old.name.clone() });
            self.apply(Change::Workload(Box::new(old)));
        }
    }

    fn scribble_if_bad(&mut self, random: &mut Random) {
        if self.weather.has_nonsense {
            self.scribble(random);
        }
    }
}
