//! Random changes against the engine; a storm that fails is shown with as few steps as still make it fail.

use kueue_storm::{Random, Storm};

use super::{Samples, Target};

const NAME: &str = "engine-storm";

pub(super) fn target() -> Target {
    let explain = |input: &str| storm(input).shrunk().tell();
    Target { name: NAME, samples: Samples::Numbers, check: |input| storm(input).play(), explain: Some(explain) }
}

fn storm(input: &str) -> Storm {
    Storm::new(&mut Random::new(input.parse().unwrap_or_default(), NAME, 0))
}
