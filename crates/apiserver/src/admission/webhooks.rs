//! Admission webhooks: which ones a write concerns, what they are asked, and what becomes of their answers.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustc_hash::FxHashMap;

use super::cel::{Expression, Reads, Scope};
use super::matching::{Matcher, Seen};
use super::review::{self, Answer, Question};
use super::{Attributes, Operation, concurrently};
use crate::dial::Client;
use crate::json::Value;
use crate::kinds::{Registry, Resource, text_at};
use crate::patch;
use crate::rest::service::Server;
use crate::schema::defaults;
use crate::status::{About, Result, Status};

pub const MUTATING: &str = "mutatingwebhookconfigurations.admissionregistration.k8s.io";
pub const VALIDATING: &str = "validatingwebhookconfigurations.admissionregistration.k8s.io";

/// One webhook of a configuration.
#[derive(Debug)]
pub struct Webhook {
    name: String,
    client: Client,
    matcher: Matcher,
    conditions: Conditions,
    ignores_failure: bool,
    /// Whether it may be called when nothing will be stored.
    takes_dry_runs: bool,
    timeout: Duration,
    /// The newest version of the review that it understands.
    version: Option<&'static str>,
    /// Whether it wants to see what later ones changed.
    is_reinvoked: bool,
}

/// All webhooks of one sort, in the order in which they are called.
#[derive(Debug, Default)]
pub struct Webhooks {
    all: Vec<Webhook>,
    /// Whether any of them is for objects of some names only.
    has_names: bool,
    seeing: Mutex<Seeing>,
}

/// Which webhooks see which writes by their rules: found out once, since every write asks several times.
#[derive(Debug, Default)]
struct Seeing {
    /// The kinds for which this is so.
    registry: Option<Arc<Registry>>,
    by_write: FxHashMap<Sort, Sighted>,
}

/// All that rules can tell writes apart by, names aside.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Sort {
    resource: [String; 3],
    subresource: String,
    operation: Operation,
    has_namespace: bool,
}

/// Places of webhooks, and how each sees a write.
type Sighted = Arc<[(usize, Seen)]>;

/// What must be true of a write beside the rules.
#[derive(Debug, Default)]
pub struct Conditions {
    expressions: Vec<std::result::Result<Expression, String>>,
    reads: Reads,
}

/// Why a webhook does not let a write through.
enum Failure {
    /// It could not be asked, or its answer does not count.
    Call(String),
    /// The write is refused, whatever the failure policy says.
    Refused(Status),
}

impl Webhooks {
    pub fn of_configurations(configurations: &[Value]) -> Self {
        let webhooks = configurations.iter().flat_map(|one| one["webhooks"].as_array().into_iter().flatten());
        let all: Vec<Webhook> = webhooks.map(Webhook::of).collect();
        Self { has_names: all.iter().any(|webhook| webhook.matcher.has_names()), all, seeing: Mutex::default() }
    }

    /// Those that see a write by their rules.
    fn seeing(&self, registry: &Arc<Registry>, attributes: &Attributes<'_>) -> Sighted {
        let find = || {
            let seen = |(index, webhook): (usize, &Webhook)| Some((index, webhook.matcher.seen(registry, attributes)?));
            self.all.iter().enumerate().filter_map(seen).collect()
        };
        if self.has_names || self.all.is_empty() {
            return find();
        }
        let Attributes { resource, operation, .. } = attributes;
        let sort = Sort {
            resource: [&resource.group, &resource.version, &resource.plural].map(String::clone),
            subresource: attributes.subresource.to_owned(),
            operation: *operation,
            has_namespace: !attributes.namespace.is_empty(),
        };
        let mut seeing = self.seeing.lock().unwrap_or_else(PoisonError::into_inner);
        if !seeing.registry.as_ref().is_some_and(|known| Arc::ptr_eq(known, registry)) {
            *seeing = Seeing { registry: Some(Arc::clone(registry)), by_write: FxHashMap::default() };
        }
        Arc::clone(seeing.by_write.entry(sort).or_insert_with(find))
    }
}

