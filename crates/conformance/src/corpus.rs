//! One corpus file, decoded: the layout and the value encoding of the corpus live here and nowhere else.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use kueue_core::gates::{Gate, Gates};
use kueue_core::time::Time;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// One recorded test function.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorpusFile {
    pub package: String,
    pub test: String,
    /// File and line of the test function.
    #[serde(default)]
    pub source: String,
    /// The instant that stood for "now".
    pub base_time: String,
    #[serde(default)]
    scope: Map<String, Value>,
    #[serde(default)]
    locals: Map<String, Value>,
    #[serde(default)]
    runs: Vec<Value>,
    #[serde(default)]
    checks: Value,
    cases: Vec<RawCase>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCase {
    name: String,
    #[serde(default)]
    table: Value,
    #[serde(default)]
    case: Value,
    #[serde(default)]
    expected: Map<String, Value>,
    #[serde(default)]
    locals: Map<String, Value>,
    #[serde(default)]
    cluster: Value,
    #[serde(default)]
    trace: Value,
    #[serde(default)]
    feature_gates: BTreeMap<String, bool>,
    #[serde(default)]
    runs: Vec<Value>,
}

/// One execution of one row: references resolved, gates of the variant merged in.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    /// Which table of the function the row belongs to, when it has several.
    pub table: String,
    pub base_time: String,
    /// File and line of the test function.
    pub source: String,
    /// Gates set explicitly; the others have their defaults.
    gates: BTreeMap<String, bool>,
    /// The loop variables of the variant.
    pub vars: Value,
    row: Value,
    expected: Map<String, Value>,
    scope: Map<String, Value>,
    locals: Value,
    /// What the fake API server held just before the call.
    pub cluster: Value,
    /// The recorded calls, for rows whose input is code.
    pub trace: Value,
    /// The comparisons that the test makes, with what they overlook.
    pub checks: Value,
}

impl CorpusFile {
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_slice(&text).with_context(|| format!("{} is not a corpus file", path.display()))
    }

    /// The rows, each with the variants it was executed in.
    pub fn cases(&self) -> impl Iterator<Item = (&str, Vec<Case>)> {
        self.cases.iter().map(|raw| (raw.name.as_str(), self.variants(raw)))
    }

    fn variants(&self, raw: &RawCase) -> Vec<Case> {
        let runs = if raw.runs.is_empty() { &self.runs } else { &raw.runs };
        let plain = self.plain(raw);
        if runs.is_empty() {
            return vec![plain];
        }
        runs.iter().map(|run| plain.in_variant(run)).collect()
    }

    fn plain(&self, raw: &RawCase) -> Case {
        let root = References { scope: &self.scope, case: &raw.case };
        let mut locals = root.resolve_map(&self.locals);
        locals.extend(root.resolve_map(&raw.locals));
        Case {
            name: raw.name.clone(),
            table: raw.table.as_str().unwrap_or_default().to_owned(),
            base_time: self.base_time.clone(),
            source: self.source.clone(),
            gates: raw.feature_gates.clone(),
            vars: Value::Null,
            row: root.resolve(&raw.case),
            expected: root.resolve_map(&raw.expected),
            scope: root.resolve_map(&self.scope),
            locals: Value::Object(locals),
            cluster: root.resolve(&raw.cluster),
            trace: root.resolve(&raw.trace),
            checks: self.checks.clone(),
        }
    }
}

impl Case {
    fn in_variant(&self, run: &Value) -> Self {
        let mut case = self.clone();
        if let Some(gates) = run["featureGates"].as_object() {
            case.gates.extend(gates.iter().filter_map(|(gate, on)| Some((gate.clone(), on.as_bool()?))));
        }
        if let Some(expected) = run["expected"].as_object() {
            case.expected.extend(expected.clone());
        }
        case.vars = run["vars"].clone();
        case
    }

    /// The gates the case runs with: those set explicitly take along what hangs on them.
    pub fn gates(&self) -> Result<Gates, Failure> {
        let switches = self.gates.iter().map(|(name, on)| Ok((gate(name)?, *on)));
        Ok(Gates::default().with_all(switches.collect::<Result<Vec<_>, Failure>>()?))
    }

    /// The whole row, for rows that are not objects.
    pub fn row(&self) -> &Value {
        &self.row
    }

    /// A field of the row as JSON; `Null` stands for Go's zero value. A dot leads into nested objects.
    pub fn raw(&self, path: &str) -> &Value {
        path.split('.').fold(&self.row, |value, key| &value[key])
    }

    /// Whether the row has the field at all.
    pub fn has(&self, path: &str) -> bool {
        !self.raw(path).is_null()
    }

    /// A field of the row, `None` when it has its zero value.
    pub fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Failure> {
        decode(path, self.raw(path))
    }

    /// A field of the row, or our default when it has its zero value.
    pub fn arg<T: DeserializeOwned + Default>(&self, path: &str) -> Result<T, Failure> {
        Ok(self.get(path)?.unwrap_or_default())
    }

    /// A value the test computed itself (it supersedes the field of the same name), by the expression it was compared as.
    pub fn expected(&self, expression: &str) -> Option<&Value> {
        self.expected.get(expression)
    }

