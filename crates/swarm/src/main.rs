//! Plays seeds, many at a time, and tells how to play those again that fail: `cargo xtask swarm` is the way to start it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use tracing::level_filters::LevelFilter;

use kueue_swarm::plan::Plan;
use kueue_swarm::play::{Outcome, outcome};
use kueue_swarm::shrink;

/// The same as in the product.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Who fails so often has told enough.
const FAILURES_MAX: usize = 3;
/// After so many seeds it is told how far it is.
const TOLD_EVERY: u64 = 50;

/// Random load and random faults against everything, from a seed.
#[derive(Parser)]
struct Cli {
    /// How many seeds are played.
    #[arg(long, default_value_t = 500)]
    seeds: u64,
    /// The first of them.
    #[arg(long, default_value_t = 1)]
    from: u64,
    /// Only these parts of the plan, by number: jobs first, then troubles, then faults.
    #[arg(long, value_delimiter = ',')]
    only: Option<Vec<usize>>,
    /// Tell everything that happens.
    #[arg(long)]
    tell: bool,
    /// How much of the managers' log is shown.
    #[arg(long, default_value = "off")]
    log: LevelFilter,
    /// How many are played at the same time; as many as there are processors without.
    #[arg(long)]
    threads: Option<usize>,
    /// Play each seed twice: both must go the same way.
    #[arg(long)]
    twice: bool,
}

fn main() -> Result<ExitCode> {
    let cli = Cli::parse();
    tracing_subscriber::fmt().without_time().with_writer(std::io::stderr).with_max_level(cli.log).init();
    kueue_swarm::play::notice_panics();
    let begin = Instant::now();
    let (next, failures, played) = (AtomicU64::new(cli.from), AtomicUsize::new(0), AtomicU64::new(0));
    let threads = cli.threads.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= cli.from + cli.seeds || failures.load(Ordering::Relaxed) >= FAILURES_MAX {
                        return;
                    }
                    if !holds(&cli, seed) {
                        failures.fetch_add(1, Ordering::Relaxed);
                    }
                    let played = played.fetch_add(1, Ordering::Relaxed) + 1;
                    if played.is_multiple_of(TOLD_EVERY) && played < cli.seeds {
                        println!("swarm: {played} of {} seeds, {:.0} s", cli.seeds, begin.elapsed().as_secs_f64());
                    }
                }
            });
        }
    });
    let failed = failures.into_inner();
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "swarm: {} of {} seeds from {}, {failed} failed, {seconds:.1} s",
        played.into_inner(),
        cli.seeds,
        cli.from
    );
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Plays one seed; tells what does not hold, and how to see that again.
fn holds(cli: &Cli, seed: u64) -> bool {
    let whole = Plan::of(seed);
    let plan = cli.only.as_ref().map_or_else(|| whole.clone(), |kept| whole.with_only(kept));
    if cli.tell {
        println!("{plan}");
    }
    let Outcome { problem, fingerprint } = outcome(&plan, cli.tell);
    if let Some(problem) = problem {
        let again = format!("cargo xtask swarm --from {seed} --seeds 1");
        println!("FAILED seed {seed}: {problem}\n  again: {again}");
        if cli.only.is_none() {
            let kept = shrink::shrunk(&whole, problem.rule);
            let numbers: Vec<String> = kept.iter().map(usize::to_string).collect();
            println!("{}  smaller: {again} --only {} --tell", whole.with_only(&kept), numbers.join(","));
        }
        return false;
    }
    if cli.tell {
        println!("seed {seed} holds, its history is {fingerprint:016x}");
    }
    if cli.twice && outcome(&plan, false).fingerprint != fingerprint {
        println!(
            "FAILED seed {seed}: played again it goes another way\n  again: cargo xtask swarm --from {seed} --seeds 1 --twice"
        );
        return false;
    }
    true
}
