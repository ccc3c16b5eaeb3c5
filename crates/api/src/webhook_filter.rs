//! Which jobs the API server asks about at all. Whoever uses no queues never waits for us.

use crate::kueue::names::{annotation, label};

/// The name of the condition among those of a webhook.
pub const NAME: &str = "uses-queues";

/// A CEL expression: the job names a queue, or did, or is a pod whose job lets its pods wait.
pub fn expression() -> String {
    let has = |field: &str, key: &str| format!("(has(o.metadata.{field}) && '{key}' in o.metadata.{field})");
    let any = [
        has("labels", label::QUEUE_NAME),
        // Where queues were named at first.
        has("annotations", label::QUEUE_NAME),
        has("annotations", annotation::POD_SUSPENDING_PARENT),
    ];
    format!("[object, oldObject].exists(o, o != null && ({}))", any.join(" || "))
}