    /// What a comparison expects, by the expression on its expected side. Where Kueue's two ways of writing a status
    /// differ, what a merge patch leads to is the truth.
    pub fn wanted(&self, expression: &str) -> &Value {
        let (_, field) = expression.split_once('.').unwrap_or(("", expression));
        let merged = self.raw(&format!("{field}UseMergePatch"));
        if merged.is_null() { self.expected(expression).unwrap_or_else(|| self.raw(field)) } else { merged }
    }

    /// The instant at which the clock of the test stands.
    pub fn now(&self) -> Result<Time, Failure> {
        self.base_time.parse().map_err(|_| Failure("the base time is not a time".to_owned()))
    }

    /// A value shared by all rows.
    pub fn scope(&self, name: &str) -> &Value {
        self.scope.get(name).unwrap_or(&Value::Null)
    }

    /// An object the body of the test built.
    pub fn local(&self, name: &str) -> &Value {
        &self.locals[name]
    }

    /// Everything that is told about this row alone: the row, what its body built, the API server, the calls.
    pub fn parts(&self) -> [&Value; 4] {
        [&self.row, &self.locals, &self.cluster, &self.trace]
    }
}

/// Decodes a recorded value; `Null` is "not given".
pub fn decode<T: DeserializeOwned>(what: &str, value: &Value) -> Result<Option<T>, Failure> {
    if value.is_null() {
        return Ok(None);
    }
    serde_json::from_value(value.clone()).map(Some).map_err(|error| Failure(format!("cannot decode {what}: {error}")))
}

/// The gate of that name.
pub fn gate(name: &str) -> Result<Gate, Failure> {
    Gate::named(name).ok_or_else(|| Failure(format!("no feature gate is called {name}")))
}

/// Why a case failed, short enough to read in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub String);

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self(format!("{error:#}"))
    }
}

/// The two roots that `$ref` and `$sameAs` point into.
struct References<'a> {
    scope: &'a Map<String, Value>,
    case: &'a Value,
}

impl References<'_> {
    fn resolve(&self, value: &Value) -> Value {
        match value {
            Value::Object(map) => match self.target(map) {
                Some(target) => self.resolve(target),
                None => Value::Object(self.resolve_map(map)),
            },
            Value::Array(items) => Value::Array(items.iter().map(|item| self.resolve(item)).collect()),
            other => other.clone(),
        }
    }

    fn resolve_map(&self, map: &Map<String, Value>) -> Map<String, Value> {
        map.iter().map(|(key, value)| (key.clone(), self.resolve(value))).collect()
    }

    fn target(&self, map: &Map<String, Value>) -> Option<&Value> {
        if let Some(name) = map.get("$sameAs").and_then(Value::as_str) {
            return self.scope.get(name);
        }
        let path = map.get("$ref")?.as_str()?;
        let (root, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
        match root {
            "case" => follow(self.case, rest),
            "scope" => {
                let rest = rest.strip_prefix('.')?;
                let (name, rest) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
                follow(self.scope.get(name)?, rest)
            }
            _ => None,
        }
    }
}

/// Follows `.name`, `[0]` and `["key"]` steps.
fn follow<'v>(mut value: &'v Value, mut rest: &str) -> Option<&'v Value> {
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (step, tail) = after.split_once(']')?;
            value = match step.parse::<usize>() {
                Ok(index) => value.get(index)?,
                Err(_) => value.get(step.trim_matches('"'))?,
            };
            rest = tail;
        } else {
            let after = rest.strip_prefix('.')?;
            let (step, tail) = after.split_at(after.find(['.', '[']).unwrap_or(after.len()));
            value = value.get(step)?;
            rest = tail;
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(json: &str) -> CorpusFile {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn references_into_row_and_scope_are_resolved() {
        let file = file(
            r#"{"package":"p","test":"T","baseTime":"2026-01-01T00:00:00Z",
                "scope":{"queues":[{"name":"q0"},{"name":"q1"}]},
                "cases":[{"name":"a","case":{"in":[{"name":"x"}],"want":{"$ref":"case.in[0]"},
                          "queue":{"$ref":"scope.queues[1].name"},"all":{"$sameAs":"queues"}}}]}"#,
        );
        let (_, variants) = file.cases().next().unwrap();
        assert_eq!(variants[0].raw("want.name"), "x");
        assert_eq!(variants[0].raw("queue"), "q1");
        assert_eq!(variants[0].raw("all").as_array().unwrap().len(), 2);
    }

    #[test]
    fn every_run_is_a_variant_with_its_own_gates() {
        let file = file(
            r#"{"package":"p","test":"T","baseTime":"2026-01-01T00:00:00Z",
                "runs":[{"featureGates":{"B":true}},{"featureGates":{"B":false},"expected":{"tc.want":2}}],
                "cases":[{"name":"a","featureGates":{"A":true},"case":{}}]}"#,
        );
        let (_, variants) = file.cases().next().unwrap();
        assert_eq!(variants.len(), 2);
        assert_eq!(variants[1].gates, [("A".to_owned(), true), ("B".to_owned(), false)].into());
        assert_eq!(variants[1].expected("tc.want"), Some(&Value::from(2)));
        assert_eq!(variants[0].expected("tc.want"), None);
    }
}
