//! Builds the programs with Go, once per machine and recipe.
//!
//! Each finished program is renamed into the cache, so an interrupted build goes on where it was; Go's own cache keeps
//! what was compiled of an unfinished one. Checksums are those of the committed `go.sum`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cache::{Cache, install, make_dir, write};
use crate::problem::{FREE_SPACE, Problem, Result};
use crate::process::tied_command;
use crate::recipe::Program;

/// How often a running build says that it is still running.
const REPORT_EVERY: Duration = Duration::from_secs(15);

/// Finds the Go command: on the PATH, or where its own installer puts it.
pub fn find_go() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_go_in(std::env::split_paths(&path).chain([PathBuf::from("/usr/local/go/bin")]))
}

fn find_go_in(mut dirs: impl Iterator<Item = PathBuf>) -> Result<PathBuf> {
    dirs.find_map(|dir| Some(dir.join("go")).filter(|file| file.is_file())).ok_or_else(|| {
        let needed = Program::ALL.map(|program| go_directive(program.module().go_mod)).into_iter().max();
        Problem::new("the test bed is built with Go, and there is no `go` on the PATH")
            .next(format!("install Go {} or newer (package `golang`, or go.dev/dl)", needed.unwrap_or_default()))
    })
}

fn go_directive(go_mod: &str) -> &str {
    go_mod.lines().find_map(|line| line.strip_prefix("go ")).unwrap_or_default()
}

/// Builds what is missing; `say` gets a line at every step and every quarter of a minute.
pub fn build(cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<()> {
    if cache.missing().is_empty() {
        return Ok(());
    }
    let go = find_go()?;
    let _alone = lock(cache, say)?;
    // Somebody else may have built it all while we waited for the lock.
    let missing = cache.missing();
    let begin = Instant::now();
    for (index, program) in missing.iter().enumerate() {
        let left: Vec<&str> = missing[index + 1..].iter().map(|later| later.name()).collect();
        let left = if left.is_empty() { "the last one".to_string() } else { format!("then {}", left.join(", ")) };
        let done = Program::ALL.len() - missing.len() + index + 1;
        let step = format!("building {} ({done} of {}; {left})", program.name(), Program::ALL.len());
        say(&step);
        build_one(cache, &go, *program, &mut |took| say(&format!("{step}, {} s so far", took.as_secs())))?;
    }
    say(&format!(
        "built {} programs in {} s into {}",
        missing.len(),
        begin.elapsed().as_secs(),
        cache.root().display()
    ));
    Ok(())
}

/// One build at a time per cache: two would only fight for the same cores.
fn lock(cache: &Cache, say: &mut dyn FnMut(&str)) -> Result<File> {
    let dir = cache.programs_dir();
    make_dir(&dir)?;
    let path = dir.join("build.lock");
    let failed = |error: std::io::Error| Problem::file("lock", &path, &error);
    let file = File::create(&path).map_err(failed)?;
    if file.try_lock().is_err() {
        say("another build is running on this machine; waiting for it to end");
        file.lock().map_err(failed)?;
    }
    Ok(file)
}

fn build_one(cache: &Cache, go: &Path, program: Program, still: &mut dyn FnMut(Duration)) -> Result<()> {
    let module = program.module();
    let dir = cache.programs_dir().join(module.folder());
    let source = dir.join("module");
    make_dir(&source)?;
    write(&source.join("go.mod"), module.go_mod)?;
    write(&source.join("go.sum"), module.go_sum)?;
    if let Some(main) = module.main {
        write(&source.join("main.go"), main)?;
    }
    let place = dir.join(program.name());
    let partial = dir.join(format!("{}.partial", program.name()));
    let log = dir.join(format!("{}.build.log", program.name()));
    let output = File::create(&log).map_err(|error| Problem::file("create", &log, &error))?;
    let mut command = tied_command(go)?;
    command
        .args(["build", "-ldflags", &module.linker_flags(), "-o"])
        .args([partial.as_os_str(), program.package().as_ref()])
        .current_dir(&source)
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly -trimpath -buildvcs=false")
        .env("GOWORK", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let mut child = command.spawn().map_err(|error| Problem::file("run", go, &error))?;
    let begin = Instant::now();
    let mut reported = begin;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(|error| Problem::file("wait for", go, &error))? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(100));
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            still(begin.elapsed());
        }
    };
    if !status.success() {
        // A failed link leaves what it wrote so far; the next attempt must not trip over it.
        let _ = fs::remove_file(&partial);
        let text = fs::read_to_string(&log).unwrap_or_default();
        let what = format!("building {} failed ({status}):\n{}", program.name(), last_lines(&text, 12));
        return Err(Problem::new(what).next(advice(&text, &log)));
    }
    install(&partial, &place)
}

/// The next step for what Go complained about.
fn advice(log: &str, file: &Path) -> String {
    let says = |text: &str| log.contains(text);
    if says("no space left on device") {
        FREE_SPACE.to_string()
    } else if says("checksum mismatch") || says("SECURITY ERROR") {
        "what was downloaded is not what go.sum in testbed/ pins: check GOPROXY, or clear the module with \
         `go clean -modcache`, then run the same command again"
            .to_string()
    } else if says("requires go >=") || says("requires go1") {
        "install the newer Go that the message names, then run the same command again".to_string()
    } else if [
        "dial tcp",
        "proxyconnect",
        "no such host",
        "i/o timeout",
        "connection refused",
        "module lookup disabled",
    ]
    .iter()
    .any(|sign| says(sign))
    {
        "the modules could not be downloaded: check the network and GOPROXY, then run the same command again; \
         what was built is kept"
            .to_string()
    } else {
        format!("the whole output is in {}; the same command goes on from here", file.display())
    }
}

pub(crate) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| format!("    {line}\n")).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_failure_gets_its_own_advice() {
        let log = Path::new("x.log");
        let cases = [
            ("link: write: no space left on device", "free some space"),
            ("verifying module: checksum mismatch", "go.sum"),
            ("go: go.mod requires go >= 1.26.0 (running go 1.21)", "newer Go"),
            ("dial tcp: lookup: no such host", "network"),
            ("undefined: foo", "x.log"),
        ];
        for (output, expected) in cases {
            assert!(advice(output, log).contains(expected), "{output}: {}", advice(output, log));
        }
    }

    #[test]
    fn without_go_the_version_to_install_is_named() {
        let problem = find_go_in([PathBuf::from("/nowhere")].into_iter()).unwrap_err().to_string();
        assert!(problem.contains("next: install Go 1."), "{problem}");
    }

    #[test]
    fn the_end_of_a_long_log_is_shown() {
        assert_eq!(last_lines("a\nb\nc", 2), "    b\n    c\n");
    }
}
