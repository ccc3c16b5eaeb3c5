//! `create`, `update` and `patch`: one pipeline from a decoded object to a stored one.
//!
//! A write reads the present object, makes the next one from it, and stores it if nobody was faster; otherwise it
//! starts again. Order: type and defaults, metadata, managed fields, admission, validation, storage.

use std::sync::Arc;

use kueue_core::field::{Error, Errors, Path};

use super::decode::Refused;
use super::delete::keeps_it;
use super::list::typed;
use super::reply::Reply;
use super::service::{Call, Server};
use super::subresource::ScalePaths;
use crate::admission::{Attributes, Operation};
use crate::json::{Value, json};
use crate::kinds::rules::{Moment, Update};
use crate::kinds::{Resource, text_at};
use crate::managed::{self, Live, Managers};
use crate::meta;
use crate::patch;
use crate::status::{About, Result, Status};
use crate::store::{Key, Object, Refusal};

mod part;

pub use part::Part;
use part::{keep_status, move_generation, take_status, with_status};

/// How often a patch is made again when somebody else was faster.
const PATCH_TRIES: usize = 5;
const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// A write that is under way.
#[derive(Debug)]
pub struct Write<'a> {
    pub call: &'a Call,
    pub resource: &'a Arc<Resource>,
    pub part: Part,
    pub is_dry_run: bool,
}

/// What the next object is made of.
#[derive(Debug, Clone)]
pub struct Next {
    pub value: Value,
    /// The managed fields, if they are already those of the new object.
    pub managed: Option<Managers>,
    /// Whether it has the form of its kind.
    pub is_shaped: bool,
}

impl Write<'_> {
    /// The name and group of the object, by kind, for a validation error.
    fn invalid(&self, name: &str, errors: &[Error]) -> Status {
        // Both groups of events speak as the core one.
        let group = if self.resource.storage == "events" { "" } else { &self.resource.group };
        Status::invalid(About { group, kind: &self.resource.kind, name }, errors)
    }

    /// Who writes, as managed fields tell it.
    pub fn intent(&self, server: &Server) -> managed::Intent {
        let named = self.call.query.get("fieldManager");
        let agent = self.call.user_agent.split('/').next().unwrap_or_default();
        let manager = if named.is_empty() { agent } else { named };
        let manager: String = if manager.is_empty() { "unknown" } else { manager }.chars().take(128).collect();
        managed::Intent {
            manager,
            api_version: self.resource.api_version(),
            subresource: self.part.subresource().to_owned(),
            resets: managed::resets(self.resource, self.part.subresource()),
            time: server.clock.time(),
        }
    }
}

impl Server {
    pub async fn create(&self, call: &Call, resource: &Arc<Resource>) -> Result<Reply> {
        let is_dry_run = call.query.dry_run("CreateOptions")?;
        let write = Write { call, resource, part: Part::Main, is_dry_run };
        check_options(call, "CreateOptions")?;
        let value = self.decode(call, resource)?;
        let object = self.create_object(&write, value, None).await?;
        Ok(Reply::object(201, resource, &object, call.accepted))
    }

