//! Reads the file: the only place here that touches a disk.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::document::TEXT_BYTES_MAX;

/// Where a pod finds the namespace it runs in.
const SERVICE_ACCOUNT_NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// Why a file could not be read, in the words of Go's file functions.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("open {}: {}", path.display(), reason(source))]
    Open { path: PathBuf, source: io::Error },
    #[error("read {}: {}", path.display(), reason(source))]
    Read { path: PathBuf, source: io::Error },
    #[error("read {}: not UTF-8", path.display())]
    NotText { path: PathBuf },
}

/// The text of a file, no more of it than a configuration may have plus one byte.
pub fn read(path: &Path) -> Result<String, ReadError> {
    let file = File::open(path).map_err(|source| ReadError::Open { path: path.to_owned(), source })?;
    read_from(file, path)
}

/// The same from a stream that is already open; `name` is told in errors.
pub fn read_from(stream: impl Read, name: &Path) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    stream
        .take(TEXT_BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| ReadError::Read { path: name.to_owned(), source })?;
    let is_cut = bytes.len() > TEXT_BYTES_MAX;
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        // The cut may go through a character; the size is what must be told then.
        Err(error) if is_cut => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Err(_) => Err(ReadError::NotText { path: name.to_owned() }),
    }
}

/// The namespace of the service account this process runs with, if it runs in a pod.
pub fn operator_namespace() -> Option<String> {
    let text = std::fs::read_to_string(SERVICE_ACCOUNT_NAMESPACE).ok()?;
    Some(text.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The system's message as Go prints it: lower case, without the number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_lowercase().to_string() + chars.as_str()).unwrap_or_default()
}
