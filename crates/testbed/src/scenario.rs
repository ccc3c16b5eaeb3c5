//! Scenarios: YAML files of steps and expectations that run on any [`Bed`].
//!
//! ```yaml
//! about: A Job whose pod succeeds completes
//! needs: [workloads]
//! steps:
//! - apply: {apiVersion: batch/v1, kind: Job, metadata: {name: demo}, spec: …}
//! - expect: {apiVersion: batch/v1, kind: Job, name: demo, conditions: {Complete: "True"}, within: 20s}
//! - patch: {apiVersion: batch/v1, kind: Job, name: demo, merge: {metadata: {labels: {a: b}}}}
//! - delete: {apiVersion: batch/v1, kind: Job, name: demo}
//! - ask: {path: /version, matches: {major: "1"}}
//! - pass: 2s
//! ```
//!
//! Each run has a namespace of its own, in which objects lie that name none; `$ns` stands for its name anywhere, so
//! that cluster-scoped objects get names of their own, too. All that a scenario applied is deleted at its end.

mod matching;
mod memory;
mod templates;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::bed::{Bed, Discovery, Need, Resource};
use crate::http::{Request, Response};
use crate::problem::{Problem, Result};

use matching::Pattern;
use memory::{Memory, Remember};
use templates::Templates;

/// How often an expectation is looked at again.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long an expectation may take to come true when it does not say.
const WITHIN: Duration = Duration::from_secs(10);
/// What an API server says when a webhook does not answer.
const UNASKED: [&str; 2] = ["failed calling webhook", "conversion webhook for"];
/// The owner of what scenarios apply.
const MANAGER: &str = "scenario";

/// A scenario as written.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, as a claim.
    pub about: String,
    /// The configuration of the manager that has to be there, beyond its defaults; whoever runs the scenario starts it.
    pub manager: Option<Value>,
    /// What must be there beside the API server.
    #[serde(default)]
    needs: Vec<Need>,
    /// The version of kinds that name none.
    #[serde(default)]
    api_version: String,
    steps: Vec<Step>,
    #[serde(skip)]
    templates: Templates,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    /// Server-side apply of one object.
    Apply(Value),
    /// The same of all objects of a template; what else is said fills its places.
    Use(BTreeMap<String, Value>),
    /// Something that comes true, or stays true.
    Expect(Expectation),
    /// What is answered at a path, as `kubectl get --raw` shows it.
    Ask(Question),
    /// Somebody changes an object.
    Patch(Patch),
    Delete(Target),
    /// What only the server knows, to be said again.
    Remember(Remember),
    /// The same again and again.
    Repeat(Repeat),
    /// A step that somebody says no to.
    Refused(Refused),
    /// The manager is gone, with all of its webhooks.
    Stop(Manager),
    /// It is there again, and ready.
    Start(Manager),
    /// Time passes.
    Pass(#[serde(deserialize_with = "duration")] Duration),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    times: u32,
    steps: Vec<Step>,
}

/// A step, and what is said against it.
#[derive(Debug, Deserialize)]
struct Refused {
    /// A part of the answer.
    with: String,
    #[serde(flatten)]
    step: Box<Step>,
}

/// A path, and what its answer has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    path: String,
    matches: Value,
    /// How long it may take to come true.
    #[serde(default = "within", deserialize_with = "duration")]
    within: Duration,
}

/// The only thing that can be stopped and started.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Manager {
    Manager,
}

/// One object: by its own name, or by that of an object that owns it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Target {
    #[serde(default)]
    api_version: String,
    kind: String,
    name: Option<String>,
    owner: Option<String>,
    namespace: Option<String>,
}

/// A merge patch of one object, or a list of operations on it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Patch {
    #[serde(default)]
    api_version: String,
    kind: String,
    name: Option<String>,
    owner: Option<String>,
    namespace: Option<String>,
    /// `status`, if not the object itself.
    subresource: Option<String>,
    merge: Value,
}

/// What is expected of one object, or of all that are found.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Expectation {
    #[serde(default)]
    api_version: String,
    kind: String,
    namespace: Option<String>,
    /// One object ...
    name: Option<String>,
    /// ... or those with these labels, as in a `labelSelector` query ...
    selector: Option<String>,
    /// ... or those that an object of this name owns. All of the kind, when nothing is said.
    owner: Option<String>,
    /// How many are found.
    count: Option<usize>,
    /// What every object found has: keys and list elements beyond these are ignored.
    #[serde(default)]
    matches: Value,
    /// What at least one object found has.
    some: Option<Value>,
    /// What their conditions say: `STATUS`, `STATUS REASON` or `STATUS REASON: MESSAGE`; null when there is none.
    #[serde(default)]
    conditions: BTreeMap<String, Option<String>>,
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

    /// Reads a scenario file; its templates are in the folder `templates` beside it.
    pub fn read(file: &Path, namespace: &str) -> Result<Scenario> {
        let text = std::fs::read_to_string(file).map_err(|error| Problem::file("read", file, &error))?;
        let mut scenario = Scenario::parse(&text, namespace)?;
        scenario.templates = Templates::beside(file, namespace)?;
        Ok(scenario)
    }

    /// Whether it stops the manager, so that nobody else can use it meanwhile.
    pub fn switches_manager(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Stop(_) | Step::Start(_)))
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
        let mut run = Run {
            scenario: self,
            bed,
            namespace,
            discovery: Discovery::default(),
            memory: Memory::default(),
            applied: Vec::new(),
        };
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
    scenario: &'a Scenario,
    bed: &'a dyn Bed,
    namespace: &'a str,
    discovery: Discovery,
    memory: Memory,
    /// Paths of what was applied, in order.
    applied: Vec<String>,
}

