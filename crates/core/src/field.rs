//! Where in an object something is wrong, and how the API server would say it.
//!
//! Validation functions push [`Error`]s into an [`Errors`] list and never stop at the first one, so that a user sees
//! everything at once.

use std::fmt;

use serde_json::Value;

use crate::quote::quoted;

/// A field path as users see it: `spec.podSets[0].template`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Path(String);

impl Path {
    /// A path that starts at the named top-level field.
    pub fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The path of a field of this object.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// The path of an element of this list.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// The path of an entry of this map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What kind of mistake it is; the name is what `reason` carries in a `Status` cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    NotFound,
    Required,
    Duplicate,
    Invalid,
    NotSupported,
    Forbidden,
    TooLong,
    TooShort,
    TooMany,
    TooFew,
    Internal,
    TypeInvalid,
}

impl ErrorKind {
    /// The machine-readable name, as in `Status.details.causes[].reason`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooShort => "FieldValueTooShort",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid => "FieldValueTypeInvalid",
        }
    }

    /// The words a user reads.
    fn title(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooShort => "Too short",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }

    /// Whether the offending value is shown: it is left out where it says nothing or may be huge.
    fn shows_value(self) -> bool {
        !matches!(self, Self::Required | Self::Forbidden | Self::TooLong | Self::TooShort | Self::Internal)
    }
}

/// One mistake: where, what kind, the value found and what would have been right.
#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub kind: ErrorKind,
    pub field: Path,
    /// `None` when there is no value worth showing.
    pub value: Option<Value>,
    pub detail: String,
}

/// Every mistake of one object, in the order they were found.
pub type Errors = Vec<Error>;

impl Error {
    fn of(kind: ErrorKind, field: &Path, value: Option<Value>, detail: impl Into<String>) -> Self {
        Self { kind, field: field.clone(), value, detail: detail.into() }
    }

    pub fn required(field: &Path, detail: impl Into<String>) -> Self {
        Self::of(ErrorKind::Required, field, Some(Value::from("")), detail)
    }

    pub fn invalid(field: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::of(ErrorKind::Invalid, field, Some(value.into()), detail)
    }

    pub fn type_invalid(field: &Path, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::of(ErrorKind::TypeInvalid, field, Some(value.into()), detail)
    }

    pub fn forbidden(field: &Path, detail: impl Into<String>) -> Self {
        Self::of(ErrorKind::Forbidden, field, Some(Value::from("")), detail)
    }

    pub fn duplicate(field: &Path, value: impl Into<Value>) -> Self {
        Self::of(ErrorKind::Duplicate, field, Some(value.into()), "")
    }

    pub fn not_found(field: &Path, value: impl Into<Value>) -> Self {
        Self::of(ErrorKind::NotFound, field, Some(value.into()), "")
    }

    pub fn internal(field: &Path, detail: impl Into<String>) -> Self {
        Self::of(ErrorKind::Internal, field, None, detail)
    }

    /// `supported` is shown in the order given.
    pub fn not_supported(field: &Path, value: impl Into<Value>, supported: &[&str]) -> Self {
        let quoted: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let detail = match quoted.is_empty() {
            true => String::new(),
            false => format!("supported values: {}", quoted.join(", ")),
        };
        Self::of(ErrorKind::NotSupported, field, Some(value.into()), detail)
    }

    pub fn too_long(field: &Path, max_bytes: usize) -> Self {
        Self::of(ErrorKind::TooLong, field, None, format!("may not be more than {max_bytes} bytes"))
    }

    pub fn too_many(field: &Path, actual: usize, max: usize) -> Self {
        Self::of(ErrorKind::TooMany, field, Some(actual.into()), format!("must have at most {max} items"))
    }

    /// The same mistake, of something that is itself found at `path`.
    #[must_use]
    pub fn under(mut self, path: &Path) -> Self {
        self.field = path.child(&self.field.0);
        self
    }

    /// The message without the field.
    pub fn body(&self) -> String {
        let mut body = self.kind.title().to_owned();
        if let Some(value) = self.value.as_ref().filter(|_| self.kind.shows_value()) {
            let shown = value.as_str().map_or_else(|| value.to_string(), quoted);
            body.push_str(&format!(": {shown}"));
        }
        if !self.detail.is_empty() {
            body.push_str(&format!(": {}", self.detail));
        }
        body
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

impl std::error::Error for Error {}

/// All errors as the one line an API server answers with: bare for one, bracketed for several, repeats dropped.
pub fn aggregate(errors: &[Error]) -> String {
    let mut texts: Vec<String> = Vec::with_capacity(errors.len());
    for error in errors {
        let text = error.to_string();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [only] => only.clone(),
        _ => format!("[{}]", texts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_like_the_api_server_prints_them() {
        let path = Path::new("spec").child("podSets").index(1).child("labels").key("a/b");
        assert_eq!(path.to_string(), "spec.podSets[1].labels[a/b]");
        assert_eq!(Path::default().child("spec").to_string(), "spec");
        let inner = Error::required(&Path::new("labels").key("a"), "").under(&Path::new("spec"));
        assert_eq!(inner.field.to_string(), "spec.labels[a]");
    }

    #[test]
    fn messages_show_the_value_where_the_api_server_does() {
        let at = Path::new("spec").child("x");
        let cases = [
            (Error::required(&at, "must be set"), "spec.x: Required value: must be set"),
            (Error::invalid(&at, "a\"b", "no quotes"), r#"spec.x: Invalid value: "a\"b": no quotes"#),
            (Error::invalid(&at, "\u{1}\u{7f}é", "printable"), r#"spec.x: Invalid value: "\x01\x7fé": printable"#),
            (Error::invalid(&at, -1, "must be positive"), "spec.x: Invalid value: -1: must be positive"),
            (Error::forbidden(&at, "not now"), "spec.x: Forbidden: not now"),
            (Error::duplicate(&at, "a"), r#"spec.x: Duplicate value: "a""#),
            (
                Error::not_supported(&at, "c", &["a", "b"]),
                r#"spec.x: Unsupported value: "c": supported values: "a", "b""#,
            ),
            (Error::too_long(&at, 63), "spec.x: Too long: may not be more than 63 bytes"),
            (Error::too_many(&at, 9, 8), "spec.x: Too many: 9: must have at most 8 items"),
        ];
        for (error, text) in cases {
            assert_eq!(error.to_string(), text);
        }
    }

    #[test]
    fn several_errors_are_bracketed_and_repeats_dropped() {
        let at = Path::new("a");
        let one = Error::forbidden(&at, "x");
        let two = Error::forbidden(&at, "y");
        assert_eq!(aggregate(std::slice::from_ref(&one)), "a: Forbidden: x");
        assert_eq!(aggregate(&[one.clone(), two, one]), "[a: Forbidden: x, a: Forbidden: y]");
    }
}