    /// Stores a new object; `managed` when an apply has already told who owns what.
    pub async fn create_object(
        &self,
        write: &Write<'_>,
        mut value: Value,
        managed: Option<Managers>,
    ) -> Result<Arc<Object>> {
        let resource = write.resource;
        // Whoever comes here has given it the form of its kind: what stays as it is need not be looked at again.
        let shaped = value.clone();
        meta::settle_namespace(&mut value, &write.call.path.namespace)?;
        meta::owner_warning(&value).into_iter().for_each(|text| write.call.warn(text));
        // What is no version at all does no harm.
        if meta::version(&value).is_ok_and(|version| version > 0) {
            return Err(Status::internal("resourceVersion should not be set on objects to be created"));
        }
        meta::generate_name(&mut value, &self.random);
        self.check_namespace(resource, &value)?;
        crate::crd::check_create(resource, value["metadata"]["name"].as_str().unwrap_or_default())?;
        let drops_status = resource.subresource("status").is_some() && !resource.rules.creates_with_status;
        let status = if drops_status { take_status(&mut value) } else { None };
        let intent = || write.intent(self);
        let track = |value: &mut Value| managed::track_new(&resource.schema, value, &intent(), &resource.recent);
        let mut managed = managed.unwrap_or_else(|| track(&mut value));
        let named = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut attributes = Attributes::of_write(write.call, resource, Operation::Create, write.is_dry_run);
        attributes.name = &named;
        if resource.storage == "namespaces" {
            attributes.namespace = &named;
        }
        let is_mutated = self.may_mutate(&attributes);
        if is_mutated {
            // Whoever changes the object sees the status that the client sent, and that nobody will see again.
            if let Some(status) = status {
                value["status"] = status;
            }
            self.mutate_whole(&attributes, &mut value, &mut managed, None).await?;
            if drops_status {
                take_status(&mut value);
            }
        }
        meta::fill(&mut value, resource, &self.random, &self.clock);
        (resource.rules.prepare_create)(&mut value, self.moment());
        crate::crd::prepare(resource, &mut value);
        // A custom resource loses what its schema does not know only when it is stored; others see it until then.
        let unpruned = (is_mutated && resource.custom.is_some()).then(|| value.clone());
        if is_mutated || !keeps_its_form(resource) {
            self.shape(resource, &mut value, Some(&shaped)).map_err(Status::internal)?;
        }
        let name = value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut errors = meta::validate(&value, resource);
        errors.extend((resource.rules.validate)(&value));
        errors.extend((resource.rules.validate_create)(&value));
        errors.extend(self.judge(resource, &value, None));
        if errors.is_empty() {
            errors = (resource.rules.allocate)(&mut value, None, self.moment());
        }
        if !errors.is_empty() {
            return Err(write.invalid(&name, &errors));
        }
        (resource.rules.warn)(&value, None).into_iter().for_each(|text| write.call.warn(text));
        let seen = self.seen(&attributes, unpruned.as_ref().unwrap_or(&value), &managed);
        self.approve(&attributes, Some(&seen), None).await?;
        drop(seen);
        if write.is_dry_run {
            return self.pretend_create(resource, &name, Object::pretended(value, managed));
        }
        let key = Key::new(write.call.path.namespace.as_str(), name.as_str());
        let about = About { group: &resource.group, kind: &resource.plural, name: &name };
        let stored = self.stored_form(resource, value, managed).await?;
        let object = self.store.create(&resource.storage, key.clone(), stored).map_err(|_| {
            let status = Status::already_exists(about);
            let is_ending = self.store.get(&resource.storage, &key).is_some_and(|object| is_deleted(&object.value));
            let message = format!("object is being deleted: {}", status.message());
            if is_ending { status.with_message(message) } else { status }
        })?;
        self.after_write(resource, &key).await;
        self.shown(resource, &object).await
    }

    fn pretend_create(&self, resource: &Resource, name: &str, object: Object) -> Result<Arc<Object>> {
        let namespace = object.value["metadata"]["namespace"].as_str().unwrap_or_default();
        if self.store.get(&resource.storage, &Key::new(namespace, name)).is_some() {
            return Err(Status::already_exists(About { group: &resource.group, kind: &resource.plural, name }));
        }
        Ok(Arc::new(object))
    }

    pub async fn update(&self, call: &Call, resource: &Arc<Resource>) -> Result<Reply> {
        let part = Part::of(resource, &call.path.subresource).unwrap_or(Part::Main);
        let write = Write { call, resource, part, is_dry_run: call.query.dry_run("UpdateOptions")? };
        check_options(call, "UpdateOptions")?;
        let mut value = self.decode(call, resource)?;
        check_name(call, &value)?;
        let exists = self.store.get(&resource.storage, &call.key()).is_some();
        if exists && !resource.rules.allows_unconditional_update && meta::version(&value) == Ok(0) {
            let at = Path::new("metadata").child("resourceVersion");
            let error = Error::invalid(&at, 0, "must be specified for an update");
            return Err(Status::invalid(call.about(resource), &[error]));
        }
        if !exists && resource.rules.creates_on_update {
            meta::version(&value)?;
            // There is nothing yet that could have this version.
            if let Some(metadata) = value["metadata"].as_object_mut() {
                metadata.remove("resourceVersion");
            }
            let object = self.create_object(&write, value, None).await?;
            return Ok(Reply::object(201, resource, &object, call.accepted));
        }
        let object =
            self.replace(&write, 1, |_| Ok(Next { value: value.clone(), managed: None, is_shaped: true })).await?;
        Ok(Reply::object(200, resource, &object, call.accepted))
    }

