//! What is wrong with a configuration file, told with line, field, value and reason.

use std::fmt;

use kueue_core::field::{self, Path};

use super::document::Syntax;

/// How many problems of one sort are told: the rest would only scroll by.
pub(super) const PROBLEMS_MAX: usize = 100;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// `None` when the file has nothing that it could point at.
    pub line: Option<u32>,
    /// Empty when it concerns the file as a whole.
    pub field: Path,
    pub cause: Cause,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cause {
    /// The text cannot be read at all.
    Syntax(String),
    /// The field was set before.
    Duplicate { key: String, first_line: u32, value_line: u32 },
    /// There is no such field; perhaps one of that name was meant.
    Unknown { meant: Option<&'static str> },
    /// The value is of the wrong type or not allowed; the error names the field once more.
    Invalid(field::Error),
}

impl Problem {
    pub fn invalid(line: Option<u32>, error: field::Error) -> Self {
        Self { line, field: error.field.clone(), cause: Cause::Invalid(error) }
    }

    /// The reason alone, with the value found where there is one.
    pub fn reason(&self) -> String {
        match &self.cause {
            Cause::Syntax(text) => text.clone(),
            Cause::Duplicate { first_line, .. } => format!("Duplicate field: already set in line {first_line}"),
            Cause::Unknown { meant: Some(meant) } => format!("Unknown field: did you mean {meant:?}?"),
            Cause::Unknown { meant: None } => "Unknown field".to_owned(),
            Cause::Invalid(error) => error.body(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if self.field != Path::default() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.reason())
    }
}

/// Everything that is wrong with a file, in the order of its lines.
///
/// Printed as one line it reads as Kueue would put it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    pub problems: Vec<Problem>,
    message: String,
}

impl Rejected {
    /// `problems` in the order in which Kueue would find them.
    pub(super) fn new(mut problems: Vec<Problem>, syntax: Syntax) -> Self {
        if syntax == Syntax::Json {
            problems.sort_by_key(|problem| problem.line);
        }
        let message = strict_decoding_error(&problems, syntax)
            .unwrap_or_else(|| problems.iter().map(Problem::to_string).collect::<Vec<_>>().join("; "));
        problems.sort_by_key(|problem| problem.line.unwrap_or(u32::MAX));
        Self { problems, message }
    }

    /// One problem a line, the way compilers name places, and how many there are.
    pub fn describe(&self, file: &str) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            let line = problem.line.map(|line| format!("{line}:")).unwrap_or_default();
            let field = problem.field.to_string();
            let field = if field.is_empty() { field } else { format!("{field}: ") };
            text.push_str(&format!("{file}:{line} {field}{}\n", problem.reason()));
        }
        let count = self.problems.len();
        text + &format!("{file}: {count} {}\n", if count == 1 { "problem" } else { "problems" })
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Rejected {}

/// Kueue's words when nothing but unknown and repeated fields is wrong.
fn strict_decoding_error(problems: &[Problem], syntax: Syntax) -> Option<String> {
    let mut repeated = Vec::new();
    let mut texts = Vec::new();
    for Problem { field, cause, .. } in problems {
        match (cause, syntax) {
            (Cause::Unknown { .. }, _) => texts.push(format!("unknown field \"{field}\"")),
            (Cause::Duplicate { .. }, Syntax::Json) => texts.push(format!("duplicate field \"{field}\"")),
            (Cause::Duplicate { key, value_line, .. }, Syntax::Yaml) => {
                repeated.push(format!("line {value_line}: key {key:?} already set in map"));
            }
            (Cause::Syntax(_) | Cause::Invalid(_), _) => return None,
        }
    }
    if !repeated.is_empty() {
        texts.insert(0, format!("yaml: unmarshal errors:\n  {}", repeated.join("\n  ")));
    }
    Some(format!("strict decoding error: {}", texts.join(", ")))
}
