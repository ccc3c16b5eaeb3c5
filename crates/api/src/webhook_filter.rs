//! Which jobs the API server asks about at all. Whoever uses no queues never waits for us.

use crate::kueue::names::label;

/// The name of the condition among those of a webhook.
pub const NAME: &str = "uses-queues";

/// A CEL expression: the job names a queue, or did, or is in a namespace with a queue for everybody.
pub fn expression<'n>(namespaces: impl IntoIterator<Item = &'n str>) -> String {
    let key = label::QUEUE_NAME;
    let has = |field: &str| format!("(has(o.metadata.{field}) && '{key}' in o.metadata.{field})");
    let names_one = format!(
        "[object, oldObject].exists(o, o != null && ({} || {}))",
        has("labels"),
        // Where queues were named at first.
        has("annotations")
    );
    let namespaces: Vec<String> = namespaces.into_iter().map(|name| format!("'{name}'")).collect();
    match namespaces.is_empty() {
        true => names_one,
        false => format!("{names_one} || request.namespace in [{}]", namespaces.join(", ")),
    }
}