    pub async fn patch(&self, call: &Call, resource: &Arc<Resource>) -> Result<Reply> {
        let part = Part::of(resource, &call.path.subresource).unwrap_or(Part::Main);
        let write = Write { call, resource, part, is_dry_run: call.query.dry_run("PatchOptions")? };
        let (object, is_new) = self.patch_object(&write).await?;
        Ok(Reply::object(if is_new { 201 } else { 200 }, resource, &object, call.accepted))
    }

    /// Applies the patch in the body. Tells whether it made the object.
    async fn patch_object(&self, write: &Write<'_>) -> Result<(Arc<Object>, bool)> {
        let (call, resource) = (write.call, write.resource);
        let kind = patch::Kind::of(call.content_type.as_deref(), resource)?;
        check_patch_options(call, kind)?;
        if kind == patch::Kind::Apply {
            return self.apply(write).await;
        }
        if self.store.get(&resource.storage, &call.key()).is_none() {
            return Err(call.not_found(resource));
        }
        let patch = patch::Patch::parse(kind, &call.body)?;
        let object = self
            .replace(write, PATCH_TRIES, |read| {
                let mut value = typed(resource, &read.value);
                if patch.may_touch_managed() {
                    managed::put(&mut value, &read.managed);
                }
                patch.apply(&mut value, &resource.schema)?;
                let checked = match kind {
                    // What is merged by a schema stays what it is.
                    patch::Kind::Strategic => Ok(()),
                    _ => patch::check_type(&self.registry(), resource, &value)?,
                };
                let settled = match checked {
                    Ok(()) => self.settle(call, resource, &mut value, Some(&read.value), patch.problems.clone()),
                    Err(why) => Err(Refused::Type(why)),
                };
                if let Err(Refused::Type(why) | Refused::Strict(why)) = settled {
                    let error = Error::invalid(&Path::new("patch"), value.to_string(), why);
                    return Err(Status::invalid(About { group: "", kind: "", name: "" }, &[error]));
                }
                check_name(call, &value)?;
                Ok(Next { value, managed: None, is_shaped: true })
            })
            .await?;
        Ok((object, false))
    }

