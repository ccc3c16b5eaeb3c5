//! Source files: nothing unfinished, nothing forgotten, nothing of one machine.

use super::{assert_clean, files, parent};
use crate::program::root;

/// Words that mark unfinished code, spelled so that this file does not find itself.
fn stub_marks() -> Vec<String> {
    ["todo", "unimplemented", "dbg"]
        .iter()
        .map(|name| format!("{name}!("))
        .chain(["#[ig".to_owned() + "nore"])
        .collect()
}

#[test]
fn no_stub_is_left_behind() {
    let marks = stub_marks();
    let mut violations = Vec::new();
    for file in files(&[".rs"]) {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(mark.as_str())) {
                violations.push(format!("{}:{}: {mark}", file.path, number + 1));
            }
        }
    }
    assert_clean("finish these, or remove them", &violations);
}

#[test]
fn every_deferred_task_names_its_issue() {
    let words = [["TO", "DO"].concat(), ["FIX", "ME"].concat(), ["XX", "X"].concat()];
    let mut violations = Vec::new();
    for file in files(&[".rs", ".toml", ".md", ".sh", ".go"]) {
        for (number, line) in file.text.lines().enumerate() {
            for word in
                words.iter().filter(|word| line.split(|c: char| !c.is_alphanumeric()).any(|part| part == **word))
            {
                if !line.contains(&format!("{word}(#")) {
                    violations.push(format!("{}:{}", file.path, number + 1));
                }
            }
        }
    }
    assert_clean("write the issue: WORD(#12): …", &violations);
}

#[test]
fn every_module_on_disk_is_compiled() {
    let mut violations = Vec::new();
    for file in files(&[".rs"]) {
        let Some((_, inside)) = file.path.split_once("/src/") else { continue };
        let name = inside.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs");
        if ["lib", "main"].contains(&name) || inside.starts_with("bin/") {
            continue;
        }
        let folder = parent(&file.path);
        let owners = [folder.with_extension("rs"), folder.join("lib.rs"), folder.join("main.rs")];
        let listed = owners.iter().any(|owner| {
            let text = std::fs::read_to_string(root().join(owner)).unwrap_or_default();
            text.contains(&format!("mod {name};"))
        });
        if !listed {
            violations.push(format!("{} is in no `mod` line", file.path));
        }
    }
    assert_clean("list these modules or delete them", &violations);
}

#[test]
fn no_path_of_one_machine_is_written_down() {
    let folders = ["work", "farm", "root", "home"].map(|name| format!("/{name}/"));
    let mut violations = Vec::new();
    for file in files(&[".rs", ".toml", ".md", ".yaml", ".yml", ".json", ".sh", ".mod", "run"]) {
        for (number, line) in file.text.lines().enumerate() {
            let starts_a_path = |folder: &String| {
                line.match_indices(folder.as_str()).any(|(at, _)| {
                    let before = line[..at].chars().next_back();
                    before.is_none_or(|c| !c.is_alphanumeric() && !"_.~*-/}".contains(c))
                })
            };
            if folders.iter().any(starts_a_path) {
                violations.push(format!("{}:{}", file.path, number + 1));
            }
        }
    }
    assert_clean("absolute paths of a machine do not belong here", &violations);
}
