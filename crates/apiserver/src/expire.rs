//! Events are forgotten some time after they were last written, as by real servers.

use std::collections::VecDeque;
use std::sync::Weak;
use std::time::Duration;

use tokio::time::Instant;

use crate::rest::service::Server;
use crate::store::{Key, Store};

/// How long events are kept where nobody says otherwise.
pub const KEPT: Duration = Duration::from_secs(3600);

const EVENTS: &str = "events";
/// How often it is looked for events that are old enough; none is kept longer by more than this.
const EVERY: Duration = Duration::from_secs(60);

/// Events in the order in which they were written, with the time at which each goes unless it is written again.
#[derive(Debug, Default)]
struct Expiring {
    queue: VecDeque<(Instant, Key, u64)>,
    /// Writes up to this revision are in the queue.
    seen: u64,
}

/// Runs until the server is gone.
pub async fn run(server: Weak<Server>, kept: Duration) {
    let mut expiring = Expiring::default();
    loop {
        let Some((every, kept)) = server.upgrade().map(|server| (server.clock.wait(EVERY), server.clock.wait(kept)))
        else {
            return;
        };
        tokio::time::sleep(every).await;
        let Some(server) = server.upgrade() else { return };
        expiring.note_writes(&server.store, Instant::now() + kept);
        expiring.delete_old(&server.store);
    }
}

impl Expiring {
    /// Costs what was written since the last time, not what there is.
    fn note_writes(&mut self, store: &Store, due: Instant) {
        let written: Vec<(Key, u64)> = match store.changes_after(EVENTS, self.seen) {
            Ok(changes) => changes.into_iter().map(|change| (change.key, change.revision)).collect(),
            Err(_) => match store.list(EVENTS, "", None) {
                Ok(all) => all.objects.into_iter().map(|(key, object)| (key, object.revision)).collect(),
                Err(_) => return,
            },
        };
        let seen = self.seen;
        for (key, revision) in written.into_iter().filter(|(_, revision)| *revision > seen) {
            self.seen = self.seen.max(revision);
            self.queue.push_back((due, key, revision));
        }
    }

    fn delete_old(&mut self, store: &Store) {
        let now = Instant::now();
        while let Some((_, key, revision)) = self.queue.pop_front_if(|(due, ..)| *due <= now) {
            let stored = store.get(EVENTS, &key);
            if let Some(event) = stored.filter(|event| event.revision == revision) {
                // Whoever writes it at this moment has made it new again.
                drop(store.delete(EVENTS, key, &event, event.value.clone()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::json::json;
    use crate::{ApiServer, Settings};

    fn names(store: &Store) -> Vec<String> {
        let listed = store.list(EVENTS, "", None).expect("the present is known");
        listed.objects.into_iter().map(|(key, _)| key.name).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn an_event_goes_an_hour_after_it_was_last_written() {
        let clock = Clock::starting_at("2026-01-01T00:00:00Z".parse().expect("a time")).at_speed(10.0);
        // So few changes are remembered that writes are missed and have to be found in the list.
        let few = Settings { history_max: 2, ..Settings::new(clock, [1; 32]) };
        let server = ApiServer::start(Settings { keeps_events: Some(KEPT), ..few });
        let store = &server.server().store;
        let key = |name: &str| Key::new("default", name);
        for name in ["a", "b", "c", "d", "e"] {
            store.create(EVENTS, key(name), json!({"metadata": {}})).expect("it is new");
        }
        let minutes = |count: u64| tokio::time::sleep(Duration::from_secs(6 * count));
        minutes(30).await;
        let read = store.get(EVENTS, &key("c")).expect("it is there");
        store.update(EVENTS, key("c"), &read, json!({"metadata": {}, "count": 2})).expect("nobody else writes");
        minutes(29).await;
        assert_eq!(names(store), ["a", "b", "c", "d", "e"]);
        minutes(3).await;
        assert_eq!(names(store), ["c"]);
        minutes(30).await;
        assert!(names(store).is_empty());
    }
}
