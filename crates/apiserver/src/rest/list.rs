//! `get` and `list`, in whole, as a Table or as metadata, and page by page.

use std::sync::Arc;

use bytes::Bytes;

use super::accept::Shape;
use super::body::syntax;
use super::query::ListOptions;
use super::reply::{Reply, ReplyBody};
use super::select::Selection;
use super::service::{Call, Server};
use crate::base64;
use crate::json::{Map, Value, json, write_text};
use crate::kinds::Resource;
use crate::status::{Result, Status};
use crate::store::{Key, Object, Part, Snapshot};
use crate::table;

/// How long a list waits for a version that has not come yet.
const FUTURE_WAIT: std::time::Duration = std::time::Duration::from_secs(3);

/// An object with the type that it was asked for as.
pub fn typed(resource: &Resource, object: &Value) -> Value {
    let mut value = object.clone();
    if let Some(map) = value.as_object_mut() {
        map.insert("apiVersion", resource.api_version().into());
        map.insert("kind", resource.kind.clone().into());
    }
    value
}

/// The same as bytes: the type is put before what is already encoded.
pub fn typed_bytes(resource: &Resource, object: &Object) -> Bytes {
    let encoded = object.encoded();
    let mut bytes = Vec::with_capacity(encoded.len() + 256);
    bytes.extend_from_slice(b"{\"kind\":");
    write_text(&resource.kind, &mut bytes);
    bytes.extend_from_slice(b",\"apiVersion\":");
    write_text(&resource.api_version(), &mut bytes);
    bytes.push(if encoded.len() > 2 { b',' } else { b'}' });
    bytes.extend_from_slice(encoded.get(1..).filter(|rest| rest.len() > 1).unwrap_or_default());
    bytes.into()
}

/// Only the metadata.
pub fn partial(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

/// A list was asked for as an object, or an object as a list.
fn mismatch(resource: &Resource, wanted: &str, found: &str, suffix: &str) -> Status {
    let go_type = match resource.custom {
        Some(_) => format!("unstructured.Unstructured{suffix}"),
        None => format!("{}.{}{suffix}", resource.go_package(), resource.kind),
    };
    let message = format!("you requested {wanted}, but the requested object is {found} (*{go_type})");
    Status::new(406, "NotAcceptable", message)
}

impl Server {
    pub async fn get(&self, call: &Call, resource: &Resource) -> Result<Reply> {
        let options = call.query.list_options()?;
        let wrong = |why: String| Status::bad_request(format!("invalid resource version: {why}"));
        if let Some(version) = options.version().map_err(wrong)? {
            self.wait_for(version).await?;
        }
        let key = call.key();
        let object = self.store.get(&resource.storage, &key).ok_or_else(|| call.not_found(resource))?;
        let object = self.shown(resource, &object).await?;
        match call.accepted.shape {
            Shape::Whole => Ok(Reply::object(200, resource, &object, call.accepted)),
            _ => Ok(Reply::ok(self.reshaped(call, resource, &object.whole())?)),
        }
    }

    /// One object in the form that was asked for.
    pub fn reshaped(&self, call: &Call, resource: &Resource, object: &Value) -> Result<Value> {
        match call.accepted.shape {
            Shape::Whole => Ok(typed(resource, object)),
            Shape::Partial => Ok(partial(object)),
            Shape::PartialList => Err(mismatch(resource, "PartialObjectMetadataList", "not a list", "")),
            Shape::Table => {
                let include = table::Include::parse(call.query.get("includeObject"))?;
                let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
                let row = table::row(resource, object, include, self.clock.now());
                Ok(table::table(resource, &metadata, &[row], true))
            }
        }
    }

    pub async fn list(&self, call: &Call, resource: &Resource, options: &ListOptions) -> Result<Reply> {
        options.validate()?;
        let selection = Selection::parse(options, resource, "")?;
        let page = self.page(call, resource, options, &selection).await?;
        let mut metadata = Map::new();
        if resource.custom.is_some() && call.accepted.shape == Shape::Whole {
            // Lists of custom resources always have the field.
            metadata.insert("continue", "".into());
        }
        metadata.insert("resourceVersion", page.revision.to_string().into());
        if let Some(token) = page.continue_token {
            metadata.insert("continue", token.into());
        }
        if let Some(remaining) = page.remaining {
            metadata.insert("remainingItemCount", remaining.into());
        }
        let stored: Vec<Arc<Object>> = page.objects.iter().map(|(_, object)| Arc::clone(object)).collect();
        let objects = self.shown_all(resource, &stored).await?;
        match call.accepted.shape {
            Shape::Whole => Ok(Reply { code: 200, body: ReplyBody::Json(list_bytes(resource, &metadata, &objects)) }),
            Shape::Partial => Err(mismatch(resource, "PartialObjectMetadata", "a list", "List")),
            Shape::PartialList => {
                let items: Vec<Value> = objects.iter().map(|object| partial(&object.whole())).collect();
                Ok(Reply::ok(json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": metadata, "items": items,
                })))
            }
            Shape::Table => {
                let include = table::Include::parse(call.query.get("includeObject"))?;
                let now = self.clock.now();
                let rows: Vec<Value> =
                    objects.iter().map(|object| table::row(resource, &object.whole(), include, now)).collect();
                Ok(Reply::ok(table::table(resource, &metadata.into(), &rows, true)))
            }
        }
    }

    /// Waits a little for a version that is ahead of us.
    pub async fn wait_for(&self, version: u64) -> Result<()> {
        if version <= self.store.revision() {
            return Ok(());
        }
        tokio::time::sleep(FUTURE_WAIT).await;
        let current = self.store.revision();
        if version <= current { Ok(()) } else { Err(Status::too_large_version(version, current)) }
    }

    async fn page(
        &self,
        call: &Call,
        resource: &Resource,
        options: &ListOptions,
        selection: &Selection,
    ) -> Result<Page> {
        let wrong = |why: String| Status::bad_request(format!("invalid resource version: {why}"));
        let version = options.version().map_err(wrong)?.filter(|version| *version > 0);
        let mut after = None;
        let mut at = None;
        if !options.continue_token.is_empty() {
            if !options.resource_version.is_empty() && options.resource_version != "0" {
                let why = "specifying resource version is not allowed when using continue";
                return Err(Status::bad_request(why));
            }
            let token = Token::parse(&options.continue_token)?;
            at = token.revision;
            after = Some(token.after);
        } else if let Some(version) = version {
            self.wait_for(version).await?;
            // A page is of one version, and that is the one asked for.
            if options.match_rule == "Exact" || options.match_rule.is_empty() && options.limit > 0 {
                at = Some(version);
            }
        }
        let namespace = call.path.namespace.as_str();
        let max = usize::try_from(options.limit).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
        let part = Part { namespace, after: after.as_ref(), max };
        let is_wanted = |key: &Key, object: &Object| selection.matches(key, object);
        let listed = self.store.page(&resource.storage, at, part, is_wanted).map_err(|_| match &after {
            Some(after) => expired_page(after),
            None => Status::expired("The resourceVersion for the provided list is too old."),
        })?;
        let Snapshot { revision, objects, remaining } = listed;
        let mut page = Page { revision, objects, continue_token: None, remaining: None };
        if remaining > 0
            && let Some((last, _)) = page.objects.last()
        {
            page.continue_token = Some(Token { revision: Some(revision), after: last.clone() }.to_string());
            page.remaining = selection.is_everything().then_some(remaining);
        }
        Ok(page)
    }
}

