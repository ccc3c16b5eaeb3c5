//! What a machine decides better than a reader, as ordinary tests: `cargo test -p xtask`.
//!
//! Each check gathers every violation and says how to mend it.

mod edges;
mod gates;
mod licences;
mod links;
mod sources;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::root;

/// A file of the repository: what git tracks and what it would, so that a check sees a file before it is committed.
struct File {
    /// Relative to the root, with `/`.
    path: String,
    text: String,
}

/// Every text file with one of these endings.
fn files(endings: &[&str]) -> Vec<File> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files of a clone");
    let listed = String::from_utf8(output.stdout).expect("paths of this repository are UTF-8");
    let mut files = Vec::new();
    for path in listed.lines().filter(|path| endings.iter().any(|ending| path.ends_with(ending))) {
        // A file that is tracked but just deleted is not there to be read.
        if let Ok(text) = std::fs::read_to_string(root().join(path)) {
            files.push(File { path: path.to_owned(), text });
        }
    }
    assert!(!files.is_empty(), "no file ends with {endings:?}");
    files
}

/// `cargo metadata`, with or without the dependencies.
fn metadata(extra: &[&str]) -> serde_json::Value {
    let mut command = crate::program::cargo(["metadata", "--format-version", "1", "--locked"]);
    let output = command.args(extra).output().expect("cargo metadata runs");
    assert!(output.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// Fails with every violation on a line of its own.
fn assert_clean(what_to_do: &str, violations: &[String]) {
    assert!(violations.is_empty(), "{what_to_do}:\n  {}", violations.join("\n  "));
}

fn parent(path: &str) -> PathBuf {
    Path::new(path).parent().map(PathBuf::from).unwrap_or_default()
}
