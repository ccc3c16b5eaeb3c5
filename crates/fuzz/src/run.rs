//! The loop: a round makes one input, plays it, and tells everything needed to play it again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::targets::Target;
use kueue_storm::Random;

/// No input of a few kilobytes may take this long.
const HANG: Duration = Duration::from_secs(5);

/// Plays all targets for their share of the time; the exit code says whether any input broke a rule.
pub fn all(targets: &[Target], seed: u64, seconds: u64) -> ExitCode {
    let watchdog = Watchdog::start();
    let share = Duration::from_secs(seconds) / u32::try_from(targets.len()).expect("few targets");
    let mut failures = 0;
    for target in targets {
        let start = Instant::now();
        let mut round = 0;
        let mut failed = 0;
        while start.elapsed() < share && failed < 3 {
            if let Err(why) = play(target, seed, round, &watchdog) {
                failed += 1;
                report(target, seed, round, &why);
            }
            round += 1;
        }
        println!("{:<28} {round:>9} inputs, {failed} failed", target.name);
        failures += failed;
    }
    println!("fuzz: {} targets from seed {seed}, {failures} failed", targets.len());
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Plays one round and shows its input.
pub fn replay(target: &Target, seed: u64, round: u64) -> ExitCode {
    println!("{}", target.input(&mut Random::new(seed, target.name, round)));
    match play(target, seed, round, &Watchdog::start()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            report(target, seed, round, &why);
            ExitCode::FAILURE
        }
    }
}

fn play(target: &Target, seed: u64, round: u64, watchdog: &Watchdog) -> Result<(), String> {
    let input = target.input(&mut Random::new(seed, target.name, round));
    watchdog.watch(
        || again(target, seed, round),
        || catch_unwind(AssertUnwindSafe(|| (target.check)(&input))).unwrap_or_else(|_| Err("panicked".to_owned())),
    )
}

fn report(target: &Target, seed: u64, round: u64, why: &str) {
    if let Some(explain) = target.explain {
        println!("{}", explain(&target.input(&mut Random::new(seed, target.name, round))));
    }
    println!("FAILED {}: {why}\n  again: {}", target.name, again(target, seed, round));
}

fn again(target: &Target, seed: u64, round: u64) -> String {
    format!("cargo run --release -p kueue-fuzz -- --seed {seed} --target {} --round {round}", target.name)
}

/// Ends the process, naming the input, when one takes too long: nothing else stops a loop that never returns.
struct Watchdog {
    /// Counts inputs begun and ended: odd while one is being played.
    ticks: Arc<AtomicU64>,
    playing: Arc<Mutex<String>>,
}

impl Watchdog {
    fn start() -> Self {
        let watchdog = Self { ticks: Arc::default(), playing: Arc::default() };
        let (ticks, playing) = (Arc::clone(&watchdog.ticks), Arc::clone(&watchdog.playing));
        std::thread::spawn(move || {
            loop {
                let before = ticks.load(Ordering::Acquire);
                std::thread::sleep(HANG);
                if before % 2 == 1 && ticks.load(Ordering::Acquire) == before {
                    let again = playing.lock().map(|text| text.clone()).unwrap_or_default();
                    println!("FAILED: an input took more than {} s\n  again: {again}", HANG.as_secs());
                    std::process::exit(1);
                }
            }
        });
        watchdog
    }

    fn watch<T>(&self, name: impl FnOnce() -> String, play: impl FnOnce() -> T) -> T {
        if let Ok(mut playing) = self.playing.lock() {
            *playing = name();
        }
        self.ticks.fetch_add(1, Ordering::AcqRel);
        let result = play();
        self.ticks.fetch_add(1, Ordering::AcqRel);
        result
    }
}