/// Objects of one page.
struct Page {
    revision: u64,
    objects: Vec<(Key, Arc<Object>)>,
    continue_token: Option<String>,
    remaining: Option<usize>,
}

fn list_bytes(resource: &Resource, metadata: &Map, objects: &[Arc<Object>]) -> Bytes {
    let head = json!({"kind": resource.list_kind, "apiVersion": resource.api_version(), "metadata": metadata});
    let head = head.to_string();
    let mut bytes =
        Vec::with_capacity(head.len() + objects.iter().map(|object| object.encoded().len() + 64).sum::<usize>());
    bytes.extend_from_slice(&head.as_bytes()[..head.len() - 1]);
    bytes.extend_from_slice(b",\"items\":[");
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            bytes.push(b',');
        }
        // Items of built-in kinds do not repeat the type; custom ones do.
        match resource.custom {
            Some(_) => bytes.extend_from_slice(&typed_bytes(resource, object)),
            None => bytes.extend_from_slice(&object.encoded()),
        }
    }
    bytes.extend_from_slice(b"]}\n");
    bytes.into()
}

/// Where a list goes on: after an object, at the revision of the first page, or at the present one.
struct Token {
    revision: Option<u64>,
    after: Key,
}

impl std::fmt::Display for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value =
            json!({"v": "meta.k8s.io/v1", "rv": self.revision, "start": [self.after.namespace, self.after.name]});
        f.write_str(&base64::URL.encode(value.to_string().as_bytes()))
    }
}

impl Token {
    fn parse(text: &str) -> Result<Self> {
        let wrong =
            |why: &str| Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"));
        let bytes = base64::URL.decode(text).map_err(|at| wrong(&format!("illegal base64 data at input byte {at}")))?;
        let told = |error: serde_json::Error| wrong(&syntax::problem(&bytes).unwrap_or_else(|| error.to_string()));
        let value: Value = serde_json::from_slice(&bytes).map_err(told)?;
        let part = |index: usize| value["start"][index].as_str().unwrap_or_default();
        Ok(Self { revision: value["rv"].as_u64(), after: Key::new(part(0), part(1)) })
    }
}

fn expired_page(after: &Key) -> Status {
    let token = Token { revision: None, after: after.clone() }.to_string();
    let message = "The provided continue parameter is too old to display a consistent list result. You can start a new \
                   list without the continue parameter, or use the continue token in this response to retrieve the \
                   remainder of the results. Continuing with the provided token results in an inconsistent list - \
                   objects that were created, modified, or deleted between the time the first chunk was returned and \
                   now may show up in the list.";
    Status::expired(message).with_metadata(json!({"continue": token}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back() {
        for (namespace, name) in [("", "a"), ("ns", "b"), ("ns", "longer-name")] {
            let token = Token { revision: Some(7), after: Key::new(namespace, name) };
            let read = Token::parse(&token.to_string()).unwrap();
            assert_eq!((read.revision, read.after), (Some(7), Key::new(namespace, name)));
        }
        let message = Token::parse("bogus").map(|_| ()).unwrap_err();
        assert_eq!(
            message.message(),
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 4"
        );
    }
}
