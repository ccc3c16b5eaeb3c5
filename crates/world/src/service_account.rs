//! Every namespace has an account for pods that name none.
//!
//! | namespace | gets |
//! |---|---|
//! | active, without ServiceAccount `default` | one |
//! | ending | nothing |

use std::sync::Arc;

use kueue_runtime::client::{Client, Failure};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, View};
use crate::kinds::{Namespace, ServiceAccount};
use crate::{AT_ONCE, Parts, Start};

const DEFAULT: &str = "default";

struct Accounts {
    client: Client,
    namespaces: View<Namespace>,
    accounts: View<ServiceAccount>,
}

/// Listens to namespaces and accounts; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.namespaces.line_up(&line);
    let lost = Arc::clone(&line);
    feeds.service_accounts.listen(move |delta| {
        if delta.new.is_none() {
            lost.add(Key::cluster(Arc::clone(&delta.key.namespace)));
        }
    });
    let accounts = Accounts {
        client: parts.client.clone(),
        namespaces: feeds.namespaces.view(),
        accounts: feeds.service_accounts.view(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(accounts), AT_ONCE))))
}

impl Reconciler<Key> for Accounts {
    fn name(&self) -> &'static str {
        "serviceaccount"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let namespace = self.namespaces.get(key);
        let is_active = namespace.is_some_and(|namespace| namespace.metadata.deletion_timestamp.is_none());
        let account = Key::new(Arc::clone(&key.name), DEFAULT);
        if !is_active || self.accounts.get(&account).is_some() {
            return Ok(Next::Done);
        }
        let mut new = ServiceAccount::default();
        (new.metadata.name, new.metadata.namespace) = (DEFAULT.to_owned(), key.name.to_string());
        match self.client.make(&new).await {
            Err(failure) if !failure.is_conflict() => Err(failure),
            _ => Ok(Next::Done),
        }
    }
}
