//! Reads YAML, event by event.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use kueue_core::yaml::resolve;
use serde_json::Value;
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag};

use super::{Budget, DEPTH_MAX, Data, Entry, Node, syntax_error};
use crate::config::problem::Problem;

/// Reads the one document of `text`; no document at all is `null`.
pub(super) fn parse(text: &str) -> Result<Node, Problem> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.flow_nesting_limit = DEPTH_MAX;
    options.block_nesting_limit = DEPTH_MAX;
    let parser = Parser::new_from_str_with_options(text, options);
    let mut reader = Reader { parser, anchors: BTreeMap::new(), budget: Budget::new() };
    let mut root = Node { line: 1, data: Data::Null };
    let mut documents = 0;
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(root),
            event if event.is_node() => {
                let node = reader.node(event, span)?;
                documents += 1;
                if documents == 1 {
                    root = node;
                } else if node.data != Data::Null {
                    return Err(syntax_error(Some(node.line), "a second document: only one is read"));
                }
            }
            _ => {}
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// Every complete node that carries an anchor, with the number of values in it.
    anchors: BTreeMap<usize, (Node, usize)>,
    budget: Budget,
}

impl<'t> Reader<'t> {
    fn next(&mut self) -> Result<(Event<'t>, Span), Problem> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => {
                let line = u32::try_from(error.marker().line()).ok();
                Err(syntax_error(line, format!("not YAML: {}", error.info())))
            }
            None => Err(syntax_error(None, "not YAML: the text ends too early")),
        }
    }

    /// The node that begins with `event`.
    fn node(&mut self, event: Event<'t>, span: Span) -> Result<Node, Problem> {
        let line = line_of(span);
        self.budget.spend(1, line)?;
        let before = self.budget.nodes_left;
        let (anchor, data) = match event {
            Event::Scalar(text, style, anchor, tag) => (anchor, self.scalar(&text, style, tag.as_deref(), line)?),
            Event::SequenceStart(_, anchor, tag) => {
                expect_tag(tag, "seq", line)?;
                (anchor, Data::List(self.items()?))
            }
            Event::MappingStart(_, anchor, tag) => {
                expect_tag(tag, "map", line)?;
                (anchor, Data::Map(self.entries()?))
            }
            Event::Alias(id) => {
                let Some((target, size)) = self.anchors.get(&id) else {
                    return Err(syntax_error(Some(line), "an alias stands inside the value it refers to"));
                };
                self.budget.spend(*size, line)?;
                (0, target.data.clone())
            }
            other => return Err(syntax_error(Some(line), format!("not YAML: a value was expected, not {other:?}"))),
        };
        let node = Node { line, data };
        if anchor != 0 {
            let size = before - self.budget.nodes_left;
            self.budget.spend(size, line)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    fn items(&mut self) -> Result<Vec<Node>, Problem> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    /// The entries of a mapping, sorted by key as Kueue meets them, merged ones (`<<`) included.
    fn entries(&mut self) -> Result<Vec<Entry>, Problem> {
        let mut entries = Vec::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, _) if text == "<<");
            let key = self.node(event, span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            match is_merge {
                true => merged.extend(merge_sources(value)?),
                false => entries.push(Entry { line: key.line, key: key_text(key)?, value }),
            }
        }
        let mut keys: BTreeSet<String> = entries.iter().map(|entry| entry.key.clone()).collect();
        entries.extend(merged.into_iter().filter(|entry| keys.insert(entry.key.clone())));
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(entries)
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>, line: u32) -> Result<Data, Problem> {
        let wanted = match tag.map(|tag| (tag, tag.core_suffix())) {
            None if style == ScalarStyle::Plain => None,
            None | Some((_, Some("str"))) => return Ok(Data::String(text.to_owned())),
            Some((_, Some(suffix @ ("null" | "bool" | "int" | "float")))) => Some(suffix),
            Some((tag, _)) => {
                return Err(syntax_error(Some(line), format!("the tag {} is not supported", tag.original())));
            }
        };
        let no_json = || syntax_error(Some(line), format!("{text} is no number that JSON can hold"));
        let data = match resolve(text).ok_or_else(no_json)? {
            Value::Bool(flag) => Data::Bool(flag),
            Value::Number(number) => Data::Number(number),
            Value::String(text) => Data::String(text),
            _ => Data::Null,
        };
        let fits = match (wanted, &data) {
            (None, _)
            | (Some("null"), Data::Null)
            | (Some("bool"), Data::Bool(_))
            | (Some("float"), Data::Number(_)) => true,
            (Some("int"), Data::Number(number)) => !number.is_f64(),
            _ => false,
        };
        match wanted {
            Some(wanted) if !fits => Err(syntax_error(Some(line), format!("{text:?} is not of type {wanted}"))),
            _ => Ok(data),
        }
    }
}

fn line_of(span: Span) -> u32 {
    u32::try_from(span.start.line()).unwrap_or(u32::MAX)
}

/// A collection may carry the tag that it has anyway, no other.
fn expect_tag(tag: Option<Cow<'_, Tag>>, kind: &str, line: u32) -> Result<(), Problem> {
    match tag {
        Some(tag) if tag.core_suffix() != Some(kind) => {
            Err(syntax_error(Some(line), format!("the tag {} is not supported", tag.original())))
        }
        _ => Ok(()),
    }
}

/// Keys are texts in JSON; Kueue turns numbers and booleans into one.
fn key_text(key: Node) -> Result<String, Problem> {
    match key.data {
        Data::String(text) => Ok(text),
        Data::Bool(value) => Ok(value.to_string()),
        Data::Number(number) => Ok(number.to_string()),
        Data::Null | Data::List(_) | Data::Map(_) => Err(syntax_error(Some(key.line), "a key must be a text")),
    }
}

/// What `<<` brings in: the entries of one mapping or of several, of which the first wins.
fn merge_sources(value: Node) -> Result<Vec<Entry>, Problem> {
    let line = value.line;
    let no_mapping = || syntax_error(Some(line), "<< must name a mapping or a list of mappings");
    match value.data {
        Data::Map(entries) => Ok(entries),
        Data::List(items) => {
            let mut all = Vec::new();
            for item in items {
                let Data::Map(entries) = item.data else { return Err(no_mapping()) };
                all.extend(entries);
            }
            Ok(all)
        }
        _ => Err(no_mapping()),
    }
}
