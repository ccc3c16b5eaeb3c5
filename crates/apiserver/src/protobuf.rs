//! Built-in objects in Kubernetes' protobuf form, which typed Go clients speak.
//!
//! Inside the server everything is JSON; bodies are brought over when they come in and answers when they go out. Field
//! numbers are data ([`messages`]), so one reader and one writer serve every kind. Custom resources have no such form.

use crate::json::Value;

mod messages;
mod read;
pub(crate) mod wire;
mod write;

pub use messages::SCHEMA;

use messages::{Messages, Node};

use crate::rest::decode::SCHEME;

pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

/// What every message on its own begins with.
const PREFIX: &[u8; 4] = b"k8s\0";

/// Whether a `Content-Type` names this form.
pub fn is_named_by(content_type: Option<&str>) -> bool {
    content_type.and_then(|text| text.split(';').next()).is_some_and(|media| media.trim() == MEDIA_TYPE)
}

/// Why a body could not be read, in the words of Go's reader.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// apiVersion and kind, when it came so far.
    pub of: Option<(String, String)>,
    pub why: String,
}

impl From<&str> for Unreadable {
    fn from(why: &str) -> Self {
        Self { of: None, why: why.to_owned() }
    }
}

/// The object in a body, with its type; one without a type is of the expected one.
pub fn decode(body: &[u8], expected: (&str, &str)) -> Result<Value, Unreadable> {
    if body.is_empty() {
        return Err("empty data".into());
    }
    let Some(rest) = body.strip_prefix(PREFIX) else {
        let why = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
        return Err(why.into());
    };
    if rest.is_empty() {
        return Err("empty body".into());
    }
    let messages = Messages::get();
    let envelope = read::object(messages, &messages.envelope, rest).map_err(|why| Unreadable { of: None, why })?;
    let text = |name: &str| envelope["typeMeta"][name].as_str().unwrap_or_default();
    let given = (text("apiVersion"), text("kind"));
    let (api_version, kind) = if given == ("", "") { expected } else { given };
    let failed = |why| Unreadable { of: Some((api_version.to_owned(), kind.to_owned())), why };
    let message = messages.of_kind(api_version, kind).ok_or_else(|| {
        failed(format!("no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \"{SCHEME}\""))
    })?;
    let raw = envelope["raw"].as_str().unwrap_or_default();
    let raw = crate::base64::STANDARD.decode(raw).unwrap_or_default();
    let mut object = read::object(messages, message, &raw).map_err(failed)?;
    if let Some(object) = object.as_object_mut() {
        object.insert("apiVersion", api_version.into());
        object.insert("kind", kind.into());
    }
    Ok(object)
}

/// An object with its type as a message; nothing when its kind has no such form.
pub fn encode(object: &Value) -> Option<Vec<u8>> {
    let messages = Messages::get();
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let message = messages.of_kind(text("apiVersion"), text("kind"))?;
    let raw = write::object(messages, message, object);
    let mut bytes = PREFIX.to_vec();
    let mut kind = Vec::new();
    wire::put_bytes(&mut kind, 1, text("apiVersion").as_bytes());
    wire::put_bytes(&mut kind, 2, text("kind").as_bytes());
    wire::put_bytes(&mut bytes, 1, &kind);
    wire::put_bytes(&mut bytes, 2, &raw);
    wire::put_bytes(&mut bytes, 3, b"");
    wire::put_bytes(&mut bytes, 4, b"");
    Some(bytes)
}

/// A watch event as streams carry it: its length, its type, and the object as a message of its own.
pub fn frame(event: &Value) -> Option<Vec<u8>> {
    let mut object = Vec::new();
    wire::put_bytes(&mut object, 1, &encode(&event["object"])?);
    let mut message = Vec::new();
    wire::put_bytes(&mut message, 1, event["type"].as_str().unwrap_or_default().as_bytes());
    wire::put_bytes(&mut message, 2, &object);
    let mut frame = u32::try_from(message.len()).ok()?.to_be_bytes().to_vec();
    frame.extend_from_slice(&message);
    Some(frame)
}

#[cfg(test)]
mod tests;
