//! Measures the embedded API server: writes in process and over HTTPS, watches, memory, start.
//!
//! Every measure runs in a process of its own on one thread, and processor time counts, the client's part included.

mod https;
mod measures;
mod object;
mod subject;
mod webhooks;

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::report::{self, short};

/// One thing that is measured.
pub struct Measure {
    pub name: &'static str,
    about: &'static str,
    unit: &'static str,
    aim: Aim,
    run: fn(Size) -> Result<f64>,
}

/// How much is done.
#[derive(Clone, Copy)]
pub struct Size {
    /// Writes, or rounds, of a measure of speed.
    pub writes: usize,
    /// Objects that are there at once.
    pub objects: usize,
}

enum Aim {
    AtLeast(f64),
    AtMost(f64),
    /// Shown beside the others.
    None,
}

const FULL: Size = Size { writes: 20_000, objects: 100_000 };
const QUICK: Size = Size { writes: 500, objects: 2_000 };

const PER_SECOND: &str = "/s";

pub const ALL: [Measure; 13] = [
    Measure {
        name: "create",
        about: "creates of a 2 KiB custom resource",
        unit: PER_SECOND,
        aim: Aim::AtLeast(20_000.0),
        run: measures::creates,
    },
    Measure {
        name: "status-merge",
        about: "merge patches of its status",
        unit: PER_SECOND,
        aim: Aim::AtLeast(20_000.0),
        run: measures::merges,
    },
    Measure {
        name: "status-apply",
        about: "applies of its status",
        unit: PER_SECOND,
        aim: Aim::AtLeast(10_000.0),
        run: measures::applies,
    },
    Measure {
        name: "create-cel",
        about: "creates with five rules in CEL",
        unit: PER_SECOND,
        aim: Aim::None,
        run: measures::creates_with_cel,
    },
    Measure {
        name: "status-merge-cel",
        about: "merge patches of the status with five rules in CEL",
        unit: PER_SECOND,
        aim: Aim::None,
        run: measures::merges_with_cel,
    },
    Measure {
        name: "status-apply-cel",
        about: "applies of the status with five rules in CEL",
        unit: PER_SECOND,
        aim: Aim::None,
        run: measures::applies_with_cel,
    },
    Measure {
        name: "create-hooks",
        about: "creates with a mutating and a validating webhook in process",
        unit: PER_SECOND,
        aim: Aim::None,
        run: measures::creates_with_webhooks,
    },
    Measure {
        name: "status-merge-hooks",
        about: "merge patches of the status with both webhooks",
        unit: PER_SECOND,
        aim: Aim::None,
        run: measures::merges_with_webhooks,
    },
    Measure { name: "get", about: "gets", unit: PER_SECOND, aim: Aim::None, run: measures::gets },
    Measure {
        name: "https-merge",
        about: "merge patches of the status over HTTPS, 8 connections",
        unit: PER_SECOND,
        aim: Aim::AtLeast(5_000.0),
        run: https::merges,
    },
    Measure {
        name: "watch",
        about: "one event to 100 watchers, median",
        unit: " ms",
        aim: Aim::AtMost(1.0),
        run: measures::watch_fan_out,
    },
    Measure {
        name: "memory",
        about: "resident with 100,000 small objects",
        unit: " MB",
        aim: Aim::AtMost(400.0),
        run: measures::memory,
    },
    Measure {
        name: "start",
        about: "start to ready over HTTPS, median",
        unit: " ms",
        aim: Aim::AtMost(100.0),
        run: https::start,
    },
];

#[derive(Debug, Serialize)]
struct Row {
    measure: &'static str,
    about: &'static str,
    unit: &'static str,
    ours: f64,
    aim: Option<f64>,
    is_aim_reached: Option<bool>,
}

impl Measure {
    pub fn find(name: &str) -> Option<&'static Measure> {
        ALL.iter().find(|measure| measure.name == name)
    }

    /// Measures in this process.
    pub fn run(&self, quick: bool) -> Result<f64> {
        (self.run)(if quick { QUICK } else { FULL })
    }

    fn row(&self, ours: f64) -> Row {
        let (aim, is_aim_reached) = match self.aim {
            Aim::AtLeast(aim) => (Some(aim), Some(ours >= aim)),
            Aim::AtMost(aim) => (Some(aim), Some(ours <= aim)),
            Aim::None => (None, None),
        };
        Row { measure: self.name, about: self.about, unit: self.unit, ours, aim, is_aim_reached }
    }

    fn print(&self, row: &Row) {
        let aim = match self.aim {
            Aim::AtLeast(aim) => format!("≥ {}{}", short(aim), self.unit),
            Aim::AtMost(aim) => format!("≤ {}{}", short(aim), self.unit),
            Aim::None => "–".to_owned(),
        };
        let met = row.is_aim_reached.map_or("", |is_reached| if is_reached { "yes" } else { "no" });
        let ours = format!("{}{}", short(row.ours), self.unit);
        println!("{:<18} {ours:>12} {aim:>14} {met:>4}  {}", self.name, self.about);
    }
}

pub fn run_all(only: Option<&str>, quick: bool, report: Option<&Path>) -> Result<()> {
    let is_wanted = |measure: &&Measure| only.is_none_or(|only| measure.name.starts_with(only));
    let wanted: Vec<&Measure> = ALL.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        bail!("no such measure; there are: {}", ALL.map(|measure| measure.name).join(", "));
    }
    println!("Per second of processor time on one thread, the client's part included.");
    println!("{:<18} {:>12} {:>14} {:>4}", "measure", "ours", "aim", "met");
    let mut rows = Vec::new();
    for measure in wanted {
        let row = measure.row(run_apart(measure, quick)?);
        measure.print(&row);
        rows.push(row);
    }
    let aims = rows.iter().filter(|row| row.aim.is_some()).count();
    let reached = rows.iter().filter(|row| row.is_aim_reached == Some(true)).count();
    report::finish(&rows, (reached, aims), quick, report)
}

/// Instructions of one request, for each measure in process.
pub fn count(only: Option<&str>, report: Option<&Path>) -> Result<()> {
    #[derive(Serialize)]
    struct Counted {
        measure: &'static str,
        instructions: f64,
    }
    let mut all = Vec::new();
    for measure in ALL.iter().filter(|measure| only.is_none_or(|only| measure.name.starts_with(only))) {
        let (collected, _) = crate::count::instructions("*Counted*poll*", &["measure", measure.name, "--quick"])?;
        // Measures of something else than requests have nothing that is counted.
        if collected > 0.0 {
            let instructions = collected / QUICK.writes as f64;
            println!("{:<18} {instructions:>10.0} instructions per request: {}", measure.name, measure.about);
            all.push(Counted { measure: measure.name, instructions });
        }
    }
    if let Some(file) = report {
        let text = serde_json::to_string_pretty(&all)?;
        std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

fn run_apart(measure: &Measure, quick: bool) -> Result<f64> {
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(["measure", measure.name]).args(quick.then_some("--quick"));
    let output = command.stderr(std::process::Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {} on its own", measure.name))?;
    if !output.status.success() {
        bail!("{} ended with {}", measure.name, output.status);
    }
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().with_context(|| format!("{} did not print its result", measure.name))
}
