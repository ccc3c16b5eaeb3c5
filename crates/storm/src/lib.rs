//! Storms: random changes, sensible and senseless, against the engine, and what must hold all the same.
//!
//! A storm is a list of words, one per step; what a step does follows from its word and from the world it finds, so a
//! storm can be played again, and steps can be left out while it still fails. After every step the engine's
//! invariants are checked; when the storm is over, everything is mended and whoever can run must come to run.

#![allow(clippy::needless_update, reason = "what the engine is told grows, and a storm says only what it varies")]

mod calm;
mod jobs;
mod model;
mod objects;
mod places;
mod random;
mod shrink;
mod statuses;
mod steps;
mod weather;
mod workloads;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use kueue_engine::Journal;
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

    /// Plays the storm and the calm after it, and then the same once more; says what did not hold.
    pub fn play(&self) -> Result<(), String> {
        let mut world = World::new(&self.weather);
        self.play_in(&mut world)?;
        let journal = Journal::from_text(&world.journal.to_text()).map_err(|error| error.to_string())?;
        let is_same = journal.replay() == world.outcomes;
        if is_same { Ok(()) } else { Err("played again, the storm goes another way".to_owned()) }
    }

    fn play_in(&self, world: &mut World) -> Result<(), String> {
        caught(|| {
            for word in &self.words {
                world.step(*word);
            }
            world.calm_down();
        })
    }

    /// Everything that was done to the engine, and what came of it, up to where it failed.
    pub fn tell(&self) -> String {
        let mut world = World::new(&self.weather);
        let why = self.play_in(&mut world).err();
        let mut told = Journal::line(&world.journal.settings);
        for (index, step) in world.journal.steps.iter().enumerate() {
            told.push_str(&Journal::line(step));
            for effect in world.outcomes.get(index).into_iter().flatten() {
                told.push_str(&format!("    {effect:?}\n"));
            }
        }
        told.push_str(&why.unwrap_or_default());
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
