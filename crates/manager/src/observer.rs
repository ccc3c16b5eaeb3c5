//! A running manager from outside: whether it is ready, and its metrics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::metrics::Scrape;

/// Looks at a manager. Copies look at the same one.
#[derive(Clone, Default)]
pub struct Observer(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_ready: AtomicBool,
    scrape: OnceLock<Scrape>,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("is_ready", &self.is_ready()).finish_non_exhaustive()
    }
}

impl Observer {
    /// Whether it knows everything that exists.
    pub fn is_ready(&self) -> bool {
        self.0.is_ready.load(Ordering::Relaxed)
    }

    /// Its metrics in the text format of Prometheus; none when it does not run.
    pub async fn metrics(&self) -> Option<String> {
        self.0.scrape.get()?.text().await
    }

    pub(crate) fn set_ready(&self) {
        self.0.is_ready.store(true, Ordering::Relaxed);
    }

    pub(crate) fn set_scrape(&self, scrape: Scrape) {
        self.0.scrape.get_or_init(|| scrape);
    }
}
