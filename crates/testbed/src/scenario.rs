//! Scenarios: YAML files of steps and expectations that run on any [`Bed`].
//!
//! ```yaml
//! about: A Job whose pod succeeds completes
//! needs: [workloads]
//! steps:
//! - apply: {apiVersion: batch/v1, kind: Job, metadata: {name: demo}, spec: …}
//! - expect: {apiVersion: batch/v1, kind: Job, name: demo, matches: {status: {succeeded: 1}}, within: 20s}
//! - delete: {apiVersion: batch/v1, kind: Job, name: demo}
//! - pass: 2s
//! ```
//!
//! Each run has a namespace of its own, in which objects lie that name none; `$ns` stands for its name anywhere, so
//! that cluster-scoped objects get names of their own, too. All that a scenario applied is deleted at its end.

mod matching;
#[cfg(test)]
mod tests;

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::bed::{Bed, Discovery, Need};
use crate::http::Request;
use crate::problem::{Problem, Result};

use matching::all_match;

/// How often an expectation is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long an expectation may take to come true when it does not say.
const WITHIN: Duration = Duration::from_secs(10);
/// The owner of what scenarios apply.
const MANAGER: &str = "scenario";

/// A scenario as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, as a claim.
    pub about: String,
    /// What must be there beside the API server.
    #[serde(default)]
    needs: Vec<Need>,
    steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    /// Server-side apply of one object.
    Apply(Value),
    /// Something that comes true, or stays true.
    Expect(Expectation),
    Delete(Target),
    /// Time passes.
    Pass(#[serde(deserialize_with = "duration")] Duration),
}

/// One object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Target {
    api_version: String,
    kind: String,
    name: String,
    namespace: Option<String>,
}

/// What is expected of one object, or of all that a selector finds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expectation {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    /// One object ...
    name: Option<String>,
    /// ... or those with these labels, as in a `labelSelector` query.
    selector: Option<String>,
    /// How many the selector finds.
    count: Option<usize>,
    /// What every object found has: keys and list elements beyond these are ignored.
    #[serde(default)]
    matches: Value,
    /// No such object.
    #[serde(default)]
    absent: bool,
    /// How long it may take to come true.
    #[serde(default = "within", deserialize_with = "duration")]
    within: Duration,
    /// How long it must then stay true.
    #[serde(default, deserialize_with = "duration")]
    stays: Duration,
}

fn within() -> Duration {
    WITHIN
}

impl Scenario {
    /// Reads a scenario for a run in this namespace.
    pub fn parse(text: &str, namespace: &str) -> Result<Scenario> {
        serde_saphyr::from_str(&text.replace("$ns", namespace))
            .map_err(|error| Problem::new(format!("the scenario cannot be read: {error}")))
    }

    /// Whether a bed has all that it needs.
    pub fn suits(&self, bed: &dyn Bed) -> bool {
        self.needs.iter().all(|need| bed.has(*need))
    }

    /// Plays all steps, then deletes what was applied whether they went well or not.
    pub fn run(&self, bed: &dyn Bed, namespace: &str) -> Result<()> {
        if let Some(need) = self.needs.iter().find(|need| !bed.has(**need)) {
            return Err(Problem::new(format!("the scenario needs {need}, which this bed does not play")));
        }
        let mut run = Run { bed, namespace, discovery: Discovery::default(), applied: Vec::new() };
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let mut result = run.apply(&space).and_then(|()| run.await_service_account());
        for (index, step) in self.steps.iter().enumerate() {
            if result.is_ok() {
                result = run.step(step).map_err(|problem| Problem::new(format!("step {}: {problem}", index + 1)));
            }
        }
        let cleaned = run.clean_up();
        result.and(cleaned)
    }
}

