//! Instructions instead of time: how the cost of one decision grows with what did not change.
//!
//! Each size runs under callgrind, which counts only inside cycles. The counts are the same on a busy machine.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::loads::{Load, Measured};
use crate::machine::Machine;

/// A claim: from the first to the last size, one decision becomes dearer by this factor at most.
struct Claim {
    load: &'static str,
    sizes: &'static [usize],
    rounds: usize,
    most: f64,
}

const CLAIMS: [Claim; 4] = [
    Claim { load: "L1", sizes: &[10_000, 100_000, 1_000_000], rounds: 8, most: 1.3 },
    Claim { load: "L2r", sizes: &[500, 50_000], rounds: 60, most: 1.2 },
    Claim { load: "L3", sizes: &[500, 5_000, 50_000], rounds: 100, most: 2.0 },
    // So many that the first question about a shape, which walks over all nodes, does not count.
    Claim { load: "T-place", sizes: &[640, 40_000], rounds: 2_000, most: 1.5 },
];

#[derive(Serialize)]
struct Counted {
    load: &'static str,
    unit: &'static str,
    sizes: Vec<Point>,
    growth: f64,
    most: f64,
    holds: bool,
}

#[derive(Serialize)]
struct Point {
    size: usize,
    instructions: f64,
}

#[derive(Serialize)]
struct Report<'a> {
    machine: Machine,
    counted: &'a [Counted],
}

pub fn run(only: Option<&str>, quick: bool, report: Option<&Path>) -> Result<()> {
    let mut all = Vec::new();
    for claim in CLAIMS.iter().filter(|claim| only.is_none_or(|only| claim.load.starts_with(only))) {
        let load = Load::find(claim.load).context("a claim is about a load")?;
        let sizes = if quick { &claim.sizes[..2] } else { claim.sizes };
        let mut points = Vec::new();
        for size in sizes {
            let instructions = count(load, *size, claim.rounds)?;
            println!("{} {size}: {instructions:.0} instructions for one of the {}", load.name, load.unit);
            points.push(Point { size: *size, instructions });
        }
        let growth = points[points.len() - 1].instructions / points[0].instructions;
        let holds = growth <= claim.most;
        let verdict = if holds { "holds" } else { "does not hold" };
        println!("{}: {growth:.2}× from first to last, at most {}× wanted: {verdict}", load.name, claim.most);
        all.push(Counted { load: load.name, unit: load.unit, sizes: points, growth, most: claim.most, holds });
    }
    if let Some(file) = report {
        let text = serde_json::to_string_pretty(&Report { machine: Machine::here(), counted: &all })?;
        std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    println!("{} of {} claims hold", all.iter().filter(|counted| counted.holds).count(), all.len());
    Ok(())
}

/// Instructions per decision.
fn count(load: &Load, size: usize, rounds: usize) -> Result<f64> {
    let arguments = ["run", load.name, "--size", &size.to_string(), "--rounds", &rounds.to_string()];
    let (instructions, printed) = instructions("*stage*schedule*", &arguments)?;
    let measured: Measured = serde_json::from_slice(&printed).context("the load did not print its result")?;
    Ok(instructions / measured.count as f64)
}

/// Runs this program under callgrind: the instructions inside the functions of that name, and what it printed.
pub fn instructions(inside: &str, arguments: &[&str]) -> Result<(f64, Vec<u8>)> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", &format!("--toggle-collect={inside}")])
        .arg(std::env::current_exe()?)
        .args(arguments)
        .output()
        .context("cannot start valgrind; install it to count instructions")?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let collected = told.lines().find_map(|line| line.split_once("Collected : ")).context("callgrind said no count")?;
    Ok((collected.1.trim().parse()?, output.stdout))
}
