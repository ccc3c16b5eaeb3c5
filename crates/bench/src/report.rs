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
    /// Per processor second of scheduling; seconds or milliseconds where the aim is one.
    ours: f64,
    /// The same with finishing, requeueing and the echo of every write.
    ours_with_rest: Option<f64>,
    kueue: Option<f64>,
    kueue_with_rest: Option<f64>,
    aim: f64,
    is_aim_reached: bool,
    /// What figures are in, where less is better.
    time_unit: Option<&'static str>,
    aim_bytes: u64,
    measured: Measured,
}

#[derive(Serialize)]
struct Report<'a, R> {
    machine: Machine,
    is_quick: bool,
    rows: &'a [R],
}

impl Row {
    pub fn new(load: &Load, size: usize, measured: Measured) -> Self {
        let kueue = load.kueue.iter().find(|(known, _)| *known == size).map(|(_, figure)| *figure);
        let count = measured.count as f64;
        let (ours, aim, time_unit) = match load.aim {
            Aim::Seconds(aim) => (measured.load_s, aim, Some("s")),
            Aim::MsEach(aim) => (measured.scheduling_s / count * 1_000.0, aim, Some("ms")),
            Aim::PerSecond(aim) => (count / measured.scheduling_s, aim, None),
        };
        let with_rest = || count / (measured.scheduling_s + measured.rest_s);
        Self {
            load: load.name,
            about: load.about,
            size,
            unit: load.unit,
            ours,
            ours_with_rest: time_unit.is_none().then(with_rest),
            kueue: kueue.map(|(alone, _)| alone),
            kueue_with_rest: kueue.and_then(|(_, with_rest)| with_rest),
            aim,
            is_aim_reached: if time_unit.is_some() { ours <= aim } else { ours >= aim },
            time_unit,
            aim_bytes: load.aim_bytes,
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
        let times = self.kueue.map_or_else(String::new, |kueue| {
            let times = if self.time_unit.is_some() { kueue / self.ours } else { self.ours / kueue };
            format!("{times:.0}×")
        });
        let mut notes = String::new();
        if self.measured.bytes_each > 0 {
            let is_reached = if self.measured.bytes_each <= self.aim_bytes { "" } else { "!" };
            notes = format!("{}{is_reached} B each, loaded in {:.2} s", self.measured.bytes_each, self.measured.load_s);
        }
        let aim = match self.time_unit {
            Some(unit) => format!("≤ {} {unit}", self.aim),
            None => format!("≥ {}", short(self.aim)),
        };
        let mark = if self.is_aim_reached { "yes" } else { "no" };
        println!(
            "{:<8} {:>9} {:>20} {:>16} {:>7} {aim:>10} {mark:>4}  {notes}",
            self.load,
            grouped(self.size as u64),
            pair(self.ours, self.ours_with_rest),
            kueue,
            times,
        );
    }
}

pub fn print_header() {
    println!(
        "Per second of processor time, in brackets with finishing and requeueing; else in the aim's unit of time."
    );
    println!("{:<8} {:>9} {:>20} {:>16} {:>7} {:>10} {:>4}", "load", "size", "ours", "Kueue", "times", "aim", "met");
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
        let text = if figure < 0.1 { format!("{figure:.4}") } else { format!("{figure:.2}") };
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
