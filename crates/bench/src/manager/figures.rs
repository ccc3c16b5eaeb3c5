//! What was measured, as people read it and as JSON.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

use super::load::{BASELINE, Load, WAKE};
use super::recorder::Recorder;
use super::requests::Requests;
use super::subject::{Cost, Subject};
use crate::report::{self, short};

/// One number, and what it should be at least or at most.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    name: String,
    value: f64,
    unit: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<f64>,
}

impl Figure {
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, at_most: None, at_least: None }
    }

    pub fn at_most(self, aim: f64) -> Self {
        Self { at_most: Some(aim), ..self }
    }

    fn at_least(self, aim: f64) -> Self {
        Self { at_least: Some(aim), ..self }
    }

    /// Whether the aim is reached; none when there is none.
    fn is_reached(&self) -> Option<bool> {
        let most = self.at_most.map(|aim| self.value <= aim);
        most.or_else(|| self.at_least.map(|aim| self.value >= aim))
    }

    fn aim(&self) -> String {
        let aim = self.at_most.map(|aim| format!("≤ {}", short(aim)));
        let aim = aim.or_else(|| self.at_least.map(|aim| format!("≥ {}", short(aim))));
        let mark = match self.is_reached() {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        format!("{:>9} {mark:>4}", aim.unwrap_or_default())
    }
}

/// Requests of one sort that a manager sent.
#[derive(Debug, Serialize)]
pub struct Sent {
    request: String,
    count: u64,
    failed: u64,
    per_workload: f64,
}

/// What one manager did with a load.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub manager: String,
    pub figures: Vec<Figure>,
    pub requests: Vec<Sent>,
    /// What the API server and etcd needed.
    pub servers: Vec<(String, Cost)>,
}

/// A load with all managers.
#[derive(Debug, Serialize)]
pub struct Part {
    pub load: &'static str,
    pub workloads: usize,
    pub outcomes: Vec<Outcome>,
}

#[expect(clippy::too_many_arguments, reason = "everything that a run leaves behind, put together once")]
pub fn of_load(
    load: Load,
    subject: &Subject,
    wall: Duration,
    cost: Cost,
    recorder: &Recorder,
    all: &Requests,
    requests: Requests,
    servers: Vec<(String, Cost)>,
) -> Outcome {
    let seen = recorder.seen;
    let per = |count: u64, of: u64| count as f64 / of.max(1) as f64;
    let (held, shown) = recorder.quota_used();
    let mut gaps = recorder.gaps.clone();
    gaps.sort();
    let is_baseline = load.name == BASELINE.name && load.total() == BASELINE.total();
    let aim = |figure: Figure, aim: fn(Figure) -> Figure| if is_baseline { aim(figure) } else { figure };
    let mut figures = vec![
        aim(Figure::new("wall", wall.as_secs_f64(), "s"), |wall| wall.at_most(130.0)),
        // As Kueue's own recorder counts, and as its figure was measured.
        aim(Figure::new("quota used, as statuses of queues show it", shown, "%"), |used| used.at_least(90.0)),
        Figure::new("quota used, as a watch of Workloads shows it", held, "%"),
        aim(Figure::new("manager CPU", cost.cpu_s, "s"), |cpu| cpu.at_most(10.0)),
        aim(Figure::new("manager peak memory", cost.peak_mb, "MB"), |memory| memory.at_most(80.0)),
        Figure::new("admissions per workload", per(seen.admissions, load.total() as u64), ""),
        Figure::new("evictions per workload", per(seen.evictions, load.total() as u64), ""),
        Figure::new(
            "changes of Workloads that tell only why they wait, per workload",
            per(seen.others(), load.total() as u64),
            "",
        ),
    ];
    let writes = requests.changes_of("workloads");
    // Whoever evicts and whoever tells why one waits has to write, too.
    let of_admissions = writes.saturating_sub(seen.evictions + seen.others());
    figures.push(Figure::new("writes per admission", per(of_admissions, seen.admissions), "").at_most(1.0));
    let changed = [
        ("workloads", seen.changes),
        ("clusterqueues", seen.cluster_queue_changes),
        ("localqueues", seen.local_queue_changes),
    ];
    let idle: u64 = changed.iter().map(|(kind, changes)| all.changes_of(kind).saturating_sub(*changes)).sum();
    figures.push(Figure::new("writes that change nothing", idle as f64, "").at_most(0.0));
    for (class, waits) in recorder.waits() {
        let mean = waits.iter().sum::<Duration>().as_secs_f64() / waits.len().max(1) as f64;
        figures.push(Figure::new(format!("time to admission, {class}, mean"), mean, "s"));
        figures.push(Figure::new(format!("time to admission, {class}, 99 of 100"), percentile(&waits, 99), "s"));
    }
    if load.name == WAKE.name {
        let ms = |part| percentile(&gaps, part) * 1_000.0;
        figures.push(Figure::new("from freed quota to the next admission, median", ms(50), "ms").at_most(20.0));
        figures.push(Figure::new("from freed quota to the next admission, 90 of 100", ms(90), "ms"));
    }
    let sent = requests.0.into_iter().map(|(request, answers)| Sent {
        request: format!("{} {}", request.verb, request.resource),
        count: answers.succeeded + answers.failed,
        failed: answers.failed,
        per_workload: per(answers.succeeded + answers.failed, load.total() as u64),
    });
    Outcome { manager: subject.name.clone(), figures, requests: sent.collect(), servers }
}

