//! The row of an event: it has no name in front, because what happened comes first.

use jiff::Timestamp;

use super::age;
use super::cells::text;
use crate::json::{Value, json};
use crate::kinds::rules::event_in_core;

pub fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let event = &event_in_core(object);
    let involved = &event["involvedObject"];
    let first = if event["firstTimestamp"].is_string() { &event["firstTimestamp"] } else { &event["eventTime"] };
    let series = &event["series"];
    let last = match () {
        () if series.is_object() => &series["lastObservedTime"],
        () if event["lastTimestamp"].is_string() => &event["lastTimestamp"],
        () => first,
    };
    let count = match series["count"].as_i64().or(event["count"].as_i64()).unwrap_or_default() {
        0 if !series.is_object() => 1,
        count => count,
    };
    let kind = text(&involved["kind"]).to_lowercase();
    let target = match text(&involved["name"]) {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        seen(last, now).into(),
        text(&event["type"]).into(),
        text(&event["reason"]).into(),
        target.into(),
        text(&involved["fieldPath"]).into(),
        source(event).into(),
        text(&event["message"]).trim().into(),
        seen(first, now).into(),
        count.into(),
        event["metadata"]["name"].clone(),
    ]
}

/// Who tells it: the component, and where it runs.
fn source(event: &Value) -> String {
    let either = |one: &Value, other: &Value| match text(one) {
        "" => text(other).to_owned(),
        given => given.to_owned(),
    };
    let component = either(&event["source"]["component"], &event["reportingComponent"]);
    match either(&event["source"]["host"], &event["reportingInstance"]) {
        instance if instance.is_empty() => component,
        instance => format!("{component}, {instance}"),
    }
}

/// How long ago, of times with and without parts of a second.
fn seen(time: &Value, now: Timestamp) -> String {
    let start = time.as_str().and_then(|text| text.split('.').next());
    age(&json!(start.map(|start| format!("{}Z", start.trim_end_matches('Z')))), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_says_what_happened_to_what() {
        let event = json!({"metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p"}, "reason": "R",
            "message": " m ", "type": "Normal", "eventTime": "1970-01-01T00:00:00.000000Z",
            "reportingComponent": "c", "reportingInstance": "i"});
        let cells = cells(&event, Timestamp::from_second(60).unwrap());
        let texts = ["60s", "Normal", "R", "pod/p", "", "c, i", "m", "60s"];
        assert_eq!(cells[..8], texts.map(Value::from));
        assert_eq!(cells[8..], [json!(1), json!("e")]);
    }
}
