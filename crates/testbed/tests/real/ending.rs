//! However a bed ends, none of its programs is left, and the next start works.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kueue_testbed::cache::Cache;
use kueue_testbed::{PlaneSpec, Planes, Profile};

fn start(cache: &Cache, name: &str) -> Planes {
    let spec = PlaneSpec::new(Profile::Bare, Vec::new());
    Planes::start(cache, name, vec![spec], &mut crate::say).unwrap()
}

/// Command lines of living processes that belong to the bed: its directory is on all of them.
fn left(cache: &Cache, name: &str) -> Vec<String> {
    let dir = cache.bed_dir(name).display().to_string();
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).filter(|line| line.contains(&dir)).collect()
}

fn assert_ends(cache: &Cache, name: &str) {
    let begin = Instant::now();
    while !left(cache, name).is_empty() {
        assert!(begin.elapsed() < Duration::from_secs(20), "left: {:?}", left(cache, name));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn kill(pid: u32) {
    let status = Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    assert!(status.success());
}

fn pid_of(planes: &Planes, program: &str) -> u32 {
    planes.status().unwrap().iter().find(|status| status.program == program).unwrap().pid
}

#[test]
fn a_dropped_bed_takes_its_programs_along() {
    let (cache, name) = (crate::cache(), crate::bed_name("dropped"));
    let planes = start(&cache, &name);
    assert_eq!(left(&cache, &name).len(), 2);
    drop(planes);
    assert_eq!(left(&cache, &name), Vec::<String>::new());
    assert!(Planes::find(&cache, &name).unwrap().is_none());
}

#[test]
fn a_killed_program_ends_the_bed_with_a_message_and_the_next_start_works() {
    let (cache, name) = (crate::cache(), crate::bed_name("etcd-killed"));
    let planes = start(&cache, &name);
    kill(pid_of(&planes, "etcd"));
    assert_ends(&cache, &name);
    assert!(planes.status().is_err());
    let failure = Planes::failure(&cache, &name).unwrap();
    assert!(failure.contains("etcd ended (signal: 9") && failure.contains("next: "), "{failure}");
    drop(planes);
    start(&cache, &name).down().unwrap();
    assert_eq!(left(&cache, &name), Vec::<String>::new());
}

#[test]
fn a_killed_supervisor_takes_its_programs_along() {
    let (cache, name) = (crate::cache(), crate::bed_name("supervisor-killed"));
    let planes = start(&cache, &name);
    let etcd = pid_of(&planes, "etcd");
    let stat = std::fs::read_to_string(format!("/proc/{etcd}/stat")).unwrap();
    let supervisor = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)).unwrap();
    kill(supervisor.parse().unwrap());
    assert_ends(&cache, &name);
    assert!(Planes::find(&cache, &name).unwrap().is_none());
    assert!(Planes::failure(&cache, &name).unwrap().contains("supervisor was killed"));
}

#[test]
fn a_caller_that_is_killed_while_starting_leaves_nothing() {
    let (cache, name) = (crate::cache(), crate::bed_name("caller-killed"));
    let mut caller = Command::new(env!("CARGO_BIN_EXE_kueue-testbed"))
        .args(["--bed", &name, "up", "--profile", "bare"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    while left(&cache, &name).len() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(20), "it never started");
        std::thread::sleep(Duration::from_millis(10));
    }
    caller.kill().unwrap();
    caller.wait().unwrap();
    assert_ends(&cache, &name);
}

#[test]
fn a_bed_that_stays_up_leaves_the_callers_pipes_alone() {
    let (cache, name) = (crate::cache(), crate::bed_name("piped"));
    let testbed =
        |args: &[&str]| Command::new(env!("CARGO_BIN_EXE_kueue-testbed")).args(["--bed", &name]).args(args).output();
    // This would not return while the bed runs if a process of it held one of the pipes.
    let up = testbed(&["up", "--profile", "bare"]).unwrap();
    assert!(up.status.success(), "{up:?}");
    assert_eq!(left(&cache, &name).len(), 2);
    let down = testbed(&["down"]).unwrap();
    assert!(down.status.success(), "{down:?}");
    assert_eq!(left(&cache, &name), Vec::<String>::new());
}

#[test]
fn two_beds_of_one_name_are_refused() {
    let (cache, name) = (crate::cache(), crate::bed_name("twice"));
    let _planes = start(&cache, &name);
    let spec = PlaneSpec::new(Profile::Bare, Vec::new());
    let problem = Planes::start(&cache, &name, vec![spec], &mut crate::say).unwrap_err().to_string();
    assert!(problem.contains("already") && problem.contains("next: "), "{problem}");
    assert_eq!(left(&cache, &name).len(), 2, "the first one runs on");
}
