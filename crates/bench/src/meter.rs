//! What a load costs: time on the processor, and memory that stays.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of the whole process since it started: what other programs on the machine do hardly matters.
pub fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(spent.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(spent.tv_nsec).unwrap_or(0))
}

/// Bytes of memory that the process has in use, as Linux counts them; 0 elsewhere.
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next()).and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
