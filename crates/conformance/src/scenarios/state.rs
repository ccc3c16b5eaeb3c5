//! What can be seen of a run from outside, and how two runs are compared.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use kueue_core::quantity::Quantity;
use serde_json::{Map, Value, json};

/// Everything that lasts from step to step, as one tree of values. What is empty is left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct State(pub(super) Map<String, Value>);

/// What one step showed besides that.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Shown {
    pub(super) is_idle: bool,
    /// Per workload, in order: type, reason, message.
    pub(super) events: BTreeMap<String, Vec<[String; 3]>>,
    pub(super) order: Vec<String>,
    pub(super) preempted: BTreeMap<String, String>,
}

/// Parts whose entries are given anew as a whole whenever they change.
const WHOLE: [&str; 4] = ["usage", "shares", "cohortShares", "localQueueUsage"];

impl State {
    /// Applies the recorded differences of one step.
    pub(super) fn update(&mut self, out: &Value, messages: &[String]) {
        for part in ["queues", "workloads"].into_iter().chain(WHOLE) {
            for (name, change) in out[part].as_object().into_iter().flatten() {
                let change = with_messages(part, change, messages);
                let here = object(&mut self.0, part);
                if change.get("deleted").is_some() {
                    here.insert(name.clone(), json!({"deleted": true}));
                    continue;
                }
                if WHOLE.contains(&part) {
                    here.insert(name.clone(), change);
                } else {
                    merge(here.entry(name.clone()).or_insert_with(|| json!({})), &change);
                }
            }
        }
        for part in ["notified", "secondPass"] {
            if let Some(all) = out.get(part) {
                self.0.insert(part.to_owned(), all.clone());
            }
        }
        prune(&mut self.0);
    }

    /// Says where the actual state is not the expected one.
    pub(super) fn compare(&self, actual: &Self) -> Result<()> {
        match difference("", &Value::Object(self.0.clone()), &Value::Object(actual.0.clone())) {
            Some(difference) => bail!("{difference}"),
            None => Ok(()),
        }
    }
}

impl Shown {
    pub(super) fn from_recorded(out: &Value, messages: &[String]) -> Self {
        let mut shown = Self { is_idle: out["idle"].as_bool().unwrap_or(false), ..Self::default() };
        for event in out["events"].as_array().into_iter().flatten() {
            let text = |index: usize| event[index].as_str().unwrap_or_default().to_owned();
            let message = message(&event[3], messages);
            shown.events.entry(text(0)).or_default().push([text(1), text(2), message]);
        }
        shown.order = texts(&out["order"]);
        let preempted = out["preempted"].as_object().into_iter().flatten();
        shown.preempted =
            preempted.map(|(name, reason)| (name.clone(), reason.as_str().unwrap_or_default().to_owned())).collect();
        shown
    }

    /// Says what the actual step showed otherwise.
    pub(super) fn compare(&self, actual: &Self) -> Result<()> {
        if self.is_idle != actual.is_idle {
            bail!("idle: expected {}, got {}", self.is_idle, actual.is_idle);
        }
        if self.order != actual.order {
            bail!("order: expected {:?}, got {:?}", self.order, actual.order);
        }
        let keys = self.events.keys().chain(actual.events.keys());
        for key in keys {
            let (expected, got) = (self.events.get(key), actual.events.get(key));
            if expected != got {
                bail!("events of {key}:\n  expected {expected:?}\n  got      {got:?}");
            }
        }
        if self.preempted != actual.preempted {
            bail!("preempted: expected {:?}, got {:?}", self.preempted, actual.preempted);
        }
        Ok(())
    }
}

pub(super) fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(|item| Some(item.as_str()?.to_owned())).collect()
}

fn message(index: &Value, messages: &[String]) -> String {
    let index = index.as_u64().and_then(|index| usize::try_from(index).ok());
    index.and_then(|index| messages.get(index)).cloned().unwrap_or_default()
}

/// Replaces the numbers of messages by the messages.
fn with_messages(part: &str, change: &Value, messages: &[String]) -> Value {
    let mut change = change.clone();
    if part == "workloads" {
        for field in ["conditions", "admissionChecks"] {
            for entry in
                change.get_mut(field).and_then(Value::as_object_mut).into_iter().flat_map(|all| all.values_mut())
            {
                if let Some(last) = entry.as_array_mut().and_then(|entry| entry.last_mut()) {
                    *last = Value::String(message(last, messages));
                }
            }
        }
    }
    change
}

/// Deep, but lists and admissions are replaced; null removes.
fn merge(into: &mut Value, change: &Value) {
    let (Some(into), Some(change)) = (into.as_object_mut(), change.as_object()) else { return };
    for (key, value) in change {
        match (into.get_mut(key), value) {
            (_, Value::Null) => drop(into.remove(key)),
            (Some(old), Value::Object(_)) if key != "admission" => merge(old, value),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> &'a mut Map<String, Value> {
    let entry = map.entry(key).or_insert_with(|| json!({}));
    entry.as_object_mut().expect("parts are objects")
}

/// A share of nothing is not recorded before it was once something else.
fn prune_shares(map: &mut Map<String, Value>) {
    for part in ["shares", "cohortShares"] {
        if let Some(Value::Object(shares)) = map.get_mut(part) {
            shares.retain(|_, share| *share != json!(0));
        }
    }
}

/// Nothing used is the same as no word about it.
fn prune_usage(map: &mut Map<String, Value>) {
    let ledgers = map.get_mut("localQueueUsage").and_then(Value::as_object_mut);
    let lists = ledgers.into_iter().flat_map(|ledgers| ledgers.values_mut()).filter_map(Value::as_object_mut);
    for list in lists.flat_map(|lists| lists.values_mut()).filter_map(Value::as_object_mut) {
        list.retain(|_, amount| !is_close(amount, &Value::Null));
    }
}

/// Leaves out what is empty, so that "not there" and "nothing in it" are the same.
pub(super) fn prune(map: &mut Map<String, Value>) {
    prune_shares(map);
    prune_usage(map);
    for value in map.values_mut() {
        if let Value::Object(inner) = value {
            prune(inner);
        }
    }
    map.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(inner) => !inner.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    });
}

/// Whether two quantities are the same but for rounding; none is zero.
fn is_close(a: &Value, b: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Null => Some(0.0),
        value => value.as_str()?.parse::<Quantity>().ok().map(|quantity| quantity.as_f64()),
    };
    let (Some(a), Some(b)) = (number(a), number(b)) else { return false };
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs())
}

fn difference(path: &str, expected: &Value, actual: &Value) -> Option<String> {
    match (expected, actual) {
        (Value::Object(a), Value::Object(b)) => {
            let keys: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().find_map(|key| {
                let (a, b) = (a.get(key).unwrap_or(&Value::Null), b.get(key).unwrap_or(&Value::Null));
                difference(&format!("{path}.{key}"), a, b)
            })
        }
        (a, b) if a == b || (path.starts_with(".localQueueUsage.") && is_close(a, b)) => None,
        (a, b) => Some(format!("{path}:\n  expected {a}\n  got      {b}")),
    }
}
