//! The text form of label selectors, as `kubectl -l` and `labelSelector=` carry it: `a in (b,c),d!=e,!f,g,x>5`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::{LabelSelector, ParseSelectorError};
use crate::field::{Error, Errors, Path, aggregate};
use crate::label;
use crate::quote::quoted;

mod lexer;

use lexer::{Token, tokens};

/// All requirements must hold; without any, everything is selected. Requirements are in the order of their keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

/// One condition on the label `key`; the values are sorted and distinct when they came from a query.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equals,
    DoubleEquals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl Selector {
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.requirements.iter().all(|requirement| requirement.matches(labels.get(&requirement.key)))
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }
}

impl Requirement {
    fn matches(&self, value: Option<&String>) -> bool {
        let is_listed = |value: &String| self.values.contains(value);
        match self.operator {
            Operator::Equals | Operator::DoubleEquals | Operator::In => value.is_some_and(is_listed),
            Operator::NotEquals | Operator::NotIn => !value.is_some_and(is_listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compares(value, |label, bound| label > bound),
            Operator::LessThan => self.compares(value, |label, bound| label < bound),
        }
    }

    /// A label that is not a number is neither greater nor less.
    fn compares(&self, value: Option<&String>, holds: fn(i64, i64) -> bool) -> bool {
        let number = |text: &String| text.parse::<i64>().ok();
        match (value.and_then(number), self.values.first().and_then(number)) {
            (Some(label), Some(bound)) => holds(label, bound),
            _ => false,
        }
    }

    /// Every mistake of key and values.
    fn check(self) -> Result<Self, ParseSelectorError> {
        let mut errors = invalid_key(&self.key, &Path::new("key"));
        let at = Path::new("values");
        match self.operator {
            Operator::In | Operator::NotIn if self.values.is_empty() => {
                let why = "for 'in', 'notin' operators, values set can't be empty";
                errors.push(Error::invalid(&at, Value::Null, why));
            }
            Operator::Exists | Operator::DoesNotExist if !self.values.is_empty() => {
                let why = "values set must be empty for exists and does not exist";
                errors.push(Error::invalid(&at, self.values.clone(), why));
            }
            _ => {}
        }
        for (index, value) in self.values.iter().enumerate() {
            let compares = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
            if compares && value.parse::<i64>().is_err() {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(Error::invalid(&at.index(index), value.as_str(), why));
            }
        }
        for (index, value) in self.values.iter().enumerate() {
            let messages = label::value(value);
            if !messages.is_empty() {
                errors.push(Error::invalid(&at.index(index).key(&self.key), value.as_str(), messages.join("; ")));
            }
        }
        if errors.is_empty() { Ok(self) } else { Err(ParseSelectorError(aggregate(&errors))) }
    }
}

fn invalid_key(key: &str, at: &Path) -> Errors {
    let messages = label::qualified_name(key);
    if messages.is_empty() { Errors::new() } else { vec![Error::invalid(at, key, messages.join("; "))] }
}

/// An API object's selector as Kubernetes evaluates it, or the first mistake that keeps it from that.
impl TryFrom<&LabelSelector> for Selector {
    type Error = ParseSelectorError;

    fn try_from(selector: &LabelSelector) -> Result<Self, Self::Error> {
        let labels = selector.match_labels.iter();
        let equal = labels.map(|(key, value)| Ok((key, Operator::Equals, vec![value.clone()])));
        let others = selector.match_expressions.iter().map(|requirement| {
            let operator = match &requirement.operator {
                super::Operator::In => Operator::In,
                super::Operator::NotIn => Operator::NotIn,
                super::Operator::Exists => Operator::Exists,
                super::Operator::DoesNotExist => Operator::DoesNotExist,
                super::Operator::Other(name) => {
                    return Err(ParseSelectorError(format!("{} is not a valid label selector operator", quoted(name))));
                }
            };
            Ok((&requirement.key, operator, requirement.values.clone()))
        });
        let checked = equal.chain(others).map(|parts| {
            let (key, operator, values) = parts?;
            Requirement { key: key.clone(), operator, values }.check()
        });
        let mut requirements = checked.collect::<Result<Vec<_>, _>>()?;
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Self { requirements })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (key, values) = (&self.key, self.values.join(","));
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

impl FromStr for Selector {
    type Err = ParseSelectorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut requirements = Parser { tokens: tokens(text), position: 0 }.requirements()?;
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(Self { requirements })
    }
}

/// Walks over the tokens; the last one is always [`Token::End`].
struct Parser<'t> {
    tokens: Vec<Token<'t>>,
    position: usize,
}

