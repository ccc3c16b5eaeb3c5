//! Storms: random changes, sensible and senseless, against the engine, and what must hold all the same.
//!
//! A storm is a list of words, one per step; what a step does follows from its word and from the world it finds, so a
//! storm can be played again, and steps can be left out while it still fails. After every step the engine's
//! invariants are checked; when the storm is over, everything is mended and whoever can run must come to run.

#![allow(clippy::needless_update, reason = "what the engine is told grows, and a storm says only what it varies")]

mod calm;
mod model;
mod objects;
mod random;
mod shrink;
mod statuses;
mod steps;
mod weather;
mod workloads;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use random::Random;

use weather::Weather;
use world::World;

/// A storm that can be played any number of times.
#[derive(Clone, Debug)]
pub struct Storm {
    weather: Weather,
    words: Vec<u64>,
}

impl Storm {
    /// The storm that the random numbers stand for.
    pub fn new(random: &mut Random) -> Self {
        let weather = Weather::new(random);
        let words = (0..20 + random.below(400)).map(|_| random.word()).collect();
        Self { weather, words }
    }

    /// Plays the storm and the calm after it; says what did not hold.
    pub fn play(&self) -> Result<(), String> {
        caught(|| {
            let mut world = World::new(&self.weather);
            for word in &self.words {
                world.step(*word);
            }
            world.calm_down();
        })
    }

    /// Everything that was done to the engine, one line each, up to where it failed.
    pub fn tell(&self) -> String {
        let mut world = World::new(&self.weather);
        let mut told = format!("{:?}\n", self.weather);
        // A failing step leaves its line behind: the world writes before it acts.
        let _ = caught(|| {
            for word in &self.words {
                world.step(*word);
            }
            world.calm_down();
        });
        for line in world.told() {
            told.push_str(line);
            told.push('\n');
        }
        told
    }
}

/// Turns a panic into its message.
fn caught(play: impl FnOnce()) -> Result<(), String> {
    catch_unwind(AssertUnwindSafe(play)).map_err(|payload| match payload.downcast::<String>() {
        Ok(message) => *message,
        Err(payload) => payload.downcast::<&str>().map_or_else(|_| "panicked".to_owned(), |text| (*text).to_owned()),
    })
}