    /// Server-side apply.
    async fn apply(&self, write: &Write<'_>) -> Result<(Arc<Object>, bool)> {
        let (call, resource) = (write.call, write.resource);
        let mut config = patch::apply::read(call, &resource.api_version(), &resource.kind)?;
        let given = |field: &str| text_at(&config, &["metadata", field]).to_owned();
        let (namespace, name) = (given("namespace"), given("name"));
        let written = call.query.get("fieldManager") == managed::KUBECTL;
        let written = written.then(|| format!("{}\n", typed(resource, &config)));
        self.settle_applied(call, &mut config)?;
        let is_forced = call.query.flag("force").unwrap_or_default();
        let intent = write.intent(self);
        let make = |live: Option<Live<'_>>| -> Result<Next> {
            let (mut value, managed) = managed::apply(&resource.schema, live, &config, &intent, is_forced)
                .map_err(|error| error.to_status(resource, &namespace, &name))?;
            check_name(call, &config)?;
            if let Some(written) = &written {
                let annotations = value["metadata"]["annotations"].as_object_mut();
                if let Some(last) = annotations.and_then(|annotations| annotations.get_mut(managed::LAST_APPLIED)) {
                    *last = written.clone().into();
                }
            }
            for name in ["uid", "resourceVersion"] {
                if let Some(given) = config["metadata"].get(name) {
                    value["metadata"][name] = given.clone();
                }
            }
            let before = live.map(|live| live.value);
            self.shape(resource, &mut value, before).map_err(Status::internal)?;
            Ok(Next { value, managed: Some(managed), is_shaped: true })
        };
        if self.store.get(&resource.storage, &call.key()).is_none() {
            if !matches!(write.part, Part::Main) {
                return Err(call.not_found(resource));
            }
            if let Some(uid) = config["metadata"]["uid"].as_str() {
                let why =
                    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
                return Err(Status::conflict(call.about(resource), &why));
            }
            let mut next = make(None)?;
            if let Some(metadata) = next.value["metadata"].as_object_mut() {
                // There is nothing yet that could have this version.
                metadata.remove("resourceVersion");
            }
            return Ok((self.create_object(write, next.value, next.managed).await?, true));
        }
        let object = self.replace(write, PATCH_TRIES, |read| make(Some(read.live()))).await?;
        Ok((object, false))
    }

    /// Replaces an object by what `make` makes of it, again when somebody else was faster.
    pub async fn replace(
        &self,
        write: &Write<'_>,
        tries: usize,
        make: impl Fn(&Object) -> Result<Next>,
    ) -> Result<Arc<Object>> {
        let (call, resource) = (write.call, write.resource);
        let key = call.key();
        for _ in 0..tries {
            let found = self.store.get(&resource.storage, &key).ok_or_else(|| call.not_found(resource))?;
            let read = self.shown(resource, &found).await?;
            let next = make(&read)?;
            let (value, mut managed) = self.next_value(write, &read, next).await?;
            // A write that changes nothing but the times of managed fields changes nothing.
            if managed.owns_as(&read.managed) && value == read.value {
                let counts_anyway = read.is_new && (resource.rules.is_rewritten_once)(&read.value);
                if !counts_anyway {
                    return Ok(read);
                }
                managed = read.managed.clone();
            }
            let is_over = is_deleted(&value) && !keeps_it(resource, &value);
            if write.is_dry_run {
                return Ok(Arc::new(Object::pretended(value, managed)));
            }
            let written = if is_over {
                // The answer shows the object as the write left it, at the revision it had.
                let answer = Arc::new(Object::pretended(value, managed));
                let last = found.value.clone();
                self.store.delete(&resource.storage, key.clone(), &found, last).map(|_| answer)
            } else {
                let stored = self.stored_form(resource, value, managed).await?;
                self.store.update(&resource.storage, key.clone(), &found, stored)
            };
            match written {
                Ok(object) => {
                    self.after_write(resource, &key).await;
                    return if is_over { Ok(object) } else { self.shown(resource, &object).await };
                }
                Err(Refusal::Changed | Refusal::Exists) => {}
            }
        }
        Err(Status::conflict(call.about(resource), MODIFIED))
    }

    /// What rules may need that is not in an object.
    fn moment(&self) -> Moment<'_> {
        Moment { now: self.clock.time(), random: &self.random, store: &self.store }
    }

    /// Everything between what a client wants and what is stored.
    async fn next_value(&self, write: &Write<'_>, read: &Object, mut next: Next) -> Result<(Value, Managers)> {
        let (call, resource) = (write.call, write.resource);
        let old = &read.value;
        meta::settle_namespace(&mut next.value, &call.path.namespace)?;
        meta::owner_warning(&next.value).into_iter().for_each(|text| call.warn(text));
        let attributes = Attributes::of_write(call, resource, Operation::Update, write.is_dry_run);
        // Of a scale, and of what the server itself writes, only the caller knows what others may change.
        if matches!(write.part, Part::Main | Part::Status | Part::Named(_)) && self.may_mutate(&attributes) {
            // Who owns what is decided by what the client wants, not by what is made of it.
            let mut managed = match next.managed.take() {
                Some(managed) => managed,
                None => self.prepare_next(write, read, next.clone())?.1,
            };
            managed::take(&mut next.value);
            self.mutate_whole(&attributes, &mut next.value, &mut managed, Some(read)).await?;
            next = Next { value: next.value, managed: Some(managed), is_shaped: false };
        }
        check_preconditions(write, &next.value, old)?;
        let (mut value, managed) = self.prepare_next(write, read, next)?;
        let mut errors = self.mistakes(write, &value, old);
        if errors.is_empty() && matches!(write.part, Part::Main) {
            errors = (resource.rules.allocate)(&mut value, Some(old), self.moment());
        }
        if !errors.is_empty() {
            return Err(write.invalid(&call.path.name, &errors));
        }
        if matches!(write.part, Part::Main) {
            (resource.rules.warn)(&value, Some(old)).into_iter().for_each(|text| call.warn(text));
        }
        match write.part {
            Part::Main | Part::Status | Part::Named(_) => {
                let seen = self.seen(&attributes, &value, &managed);
                let seen_before = self.seen(&attributes, old, &read.managed);
                self.approve(&attributes, Some(&seen), Some(&seen_before)).await?;
            }
            Part::Scale => {
                let paths = ScalePaths::of(resource);
                self.approve(&attributes, Some(&paths.scale_of(&value)), Some(&paths.scale_of(old))).await?;
            }
            Part::Whole => {}
        }
        Ok((value, managed))
    }

    /// Keeps what this write may not change, gives the object its form and tells who owns what of it.
    fn prepare_next(&self, write: &Write<'_>, read: &Object, next: Next) -> Result<(Value, Managers)> {
        let (resource, old) = (write.resource, &read.value);
        let Next { mut value, managed, is_shaped } = next;
        meta::carry_over(&mut value, old);
        match write.part {
            Part::Status => {
                value = with_status(resource, value, old);
                (resource.rules.prepare_status)(&mut value, old);
            }
            Part::Main => {
                if resource.subresource("status").is_some() {
                    keep_status(&mut value, old);
                }
                (resource.rules.prepare_update)(&mut value, old);
                crate::crd::prepare_update(resource, &mut value);
            }
            Part::Named(part) => {
                let mut kept = with_status(resource, value.clone(), old);
                kept["status"] = old["status"].clone();
                (part.prepare)(&mut kept, &value);
                value = kept;
            }
            Part::Scale | Part::Whole => {}
        }
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.carry("resourceVersion", old["metadata"].get("resourceVersion"));
        }
        if matches!(write.part, Part::Main | Part::Named(_) | Part::Scale) {
            move_generation(resource, &mut value, old);
        }
        if !is_shaped || !keeps_its_form(resource) {
            self.shape(resource, &mut value, Some(old)).map_err(Status::internal)?;
        }
        let managed = match (managed, write.part) {
            (Some(managed), _) => managed,
            (None, Part::Whole) => read.managed.clone(),
            _ => managed::track(&resource.schema, Some(read.live()), &mut value, &write.intent(self)),
        };
        Ok((value, managed))
    }

    /// What is wrong with a change.
    fn mistakes(&self, write: &Write<'_>, value: &Value, old: &Value) -> Errors {
        let resource = write.resource;
        // A real server looks at metadata twice and tells its mistakes twice; the message shows each once.
        let mut errors = meta::validate_update(value, old);
        errors.extend_from_within(..);
        let update = Update { new: value, old };
        match write.part {
            Part::Status => errors.extend((resource.rules.validate_status)(update)),
            Part::Named(part) => errors.extend((part.validate)(update)),
            Part::Main | Part::Scale => {
                errors.extend((resource.rules.validate)(value));
                errors.extend((resource.rules.validate_update)(update));
            }
            // What the server itself writes is right.
            Part::Whole => {}
        }
        errors.extend(self.judge(resource, value, Some(old)));
        errors
    }

    /// New objects live in a namespace that exists and is not ending.
    fn check_namespace(&self, resource: &Resource, value: &Value) -> Result<()> {
        if !resource.is_namespaced {
            return Ok(());
        }
        let namespace = value["metadata"]["namespace"].as_str().unwrap_or_default();
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        let found = self
            .store
            .get("namespaces", &Key::new("", namespace))
            .ok_or_else(|| Status::not_found(About { group: "", kind: "namespaces", name: namespace }))?;
        if found.value["status"]["phase"] != "Terminating" {
            return Ok(());
        }
        let about = About { group: &resource.group, kind: &resource.plural, name };
        let why = format!("unable to create new content in namespace {namespace} because it is being terminated");
        let cause = json!({
            "reason": "NamespaceTerminating", "message": format!("namespace {namespace} is being terminated"),
            "field": "metadata.namespace",
        });
        let status = Status::forbidden(about, &why);
        let mut details = status.to_value()["details"].clone();
        details["causes"] = json!([cause]);
        Err(status.with_details(details))
    }
}

