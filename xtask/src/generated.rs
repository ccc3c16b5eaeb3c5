//! Files that are made from code and committed: `cargo xtask manifests` and `cargo xtask codegen`.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::program::{self, root};

/// CRDs and install manifests below `dist/`.
pub fn manifests(check: bool) -> Result<()> {
    let mut command = program::cargo(["run", "--quiet", "--package", "kueue-manifests", "--", "--out", "dist"]);
    if check {
        command.arg("--check");
    }
    program::run(command)
}

/// A documentation page that a program of ours prints.
struct Page {
    file: &'static str,
    /// The `cargo run` arguments of the program that prints it.
    printer: &'static [&'static str],
}

const PAGES: &[Page] =
    &[Page { file: "docs/feature-gates.md", printer: &["--package", "kueue-core", "--example", "feature_gates"] }];

/// Where the embedded API server keeps its built-in kinds.
const KINDS: &str = "crates/apiserver/data";

/// The tables of the documentation and, when asked, the built-in kinds as a real control plane describes them.
pub fn codegen(check: bool, bed: bool) -> Result<()> {
    documentation(check)?;
    if bed {
        let mut command = crate::testbed::testbed();
        command.args(["kinds", KINDS]);
        program::run(command)?;
    }
    Ok(())
}

/// The tables of the documentation.
pub fn documentation(check: bool) -> Result<()> {
    for page in PAGES {
        let mut command = program::cargo(["run", "--quiet"]);
        command.args(page.printer);
        let text = printed(command)?;
        let path = root().join(page.file);
        if std::fs::read_to_string(&path).is_ok_and(|present| present == text) {
            println!("{} is up to date", page.file);
        } else if check {
            bail!("{} is stale: run `cargo xtask codegen` and commit it", page.file);
        } else {
            write(&path, &text)?;
            println!("{} written", page.file);
        }
    }
    Ok(())
}

fn printed(command: Command) -> Result<String> {
    let mut text = String::new();
    let ok = program::run_lines(command, |line| {
        text.push_str(line);
        text.push('\n');
    })?;
    if !ok {
        bail!("the program that prints the page failed");
    }
    Ok(text)
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
