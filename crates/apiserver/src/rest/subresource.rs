//! Parts of an object with a path of their own: status, scale, finalize, binding.

use std::sync::Arc;

use kueue_core::field::{Error, Errors, Path, aggregate};
use kueue_core::selector::LabelSelector;

use super::eviction::set_condition;
use super::list::typed;
use super::reply::Reply;
use super::service::{Call, Server};
use super::write::{Next, Part, Write, check_patch_options};
use crate::admission::{Attributes, Operation};
use crate::json::{Value, json};
use crate::kinds::Resource;
use crate::kinds::text_at;
use crate::managed::{self, Managers};
use crate::patch;
use crate::status::{About, Result, Status};
use crate::store::Object;

impl Server {
    pub async fn subresource(&self, call: &Call, resource: &Arc<Resource>, verb: &str) -> Result<Reply> {
        match (call.path.subresource.as_str(), verb) {
            (name, "get") if Part::of(resource, name).is_some() => self.get(call, resource).await,
            (name, "update") if Part::of(resource, name).is_some() => self.update(call, resource).await,
            (name, "patch") if Part::of(resource, name).is_some() => self.patch(call, resource).await,
            ("scale", verb) => self.scale(call, resource, verb).await,
            ("finalize", _) => self.finalize(call, resource).await,
            ("token", _) => self.token(call, resource).await,
            ("binding", _) => self.bind(call, resource).await,
            ("eviction", _) => self.evict(call, resource).await,
            _ => match self.store.get(&resource.storage, &call.key()) {
                Some(_) => Err(Status::unknown_resource()),
                None => Err(call.not_found(resource)),
            },
        }
    }

    async fn scale(&self, call: &Call, resource: &Arc<Resource>, verb: &str) -> Result<Reply> {
        let read = self.store.get(&resource.storage, &call.key()).ok_or_else(|| call.not_found(resource))?;
        let read = self.shown(resource, &read).await?;
        let paths = ScalePaths::of(resource);
        let present = paths.scale_of(&read.value);
        if verb == "get" {
            return Ok(Reply::ok(present));
        }
        let write = Write { call, resource, part: Part::Scale, is_dry_run: call.query.dry_run("UpdateOptions")? };
        let kind = (verb == "patch").then(|| patch::Kind::of(call.content_type.as_deref(), resource)).transpose()?;
        let mut wanted = match kind {
            None => {
                let encoding = super::body::encoding(call.content_type.as_deref())?;
                super::body::parse(&call.body, encoding).map_err(Status::bad_request)?.value
            }
            Some(kind) => {
                check_patch_options(call, kind)?;
                self.patched_scale(&write, kind, &read, &present, &paths)?
            }
        };
        let is_applied = kind == Some(patch::Kind::Apply);
        let attributes = Attributes::of_write(call, resource, Operation::Update, write.is_dry_run);
        if self.may_mutate(&attributes) {
            self.mutate(&attributes, Some(&mut wanted), Some(&present)).await?;
        }
        let replicas = wanted["spec"]["replicas"].as_i64().unwrap_or_default();
        if replicas < 0 {
            let at = Path::new("spec").child("replicas");
            let error = Error::invalid(&at, replicas, "must be greater than or equal to 0");
            let about = About { group: "autoscaling", kind: "Scale", name: &call.path.name };
            return Err(Status::invalid(about, &[error]));
        }
        let of_scale = is_applied.then(|| Managers::parse(&wanted["metadata"][managed::FIELD]).unwrap_or_default());
        let object = self
            .replace(&write, 1, |read| {
                let mut value = read.value.clone();
                value["metadata"]["resourceVersion"] = wanted["metadata"]["resourceVersion"].clone();
                set_at(&mut value, &paths.replicas, replicas.into());
                let back = |of_scale: &Managers| {
                    managed::scale::take_back(&read.managed, &paths.replicas, &resource.api_version(), of_scale.clone())
                };
                Ok(Next { value, managed: of_scale.as_ref().map(back), is_shaped: false })
            })
            .await?;
        Ok(Reply::ok(paths.scale_of(&object.value)))
    }

    fn patched_scale(
        &self,
        write: &Write<'_>,
        kind: patch::Kind,
        object: &Object,
        present: &Value,
        paths: &ScalePaths,
    ) -> Result<Value> {
        if kind == patch::Kind::Apply {
            return self.apply_scale(write.call, &write.intent(self), object, present, &paths.replicas);
        }
        let mut value = present.clone();
        patch::Patch::parse(kind, &write.call.body)?.apply(&mut value, &crate::schema::Schema::any())?;
        Ok(value)
    }

    /// The namespace controller says that nothing is left.
    async fn finalize(&self, call: &Call, resource: &Arc<Resource>) -> Result<Reply> {
        let given = self.decode(call, resource)?;
        let write = Write { call, resource, part: Part::Whole, is_dry_run: false };
        let object = self
            .replace(&write, 1, |read| {
                let mut value = read.value.clone();
                value["spec"]["finalizers"] = given["spec"]["finalizers"].clone();
                Ok(Next { value, managed: None, is_shaped: false })
            })
            .await?;
        Ok(Reply::ok(typed(resource, &object.whole())))
    }

