//! What a plain YAML scalar means, as Go's readers of YAML 1.1 take it: `yes` is a boolean, `0777` and `0x1ff` are 511.

use serde_json::{Number, Value};

/// The value of an unquoted scalar; `None` for the numbers that JSON does not have.
pub fn resolve(text: &str) -> Option<Value> {
    let value = match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Value::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Value::Bool(false),
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" | "-.inf" | "-.Inf"
        | "-.INF" => return None,
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    };
    Some(value)
}

fn number(text: &str) -> Option<Number> {
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) {
        return None;
    }
    let plain = text.replace('_', "");
    integer(&plain).or_else(|| if is_decimal(&plain) { plain.parse().ok().and_then(from_f64) } else { None })
}

/// A whole number in base 2, 8, 10 or 16, as Go's literals are written; a bare leading zero means base 8.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match (lower.get(..2), lower.strip_prefix('0')) {
        (Some("0x"), _) => (16, &lower[2..]),
        (Some("0o"), _) => (8, &lower[2..]),
        (Some("0b"), _) => (2, &lower[2..]),
        (Some(_), Some(octal)) => (8, octal),
        _ => (10, lower.as_str()),
    };
    if !digits.starts_with(|first: char| first.is_ascii_hexdigit()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, base).ok()?;
    match negative {
        true => 0i64.checked_sub_unsigned(magnitude).map(Number::from),
        false => Some(Number::from(magnitude)),
    }
}

/// An optional sign, digits with at most one point, an optional exponent.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    is_digits(whole)
        && is_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|digits| !digits.is_empty() && is_digits(digits))
}

/// Go writes a float without fraction as a whole number on the way to JSON, so `9443.0` is a port.
fn from_f64(value: f64) -> Option<Number> {
    const EXACT_MAX: f64 = (1u64 << 53) as f64;
    match value.fract() == 0.0 && value.abs() <= EXACT_MAX {
        true => Some(Number::from(value as i64)),
        false => Number::from_f64(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_words_may_be_something_else() {
        let cases = [
            ("y", json!(true)),
            ("off", json!(false)),
            ("~", json!(null)),
            ("0777", json!(511)),
            ("0o17", json!(15)),
            ("-0x1F", json!(-31)),
            ("1_000", json!(1000)),
            ("1e3", json!(1000)),
            ("1.50", json!(1.5)),
            ("089", json!(89)),
            ("1:30", json!("1:30")),
            ("yEs", json!("yEs")),
            ("1.2.3", json!("1.2.3")),
            ("-", json!("-")),
        ];
        for (text, value) in cases {
            assert_eq!(resolve(text), Some(value), "{text}");
        }
        assert_eq!(resolve(".inf"), None, "JSON has no such number");
    }
}
