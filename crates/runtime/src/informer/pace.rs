//! How long to wait before asking again.

use std::time::Duration;

const FIRST: Duration = Duration::from_millis(800);
const LONGEST: Duration = Duration::from_secs(30);

/// Waits that double until something works again, as those of client-go's reflectors do.
#[derive(Debug)]
pub(super) struct Pace {
    wait: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { wait: FIRST }
    }
}

impl Pace {
    pub(super) fn next(&mut self) -> Duration {
        let wait = self.wait;
        self.wait = (wait * 2).min(LONGEST);
        wait
    }

    pub(super) fn reset(&mut self) {
        self.wait = FIRST;
    }
}