    /// A scheduler gives a pod its node.
    async fn bind(&self, call: &Call, resource: &Arc<Resource>) -> Result<Reply> {
        let encoding = super::body::encoding(call.content_type.as_deref())?;
        let mut binding = super::body::parse(&call.body, encoding).map_err(Status::bad_request)?.value;
        let write = Write { call, resource, part: Part::Whole, is_dry_run: call.query.dry_run("CreateOptions")? };
        crate::meta::settle_namespace(&mut binding, &call.path.namespace)?;
        self.admit(call, resource, write.is_dry_run, &mut binding).await?;
        check_binding(call, &binding)?;
        let node = text_at(&binding, &["target", "name"]).to_owned();
        let now = self.clock.time().to_string();
        let about = About { group: "", kind: "pods/binding", name: &call.path.name };
        self.replace(&write, 5, |read| {
            let mut value = read.value.clone();
            let refuse = |why: String| Err(Status::conflict(about, &why));
            let bound = text_at(&value, &["spec", "nodeName"]);
            check_binding_precondition(&binding, &value, about)?;
            if super::write::is_deleted(&value) {
                return refuse(format!("pod {} is being deleted, cannot be assigned to a host", call.path.name));
            }
            if !bound.is_empty() {
                return refuse(format!("pod {} is already assigned to node \"{bound}\"", call.path.name));
            }
            if value["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
                return refuse(format!("pod {} has non-empty .spec.schedulingGates", call.path.name));
            }
            value["spec"]["nodeName"] = node.clone().into();
            if let Some(status) = value["status"].as_object_mut() {
                status.remove("nominatedNodeName");
            }
            for field in ["annotations", "labels"] {
                for (key, text) in binding["metadata"][field].as_object().into_iter().flatten() {
                    value["metadata"][field][key] = text.clone();
                }
            }
            let condition = json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": now});
            set_condition(&mut value, condition);
            Ok(Next { value, managed: None, is_shaped: false })
        })
        .await?;
        Ok(Reply::created(json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201,
        })))
    }
}

/// A binding names its pod and a node.
fn check_binding(call: &Call, binding: &Value) -> Result<()> {
    if text_at(binding, &["metadata", "name"]) != call.path.name {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let target = Path::new("target");
    let mut errors = Errors::new();
    let kind = text_at(binding, &["target", "kind"]);
    if !["", "Node"].contains(&kind) {
        errors.push(Error::not_supported(&target.child("kind"), kind, &["Node", "<empty>"]));
    }
    if text_at(binding, &["target", "name"]).is_empty() {
        errors.push(Error::required(&target.child("name"), ""));
    }
    // These mistakes are told without a frame around them.
    if errors.is_empty() { Ok(()) } else { Err(Status::internal(aggregate(&errors))) }
}

/// A binding may say which pod it means, and which version of it.
fn check_binding_precondition(binding: &Value, pod: &Value, about: About<'_>) -> Result<()> {
    for (field, shown) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let (wanted, found) = (text_at(binding, &["metadata", field]), text_at(pod, &["metadata", field]));
        if !wanted.is_empty() && wanted != found {
            let why =
                format!("Precondition failed: {shown} in precondition: {wanted}, {shown} in object meta: {found}");
            return Err(Status::conflict(About { kind: "pods", ..about }, &why));
        }
    }
    Ok(())
}

/// Where the numbers of a scale are in the object.
#[derive(Debug)]
pub struct ScalePaths {
    replicas: Vec<String>,
    status_replicas: Vec<String>,
    /// Nothing for custom resources that do not name one.
    selector: Option<Vec<String>>,
}

impl ScalePaths {
    pub fn of(resource: &Resource) -> Self {
        let split = |path: &str| path.trim_start_matches('.').split('.').map(str::to_owned).collect();
        match resource.custom.as_ref().and_then(|custom| custom.scale.as_ref()) {
            Some(scale) => Self {
                replicas: split(&scale.replicas),
                status_replicas: split(&scale.status_replicas),
                selector: scale.selector.as_deref().map(split),
            },
            None => Self {
                replicas: split("spec.replicas"),
                status_replicas: split("status.replicas"),
                selector: Some(split("spec.selector")),
            },
        }
    }

    pub fn scale_of(&self, object: &Value) -> Value {
        let at = |path: &[String]| path.iter().try_fold(object, |value, name| value.get(name)).cloned();
        let mut metadata = json!({});
        for name in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
            if let Some(value) = object["metadata"].get(name) {
                metadata[name] = value.clone();
            }
        }
        let mut spec = json!({});
        if let Some(replicas) = at(&self.replicas).filter(|replicas| *replicas != 0) {
            spec["replicas"] = replicas;
        }
        let mut status = json!({"replicas": at(&self.status_replicas).unwrap_or_else(|| 0.into())});
        let selector = self.selector.as_ref().and_then(|path| at(path)).map(|selector| selector_text(&selector));
        if let Some(selector) = selector.filter(|selector| !selector.is_empty()) {
            status["selector"] = selector.into();
        }
        json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status})
    }
}

/// A label selector as `kubectl -l` takes it.
fn selector_text(selector: &Value) -> String {
    match selector.as_str() {
        Some(text) => text.to_owned(),
        None => crate::json::read::<LabelSelector>(selector).unwrap_or_default().to_string(),
    }
}

fn set_at(value: &mut Value, path: &[String], new: Value) {
    if let Some((last, parents)) = path.split_last() {
        let parents: Vec<&str> = parents.iter().map(String::as_str).collect();
        if let Some(object) = crate::schema::object_at(value, &parents) {
            object.insert(last.clone(), new);
        }
    }
}
