use std::sync::Mutex;

use super::*;
use crate::key::Key;

/// Notes when it looked at whom, and ends as it was told.
#[derive(Default)]
struct Scripted {
    looks: Mutex<Vec<(String, u128)>>,
}

impl Reconciler<Key> for Scripted {
    fn name(&self) -> &'static str {
        "scripted"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let begin = *BEGIN.get_or_init(tokio::time::Instant::now);
        let looks = {
            let mut looks = self.looks.lock().unwrap();
            looks.push((key.to_string(), begin.elapsed().as_millis()));
            looks.iter().filter(|(seen, _)| *seen == key.to_string()).count()
        };
        match (&*key.name, looks) {
            ("fails", 1..=2) => Err(Failure::Unreachable("gone".to_owned())),
            ("panics", 1) => panic!("no such luck"),
            ("again", 1) => Ok(Next::After(Duration::from_secs(60))),
            _ => Ok(Next::Done),
        }
    }
}

static BEGIN: std::sync::OnceLock<tokio::time::Instant> = std::sync::OnceLock::new();

#[tokio::test(start_paused = true)]
async fn failures_and_panics_are_looked_at_again_and_hurt_nobody_else() {
    let queue = Arc::new(WorkQueue::default());
    let scripted = Arc::new(Scripted::default());
    BEGIN.get_or_init(tokio::time::Instant::now);
    for name in ["fails", "panics", "again", "fine"] {
        queue.add(Key::cluster(name));
    }
    let running = tokio::spawn(run(Arc::clone(&queue), Arc::clone(&scripted), 2));
    tokio::time::sleep(Duration::from_secs(100)).await;
    running.abort();
    let looks = scripted.looks.lock().unwrap().clone();
    let of = |name: &str| looks.iter().filter(|(seen, _)| seen == name).map(|(_, at)| *at).collect::<Vec<_>>();
    assert_eq!(of("fine").len(), 1);
    // The timer counts in milliseconds, rounded up.
    assert!(matches!(of("fails")[..], [0, 5..=7, 15..=19]), "{:?}", of("fails"));
    assert!(matches!(of("panics")[..], [0, 5..=7]), "{:?}", of("panics"));
    assert!(matches!(of("again")[..], [0, 60_000..=60_002]), "{:?}", of("again"));
}

#[tokio::test(start_paused = true)]
async fn what_was_being_looked_at_is_looked_at_again() {
    struct Hangs(std::sync::atomic::AtomicUsize);

    impl Reconciler<Key> for Hangs {
        fn name(&self) -> &'static str {
            "hangs"
        }

        async fn reconcile(&self, _: &Key) -> Result<Next, Failure> {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            std::future::pending().await
        }
    }

    let queue = Arc::new(WorkQueue::default());
    queue.add(Key::cluster("a"));
    let hangs = Arc::new(Hangs(0.into()));
    for looks in 1..3 {
        let running = tokio::spawn(run(Arc::clone(&queue), Arc::clone(&hangs), 2));
        tokio::time::sleep(Duration::from_secs(1)).await;
        running.abort();
        assert!(running.await.is_err());
        assert_eq!(hangs.0.load(std::sync::atomic::Ordering::Relaxed), looks);
    }
}
