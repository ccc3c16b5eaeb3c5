//! What a seed stands for: queues, jobs, faults and troubles.
//!
//! Everything in a plan is a value of its own, with its own time: any of it can be left out, and the rest stays as it is.

use std::fmt;

use kueue_apiserver::faults::Rule;
use kueue_storm::Random;

use crate::load::{Job, Setup};
use crate::trouble::Trouble;

/// How long jobs come and things go wrong, at most.
const STORM_MS_MAX: usize = 80_000;
const JOBS_MAX: usize = 10;
const TROUBLES_MAX: usize = 8;
/// Of a hundred requests so many meet a fault, at most and for each kind of fault.
const PERCENT_MAX: usize = 8;

#[derive(Clone, Debug)]
pub struct Plan {
    pub seed: u64,
    pub setup: Setup,
    pub jobs: Vec<Job>,
    pub troubles: Vec<Trouble>,
    /// What every connection of a manager suffers.
    pub faults: Vec<Rule>,
    /// When the last trouble is over.
    pub storm_ms: u64,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let storm_ms = 20_000 + Random::new(seed, "time", 0).below(STORM_MS_MAX) as u64;
        let setup = Setup::draw(&mut Random::new(seed, "setup", 0));
        let count = 1 + Random::new(seed, "jobs", 0).below(JOBS_MAX);
        let job = |number: usize| Job::draw(number, &setup, storm_ms, &mut Random::new(seed, "job", number as u64));
        let jobs: Vec<Job> = (0..count).map(job).collect();
        let count = Random::new(seed, "troubles", 0).below(TROUBLES_MAX + 1);
        let trouble =
            |number: usize| Trouble::draw(&setup, &jobs, storm_ms, &mut Random::new(seed, "trouble", number as u64));
        let troubles = (0..count).map(trouble).collect();
        let faults = faults(&mut Random::new(seed, "faults", 0));
        Self { seed, setup, jobs, troubles, faults, storm_ms }
    }

    /// How many things can be left out.
    pub fn parts(&self) -> usize {
        self.jobs.len() + self.troubles.len() + self.faults.len()
    }

    /// The plan with these of its parts only; the numbers count jobs, then troubles, then faults.
    #[must_use]
    pub fn with_only(&self, kept: &[usize]) -> Self {
        let (jobs, troubles) = (self.jobs.len(), self.troubles.len());
        let mut fewer = self.clone();
        let mut part = 0..;
        fewer.jobs.retain(|_| part.next().is_some_and(|part| kept.contains(&part)));
        let mut part = jobs..;
        fewer.troubles.retain(|_| part.next().is_some_and(|part| kept.contains(&part)));
        let mut part = jobs + troubles..;
        fewer.faults.retain(|_| part.next().is_some_and(|part| kept.contains(&part)));
        fewer
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.setup)?;
        self.jobs.iter().try_for_each(|job| writeln!(f, "{job:?}"))?;
        self.troubles.iter().try_for_each(|trouble| writeln!(f, "{trouble:?}"))?;
        self.faults.iter().try_for_each(|Rule { fault, rate, .. }| writeln!(f, "{fault:?} {rate}"))
    }
}

/// A third of all faults, each at a rate of its own; none at all in one of eight plans.
fn faults(random: &mut Random) -> Vec<Rule> {
    if random.once_in(8) {
        return Vec::new();
    }
    let mut rules = Rule::all(0.0);
    rules.retain_mut(|rule| {
        rule.rate = (1 + random.below(PERCENT_MAX)) as f64 / 100.0;
        random.once_in(3)
    });
    rules
}
