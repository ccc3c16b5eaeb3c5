//! Child processes that cannot outlive their parent: the programs of the control plane, and the Go builds.
//!
//! The parent does not start a program directly but this crate's own as `kueue-testbed child PROGRAM …`, which leaves the
//! terminal's session, asks the kernel to be killed when its parent ends, and becomes the program. This needs no unsafe
//! code: what a forked child may do before `exec` is restricted, what a fresh process does is not.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, getppid, setsid};

use crate::problem::{Problem, Result};
use crate::toolchain::last_lines;

/// How often a process that ends is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A started program and its log.
#[derive(Debug)]
pub struct Process {
    /// What its file is called.
    pub name: String,
    pub log: PathBuf,
    child: Child,
}

impl Process {
    /// Starts a program with its output in a log file.
    pub fn start(program: &Path, args: &[String], dir: &Path, log: &Path) -> Result<Process> {
        let failed = |error: std::io::Error| Problem::file("start", program, &error);
        let output = File::create(log).map_err(|error| Problem::file("create", log, &error))?;
        let child = tied_command(program)?
            .args(args)
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(output.try_clone().map_err(failed)?)
            .stderr(output)
            .spawn()
            .map_err(failed)?;
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Process { name, log: log.to_path_buf(), child })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Says why it is no longer running, when it is not.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.ended(status)),
            Err(error) => Err(Problem::file("look after", &self.log, &error)),
        }
    }

    fn ended(&self, status: ExitStatus) -> Problem {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        // A Go program's last words come before the stacks of all its goroutines.
        let words = log.split("\ngoroutine ").next().unwrap_or_default();
        let what = format!("{} ended ({status}); the end of its log:\n{}", self.name, last_lines(words, 8));
        let problem = Problem::new(what);
        if log.contains("address already in use") {
            problem.next("another program took one of its ports meanwhile; start again, other ports will be chosen")
        } else if log.contains("no space left on device") || is_full(&self.log.with_extension("room")) {
            problem.next(crate::problem::FREE_SPACE)
        } else {
            problem.next(format!("its whole log is {}; `cargo xtask testbed up` starts afresh", self.log.display()))
        }
    }

    /// Kills it and waits until it is gone. The data is thrown away, and on a gentle signal the API server would wait
    /// for its open watches, more than a minute with controllers attached.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Tells it to end, and kills it when that takes longer.
    pub fn end(mut self, within: Duration) {
        if let Some(pid) = Pid::from_raw(self.id().cast_signed()) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        let begin = Instant::now();
        while begin.elapsed() < within && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(LOOK_EVERY);
        }
        self.kill();
    }

    /// Resident memory in kilobytes, where the kernel tells.
    pub fn memory_kb(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A command that runs `program` as a child that ends with this process, and with the thread that starts it.
pub(crate) fn tied_command(program: &Path) -> Result<Command> {
    let mut command = Command::new(testbed_program()?);
    command.arg("child").arg(std::process::id().to_string()).arg(program);
    Ok(command)
}

/// The `kueue-testbed` binary: this very program, or the one that was built beside it.
pub(crate) fn testbed_program() -> Result<PathBuf> {
    const NAME: &str = "kueue-testbed";
    let this = std::env::current_exe().map_err(|error| Problem::new(format!("cannot find this program: {error}")))?;
    if this.file_stem().is_some_and(|stem| stem == NAME) {
        return Ok(this);
    }
    // A test binary lies in `deps`, one folder below.
    let beside = this.ancestors().skip(1).take(2).map(|dir| dir.join(NAME)).find(|file| file.is_file());
    beside.ok_or_else(|| {
        Problem::new(format!("there is no {NAME} beside {}", this.display())).next(format!("cargo build -p {NAME}"))
    })
}

/// Becomes `program`, tied to the life of `parent`. Returns only when that failed.
pub fn become_child(parent: u32, program: &OsString, args: &[OsString]) -> Problem {
    // A session of its own: a signal to the caller's group must not take etcd away, or the API server hangs in every
    // request for a minute instead of failing. It fails only for a group leader, which has what it needs already.
    let _ = setsid();
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)) {
        return Problem::new(format!("cannot be tied to the supervisor's life: {error}"));
    }
    // The parent may have ended before the kernel was asked.
    if getppid().map(Pid::as_raw_nonzero).map(|pid| pid.get().unsigned_abs()) != Some(parent) {
        return Problem::new("the supervisor has ended");
    }
    let error = Command::new(program).args(args).exec();
    Problem::file("run", Path::new(program), &error)
}
/// Whether there is no room for a file at `path`. On a full disk a program ends without a word: its log has no room either.
fn is_full(path: &Path) -> bool {
    let outcome = fs::write(path, [0; 4096]);
    let _ = fs::remove_file(path);
    outcome.is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_seen_when_a_program_ended_without_a_word() {
        let dir = std::env::temp_dir().join(format!("kueue-testbed-{}-room", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let full = dir.join("full");
        // Writing to it fails as on a full disk; only the link is removed.
        std::os::unix::fs::symlink("/dev/full", &full).unwrap();
        assert!(is_full(&full));
        assert!(!is_full(&dir.join("empty")));
        fs::remove_dir_all(dir).unwrap();
    }
}