/// Whether nothing that the server itself does with an object on its way changes the form it has. Of built-in kinds,
/// rules may leave what Go would write in another way.
fn keeps_its_form(resource: &Resource) -> bool {
    resource.custom.is_some()
}

pub fn is_deleted(object: &Value) -> bool {
    object["metadata"].get("deletionTimestamp").is_some()
}

/// An object's name is that of its URL.
pub fn check_name(call: &Call, value: &Value) -> Result<()> {
    let given = value["metadata"]["name"].as_str().unwrap_or_default();
    let wanted = call.path.name.as_str();
    if given.is_empty() {
        let message =
            format!("the name of the object ({wanted} based on URL) was undeterminable: name must be provided");
        return Err(Status::bad_request(message));
    }
    if given != wanted {
        let message = format!("the name of the object ({given}) does not match the name on the URL ({wanted})");
        return Err(Status::bad_request(message));
    }
    Ok(())
}

/// A version in an object that is written is one that it must still have; a uid never changes.
fn check_preconditions(write: &Write<'_>, value: &Value, old: &Value) -> Result<()> {
    let (call, resource) = (write.call, write.resource);
    let (uid, known) = (text_at(value, &["metadata", "uid"]), text_at(old, &["metadata", "uid"]));
    let is_other = !uid.is_empty() && uid != known;
    if is_other && call.method == http::Method::PUT {
        let why = format!(
            "StorageError: invalid object, Code: 4, Key: /registry/{}/{}, ResourceVersion: 0, AdditionalErrorMsg: \
             Precondition failed: UID in precondition: {uid}, UID in object meta: {known}",
            resource.plural,
            [call.path.namespace.as_str(), call.path.name.as_str()].join("/").trim_start_matches('/'),
        );
        return Err(Status::conflict(call.about(resource), &why));
    }
    let version = meta::version(value)?;
    if version != 0 && Ok(version) != meta::version(old) {
        return Err(Status::conflict(call.about(resource), MODIFIED));
    }
    if !is_other {
        return Ok(());
    }
    let error = Error::invalid(&Path::new("metadata").child("uid"), uid, "field is immutable");
    Err(write.invalid(&call.path.name, &[error.clone(), error]))
}

/// A manager's name is short and printable, and how unknown fields are taken is one of a few words.
fn check_options(call: &Call, options: &str) -> Result<()> {
    let manager = call.query.get("fieldManager");
    let at = Path::new("fieldManager");
    let mut errors = Vec::new();
    if manager.len() > 128 {
        errors.push(Error::too_long(&at, 128));
    }
    if let Some((place, odd)) = manager.char_indices().find(|(_, char)| char.is_control()) {
        let why = format!("invalid character U+{:04X} (at position {place})", u32::from(odd));
        errors.push(Error::invalid(&at, manager, why));
    }
    errors.extend(call.query.field_validation().err());
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(super::query::options(options), &errors)) }
}

pub fn check_patch_options(call: &Call, kind: patch::Kind) -> Result<()> {
    check_options(call, "PatchOptions")?;
    let mut errors = Vec::new();
    if kind == patch::Kind::Apply {
        if call.query.get("fieldManager").is_empty() {
            errors.push(Error::required(&Path::new("fieldManager"), "is required for apply patch"));
        }
    } else if call.query.find("force").is_some() {
        errors.push(Error::forbidden(&Path::new("force"), "may not be specified for non-apply patch"));
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(super::query::options("PatchOptions"), &errors)) }
}
