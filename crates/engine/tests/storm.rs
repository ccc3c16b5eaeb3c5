//! A few storms of random changes; `cargo xtask fuzz --target engine-storm --seconds N` goes on from there.

use kueue_storm::{Random, Storm};

const STORMS: u64 = 30;

#[test]
fn no_storm_breaks_the_engine() {
    for round in 0..STORMS {
        let storm = Storm::new(&mut Random::new(5, "unit", round));
        if let Err(why) = storm.play() {
            let small = storm.shrunk();
            panic!("storm {round}: {why}\nwith as few steps as still make it fail:\n{}", small.tell());
        }
    }
}
