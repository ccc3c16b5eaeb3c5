//! Crates use each other only along the edges that ARCHITECTURE.md lists.

use std::collections::{BTreeMap, BTreeSet};

use super::{assert_clean, metadata};
use crate::program::root;

type Edges = BTreeMap<String, BTreeSet<String>>;

/// The rows of the crate table: crate, one sentence, may use.
fn listed_edges(architecture: &str) -> Edges {
    let mut edges = Edges::new();
    for line in architecture.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", name, _, uses, ""] = cells[..]
            && let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'))
        {
            let uses = uses.split(',').map(|used| used.trim().trim_matches('`').to_owned());
            edges.insert(name.to_owned(), uses.filter(|used| used != "–").collect());
        }
    }
    edges
}

/// What the manifests say: ours by short name (`kueue-core` is `core`), ordinary and build dependencies.
fn real_edges() -> Edges {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().expect("metadata lists packages");
    let ours: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let mut edges = Edges::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().expect("a package lists dependencies");
        let used = dependencies
            .iter()
            .filter(|dependency| dependency["kind"] != "dev")
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|name| ours.contains(name));
        edges.insert(short(package["name"].as_str().unwrap_or_default()), used.map(short).collect());
    }
    edges
}

fn short(package: &str) -> String {
    package.strip_prefix("kueue-").unwrap_or(package).to_owned()
}

#[test]
fn crates_use_each_other_only_as_architecture_says() {
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md exists");
    let listed = listed_edges(&architecture);
    let real = real_edges();
    let mut violations = Vec::new();
    for (name, used) in &real {
        match listed.get(name) {
            None => violations.push(format!("`{name}` has no row")),
            Some(allowed) => {
                violations.extend(used.difference(allowed).map(|other| format!("`{name}` uses `{other}`")));
            }
        }
    }
    violations.extend(listed.keys().filter(|name| !real.contains_key(*name)).map(|name| format!("`{name}` is gone")));
    assert_clean("the crate table in ARCHITECTURE.md and the manifests disagree", &violations);
}

#[test]
fn kubernetes_client_crates_stay_out_of_the_pure_crates() {
    let metadata = metadata(&["--no-deps"]);
    let mut violations = Vec::new();
    for package in metadata["packages"].as_array().expect("metadata lists packages") {
        let name = short(package["name"].as_str().unwrap_or_default());
        if !["core", "engine", "api", "sim"].contains(&name.as_str()) {
            continue;
        }
        for dependency in package["dependencies"].as_array().expect("a package lists dependencies") {
            if let Some(client @ ("kube" | "k8s-openapi" | "tokio")) = dependency["name"].as_str() {
                violations.push(format!("`{name}` depends on {client}"));
            }
        }
    }
    assert_clean("pure crates speak to no cluster", &violations);
}

#[test]
fn the_crate_table_is_read() {
    let table = "| crate | is | may use |\n|---|---|---|\n| `core` | x | – |\n| `api` | y | core, `engine` |\n";
    let edges = listed_edges(table);
    assert_eq!(edges["core"], BTreeSet::new());
    assert_eq!(edges["api"], BTreeSet::from(["core".to_owned(), "engine".to_owned()]));
}
