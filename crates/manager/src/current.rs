//! Whether what informers show is what the API server has.
//!
//! Who takes over must know what the leader before wrote last: a watch may lag behind. Whoever decides without having
//! seen an admission gives its quota out again, and whoever takes a job for stopped that was started does the same.

use std::time::Duration;

use kueue_api::meta::Object;
use kueue_runtime::client::Client;
use kueue_runtime::informer::{Store, is_newer};
use kueue_runtime::key::Key;
use tracing::{info, warn};

/// How often the store is looked at, and how often the server is asked again.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const ASK_EVERY: Duration = Duration::from_secs(1);

/// Waits until every object of a kind that exists, and has these labels, is known at least as the API server has it now.
pub(crate) async fn catch_up<T: Object>(client: &Client, known: &Store<T>, labels: &str) {
    let mut unseen: Option<Vec<(Key, String)>> = None;
    let mut trouble = None;
    loop {
        match client.versions::<T>(labels).await {
            Ok(mut there) => {
                trouble = None;
                // What went meanwhile need not be seen any more.
                unseen = Some(match unseen {
                    None => there.into_iter().collect(),
                    Some(unseen) => unseen.into_iter().filter(|(key, _)| there.remove(key).is_some()).collect(),
                });
            }
            Err(failure) => {
                let text = failure.to_string();
                if trouble.as_ref() != Some(&text) {
                    warn!(
                        kind = T::KIND,
                        error = text,
                        "cannot compare what is known with what there is, trying again"
                    );
                    trouble = Some(text);
                }
            }
        }
        for _ in 0..ASK_EVERY.as_millis() / LOOK_EVERY.as_millis() {
            if let Some(unseen) = &mut unseen {
                unseen.retain(|(key, version)| known.get(key).is_none_or(|known| is_newer(version, &known.version)));
                if unseen.is_empty() {
                    return;
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        info!(kind = T::KIND, unseen = unseen.as_ref().map(Vec::len), "not everything that there is has been seen yet");
    }
}
