//! The program that is measured: how it is started, and what it cost.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kueue_testbed::process::Process;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Our manager without what the one of Kueue's performance test does without: election, webhooks, metrics, probes, visibility.
const CONFIGURATION: &str = r#"{"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
 "leaderElection": {"leaderElect": false}, "metrics": {"bindAddress": "0"}, "health": {"healthProbeBindAddress": "0"},
 "internalCertManagement": {"enable": false}, "webhook": {"host": "127.0.0.1", "port": 0},
 "featureGates": {"VisibilityOnDemand": false}}
"#;

/// A manager.
#[derive(Clone, Debug)]
pub struct Subject {
    pub name: String,
    program: PathBuf,
    is_ours: bool,
}

impl Subject {
    /// The manager of this clone.
    pub fn ours(program: &Path) -> Self {
        Self { name: "ours".to_owned(), program: program.to_owned(), is_ours: true }
    }

    /// Any program that takes `--kubeconfig FILE`, as the one of Kueue's performance test.
    pub fn other(program: &Path) -> Self {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self { name, program: program.to_owned(), is_ours: false }
    }

    /// Starts it with its files in `dir`.
    pub fn start(&self, kubeconfig: &Path, dir: &Path) -> Result<Running> {
        std::fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let mut args = Vec::new();
        if self.is_ours {
            let config = dir.join("config.json");
            std::fs::write(&config, CONFIGURATION).with_context(|| format!("cannot write {}", config.display()))?;
            args.extend(["manager".to_owned(), "--config".to_owned(), config.display().to_string()]);
        }
        args.extend(["--kubeconfig".to_owned(), kubeconfig.display().to_string()]);
        let began = Instant::now();
        let process = Process::start(&self.program, &args, dir, &dir.join(format!("{}.log", self.name)))?;
        Ok(Running { process, began })
    }
}

/// A manager that runs; it ends with this value.
#[derive(Debug)]
pub struct Running {
    pub process: Process,
    pub began: Instant,
}

/// What a process needed so far.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Cost {
    pub cpu_s: f64,
    pub peak_mb: f64,
}

impl Cost {
    /// As Linux counts it; nothing when the process is gone.
    pub fn of(process: u32) -> Self {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
        let stat = read("stat");
        // The name in brackets may hold blanks; times are the 14th and 15th field, in ticks.
        let fields = stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ').collect::<Vec<_>>()).unwrap_or_default();
        let ticks = |place: usize| fields.get(place).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(0.0);
        let status = read("status");
        let peak_kib = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak_kib = peak_kib.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0);
        let per_second = rustix::param::clock_ticks_per_second() as f64;
        Self { cpu_s: (ticks(11) + ticks(12)) / per_second, peak_mb: peak_kib / 1024.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_costs_something() {
        let cost = Cost::of(std::process::id());
        assert!(cost.peak_mb > 1.0 && cost.peak_mb < 10_000.0, "{cost:?}");
        assert!(cost.cpu_s < 1_000.0, "{cost:?}");
        assert_eq!(Cost::of(u32::MAX), Cost::default());
    }
}