struct Run<'a> {
    bed: &'a dyn Bed,
    namespace: &'a str,
    discovery: Discovery,
    /// Paths of what was applied, in order.
    applied: Vec<String>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Apply(object) => self.apply(object),
            Step::Expect(expectation) => self.expect(expectation),
            Step::Delete(target) => self.delete(target),
            Step::Pass(duration) => {
                self.bed.pass(*duration);
                Ok(())
            }
        }
    }

    fn apply(&mut self, object: &Value) -> Result<()> {
        let text = |value: &Value, what: &str| {
            value.as_str().map(String::from).ok_or_else(|| Problem::new(format!("an applied object needs {what}")))
        };
        let (api_version, kind) = (text(&object["apiVersion"], "apiVersion")?, text(&object["kind"], "kind")?);
        let name = text(&object["metadata"]["name"], "metadata.name")?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(self.namespace);
        let path = self.discovery.resource(self.bed, &api_version, &kind)?.object(namespace, &name);
        let answer = self.bed.send(&Request::apply(&path, MANAGER, object.clone()))?;
        answer.success(&format!("cannot apply {kind} {name}"))?;
        self.applied.push(path);
        Ok(())
    }

    fn delete(&mut self, target: &Target) -> Result<()> {
        let Target { api_version, kind, name, namespace } = target;
        let namespace = namespace.as_deref().unwrap_or(self.namespace);
        let path = self.discovery.resource(self.bed, api_version, kind)?.object(namespace, name);
        let answer = self.bed.send(&Request::delete(format!("{path}?propagationPolicy=Background")))?;
        answer.success(&format!("cannot delete {kind} {name}")).map(|_| ())
    }

    /// Pods need the namespace's ServiceAccount, where something makes one: the namespace `default` shows whether.
    fn await_service_account(&self) -> Result<()> {
        let account = |namespace: &str| {
            let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
            Ok(self.bed.send(&Request::get(path))?.is_success())
        };
        if account("default")? {
            self.until(WITHIN, || Ok(account(self.namespace)?.then_some(()).ok_or("no ServiceAccount".to_string())))?;
        }
        Ok(())
    }

    fn expect(&mut self, expectation: &Expectation) -> Result<()> {
        let Expectation { api_version, kind, .. } = expectation;
        let namespace = expectation.namespace.as_deref().unwrap_or(self.namespace);
        let resource = self.discovery.resource(self.bed, api_version, kind)?;
        let path = match (&expectation.name, &expectation.selector) {
            (Some(name), None) => resource.object(namespace, name),
            (None, Some(labels)) => {
                format!("{}?labelSelector={}", resource.collection(namespace), escaped(labels))
            }
            _ => return Err(Problem::new("an expectation has either a name or a selector")),
        };
        let look = || self.look(&path, expectation);
        self.until(expectation.within, look).map_err(|problem| Problem::new(format!("{kind} {path}: {problem}")))?;
        let mut stayed = Duration::ZERO;
        while stayed < expectation.stays {
            self.bed.pass(LOOK_EVERY);
            stayed += LOOK_EVERY;
            if let Err(difference) = look()? {
                return Err(Problem::new(format!(
                    "{kind} {path}: true at first, no longer {stayed:?} later: {difference}"
                )));
            }
        }
        Ok(())
    }

    /// Looks once; the inner error says what is not yet so.
    fn look(&self, path: &str, expectation: &Expectation) -> Result<std::result::Result<(), String>> {
        let answer = self.bed.send(&Request::get(path))?;
        let found = match answer.status {
            404 => Vec::new(),
            _ => {
                let mut body = answer.success("cannot be read")?;
                match body["items"].as_array_mut() {
                    Some(items) => std::mem::take(items),
                    None => vec![body],
                }
            }
        };
        let count = match (expectation.absent, expectation.count) {
            (true, _) => Some(0),
            (false, Some(count)) => Some(count),
            (false, None) => expectation.name.as_ref().map(|_| 1),
        };
        Ok(match count {
            Some(count) if count != found.len() => Err(format!("expected {count}, found {}", found.len())),
            _ => all_match(&expectation.matches, &found),
        })
    }

    /// Looks again and again until it is so. Time is counted by what passed between the looks, so that a slow machine
    /// makes nothing fail that a fast one lets pass.
    fn until(&self, within: Duration, mut look: impl FnMut() -> Result<std::result::Result<(), String>>) -> Result<()> {
        let mut passed = Duration::ZERO;
        loop {
            let Err(difference) = look()? else {
                return Ok(());
            };
            if passed >= within {
                return Err(Problem::new(format!("not within {within:?}: {difference}")));
            }
            self.bed.pass(LOOK_EVERY);
            passed += LOOK_EVERY;
        }
    }

    /// Deletes what was applied, the newest first; what is gone already is fine.
    fn clean_up(&self) -> Result<()> {
        for path in self.applied.iter().rev() {
            let path = format!("{path}?propagationPolicy=Background");
            self.bed.send(&Request::delete(path))?;
        }
        Ok(())
    }
}

/// A query value; everything but the plainest characters is escaped.
fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// `1m`, `20s` or `500ms`.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let number = digits.parse::<u32>().ok();
    let unit = match &text[digits.len()..] {
        "ms" => Some(Duration::from_millis(1)),
        "s" => Some(Duration::from_secs(1)),
        "m" => Some(Duration::from_secs(60)),
        _ => None,
    };
    let product = number.zip(unit).and_then(|(number, unit)| unit.checked_mul(number));
    product.ok_or_else(|| serde::de::Error::custom(format!("{text:?} is not a duration such as 20s, 500ms or 1m")))
}
