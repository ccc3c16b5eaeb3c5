//! The table that people read, and the same as JSON.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::loads::{Aim, Load, Measured};
use crate::machine::Machine;

/// One load at one size.
#[derive(Debug, Serialize)]
pub struct Row {
    load: &'static str,
    about: &'static str,
    size: usize,
    unit: &'static str,
    /// Per processor second of scheduling; for a load that only fills the engine, its seconds.
    ours: f64,
    /// The same with finishing, requeueing and the echo of every write.
    ours_with_rest: Option<f64>,
    kueue: Option<f64>,
    kueue_with_rest: Option<f64>,
    aim: f64,
    is_aim_reached: bool,
    measured: Measured,
}

#[derive(Serialize)]
struct Report<'a, R> {
    machine: Machine,
    is_quick: bool,
    rows: &'a [R],
}

/// The most that a pending workload may take.
const AIM_BYTES: u64 = 1024;

impl Row {
    pub fn new(load: &Load, size: usize, measured: Measured) -> Self {
        let kueue = load.kueue.iter().find(|(known, _)| *known == size).map(|(_, figure)| *figure);
        let count = measured.count as f64;
        let (ours, ours_with_rest, aim, is_aim_reached) = match load.aim {
            Aim::Seconds(aim) => (measured.load_s, None, aim, measured.load_s <= aim),
            Aim::PerSecond(aim) => {
                let ours = count / measured.scheduling_s;
                (ours, Some(count / (measured.scheduling_s + measured.rest_s)), aim, ours >= aim)
            }
        };
        Self {
            load: load.name,
            about: load.about,
            size,
            unit: load.unit,
            ours,
            ours_with_rest,
            kueue: kueue.map(|(alone, _)| alone),
            kueue_with_rest: kueue.and_then(|(_, with_rest)| with_rest),
            aim,
            is_aim_reached,
            measured,
        }
    }

    pub fn is_aim_reached(&self) -> bool {
        self.is_aim_reached
    }

    pub fn print(&self) {
        let pair = |alone: f64, with_rest: Option<f64>| match with_rest {
            Some(with_rest) => format!("{} ({})", short(alone), short(with_rest)),
            None => short(alone),
        };
        let kueue = self.kueue.map_or_else(|| "–".to_owned(), |alone| pair(alone, self.kueue_with_rest));
        let is_time = self.ours_with_rest.is_none();
        let times = self.kueue.map_or_else(String::new, |kueue| {
            let times = if is_time { kueue / self.ours } else { self.ours / kueue };
            format!("{times:.0}×")
        });
        let mut notes = String::new();
        if self.measured.bytes_per_pending > 0 {
            let is_reached = if self.measured.bytes_per_pending <= AIM_BYTES { "" } else { "!" };
            notes = format!(
                "{}{is_reached} B each, loaded in {:.2} s",
                self.measured.bytes_per_pending, self.measured.load_s
            );
        }
        let aim = if is_time { format!("≤ {} s", self.aim) } else { format!("≥ {}", short(self.aim)) };
        let mark = if self.is_aim_reached { "yes" } else { "no" };
        println!(
            "{:<6} {:>9} {:>20} {:>16} {:>7} {aim:>10} {mark:>4}  {notes}",
            self.load,
            grouped(self.size as u64),
            pair(self.ours, self.ours_with_rest),
            kueue,
            times,
        );
    }
}

pub fn print_header() {
    println!("Per second of processor time, in brackets with finishing and requeueing; L7 in seconds.");
    println!("{:<6} {:>9} {:>20} {:>16} {:>7} {:>10} {:>4}", "load", "size", "ours", "Kueue", "times", "aim", "met");
}

/// `reached` of so many aims.
pub fn finish<R: Serialize>(
    rows: &[R],
    (reached, aims): (usize, usize),
    is_quick: bool,
    file: Option<&Path>,
) -> Result<()> {
    if let Some(file) = file {
        let report = Report { machine: Machine::here(), is_quick, rows };
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))?;
    }
    println!("{reached} of {aims} aims reached");
    Ok(())
}

pub fn short(figure: f64) -> String {
    if figure < 100.0 {
        let text = format!("{figure:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        // Figures are far below 2^53.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        grouped(figure.round() as u64)
    }
}

/// With commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
