//! Every dependency carries a licence that ours can be combined with.

use super::{assert_clean, metadata};

const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether one of the alternatives is made of allowed licences only: enough of SPDX for what crates write.
fn is_allowed(expression: &str) -> bool {
    let plain = expression.replace(['(', ')'], " ").replace('/', " OR ").replace(" WITH LLVM-exception", "");
    plain.split(" OR ").any(|choice| choice.split(" AND ").all(|part| ALLOWED.contains(&part.trim())))
}

#[test]
fn every_dependency_has_a_permissive_licence() {
    let metadata = metadata(&[]);
    let mut violations = Vec::new();
    for package in metadata["packages"].as_array().expect("metadata lists packages") {
        let licence = package["license"].as_str().unwrap_or("none");
        if !is_allowed(licence) {
            violations.push(format!("{} {}: {licence}", package["name"], package["version"]));
        }
    }
    assert_clean("choose another crate, or argue for the licence in xtask/src/tidy/licences.rs", &violations);
}

#[test]
fn alternatives_and_combinations_are_told_apart() {
    assert!(is_allowed("MIT OR GPL-3.0"));
    assert!(is_allowed("MIT/Apache-2.0"));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0"));
    assert!(!is_allowed("MIT AND GPL-3.0"));
    assert!(!is_allowed("none"));
}
