//! Writes YAML as Go's YAML 1.1 library does: sorted keys, text that could be something else in quotes, long lines folded.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::str::Chars;

use kueue_core::yaml::resolve;

use crate::json::{Map, Name, Value};

/// Lines are broken at the first blank after this column.
const WIDTH: usize = 80;

/// One object as a document.
pub fn document(value: &Value) -> String {
    let mut writer = Writer { text: String::new(), column: 0 };
    match value {
        Value::Object(fields) if !fields.is_empty() => writer.map(fields, 0),
        Value::Array(items) if !items.is_empty() => writer.list(items, 0),
        scalar => writer.scalar(scalar, 0),
    }
    if !writer.text.ends_with('\n') {
        writer.text.push('\n');
    }
    writer.text
}

struct Writer {
    text: String,
    column: usize,
}

/// How a text may be written, from what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Single,
    Double,
    Literal,
}

impl Writer {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
        self.column += text.chars().count();
    }

    fn new_line(&mut self, indent: usize) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.column = indent;
    }

    /// The first field stands where the writer is, so that it can follow a dash.
    fn map(&mut self, fields: &Map, indent: usize) {
        let mut keys: Vec<&Name> = fields.keys().collect();
        keys.sort_by(|one, other| natural(one, other));
        for (place, key) in keys.into_iter().enumerate() {
            if place > 0 {
                self.new_line(indent);
            }
            self.words(key, indent, true);
            self.put(":");
            match &fields[key] {
                Value::Object(inner) if !inner.is_empty() => {
                    self.new_line(indent + 2);
                    self.map(inner, indent + 2);
                }
                Value::Array(inner) if !inner.is_empty() => {
                    self.new_line(indent);
                    self.list(inner, indent);
                }
                scalar => {
                    self.put(" ");
                    self.scalar(scalar, indent + 2);
                }
            }
        }
    }

    fn list(&mut self, items: &[Value], indent: usize) {
        for (place, item) in items.iter().enumerate() {
            if place > 0 {
                self.new_line(indent);
            }
            self.put("- ");
            match item {
                Value::Object(inner) if !inner.is_empty() => self.map(inner, indent + 2),
                Value::Array(inner) if !inner.is_empty() => self.list(inner, indent + 2),
                scalar => self.scalar(scalar, indent + 2),
            }
        }
    }

    fn scalar(&mut self, value: &Value, indent: usize) {
        match value {
            Value::String(text) => self.words(text, indent, false),
            other => self.put(&other.to_string()),
        }
    }

    fn words(&mut self, text: &str, indent: usize, is_key: bool) {
        match style(text, is_key) {
            Style::Plain => self.folded(text, indent, is_key, ""),
            Style::Single => self.folded(&text.replace('\'', "''"), indent, is_key, "'"),
            Style::Double => self.double(text, indent, is_key),
            Style::Literal => self.literal(text, indent),
        }
    }

    /// Text with its long lines broken at single blanks.
    fn folded(&mut self, text: &str, indent: usize, is_key: bool, quote: &str) {
        self.put(quote);
        let mut letters = text.chars().peekable();
        let (mut after_space, mut is_first) = (false, true);
        while let Some(letter) = letters.next() {
            let may_break = letter == ' ' && !is_key && !after_space && self.column > WIDTH && !is_first;
            if may_break && letters.peek().is_some_and(|next| *next != ' ') {
                self.new_line(indent);
            } else {
                self.put(letter.encode_utf8(&mut [0; 4]));
            }
            after_space = letter == ' ';
            is_first = false;
        }
        self.put(quote);
    }

    fn double(&mut self, text: &str, indent: usize, is_key: bool) {
        self.put("\"");
        let mut letters = text.chars().peekable();
        let (mut after_space, mut is_first) = (false, true);
        while let Some(letter) = letters.next() {
            if letter == ' ' && !is_key && !after_space && self.column > WIDTH && !is_first && letters.peek().is_some()
            {
                self.broken(indent, &mut letters);
                after_space = true;
                continue;
            }
            after_space = letter == ' ';
            is_first = false;
            match escape(letter) {
                Some(escape) => self.put(&escape),
                None => self.put(letter.encode_utf8(&mut [0; 4])),
            }
        }
        self.put("\"");
    }

    /// A line break inside of double quotes stands for one blank; a second one would be lost.
    fn broken(&mut self, indent: usize, letters: &mut Peekable<Chars<'_>>) {
        self.new_line(indent);
        if letters.peek() == Some(&' ') {
            self.put("\\");
        }
    }

    fn literal(&mut self, text: &str, indent: usize) {
        let ending = text.len() - text.trim_end_matches('\n').len();
        let chomp = match ending {
            0 => "-",
            1 => "",
            _ => "+",
        };
        let hint = if text.starts_with([' ', '\n']) { "2" } else { "" };
        self.put(&format!("|{hint}{chomp}"));
        for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
            self.text.push('\n');
            if !line.is_empty() {
                self.text.extend(std::iter::repeat_n(' ', indent));
                self.text.push_str(line);
            }
        }
        if ending > 1 {
            // What is kept must also be ended.
            self.text.push('\n');
        }
    }
}

