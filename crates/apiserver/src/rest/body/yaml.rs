//! Reads YAML as Go does on its way to JSON: one document of YAML 1.1, with anchors that cannot grow without end.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kueue_core::yaml::resolve;
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag};

use super::Parsed;
use crate::json::{Map, Value};

/// How deep values may lie inside each other.
const DEPTH_MAX: usize = 100;
/// How many values there may be once aliases are followed.
const NODES_MAX: usize = 1_000_000;

/// The first document of a text; no document at all is `null`. An error is what Go's reader says, as far as it is known.
pub fn parse(text: &str) -> Result<Parsed, String> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    let parser = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader { parser, anchors: BTreeMap::new(), nodes_left: NODES_MAX, duplicates: Vec::new() };
    loop {
        let (event, span) = reader.next()?;
        if event == Event::StreamEnd {
            return Ok(Parsed { value: Value::Null, duplicates: reader.problems() });
        }
        if event.is_node() {
            // Go stops reading at the end of the first document.
            let value = reader.node(event, span)?;
            return Ok(Parsed { value, duplicates: reader.problems() });
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Every complete value that carries an anchor, with the number of values in it.
    anchors: BTreeMap<usize, (Value, usize)>,
    nodes_left: usize,
    duplicates: Vec<String>,
}

impl<'t> Reader<'t> {
    fn problems(&mut self) -> Vec<String> {
        if self.duplicates.is_empty() {
            return Vec::new();
        }
        vec![format!("yaml: unmarshal errors:\n  {}", self.duplicates.join("\n  "))]
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), String> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(problem(error.marker().line(), &error.info())),
            None => Err("yaml: unexpected end of the text".to_owned()),
        }
    }

    fn spend(&mut self, count: usize) -> Result<(), String> {
        let left = self.nodes_left.checked_sub(count);
        self.nodes_left = left.ok_or_else(|| "yaml: document contains excessive aliasing".to_owned())?;
        Ok(())
    }

    /// The value that begins with `event`.
    fn node(&mut self, event: Event<'t>, span: Span) -> Result<Value, String> {
        self.spend(1)?;
        let before = self.nodes_left;
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => (anchor, scalar(&text, style, tag.as_deref(), span)?),
            Event::SequenceStart(_, anchor, tag) => {
                expect_tag(tag, "seq")?;
                (anchor, self.items()?)
            }
            Event::MappingStart(_, anchor, tag) => {
                expect_tag(tag, "map")?;
                (anchor, self.entries()?)
            }
            Event::Alias(id) => {
                let Some((value, size)) = self.anchors.get(&id).cloned() else {
                    return Err("yaml: anchor value contains itself".to_owned());
                };
                self.spend(size)?;
                (0, value)
            }
            _ => return Err(format!("yaml: line {}: did not find expected node content", span.start.line())),
        };
        if anchor != 0 {
            let size = before - self.nodes_left;
            self.spend(size)?;
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok(value)
    }

    fn items(&mut self) -> Result<Value, String> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items.into()),
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    /// The entries of a mapping, those that `<<` brings in where the mapping has none itself.
    fn entries(&mut self) -> Result<Value, String> {
        let mut object = Map::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, _) if text == "<<");
            let key = self.node(event, span)?;
            let (event, value_span) = self.next()?;
            let value = self.node(event, value_span)?;
            if is_merge {
                merged.push(value);
                continue;
            }
            let key = key_text(key)?;
            if object.contains_key(&key) {
                self.duplicates.push(format!("line {}: key \"{key}\" already set in map", span.start.line()));
            }
            object.insert(key, value);
        }
        for source in merged {
            merge(&mut object, source)?;
        }
        Ok(object.into())
    }
}

