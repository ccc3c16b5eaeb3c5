//! A running manager from outside: whether it is ready, its metrics, and what it answers.

use std::sync::{Arc, OnceLock};

use kueue_api::visibility::{PendingWorkload, PendingWorkloadOptions};
use kueue_runtime::meters::Meters;
use kueue_runtime::server::Answer;
use kueue_runtime::watch;
use kueue_webhooks::Webhooks;
use tokio::time::Instant;

use crate::metrics::Scrape;
use crate::serve::{Queue, Queues};
use crate::webhooks::Stores;

/// Namespaces with a LocalQueue for jobs that name none; missing when all jobs wait, queue or not.
pub(crate) type DefaultNamespaces = Option<Vec<String>>;

/// Looks at a manager. Copies look at the same one.
#[derive(Clone, Default)]
pub struct Observer(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_ready: watch::Sender<bool>,
    meters: Meters,
    scrape: OnceLock<Scrape>,
    webhooks: OnceLock<Webhooks<Stores>>,
    queues: OnceLock<Queues>,
    default_namespaces: watch::Sender<DefaultNamespaces>,
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("is_ready", &self.is_ready()).finish_non_exhaustive()
    }
}

impl Observer {
    /// Whether it knows everything that exists.
    pub fn is_ready(&self) -> bool {
        *self.0.is_ready.borrow()
    }

    /// Waits until it knows everything that exists.
    pub async fn ready(&self) {
        // The sender is as old as this.
        drop(self.0.is_ready.subscribe().wait_for(|is_ready| *is_ready).await);
    }

    /// Its metrics in the text format of Prometheus; none when it does not run.
    pub async fn metrics(&self) -> Option<String> {
        self.0.scrape.get()?.text().await
    }

    /// What this replica does, in one word; none when it does not run.
    pub fn role(&self) -> Option<&'static str> {
        self.0.scrape.get().map(Scrape::role)
    }

    /// Writes what it knows to the log.
    pub async fn dump(&self) {
        if let Some(scrape) = self.0.scrape.get() {
            scrape.dump().await;
        }
    }

    /// What it answers when the API server asks about an object; none when it does not run.
    pub async fn review(&self, path: &str, body: &[u8]) -> Option<Answer> {
        let began = Instant::now();
        let answer = self.0.webhooks.get()?.answer(path, body).await;
        self.0.meters.webhook(path, answer.status().as_u16(), began.elapsed());
        Some(answer)
    }

    /// A page of those who wait in a queue; none when it does not know everything, and none in that when there is no
    /// such queue.
    pub(crate) async fn pending(
        &self,
        queue: Queue,
        page: PendingWorkloadOptions,
    ) -> Option<Option<Vec<PendingWorkload>>> {
        let queues = self.0.queues.get().filter(|_| self.is_ready())?;
        queues.pending(queue, page).await
    }

    /// What its controllers and clients did.
    pub(crate) fn meters(&self) -> &Meters {
        &self.0.meters
    }

    /// Means something once it is [`ready`](Self::ready).
    pub(crate) fn default_namespaces(&self) -> watch::Receiver<DefaultNamespaces> {
        self.0.default_namespaces.subscribe()
    }

    pub(crate) fn set_ready(&self) {
        self.0.is_ready.send_replace(true);
    }

    pub(crate) fn set_scrape(&self, scrape: Scrape) {
        self.0.scrape.get_or_init(|| scrape);
    }

    pub(crate) fn set_queues(&self, queues: Queues) {
        self.0.queues.get_or_init(|| queues);
    }

    pub(crate) fn set_webhooks(&self, webhooks: Webhooks<Stores>) {
        self.0.webhooks.get_or_init(|| webhooks);
    }

    pub(crate) fn set_default_namespaces(&self, namespaces: DefaultNamespaces) {
        self.0.default_namespaces.send_replace(namespaces);
    }
}
