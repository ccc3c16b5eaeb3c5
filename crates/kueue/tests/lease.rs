//! A program with client-go and ours compete for one Lease on a real API server, and never both hold it.
//!
//! It needs the test bed's programs, so only `cargo xtask test` (or naming it) runs it.

#![allow(clippy::unwrap_used, reason = "a bed that cannot be made fails its test")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kueue_runtime::client::{Client, Limits};
use kueue_runtime::clock::Clock;
use kueue_runtime::connect::connect;
use kueue_runtime::key::Key;
use kueue_runtime::leadership::{Candidate, Terms};
use kueue_runtime::watch;
use kueue_testbed::cache::Cache;
use kueue_testbed::recipe::Program;
use kueue_testbed::{PlaneSpec, Planes, Profile, recipe, toolchain};
use tokio::sync::oneshot;
use tokio::time::timeout;

const LEASE: &str = "contested";
/// Short, so that whoever dies is followed soon.
const TERMS: Terms =
    Terms { lease: Duration::from_secs(4), renew_within: Duration::from_secs(3), retry: Duration::from_millis(500) };
/// How long a change of hands may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Who says that it leads, and since or until when.
type Story = Arc<Mutex<Vec<(&'static str, bool, i128)>>>;

fn tell(story: &Story, who: &'static str, leads: bool, at: i128) {
    story.lock().unwrap().push((who, leads, at));
}

/// The Go program.
struct Go {
    child: Child,
    leads: watch::Receiver<bool>,
    story: Story,
    clock: Clock,
}

impl Go {
    fn start(program: &Path, kubeconfig: &Path, story: &Story, clock: Clock) -> Self {
        let ms = |duration: Duration| format!("{}ms", duration.as_millis());
        let mut child = Command::new(program)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--name", LEASE, "--identity", "go", "--lease", &ms(TERMS.lease)])
            .args(["--renew", &ms(TERMS.renew_within), "--retry", &ms(TERMS.retry)])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, leads) = watch::channel(false);
        let told = Arc::clone(story);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let (what, at) = line.split_once(' ').unwrap();
                let leads = what == "leading";
                tell(&told, "go", leads, at.parse().unwrap());
                sender.send_replace(leads);
            }
        });
        Self { child, leads, story: Arc::clone(story), clock }
    }

    /// Ends it gently.
    fn stop(mut self) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it without a word.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        tell(&self.story, "go", false, self.clock.now().as_nanosecond());
    }
}

/// Our side.
struct Ours {
    leads: watch::Receiver<bool>,
    end: oneshot::Sender<()>,
    running: tokio::task::JoinHandle<()>,
    following: tokio::task::JoinHandle<()>,
    story: Story,
    clock: Clock,
}

impl Ours {
    async fn start(kubeconfig: &Path, story: &Story, clock: Clock, identity: &str) -> Self {
        let client = Client::new(connect(Some(kubeconfig)).await.unwrap(), Limits::new(2, None));
        let key = Key::new("default", LEASE);
        let candidate = Candidate::new(client, clock, TERMS, key, identity.to_owned(), "kueue");
        let (sender, leads) = watch::channel(false);
        let (end, ended) = oneshot::channel::<()>();
        let mut followed = leads.clone();
        let told = Arc::clone(story);
        let following = tokio::spawn(async move {
            while followed.changed().await.is_ok() {
                let leads = *followed.borrow_and_update();
                tell(&told, "ours", leads, clock.now().as_nanosecond());
            }
        });
        let running = tokio::spawn(async move { candidate.run(&sender, async { drop(ended.await) }).await });
        Self { leads, end, running, following, story: Arc::clone(story), clock }
    }

    async fn stop(self) {
        drop(self.end);
        self.running.await.unwrap();
        self.following.await.unwrap();
    }

    /// Ends it without a word.
    async fn kill(self) {
        self.running.abort();
        drop(self.running.await);
        tell(&self.story, "ours", false, self.clock.now().as_nanosecond());
    }
}

async fn wait_for(leads: &watch::Receiver<bool>, who: &str) {
    let mut leads = leads.clone();
    let outcome = timeout(PATIENCE, leads.wait_for(|leads| *leads)).await;
    assert!(outcome.is_ok_and(|outcome| outcome.is_ok()), "{who} does not lead after {PATIENCE:?}");
}

fn program(cache: &Cache) -> PathBuf {
    toolchain::build(cache, &mut |line| eprintln!("testbed: {line}")).unwrap();
    cache.program(Program::Elector)
}

#[tokio::test]
async fn client_go_and_ours_never_both_hold_a_lease() {
    let cache = Cache::find().unwrap();
    let program = program(&cache);
    let bed = format!("lease-{:08x}", recipe::fnv1a(&[env!("CARGO_MANIFEST_DIR")]) & 0xffff_ffff);
    let planes = Planes::start(&cache, &bed, vec![PlaneSpec::new(Profile::Bare, Vec::new())], &mut |_| {}).unwrap();
    let kubeconfig = planes.infos()[0].kubeconfig.clone();
    let (story, clock) = (Story::default(), Clock::of_the_machine());

    let go = Go::start(&program, &kubeconfig, &story, clock);
    wait_for(&go.leads, "client-go").await;
    let ours = Ours::start(&kubeconfig, &story, clock, "ours-1").await;
    tokio::task::spawn_blocking(|| go.stop()).await.unwrap();
    wait_for(&ours.leads, "ours, after client-go gave the Lease back,").await;

    let go = Go::start(&program, &kubeconfig, &story, clock);
    ours.stop().await;
    wait_for(&go.leads, "client-go, after ours gave the Lease back,").await;

    let ours = Ours::start(&kubeconfig, &story, clock, "ours-2").await;
    go.kill();
    wait_for(&ours.leads, "ours, after client-go died,").await;

    let go = Go::start(&program, &kubeconfig, &story, clock);
    ours.kill().await;
    wait_for(&go.leads, "client-go, after ours died,").await;
    tokio::task::spawn_blocking(|| go.stop()).await.unwrap();
    planes.down().unwrap();

    let mut story = story.lock().unwrap().clone();
    story.sort_by_key(|(_, _, at)| *at);
    let mut leader = None;
    for (who, leads, _) in &story {
        match leads {
            true => assert_eq!(leader.replace(*who), None, "two lead at once: {story:?}"),
            false if leader == Some(*who) => leader = None,
            // Whoever is killed after it had stopped says so again.
            false => {}
        }
    }
    let elections: Vec<&str> = story.iter().filter(|(_, leads, _)| *leads).map(|(who, ..)| *who).collect();
    assert_eq!(elections, ["go", "ours", "go", "ours", "go"], "{story:?}");
    let at = |number: usize| story.iter().filter(|(_, leads, _)| *leads).nth(number).map(|(.., at)| *at).unwrap();
    let freed = story.iter().find(|(who, leads, _)| *who == "go" && !*leads).map(|(.., at)| *at).unwrap();
    eprintln!("ours took over {} ms after client-go stopped", (at(1) - freed) / 1_000_000);
}
