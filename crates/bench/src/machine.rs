//! What the figures were measured on.

use serde::Serialize;

/// Facts about this machine, as far as they can be found out.
#[derive(Debug, Serialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_gib: u64,
    pub system: String,
}

impl Machine {
    pub fn here() -> Self {
        let field = |path: &str, name: &str| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            let line = text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
            line.split_once(':').map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
        };
        let memory_kib: u64 =
            field("/proc/meminfo", "MemTotal").trim_end_matches(" kB").trim().parse().unwrap_or_default();
        Self {
            processor: field("/proc/cpuinfo", "model name"),
            cores: std::thread::available_parallelism().map_or(0, std::num::NonZero::get),
            memory_gib: memory_kib.div_ceil(1024 * 1024),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        }
    }
}