/// Whether it is what every manager sends when it starts, and seldom again.
fn is_start(request: &str) -> bool {
    request.starts_with("LIST ") || request.starts_with("WATCH ")
}

/// So many of a hundred take no longer, in seconds.
fn percentile(sorted: &[Duration], part: usize) -> f64 {
    let place = (sorted.len() * part).div_ceil(100).saturating_sub(1);
    sorted.get(place).map_or(0.0, Duration::as_secs_f64)
}

impl Part {
    pub fn print(&self) {
        let names: String = self.outcomes.iter().map(|outcome| format!("{:>14}", outcome.manager)).collect();
        let ratio = if self.outcomes.len() > 1 { "  ratio" } else { "" };
        println!("\n{}, {} workloads", self.load, self.workloads);
        println!("{:<66}{names}{:>14}{ratio}", "", "aim  met");
        let Some(first) = self.outcomes.first() else { return };
        for figure in &first.figures {
            let same = |outcome: &Outcome| {
                outcome.figures.iter().find(|other| other.name == figure.name).map(|other| other.value)
            };
            let values: Vec<Option<f64>> = self.outcomes.iter().map(same).collect();
            self.print_row(&figure.name, figure.unit, &values, &figure.aim());
        }
        let all = self.outcomes.iter().flat_map(|outcome| &outcome.requests).map(|sent| sent.request.as_str());
        // Once at the start is nothing to compare; the report has it.
        let mut requests: Vec<&str> = all.filter(|request| !is_start(request)).collect();
        requests.sort_unstable();
        requests.dedup();
        // Events are told apart: nobody waits for them.
        requests.sort_by_key(|request| request.ends_with(" events"));
        for request in requests {
            let count = |outcome: &Outcome| {
                outcome.requests.iter().find(|sent| sent.request == request).map(|sent| sent.per_workload)
            };
            let values: Vec<Option<f64>> = self.outcomes.iter().map(count).collect();
            self.print_row(&format!("{request} per workload"), "", &values, &format!("{:>14}", ""));
        }
        let mut servers: Vec<&str> = first.servers.iter().map(|(name, _)| name.as_str()).collect();
        servers.dedup();
        for server in servers {
            let cpu =
                |outcome: &Outcome| outcome.servers.iter().find(|(name, _)| name == server).map(|(_, cost)| cost.cpu_s);
            let values: Vec<Option<f64>> = self.outcomes.iter().map(cpu).collect();
            self.print_row(&format!("{server} CPU"), "s", &values, &format!("{:>14}", ""));
        }
    }

    fn print_row(&self, name: &str, unit: &str, values: &[Option<f64>], aim: &str) {
        let shown: String = values
            .iter()
            .map(|value| format!("{:>11} {unit:<2}", value.map_or_else(|| "–".to_owned(), short)))
            .collect();
        let ratio = match values {
            [Some(ours), Some(other), ..] if *ours > 0.0 => format!("  {:.2}×", other / ours),
            _ => String::new(),
        };
        println!("{name:<66}{shown}{aim}{ratio}");
    }
}

/// Counts the aims of our manager, and writes the report.
pub fn finish(parts: &[Part], is_quick: bool, file: Option<&Path>) -> Result<()> {
    let ours = parts.iter().filter_map(|part| part.outcomes.first()).flat_map(|outcome| &outcome.figures);
    let aims: Vec<bool> = ours.filter_map(Figure::is_reached).collect();
    let reached = aims.iter().filter(|is_reached| **is_reached).count();
    println!();
    report::finish(parts, (reached, aims.len()), is_quick, file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_those_that_were_seen() {
        let all: Vec<Duration> = (1..=100).map(Duration::from_secs).collect();
        assert_eq!([percentile(&all, 50), percentile(&all, 99), percentile(&all[..1], 99)], [50.0, 99.0, 1.0]);
        assert_eq!(percentile(&[], 50), 0.0);
    }

    #[test]
    fn aims_are_reached_from_either_side() {
        let figure = |value| Figure::new("x", value, "s");
        assert_eq!(figure(1.0).is_reached(), None);
        assert_eq!(figure(1.0).at_most(1.0).is_reached(), Some(true));
        assert_eq!(figure(1.0).at_least(2.0).is_reached(), Some(false));
    }
}
