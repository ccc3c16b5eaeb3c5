//! Small damage to good input: most of it is still nearly right, which is where parsers go wrong.

use serde_json::{Map, Value};

use kueue_storm::Random;

/// Values that break careless code: borders of numbers, odd strings, wrong types.
const TOKENS: &[&str] = &[
    "",
    "0",
    "-1",
    "1e400",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "1.5",
    "0.0000000001",
    "100m",
    "1Ki",
    "1Ei",
    "1e-9",
    "Inf",
    "NaN",
    "null",
    "true",
    "yes",
    "~",
    "*a",
    "&a",
    "<<",
    "{}",
    "[]",
    "\"",
    "'",
    "\\",
    "\0",
    "\u{feff}",
    "é",
    "𝒳",
    "a/b",
    "a.b/c",
    "-",
    ".",
    "=",
    "==",
    "!=",
    "!",
    " in (a,b)",
    " notin ()",
    ",",
    "(",
    ")",
    ">",
    "<5",
    "1h",
    "1h1",
    "-5m",
    "2026-01-01T00:00:00Z",
    "2026-13-40T25:61:61+99:99",
    "kueue.x-k8s.io/v1beta2",
    "$(x)",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// A few random edits of a text.
pub fn text(random: &mut Random, sample: &str) -> String {
    let mut chars: Vec<char> = sample.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(chars.len() + 1);
        let end = (at + random.below(8)).min(chars.len());
        match random.below(5) {
            0 => drop(chars.drain(at..end)),
            1 => drop(chars.splice(at..end, random.pick(TOKENS).chars())),
            2 => drop(chars.splice(at..at, random.pick(TOKENS).chars())),
            3 => {
                let copied: Vec<char> = chars[at..end].to_vec();
                chars.splice(at..at, copied);
            }
            _ => {
                if let Some(c) = chars.get_mut(at) {
                    *c = char::from_u32((*c as u32) ^ (1 << random.below(7))).unwrap_or('?');
                }
            }
        }
    }
    chars.into_iter().collect()
}

/// A few random edits of the structure of a document.
pub fn json(random: &mut Random, sample: &Value) -> Value {
    let mut value = sample.clone();
    for _ in 0..=random.below(3) {
        let count = nodes(&value);
        let chosen = random.below(count);
        edit(random, &mut value, &mut { chosen });
    }
    value
}

fn nodes(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(nodes).sum(),
        Value::Object(map) => map.values().map(nodes).sum(),
        _ => 0,
    }
}

/// Walks to the chosen node, counting down, and damages it.
fn edit(random: &mut Random, value: &mut Value, chosen: &mut usize) -> bool {
    if *chosen == 0 {
        damage(random, value);
        return true;
    }
    *chosen -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| edit(random, item, chosen)),
        Value::Object(map) => map.values_mut().any(|item| edit(random, item, chosen)),
        _ => false,
    }
}

fn damage(random: &mut Random, value: &mut Value) {
    match (random.below(4), &mut *value) {
        (0, Value::Array(items)) if !items.is_empty() => {
            let copy = random.pick(items).clone();
            items.push(copy);
        }
        (1, Value::Array(items)) if !items.is_empty() => {
            items.remove(random.below(items.len()));
        }
        (0, Value::Object(map)) if !map.is_empty() => {
            let keys: Vec<String> = map.keys().cloned().collect();
            map.remove(random.pick(&keys));
        }
        (1, Value::Object(map)) => {
            map.insert((*random.pick(TOKENS)).to_owned(), odd(random));
        }
        (2, Value::String(string)) => *string = text(random, string),
        _ => *value = odd(random),
    }
}

fn odd(random: &mut Random) -> Value {
    match random.below(8) {
        0 => Value::Null,
        1 => Value::Bool(random.below(2) == 0),
        2 => Value::from(i64::MAX),
        3 => Value::from(-1),
        4 => Value::from(1.5e300),
        5 => Value::Array(vec![Value::Null]),
        6 => Value::Object(Map::from_iter([(String::new(), Value::Null)])),
        _ => Value::from(*random.pick(TOKENS)),
    }
}