/// What libyaml says of the mistakes people make most; the others have one name.
fn problem(line: usize, found: &str) -> String {
    const MISPLACED: &str = "mapping values are not allowed in this context";
    if !found.contains(MISPLACED) {
        return format!("yaml: line {line}: did not find expected node content");
    }
    if line > 1 { format!("yaml: line {line}: {MISPLACED}") } else { format!("yaml: {MISPLACED}") }
}

/// Adds what `<<` names: one mapping, or several of which the first wins.
fn merge(object: &mut Map, source: Value) -> Result<(), String> {
    let sources = match source {
        Value::Array(items) => items,
        one => vec![one].into(),
    };
    for source in sources {
        let Value::Object(entries) = source else {
            return Err("yaml: map merge requires map or sequence of maps as the value".to_owned());
        };
        for (key, value) in entries {
            object.entry(key).or_insert(value);
        }
    }
    Ok(())
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Result<Value, String> {
    let resolved = || {
        let line = span.start.line();
        resolve(text)
            .map(Value::from)
            .ok_or_else(|| format!("yaml: line {line}: {text} is no number that JSON can hold"))
    };
    match tag.map(|tag| (tag, tag.core_suffix())) {
        None if style == ScalarStyle::Plain => resolved(),
        None | Some((_, Some("str" | "binary"))) => Ok(text.into()),
        Some((_, Some("null" | "bool" | "int" | "float"))) => resolved(),
        Some((tag, _)) => Err(format!("yaml: line {}: the tag {} is not known", span.start.line(), tag.original())),
    }
}

/// A collection may carry the tag that it has anyway, no other.
fn expect_tag(tag: Option<Cow<'_, Tag>>, kind: &str) -> Result<(), String> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(kind) => Err(format!("yaml: the tag {} is not known", tag.original())),
        _ => Ok(()),
    }
}

/// Keys are texts in JSON; Go makes texts of numbers and booleans.
fn key_text(key: Value) -> Result<String, String> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(_) | Value::Number(_) => Ok(key.to_string()),
        Value::Null => Ok("null".to_owned()),
        other => Err(format!(
            "unsupported map key of type: {}, key: {other}",
            if other.is_array() { "slice" } else { "map" }
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::json;

    #[test]
    fn plain_words_are_those_of_yaml_1_1() {
        let value = parse("a: y\nb: 'y'\nc: 0755\nd: on\ne: ~\nf: 1e3\n1: x\ntrue: z\n").unwrap().value;
        assert_eq!(
            value,
            json!({"a": true, "b": "y", "c": 493, "d": true, "e": null, "f": 1000, "1": "x", "true": "z"})
        );
    }

    #[test]
    fn anchors_and_merges_are_followed() {
        let value = parse("a: &x {k: 1, l: 2}\nb: *x\nc:\n  <<: *x\n  k: 3\n").unwrap().value;
        assert_eq!(value["b"], json!({"k": 1, "l": 2}));
        assert_eq!(value["c"], json!({"k": 3, "l": 2}));
    }

    #[test]
    fn only_the_first_document_counts() {
        assert_eq!(parse("---\na: 1\n---\nb: 2\n").unwrap().value, json!({"a": 1}));
        assert_eq!(parse("").unwrap().value, Value::Null);
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(parse("a: b: c").unwrap_err(), "yaml: mapping values are not allowed in this context");
        assert_eq!(parse("{{").unwrap_err(), "yaml: line 1: did not find expected node content");
    }

    #[test]
    fn duplicate_keys_are_told_with_their_line() {
        let parsed = parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n").unwrap();
        assert_eq!(parsed.value, json!({"a": 3, "b": {"c": 2}}));
        let told =
            "yaml: unmarshal errors:\n  line 4: key \"c\" already set in map\n  line 5: key \"a\" already set in map";
        assert_eq!(parsed.duplicates, [told]);
    }

    #[test]
    fn aliases_cannot_grow_without_end() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..10 {
            let inner = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        assert_eq!(parse(&text).unwrap_err(), "yaml: document contains excessive aliasing");
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&"- ".repeat(100_000)).is_err());
    }
}
