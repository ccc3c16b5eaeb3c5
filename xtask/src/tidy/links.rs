//! Links between documents lead somewhere.

use std::collections::BTreeSet;

use super::{assert_clean, files, parent};
use crate::program::root;

/// The targets of `[text](target)` in one document, code blocks left out.
fn links(markdown: &str) -> Vec<String> {
    let mut links = Vec::new();
    for line in prose_lines(markdown) {
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let Some((target, tail)) = after.split_once(')') else { break };
            links.push(target.to_owned());
            rest = tail;
        }
    }
    links
}

fn prose_lines(markdown: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    markdown.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    })
}

/// The anchors that a document's headings make, as GitHub spells them.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let headings = prose_lines(markdown).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
    kept.replace(' ', "-")
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut violations = Vec::new();
    for file in files(&[".md"]) {
        for link in links(&file.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target =
                if path.is_empty() { root().join(&file.path) } else { root().join(parent(&file.path)).join(path) };
            let found = target.exists()
                && (fragment.is_empty()
                    || std::fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(fragment)));
            if !found {
                violations.push(format!("{}: {link}", file.path));
            }
        }
    }
    assert_clean("these links lead nowhere", &violations);
}

#[test]
fn headings_become_anchors_as_readers_link_them() {
    assert_eq!(anchor("What `kueue config check` says"), "what-kueue-config-check-says");
    assert_eq!(links("see [a](b.md#c) and [d](e)\n```\n[x](y)\n```"), ["b.md#c", "e"]);
}
