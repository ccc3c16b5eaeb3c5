//! Several managers, of which one leads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kueue_manager::Observer;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::bed::Bed;

const CONFIG: &str = "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

struct Replica {
    writes: Arc<AtomicUsize>,
    observer: Observer,
    end: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Replica {
    fn start(bed: &Bed, name: &str) -> Self {
        let writes = Arc::default();
        let manager = bed.manager(CONFIG, name, &writes);
        let (end, ended) = oneshot::channel();
        let observer = manager.observer();
        let running = tokio::spawn(manager.run_until(async { drop(ended.await) }));
        Self { writes, observer, end, running }
    }

    fn writes(&self) -> usize {
        self.writes.load(Ordering::Relaxed)
    }

    async fn role(&self) -> String {
        let text = self.observer.metrics().await.unwrap_or_default();
        let role = text.split("replica_role=\"").nth(1).and_then(|rest| rest.split('"').next());
        role.unwrap_or_default().to_owned()
    }
}

async fn bed() -> Bed {
    let bed = Bed::unmanaged("2").await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}});
    bed.create("/api/v1/namespaces", &namespace).await;
    bed
}

#[tokio::test(start_paused = true)]
async fn a_follower_writes_nothing_and_takes_over_at_once_when_it_may() {
    let bed = bed().await;
    let first = Replica::start(&bed, "a");
    bed.pass(1).await;
    let second = Replica::start(&bed, "b");
    bed.submit("one", 2, "1").await;
    bed.submit("two", 2, "1").await;
    bed.pass(100).await;
    assert!(first.writes() > 0);
    assert_eq!((second.writes(), second.observer.is_ready()), (0, true), "it waits and knows everything");
    assert_eq!((first.role().await.as_str(), second.role().await.as_str()), ("leader", "follower"));
    first.end.send(()).unwrap_or_default();
    first.running.await.unwrap_or_default();
    bed.end("one", "Complete").await;
    assert_eq!(bed.job("two").await["spec"]["suspend"], false, "the other one leads within two seconds");
    assert_eq!(second.role().await, "leader");
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_leader_left_undone_is_done_by_the_next() {
    let bed = bed().await;
    let first = Replica::start(&bed, "a");
    bed.pass(1).await;
    let second = Replica::start(&bed, "b");
    bed.submit("one", 2, "1").await;
    first.running.abort();
    bed.submit("two", 2, "1").await;
    bed.end("one", "Complete").await;
    assert_eq!(second.writes(), 0);
    bed.pass(20).await;
    assert_eq!(bed.job("two").await["spec"]["suspend"], false);
    assert_eq!(bed.condition("one", "Finished").await, "True Succeeded: Job finished");
}
