//! What controllers of a cluster keep up to date in objects that a server itself reads: the status of quotas, and the
//! rules of roles that gather those of others. `Settings::collects` starts it, with the collector.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc::UnboundedReceiver;

use crate::auth::rbac::CLUSTER_ROLES;
use crate::rest::service::Server;
use crate::store::News;

/// What has to be counted again.
#[derive(Debug, Default)]
struct Stale {
    namespaces: BTreeSet<String>,
    has_roles: bool,
}

/// Starts to follow a server. It ends with the server.
pub fn start(server: &Arc<Server>) {
    let news = server.store.follow();
    tokio::spawn(run(Arc::downgrade(server), news));
}

async fn run(server: Weak<Server>, mut news: UnboundedReceiver<News>) {
    while let Some(told) = news.recv().await {
        let mut stale = Stale::default();
        stale.note(&told);
        // All that has happened counts once.
        while let Ok(told) = news.try_recv() {
            stale.note(&told);
        }
        let Some(server) = server.upgrade() else { return };
        for namespace in &stale.namespaces {
            server.recount_quotas(namespace);
        }
        if stale.has_roles {
            server.aggregate_roles();
        }
    }
}

impl Stale {
    fn note(&mut self, News { collection, change }: &News) {
        if &**collection == CLUSTER_ROLES {
            self.has_roles = true;
        }
        if !change.key.namespace.is_empty() && &**collection != "events" {
            self.namespaces.insert(change.key.namespace.clone());
        }
    }
}