impl Webhook {
    fn of(webhook: &Value) -> Self {
        let text = |name: &str| text_at(webhook, &[name]);
        let mut versions = webhook["admissionReviewVersions"].as_array().into_iter().flatten();
        Self {
            name: text("name").to_owned(),
            client: Client::of_config(&webhook["clientConfig"]),
            matcher: Matcher::of_webhook(webhook),
            conditions: Conditions::of(&webhook["matchConditions"]),
            ignores_failure: text("failurePolicy") == "Ignore",
            takes_dry_runs: ["None", "NoneOnDryRun"].contains(&text("sideEffects")),
            timeout: Duration::from_secs(webhook["timeoutSeconds"].as_u64().unwrap_or(10)),
            version: versions.find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| version == known)),
            is_reinvoked: text("reinvocationPolicy") == "IfNeeded",
        }
    }
}

impl Conditions {
    pub fn of(conditions: &Value) -> Self {
        let expressions = conditions.as_array().into_iter().flatten();
        let expressions: Vec<_> = expressions.map(|one| Expression::parse(text_at(one, &["expression"]))).collect();
        let mut reads = Reads::default();
        expressions.iter().flatten().for_each(|expression| reads.join(expression.reads()));
        Self { expressions, reads }
    }

    pub fn is_empty(&self) -> bool {
        self.expressions.is_empty()
    }

    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// Whether all hold. One that is false decides; otherwise an error does, unless failures are ignored.
    pub fn hold(&self, scope: &Scope, ignores_failure: bool) -> std::result::Result<bool, String> {
        let mut errors = Vec::new();
        for condition in &self.expressions {
            let held = match condition {
                Ok(expression) => expression
                    .is_true(scope)
                    .map_err(|why| format!("expression '{}' resulted in error: {why}", expression.text)),
                Err(why) => Err(why.clone()),
            };
            match held {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => errors.push(why),
            }
        }
        match errors.as_slice() {
            [] => Ok(true),
            _ if ignores_failure => Ok(false),
            [one] => Err(one.clone()),
            many => Err(format!("[{}]", many.join(", "))),
        }
    }
}

/// What every expression of admission knows, as far as it is looked at.
pub fn scope(question: &Question<'_>, reads: &Reads) -> Scope {
    let mut scope = Scope::default();
    for (name, object) in [("object", question.object), ("oldObject", question.old)] {
        if let Some(reads) = reads.of(name) {
            scope.set(name, &question.typed(object), reads);
        }
    }
    if let Some(reads) = reads.of("request") {
        scope.set("request", &question.request("").into(), reads);
    }
    scope
}

impl Server {
    pub fn has_mutating_webhook(&self, attributes: &Attributes<'_>) -> bool {
        !self.admission.mutating(&self.store).seeing(&self.registry(), attributes).is_empty()
    }

    pub fn has_validating_webhook(&self, attributes: &Attributes<'_>) -> bool {
        !self.admission.validating(&self.store).seeing(&self.registry(), attributes).is_empty()
    }

    /// Calls mutating webhooks one after the other; each sees what the former ones left. In a second round only those
    /// are called that want to see what came after them. Tells whether anything changed.
    pub async fn call_mutating(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Option<&mut Value>,
        old: Option<&Value>,
        rounds: &mut Rounds,
    ) -> Result<bool> {
        let webhooks = self.admission.mutating(&self.store);
        let mut has_changed = false;
        for (index, seen) in webhooks.seeing(&self.registry(), attributes).iter() {
            let (index, webhook) = (*index, &webhooks.all[*index]);
            if rounds.is_second && !rounds.due.contains(&index) {
                continue;
            }
            if !self.concerns(webhook, seen, attributes, object.as_deref(), old).await? {
                continue;
            }
            match self.mutate_by(webhook, attributes, seen, object, old).await {
                Ok(false) => {}
                Ok(true) => {
                    has_changed = true;
                    rounds.due.extend(std::mem::take(&mut rounds.called));
                }
                Err(Failure::Call(_)) if webhook.ignores_failure => {}
                Err(failure) => return Err(failure.told(webhook)),
            }
            if webhook.is_reinvoked {
                rounds.called.insert(index);
            }
        }
        Ok(has_changed)
    }