/// How Go writes a text: plainly where that reads back as the same text.
fn style(text: &str, is_key: bool) -> Style {
    let is_special = |letter: char| letter != '\n' && !is_printable(letter);
    let space_break = text.contains(" \n");
    let is_text = matches!(resolve(text), Some(serde_json::Value::String(_))) && !is_base_60(text) && !is_time(text);
    if text.chars().any(is_special) || !is_text {
        return Style::Double;
    }
    if text.contains('\n') {
        return if is_key || space_break || text.ends_with(' ') { Style::Double } else { Style::Literal };
    }
    if text.starts_with(' ') || text.ends_with(' ') || has_indicators(text) { Style::Single } else { Style::Plain }
}

/// Whether some character in it would mean something.
fn has_indicators(text: &str) -> bool {
    if text.starts_with("---") || text.starts_with("...") {
        return true;
    }
    let letters: Vec<char> = text.chars().collect();
    let is_blank = |place: usize| letters.get(place).is_none_or(|letter| *letter == ' ');
    letters.iter().enumerate().any(|(place, letter)| match (place, letter) {
        (0, '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`') => true,
        (0, '?' | '-') | (_, ':') => is_blank(place + 1),
        (_, '#') => is_blank(place - 1),
        _ => false,
    })
}

fn is_printable(letter: char) -> bool {
    matches!(letter, ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && letter != '\u{feff}'
}

/// Old YAML reads `1:30` as minutes and seconds.
fn is_base_60(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut parts = unsigned.split(':');
    let is_digits = |part: &str| part.chars().all(|letter| letter.is_ascii_digit() || letter == '_');
    let head = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    let is_sixtieth = |part: &&str| {
        let whole = part.split('.').next().unwrap_or_default();
        matches!(whole.len(), 1 | 2) && whole.parse::<u8>().is_ok_and(|number| number < 60)
    };
    head.starts_with(|first: char| first.is_ascii_digit())
        && is_digits(head)
        && !rest.is_empty()
        && rest.iter().all(is_sixtieth)
}

/// A date, alone or with a time of day.
fn is_time(text: &str) -> bool {
    let (date, time) = text.split_once(['T', 't', ' ']).map_or((text, None), |(date, time)| (date, Some(time)));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = date.split('-').collect();
    let is_date = parts.len() == 3 && parts[0].len() == 4 && parts.iter().all(|part| is_number(part));
    let is_hour = |time: &str| time.split(':').take(2).all(is_number) && time.split(':').count() > 2;
    is_date && parts[1..].iter().all(|part| part.len() <= 2) && time.is_none_or(is_hour)
}

fn escape(letter: char) -> Option<String> {
    Some(match letter {
        '\0' => "\\0".into(),
        '\x07' => "\\a".into(),
        '\x08' => "\\b".into(),
        '\t' => "\\t".into(),
        '\n' => "\\n".into(),
        '\x0b' => "\\v".into(),
        '\x0c' => "\\f".into(),
        '\r' => "\\r".into(),
        '\x1b' => "\\e".into(),
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\u{85}' => "\\N".into(),
        '\u{2028}' => "\\L".into(),
        '\u{2029}' => "\\P".into(),
        letter if is_printable(letter) => return None,
        letter if (letter as u32) < 0x100 => format!("\\x{:02X}", letter as u32),
        letter if (letter as u32) < 0x1_0000 => format!("\\u{:04X}", letter as u32),
        letter => format!("\\U{:08X}", letter as u32),
    })
}

/// Order of keys: numbers in them by their value, letters after all else.
fn natural(one: &str, other: &str) -> Ordering {
    let (left, right): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let Some(place) = left.iter().zip(&right).position(|(a, b)| a != b) else { return left.len().cmp(&right.len()) };
    let (a, b) = (left[place], right[place]);
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => a.cmp(&b),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => {
            let digits =
                |letters: &[char]| letters[place..].iter().take_while(|letter| letter.is_ascii_digit()).count();
            let number = |letters: &[char], count: usize| {
                let digits = letters[place..place + count].iter().filter_map(|letter| letter.to_digit(10));
                digits.fold(0_u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit)))
            };
            let (here, there) = (digits(&left), digits(&right));
            number(&left, here).cmp(&number(&right, there)).then(here.cmp(&there)).then(a.cmp(&b))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn text_is_quoted_where_it_could_be_something_else() {
        let cases = [
            ("word", "word"),
            ("two words", "two words"),
            ("", "\"\""),
            ("y", "\"y\""),
            ("0755", "\"0755\""),
            ("1e3", "\"1e3\""),
            ("~", "\"~\""),
            ("1:30", "\"1:30\""),
            ("2026-01-01", "\"2026-01-01\""),
            ("2026-01-01T00:00:00Z", "\"2026-01-01T00:00:00Z\""),
            ("2026-01-01T", "2026-01-01T"),
            ("2026-01", "2026-01"),
            ("a: b", "'a: b'"),
            ("f:data", "f:data"),
            (".", "."),
            ("a #b", "'a #b'"),
            ("*x", "'*x'"),
            ("- x", "'- x'"),
            ("-x", "-x"),
            ("it's: so", "'it''s: so'"),
            (" x", "' x'"),
            ("tab\there", "\"tab\\there\""),
            ("ü", "ü"),
            ("a\nb\n", "|\n  a\n  b"),
            ("a\n\nb", "|-\n  a\n\n  b"),
            (" a\nb\n\n", "|2+\n   a\n  b\n"),
            ("a \nb", "\"a \\nb\""),
        ];
        for (text, written) in cases {
            assert_eq!(document(&json!({"k": text})), format!("k: {written}\n"), "{text:?}");
        }
    }

    #[test]
    fn lists_are_not_indented_and_keys_are_in_natural_order() {
        let value = json!({"b": [{"x": 1, "y": []}, "s", [1, 2]], "a10": {}, "a9": null, "a": {"c": 1.5}, "_": true});
        let text = "_: true\na:\n  c: 1.5\na9: null\na10: {}\nb:\n- x: 1\n  \"y\": []\n- s\n- - 1\n  - 2\n";
        assert_eq!(document(&value), text);
    }

    #[test]
    fn long_lines_are_broken_at_blanks() {
        let text = "only the following media types are accepted: application/json;stream=watch, and one more";
        let written =
            "message: 'only the following media types are accepted: application/json;stream=watch,\n  and one more'\n";
        assert_eq!(document(&json!({"message": text})), written);
    }
}
