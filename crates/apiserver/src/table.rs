//! Objects as rows, as `kubectl get` prints them. Which columns a kind has is data; [`cells`] fills them.

use jiff::Timestamp;
use kueue_core::time::Time;

use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::rest::list::{partial, typed};
use crate::status::{Result, Status};

mod cells;
mod event;
mod networking;
mod node;
mod pod;
mod storage;

/// What of the object comes with a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    Metadata,
    Object,
    Nothing,
}

impl Include {
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            "None" => Ok(Self::Nothing),
            other => Err(Status::bad_request(format!(
                "Unable to convert to Table as requested: includeObject: Invalid value: \"{other}\": must be \
                 'Metadata', 'Object', 'None', or empty"
            ))),
        }
    }
}

/// A Table with these rows.
pub fn table(resource: &Resource, metadata: &Value, rows: &[Value], with_columns: bool) -> Value {
    let columns: Option<Vec<Value>> = with_columns.then(|| {
        let column = |column: &crate::kinds::Column| {
            json!({
                "name": column.name, "type": column.type_name, "format": column.format, "description": column.description,
                "priority": column.priority,
            })
        };
        resource.columns.iter().map(column).collect()
    });
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns, "rows": rows,
    })
}

/// One object as a row.
pub fn row(resource: &Resource, object: &Value, include: Include, now: Timestamp) -> Value {
    let cells = cells::of(resource, object, now);
    let shown = match include {
        Include::Metadata => partial(object),
        Include::Object => typed(resource, object),
        Include::Nothing => Value::Null,
    };
    let mut row = json!({"cells": cells, "object": shown});
    if let Some(conditions) = completion(resource, object) {
        row["conditions"] = conditions;
    }
    row
}

/// A pod that has ended says so beside its cells, for clients that hide such rows.
fn completion(resource: &Resource, object: &Value) -> Option<Value> {
    let (reason, message) = match object["status"]["phase"].as_str().filter(|_| resource.storage == "pods")? {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}

/// How long ago something was, as people say it.
pub fn age(time: &Value, now: Timestamp) -> String {
    let Some(then) = time.as_str().and_then(|text| text.parse::<Time>().ok()) else { return "<unknown>".to_owned() };
    human_duration(now.as_second() - then.timestamp().as_second())
}

/// Seconds in the one or two units that matter.
pub fn human_duration(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let days = hours / 24;
    let two = |big: i64, unit: &str, small: i64, rest: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{rest}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => two(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => two(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => two(days, "d", hours % 24, "h"),
        _ if days < 365 * 2 => format!("{days}d"),
        _ if days < 365 * 8 => two(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let cases = [
            (-5, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (125, "2m5s"),
            (900, "15m"),
            (3 * 3600 + 300, "3h5m"),
            (52 * 3600, "2d4h"),
            (400 * 86_400, "400d"),
            ((6 * 365 + 320) * 86_400, "6y320d"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human_duration(seconds), text, "{seconds}");
        }
    }
}
