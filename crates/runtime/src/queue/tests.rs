use super::*;
use crate::client::LONGEST_WAIT;

/// Takes what can be had without waiting for a key that is not there yet, for at most so long.
async fn take(queue: &WorkQueue<&'static str>, within_ms: u64) -> Option<&'static str> {
    tokio::time::timeout(Duration::from_millis(within_ms), queue.next()).await.ok()
}

/// Takes and finishes all that waits now.
async fn drain(queue: &WorkQueue<&'static str>) -> String {
    let mut taken = Vec::new();
    while let Some(key) = take(queue, 0).await {
        queue.done(&key);
        taken.push(key);
    }
    taken.join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_key_waits_once_and_in_order() {
    let queue = WorkQueue::default();
    for key in ["a", "b", "a", "c", "b"] {
        queue.add(key);
    }
    assert_eq!(queue.len(), 3);
    assert_eq!(drain(&queue).await, "a b c");
}

#[tokio::test(start_paused = true)]
async fn a_key_is_never_handed_out_twice_at_a_time() {
    let queue = WorkQueue::default();
    queue.add("a");
    assert_eq!(take(&queue, 0).await, Some("a"));
    queue.add("a");
    queue.add("b");
    assert_eq!(take(&queue, 0).await, Some("b"));
    assert_eq!(take(&queue, 1000).await, None);
    queue.done(&"a");
    queue.done(&"b");
    assert_eq!(drain(&queue).await, "a");
}

#[tokio::test(start_paused = true)]
async fn who_is_added_all_the_time_goes_behind_the_others() {
    let queue = WorkQueue::default();
    queue.add("busy");
    assert_eq!(take(&queue, 0).await, Some("busy"));
    queue.add("busy");
    queue.add("quiet");
    queue.done(&"busy");
    assert_eq!(drain(&queue).await, "quiet busy");
}

#[tokio::test(start_paused = true)]
async fn higher_priority_goes_first_and_is_kept() {
    let queue = WorkQueue::default();
    queue.add("a");
    queue.add_with("b", 5);
    queue.add_with("c", -5);
    queue.add_with("d", 0);
    queue.add_with("d", 9);
    queue.add_with("b", 1);
    assert_eq!(drain(&queue).await, "d b a c");
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_comes_at_the_first_of_its_times() {
    let queue = WorkQueue::default();
    queue.add_after("a", Duration::from_secs(5));
    queue.add_after("a", Duration::from_secs(2));
    queue.add_after("a", Duration::from_secs(9));
    let begin = Instant::now();
    assert_eq!((queue.next().await, begin.elapsed().as_secs()), ("a", 2));
    queue.done(&"a");
    assert_eq!(take(&queue, 20_000).await, None, "there is only one look");
}

#[tokio::test(start_paused = true)]
async fn failures_make_the_wait_grow_and_success_ends_that() {
    let queue = WorkQueue::default();
    let mut waits = Vec::new();
    for _ in 0..4 {
        let begin = Instant::now();
        queue.retry("a", Duration::ZERO..=LONGEST_WAIT);
        queue.next().await;
        queue.done(&"a");
        waits.push(begin.elapsed().as_millis());
    }
    assert_eq!(waits, [5, 10, 20, 40]);
    assert_eq!(queue.failures(&"a"), 4);
    queue.forget(&"a");
    let begin = Instant::now();
    queue.retry("a", Duration::from_secs(3)..=LONGEST_WAIT);
    queue.next().await;
    assert_eq!(begin.elapsed().as_secs(), 3, "the server wants to be left alone");
    for _ in 0..40 {
        queue.retry("b", Duration::ZERO..=LONGEST_WAIT);
        queue.state().release(Instant::now() + LONGEST_WAIT);
    }
    assert_eq!(queue.failures(&"b"), 40, "the wait is limited, not the attempts");
}

#[tokio::test(start_paused = true)]
async fn several_may_take_at_once() {
    let queue = std::sync::Arc::new(WorkQueue::default());
    let takers: Vec<_> = (0..3)
        .map(|_| {
            let queue = std::sync::Arc::clone(&queue);
            tokio::spawn(async move { queue.next().await })
        })
        .collect();
    tokio::task::yield_now().await;
    for key in ["a", "b", "c"] {
        queue.add(key);
    }
    let mut taken = Vec::new();
    for taker in takers {
        taken.push(taker.await.unwrap());
    }
    taken.sort_unstable();
    assert_eq!(taken, ["a", "b", "c"]);
}