impl Run<'_> {
    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Apply(object) => self.apply(object),
            Step::Use(arguments) => {
                let objects = self.scenario.templates.fill(arguments)?;
                objects.iter().try_for_each(|object| self.apply(object))
            }
            Step::Expect(expectation) => self.expect(expectation),
            Step::Ask(question) => self.ask(question),
            Step::Patch(patch) => self.patch(patch),
            Step::Delete(target) => self.delete(target),
            Step::Remember(remember) => self.remember(remember),
            Step::Repeat(Repeat { times, steps }) => {
                (0..*times).try_for_each(|_| steps.iter().try_for_each(|step| self.step(step)))
            }
            Step::Refused(Refused { with, step }) => match self.step(step) {
                Ok(()) => Err(Problem::new(format!("nobody said no, and certainly not {with:?}"))),
                Err(problem) if problem.to_string().contains(with.as_str()) => Ok(()),
                Err(problem) => Err(Problem::new(format!("not refused with {with:?} but: {problem}"))),
            },
            Step::Stop(Manager::Manager) => self.bed.switch_manager(false),
            Step::Start(Manager::Manager) => self.bed.switch_manager(true),
            Step::Pass(duration) => {
                self.bed.pass(*duration);
                Ok(())
            }
        }
    }

    fn resource(&mut self, api_version: &str, kind: &str) -> Result<Resource> {
        let api_version = if api_version.is_empty() { self.scenario.api_version.as_str() } else { api_version };
        if api_version.is_empty() {
            return Err(Problem::new(format!("the kind {kind} needs an apiVersion")));
        }
        self.discovery.resource(self.bed, api_version, kind)
    }

    fn remember(&mut self, remember: &Remember) -> Result<()> {
        let path = self.path(&remember.of)?;
        let object = self.send(&Request::get(path.as_str()))?.success(&format!("cannot read {path}"))?;
        self.memory.keep(remember, &object)
    }

    fn apply(&mut self, object: &Value) -> Result<()> {
        let object = self.memory.fill(object)?;
        let text = |value: &Value, what: &str| {
            value.as_str().map(String::from).ok_or_else(|| Problem::new(format!("an applied object needs {what}")))
        };
        let (api_version, kind) = (text(&object["apiVersion"], "apiVersion")?, text(&object["kind"], "kind")?);
        let name = text(&object["metadata"]["name"], "metadata.name")?;
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or(self.namespace);
        let path = self.resource(&api_version, &kind)?.object(namespace, &name);
        let answer = self.write(&Request::apply(&path, MANAGER, object))?;
        answer.success(&format!("cannot apply {kind} {name}"))?;
        self.applied.push(path);
        Ok(())
    }

    fn patch(&mut self, patch: &Patch) -> Result<()> {
        let Patch { api_version, kind, name, owner, namespace, subresource, merge } = patch;
        let target = Target {
            api_version: api_version.clone(),
            kind: kind.clone(),
            name: name.clone(),
            owner: owner.clone(),
            namespace: namespace.clone(),
        };
        let mut path = self.path(&target)?;
        if let Some(subresource) = subresource {
            path = format!("{path}/{subresource}");
        }
        let answer = self.write(&Request::patch(path.as_str(), merge.clone()))?;
        answer.success(&format!("cannot patch {path}")).map(|_| ())
    }

    /// Sends a request, again for as long as the server is too busy to answer: a real one is for a moment when somebody
    /// changes a CustomResourceDefinition.
    fn send(&self, request: &Request) -> Result<Response> {
        let mut passed = Duration::ZERO;
        loop {
            let answer = self.bed.send(request)?;
            if answer.status != 429 || passed >= WITHIN {
                return Ok(answer);
            }
            self.bed.pass(LOOK_EVERY);
            passed += LOOK_EVERY;
        }
    }

    /// Sends what is to be written. Where things go wrong all the time, webhooks may not be there for a moment, and
    /// whoever is told so tries again.
    fn write(&self, request: &Request) -> Result<Response> {
        let mut passed = Duration::ZERO;
        loop {
            let answer = self.send(request)?;
            if !self.is_unasked(&answer) || passed >= WITHIN * self.bed.patience() {
                return Ok(answer);
            }
            self.bed.pass(LOOK_EVERY);
            passed += LOOK_EVERY;
        }
    }

    /// Whether an answer says no more than that a webhook was not there, where that is to be expected.
    fn is_unasked(&self, answer: &Response) -> bool {
        let message = answer.body["message"].as_str().unwrap_or_default();
        self.bed.patience() > 1 && !answer.is_success() && UNASKED.iter().any(|text| message.contains(text))
    }

    fn delete(&mut self, target: &Target) -> Result<()> {
        let path = self.path(target)?;
        let answer = self.send(&Request::delete(format!("{path}?propagationPolicy=Background")))?;
        answer.success(&format!("cannot delete {path}")).map(|_| ())
    }

    /// The path of an object; one that is known by its owner must be there.
    fn path(&mut self, target: &Target) -> Result<String> {
        let resource = self.resource(&target.api_version, &target.kind)?;
        let namespace = target.namespace.as_deref().unwrap_or(self.namespace);
        let owner = match (&target.name, &target.owner) {
            (Some(name), None) => return Ok(resource.object(namespace, name)),
            (None, Some(owner)) => owner,
            _ => return Err(Problem::new(format!("a {} is known by either its name or its owner", target.kind))),
        };
        let list = self.send(&Request::get(resource.collection(namespace)))?.success("cannot be listed")?;
        let all = list["items"].as_array().into_iter().flatten();
        let names: Vec<&str> = all.filter(|item| is_owned(item, owner)).filter_map(name_of).collect();
        match names[..] {
            [name] => Ok(resource.object(namespace, name)),
            _ => Err(Problem::new(format!("{owner} owns {} objects of kind {}", names.len(), target.kind))),
        }
    }

    /// Pods need the namespace's ServiceAccount, where something makes one: the namespace `default` shows whether.
    fn await_service_account(&self) -> Result<()> {
        let account = |namespace: &str| {
            let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
            Ok(self.send(&Request::get(path))?.is_success())
        };
        if account("default")? {
            self.until(WITHIN, || Ok(account(self.namespace)?.then_some(()).ok_or("no ServiceAccount".to_string())))?;
        }
        Ok(())
    }

    fn expect(&mut self, expectation: &Expectation) -> Result<()> {
        let Expectation { api_version, kind, .. } = expectation;
        // Who fails after something happened may never tell of it: events are no promise.
        if kind == "Event" && self.bed.patience() > 1 {
            return Ok(());
        }
        let namespace = expectation.namespace.as_deref().unwrap_or(self.namespace);
        let resource = self.resource(api_version, kind)?;
        let path = match (&expectation.name, &expectation.selector, &expectation.owner) {
            (Some(name), None, None) => resource.object(namespace, name),
            (None, Some(labels), None) => {
                format!("{}?labelSelector={}", resource.collection(namespace), escaped(labels))
            }
            (None, None, _) => resource.collection(namespace),
            _ => return Err(Problem::new("an expectation has either a name, a selector or an owner")),
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

    fn ask(&self, question: &Question) -> Result<()> {
        let Question { path, matches, within } = question;
        let look = || {
            let answer = self.send(&Request::get(path.as_str()))?;
            let pattern = Pattern { matches, conditions: &BTreeMap::new(), some: None };
            Ok(pattern.check(&[answer.body]))
        };
        self.until(*within, look).map_err(|problem| Problem::new(format!("{path}: {problem}")))
    }

    /// Looks once; the inner error says what is not yet so.
    fn look(&self, path: &str, expectation: &Expectation) -> Result<std::result::Result<(), String>> {
        let answer = self.send(&Request::get(path))?;
        let found = match answer.status {
            404 => Vec::new(),
            _ if self.is_unasked(&answer) => return Ok(Err("a webhook is not there".to_string())),
            _ => {
                let mut body = answer.success("cannot be read")?;
                match body["items"].as_array_mut() {
                    Some(items) => std::mem::take(items),
                    None => vec![body],
                }
            }
        };
        let is_meant = |object: &Value| expectation.owner.as_ref().is_none_or(|owner| is_owned(object, owner));
        let found: Vec<Value> = found.into_iter().filter(is_meant).collect();
        let count = match (expectation.absent, expectation.count) {
            (true, _) => Some(0),
            (false, Some(count)) => Some(count),
            (false, None) => expectation.name.as_ref().or(expectation.owner.as_ref()).map(|_| 1),
        };
        let Expectation { matches, conditions, some, .. } = expectation;
        Ok(match count {
            Some(count) if count != found.len() => Err(format!("expected {count}, found {}", found.len())),
            _ => Pattern { matches, conditions, some: some.as_ref() }.check(&found),
        })
    }

    /// Looks again and again until it is so. Time is counted by what passed between the looks, so that a slow machine
    /// makes nothing fail that a fast one lets pass.
    fn until(&self, within: Duration, mut look: impl FnMut() -> Result<std::result::Result<(), String>>) -> Result<()> {
        let within = within * self.bed.patience();
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
            self.send(&Request::delete(path))?;
        }
        Ok(())
    }
}

fn is_owned(object: &Value, owner: &str) -> bool {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|reference| reference["name"] == owner))
}

fn name_of(object: &Value) -> Option<&str> {
    object["metadata"]["name"].as_str()
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
