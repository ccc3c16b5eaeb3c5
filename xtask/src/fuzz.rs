//! `cargo xtask fuzz`: mutated input against every parser.

use anyhow::Result;

use crate::program;

pub fn run(seconds: u64, seed: u64, target: Option<&str>) -> Result<()> {
    let mut command = program::cargo(["run", "--quiet", "--release", "--package", "kueue-fuzz", "--"]);
    command.args(["--seconds", &seconds.to_string(), "--seed", &seed.to_string()]);
    if let Some(target) = target {
        command.args(["--target", target]);
    }
    program::run(command)
}