impl<'t> Parser<'t> {
    fn requirements(&mut self) -> Result<Vec<Requirement>, ParseSelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                Token::End => return Ok(requirements),
                other => return Err(found(other, ", expected: !, identifier, or 'end of string'")),
            }
            let requirement = self.requirement();
            requirements
                .push(requirement.map_err(|why| ParseSelectorError(format!("unable to parse requirement: {why}")))?);
            match self.next() {
                Token::End => return Ok(requirements),
                Token::Symbol(",") => match self.peek() {
                    Token::Word(_) | Token::Symbol("!") => {}
                    other => return Err(found(other, ", expected: identifier after ','")),
                },
                other => return Err(found(other, ", expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, ParseSelectorError> {
        let is_negated = self.peek() == Token::Symbol("!");
        if is_negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(key) => key.to_owned(),
            other => return Err(found(other, ", expected: identifier")),
        };
        // There is no path to a key that stands alone, and that is how Go prints none.
        if let Some(error) = invalid_key(&key, &Path::new("<nil>")).first() {
            return Err(ParseSelectorError(error.to_string()));
        }
        if is_negated {
            return Requirement { key, operator: Operator::DoesNotExist, values: Vec::new() }.check();
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Requirement { key, operator: Operator::Exists, values: Vec::new() }.check();
        }
        let operator = self.operator()?;
        let mut values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.exact_value()?],
        };
        values.sort_unstable();
        values.dedup();
        Requirement { key, operator, values: values.into_iter().map(str::to_owned).collect() }.check()
    }

    fn operator(&mut self) -> Result<Operator, ParseSelectorError> {
        Ok(match self.next() {
            Token::Word("in") => Operator::In,
            Token::Word("notin") => Operator::NotIn,
            Token::Symbol("=") => Operator::Equals,
            Token::Symbol("==") => Operator::DoubleEquals,
            Token::Symbol("!=") => Operator::NotEquals,
            Token::Symbol(">") => Operator::GreaterThan,
            Token::Symbol("<") => Operator::LessThan,
            other => return Err(found(other, ", expected: in, notin, =, ==, !=, gt, lt")),
        })
    }

    /// `(b,c)`; between commas there may be nothing, which is the empty value.
    fn values(&mut self) -> Result<Vec<&'t str>, ParseSelectorError> {
        match self.next() {
            Token::Symbol("(") => {}
            other => return Err(found(other, " expected: '('")),
        }
        match self.peek() {
            Token::Word(_) | Token::Symbol("," | ")") => {}
            other => return Err(found(other, ", expected: ',', ')' or identifier")),
        }
        let mut values = Vec::new();
        loop {
            match self.peek() {
                Token::Word(value) => {
                    self.next();
                    values.push(value);
                }
                Token::Symbol("," | ")") => values.push(""),
                other => return Err(found(other, ", expected: ',', or identifier")),
            }
            match self.next() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => return Ok(values),
                other => return Err(found(other, ", expected: ',' or ')'")),
            }
        }
    }

    fn exact_value(&mut self) -> Result<&'t str, ParseSelectorError> {
        match self.peek() {
            Token::End | Token::Symbol(",") => Ok(""),
            Token::Word(value) => {
                self.next();
                Ok(value)
            }
            other => Err(found(other, ", expected: identifier")),
        }
    }

    fn peek(&self) -> Token<'t> {
        self.tokens.get(self.position).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token<'t> {
        let token = self.peek();
        self.position += 1;
        token
    }
}

fn found(token: Token<'_>, expected: &str) -> ParseSelectorError {
    ParseSelectorError(format!("found '{}'{expected}", token.text()))
}