    /// Asks one webhook and applies its patch. Tells whether the object changed.
    async fn mutate_by(
        &self,
        webhook: &Webhook,
        attributes: &Attributes<'_>,
        seen: &Seen,
        object: &mut Option<&mut Value>,
        old: Option<&Value>,
    ) -> std::result::Result<bool, Failure> {
        let broken = Failure::Refused;
        let versions = self.versions(attributes, seen, object.as_deref(), old).await.map_err(broken)?;
        let question = versions.question(attributes, seen, object.as_deref(), old);
        let answer = self.ask(webhook, &question, true).await?;
        let Some(operations) = answer.operations().map_err(Failure::Call)? else { return Ok(false) };
        let mut patched = question.typed(question.object);
        if patched.is_null() {
            let why = format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                webhook.name
            );
            return Err(Failure::Refused(Status::internal_error(why)));
        }
        if answer.patch_type != "JSONPatch" {
            return Err(Failure::Call(format!("unsupported patch type {:?}", answer.patch_type)));
        }
        let refuse = |why: String| Failure::Refused(Status::internal_error(why));
        patch::json::apply(&mut patched, &operations).map_err(refuse)?;
        let Some(fields) = patched.as_object_mut() else {
            return Err(refuse("couldn't get version/kind; json parse error: the patched object is no object".into()));
        };
        fields.remove("apiVersion");
        fields.remove("kind");
        self.settle_patched(attributes, question.resource, &mut patched).map_err(refuse)?;
        let has_changed = question.object != Some(&patched);
        let back = match seen {
            Seen::AsAsked => patched,
            Seen::As(other) => {
                let converted = self.convert(other, attributes.resource, vec![patched]).await;
                converted.map_err(Failure::Refused)?.pop().unwrap_or_default()
            }
        };
        if let Some(object) = object.as_deref_mut() {
            *object = back;
        }
        Ok(has_changed)
    }

    /// A patched object is read again as its kind; custom resources lose what they do not know only when stored.
    fn settle_patched(
        &self,
        attributes: &Attributes<'_>,
        resource: &Resource,
        value: &mut Value,
    ) -> std::result::Result<(), String> {
        if attributes.kind[2] != attributes.resource.kind {
            return Ok(());
        }
        match resource.custom {
            None => self.shape(resource, value, None).map(|_| ()),
            Some(_) => {
                defaults::apply(&resource.schema, value, None);
                Ok(())
            }
        }
    }

    /// Asks all validating webhooks at once; the first in order that refuses is told.
    pub async fn call_validating(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        let webhooks = self.admission.validating(&self.store);
        let seeing = webhooks.seeing(&self.registry(), attributes);
        let mut calls: Vec<Pin<Box<dyn Future<Output = Result<()>> + Send + '_>>> = Vec::new();
        for (index, seen) in seeing.iter() {
            let webhook = &webhooks.all[*index];
            if !self.concerns(webhook, seen, attributes, object, old).await? {
                continue;
            }
            let versions = self.versions(attributes, seen, object, old).await?;
            calls.push(Box::pin(async move {
                let question = versions.question(attributes, seen, object, old);
                match self.ask(webhook, &question, false).await {
                    Ok(_) => Ok(()),
                    Err(Failure::Call(_)) if webhook.ignores_failure => Ok(()),
                    Err(failure) => Err(failure.told(webhook)),
                }
            }));
        }
        if calls.is_empty() {
            return Ok(());
        }
        concurrently(calls).await.into_iter().collect()
    }

    /// Whether a webhook whose rules see the write is to be called.
    async fn concerns(
        &self,
        webhook: &Webhook,
        seen: &Seen,
        attributes: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<bool> {
        if !webhook.matcher.selects(self, attributes, object, old)? {
            return Ok(false);
        }
        if webhook.conditions.is_empty() {
            return Ok(true);
        }
        let versions = self.versions(attributes, seen, object, old).await?;
        let question = versions.question(attributes, seen, object, old);
        let scope = scope(&question, webhook.conditions.reads());
        webhook.conditions.hold(&scope, webhook.ignores_failure).map_err(|why| {
            let resource = attributes.resource;
            let about = About { group: &resource.group, kind: &resource.plural, name: attributes.name };
            Status::forbidden(about, &why)
        })
    }

    /// Asks one webhook. A refusal is a failure; warnings reach the client in any case.
    async fn ask(
        &self,
        webhook: &Webhook,
        question: &Question<'_>,
        mutates: bool,
    ) -> std::result::Result<Answer, Failure> {
        if question.attributes.is_dry_run && !webhook.takes_dry_runs {
            let why = format!("admission webhook {:?} does not support dry run", webhook.name);
            return Err(Failure::Refused(Status::bad_request(why)));
        }
        let version = webhook.version.ok_or_else(|| {
            let why = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            Failure::Call(why.into())
        })?;
        let uid = self.random.uid();
        let body = question.review(&uid, version);
        let types = [("admission.k8s.io/v1", review::KIND), ("admission.k8s.io/v1beta1", review::KIND)];
        let failed = |why: String| Failure::Call(format!("failed to call webhook: {why}"));
        let found = self.dialer.review(&self.store, &webhook.client, &body, webhook.timeout, &types).await;
        let found = found.map_err(failed)?;
        if let Some(why) = review::wrong_type(&found) {
            return Err(failed(why));
        }
        let answer = Answer::verify(&found, &uid, version, mutates)
            .map_err(|why| Failure::Call(format!("received invalid webhook response: {why}")))?;
        for warning in &answer.warnings {
            question.attributes.call.warn(warning.clone());
        }
        if answer.is_allowed { Ok(answer) } else { Err(Failure::Refused(answer.refusal(&webhook.name))) }
    }

    /// The objects in the version as which they are seen.
    pub(super) async fn versions(
        &self,
        attributes: &Attributes<'_>,
        seen: &Seen,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Versions> {
        let Seen::As(other) = seen else { return Ok(Versions::default()) };
        let both: Vec<Value> = object.into_iter().chain(old).cloned().collect();
        let mut converted = self.convert(attributes.resource, other, both).await?.into_iter();
        Ok(Versions { object: object.and_then(|_| converted.next()), old: old.and_then(|_| converted.next()) })
    }
}

/// Objects in another version than asked; empty when that is not needed.
#[derive(Debug, Default)]
pub(super) struct Versions {
    object: Option<Value>,
    old: Option<Value>,
}

impl Versions {
    pub(super) fn question<'a>(
        &'a self,
        attributes: &'a Attributes<'a>,
        seen: &'a Seen,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> Question<'a> {
        match seen {
            Seen::AsAsked => Question { attributes, resource: attributes.resource, object, old },
            Seen::As(other) => {
                Question { attributes, resource: other, object: self.object.as_ref(), old: self.old.as_ref() }
            }
        }
    }
}

/// Which webhooks are called again: those that asked for it and came before a change.
#[derive(Debug, Default)]
pub struct Rounds {
    pub is_second: bool,
    /// Called since the last change.
    called: BTreeSet<usize>,
    due: BTreeSet<usize>,
}

impl Rounds {
    /// The second round; what plugins changed meanwhile makes everybody due.
    pub fn again(&mut self, has_changed: bool) {
        self.is_second = true;
        if has_changed {
            self.due.extend(std::mem::take(&mut self.called));
        }
    }
}

impl Failure {
    fn told(self, webhook: &Webhook) -> Status {
        match self {
            Failure::Call(why) => Status::internal_error(format!("failed calling webhook {:?}: {why}", webhook.name)),
            Failure::Refused(status) => status,
        }
    }
}
