//! Types the commands of `docs/tutorial.md`, of `docs/guides` and of the acceptance rows that are about typing into
//! sandboxes, and compares what they print with what is shown.
//!
//! It needs kubectl, for the latter also yq, so only `cargo xtask test` (or naming it) runs it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const TUTORIAL: &str = include_str!("../../../docs/tutorial.md");
const INSTALL: &str = include_str!("../../../testbed/acceptance/install.md");
const SKYPILOT: &str = include_str!("../../../docs/guides/skypilot-two-teams.md");
const RAY: &str = include_str!("../../../docs/guides/rayjob-gang.md");
const DWS: &str = include_str!("../../../docs/guides/gke-dws.md");
/// How a text starts a sandbox; the rest of the line is given to the program.
const START: &str = "cargo xtask up";
/// Stands for anything: inside a line, or as a line of its own for any number of lines.
const ANYTHING: char = '…';

/// A command and what is shown of its output.
#[derive(Debug, PartialEq)]
struct Typed {
    command: String,
    shown: Vec<String>,
}

/// The blocks of one sort: what stands after the three backticks.
fn blocks<'a>(text: &'a str, sort: &str) -> Vec<Vec<&'a str>> {
    let mut found = Vec::new();
    let mut open: Option<(bool, Vec<&str>)> = None;
    for line in text.lines() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(named), None) => open = Some((named == sort, Vec::new())),
            (Some(_), Some((is_meant, lines))) => found.extend(is_meant.then_some(lines)),
            (None, Some((is_meant, mut lines))) => {
                lines.push(line);
                open = Some((is_meant, lines));
            }
            (None, None) => {}
        }
    }
    found
}

fn typed(text: &str) -> Vec<Typed> {
    let mut all: Vec<Typed> = Vec::new();
    for line in blocks(text, "console").into_iter().flatten() {
        match (line.strip_prefix("$ "), all.last_mut()) {
            (Some(command), _) => all.push(Typed { command: command.to_owned(), shown: Vec::new() }),
            (None, Some(last)) => last.shown.push(line.to_owned()),
            (None, None) => panic!("output before any command: {line}"),
        }
    }
    all
}

/// The flags with which a text starts a sandbox.
fn flags(text: &str) -> Vec<String> {
    let line = blocks(text, "").into_iter().flatten().find_map(|line| line.strip_prefix(START));
    let line = line.unwrap_or_else(|| panic!("no line begins with {START}"));
    line.split_whitespace().map(str::to_owned).collect()
}

fn is_like(shown: &str, printed: &str) -> bool {
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (shown, printed) = (folded(shown), folded(printed));
    let parts: Vec<&str> = shown.split(ANYTHING).map(str::trim).collect();
    let [first, between @ .., last] = &parts[..] else { return shown == printed };
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    for part in between {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

fn are_like(shown: &[String], printed: &[&str]) -> bool {
    match shown {
        [] => printed.is_empty(),
        [first, more @ ..] if first.trim() == ANYTHING.to_string() => {
            (0..=printed.len()).any(|left_out| are_like(more, &printed[left_out..]))
        }
        [first, more @ ..] => match printed {
            [line, others @ ..] => is_like(first, line) && are_like(more, others),
            [] => false,
        },
    }
}

/// A sandbox that ends with the test.
struct Sandbox {
    child: Child,
    kubeconfig: PathBuf,
}

impl Sandbox {
    fn start(name: &str, flags: &[String]) -> Self {
        let kubeconfig = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.kubeconfig"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_kueue"));
        command.arg("sandbox").arg("--kubeconfig").arg(&kubeconfig).args(flags).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program was just built");
        let output = child.stdout.take().expect("it was asked to be a pipe");
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let greeting = lines.take_while(|line| !line.contains("Ctrl-C")).collect::<Vec<_>>().join("\n");
        assert!(greeting.contains("A cluster is ready"), "{greeting}");
        Self { child, kubeconfig }
    }

    /// What a command prints, errors too.
    fn run(&self, command: &str) -> String {
        let clone = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(clone);
        shell.env("KUBECONFIG", &self.kubeconfig).env("SCRATCH", env!("CARGO_TARGET_TMPDIR"));
        String::from_utf8_lossy(&shell.output().expect("bash is there").stdout).into_owned()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Types everything that a text says.
fn check(name: &str, text: &str, programs: &[&str]) {
    for program in programs {
        let is_there = Command::new(program).arg("--help").output().is_ok();
        assert!(is_there, "{program} is not installed, so nothing was tried");
    }
    let sandbox = Sandbox::start(name, &flags(text));
    let commands = typed(text);
    assert!(commands.len() > 10, "only {} commands were found", commands.len());
    for Typed { command, shown } in commands {
        let printed = sandbox.run(&command);
        let lines: Vec<&str> = printed.lines().collect();
        assert!(are_like(&shown, &lines), "$ {command}\n{printed}\nThe text shows:\n{}", shown.join("\n"));
    }
}

#[test]
fn the_tutorial_shows_what_happens() {
    check("tutorial", TUTORIAL, &["kubectl"]);
}

#[test]
fn the_guide_to_two_teams_with_skypilot_shows_what_happens() {
    check("skypilot", SKYPILOT, &["kubectl"]);
}

#[test]
fn the_guide_to_gangs_of_ray_shows_what_happens() {
    check("ray", RAY, &["kubectl"]);
}

#[test]
fn the_guide_to_dws_shows_what_happens() {
    check("dws", DWS, &["kubectl"]);
}

#[test]
fn installing_and_configuring_works_as_documents_type_it() {
    check("install", INSTALL, &["kubectl", "yq"]);
}

#[test]
fn commands_and_flags_are_found() {
    let text = "Start:\n```\ncargo xtask up --speed 5\n```\nThen\n```console\n$ a\nb\nc\n$ d\n```\n";
    assert_eq!(flags(text), ["--speed", "5"]);
    let of = |command: &str, shown: &[&str]| Typed {
        command: command.to_owned(),
        shown: shown.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(typed(text), [of("a", &["b", "c"]), of("d", &[])]);
}

#[test]
fn an_ellipsis_is_anything_and_nothing_else_is() {
    for (shown, printed, like) in [
        ("NAME … AGE", "NAME   STATUS   AGE", true),
        ("job-…", "job-first-12", true),
        ("job-… True … 5s", "job-x  False True  5s", true),
        ("a b", "a    b", true),
        ("a b", "a b c", false),
        ("… b", "a b c", false),
        ("a …", "a b c", true),
        ("a … d", "a b c", false),
    ] {
        assert_eq!(is_like(shown, printed), like, "{shown} | {printed}");
    }
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    assert!(are_like(&lines(&["…", "b"]), &["x", "y", "b"]));
    assert!(are_like(&lines(&["b", "…"]), &["b"]));
    assert!(!are_like(&lines(&["b"]), &["b", "c"]));
    assert!(!are_like(&lines(&["b"]), &[]));
}
