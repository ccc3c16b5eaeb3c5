//! Two managers on a real control plane. Whoever leads is killed again and again while work arrives, the store stands
//! still for a while, the API server is replaced: all work ends, and the audit log shows nothing that must not be.
//!
//! It needs the test bed's programs, so only `cargo xtask test` (or naming it) runs it.

#![allow(clippy::unwrap_used, reason = "a bed that cannot be made fails its test")]

mod judge;

use std::collections::BTreeMap;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kueue_runtime::clock::Clock;
use kueue_swarm::audit::is_true;
use kueue_testbed::cache::Cache;
use kueue_testbed::http::{Request, Response};
use kueue_testbed::nodes::NodeGroup;
use kueue_testbed::process::Process;
use kueue_testbed::recipe::Program;
use kueue_testbed::{Plane, PlaneSpec, Planes, Profile, audit, recipe, toolchain};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use judge::{Troubles, Verdict, forbidden, judge};

const KILLS: usize = 20;
/// Before these kills something happens to the cluster as well.
const STORE_STANDS_STILL: usize = 7;
const SERVER_IS_REPLACED: usize = 14;
/// Longer than the Lease: whoever leads must notice that it does not any more.
const STILL: Duration = Duration::from_secs(4);
const JOBS: usize = 60;
const GROUPS: usize = 8;
/// How long a leader works before it is killed: some in the middle of their first writes, some later.
const LEADS: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(400), Duration::from_millis(1200), Duration::from_millis(2200)];
/// A Lease so short that there is another leader soon.
const CONFIGURATION: &str = r#"{"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
    "leaderElection": {"leaderElect": true, "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"}}"#;
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kueue-system/leases/c1f6bfd2.kueue.x-k8s.io";
const KUEUE: &str = "/apis/kueue.x-k8s.io/v1beta2";
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long things may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn nothing_is_lost_and_nothing_given_twice_when_leaders_are_killed() {
    let cache = Cache::find().unwrap();
    let say = &mut |line: &str| eprintln!("testbed: {line}");
    toolchain::build(&cache, say).unwrap();
    let bed = format!("kills-{:08x}", recipe::fnv1a(&[env!("CARGO_MANIFEST_DIR")]) & 0xffff_ffff);
    let spec = PlaneSpec { audits: true, ..PlaneSpec::new(Profile::Full, nodes()) };
    let planes = Planes::start(&cache, &bed, vec![spec], say).unwrap();
    let plane = planes.plane(1).unwrap();
    plane.install_manager(&cache.program(Program::Kubectl)).unwrap();
    let mut bed = Bed { plane, clock: Clock::of_the_machine(), replicas: Vec::new(), started: 0 };
    bed.start_replicas();
    bed.make_queues();
    let etcd = planes.status().unwrap().into_iter().find(|program| program.program == "etcd").unwrap().pid;

    let mut troubles = Troubles::default();
    let mut arriving = arriving();
    let per_kill = arriving.len().div_ceil(KILLS);
    for kill in 0..KILLS {
        for (path, object) in arriving.drain(..per_kill.min(arriving.len())) {
            bed.create(path, &object);
        }
        match kill {
            STORE_STANDS_STILL => troubles.silent.push(bed.silent(|_| stand_still(etcd))),
            SERVER_IS_REPLACED => troubles.silent.push(bed.silent(|bed| bed.plane.restart_server().unwrap())),
            _ => {}
        }
        troubles.killed.push(bed.kill_leader(LEADS[kill % LEADS.len()]));
        bed.start_replicas();
    }
    eprintln!("{KILLS} leaders were killed");
    bed.await_end();
    bed.replicas.iter_mut().for_each(|replica| replica.check().unwrap());

    let events = audit::events(bed.plane.info()).unwrap();
    assert_eq!(forbidden(&events, &troubles), Vec::<String>::new(), "the shipped roles lack this");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let Verdict { problem, writes, leaders } = runtime.block_on(async { judge(&events, &troubles) });
    eprintln!("{leaders} leaders wrote {writes} times; the log is {}", bed.plane.info().logs.display());
    assert_eq!(problem, None, "the audit log is {}", bed.plane.info().logs.display());
    assert!(leaders > KILLS, "only {leaders} led");
}

fn nodes() -> Vec<NodeGroup> {
    let capacity = [("cpu", "64"), ("memory", "256Gi"), ("pods", "200")];
    let capacity = capacity.map(|(name, amount)| (name.to_string(), amount.to_string())).into();
    vec![NodeGroup { name: "pretend".to_string(), count: 1, capacity, labels: BTreeMap::new(), taints: Vec::new() }]
}

/// The store answers nobody for a while.
fn stand_still(etcd: u32) {
    let etcd = Pid::from_raw(etcd.cast_signed()).unwrap();
    kill_process(etcd, Signal::STOP).unwrap();
    sleep(STILL);
    kill_process(etcd, Signal::CONT).unwrap();
}

/// All work, in the order in which it arrives, with the paths of its collections: gangs of different sizes and urgency.
fn arriving() -> Vec<(&'static str, Value)> {
    let pod = |annotations: Value| {
        json!({"metadata": {"annotations": annotations}, "spec": {"restartPolicy": "Never", "containers": [
            {"name": "main", "image": "pause", "resources": {"requests": {"cpu": "1"}}}]}})
    };
    let queue = |number: usize| ["left", "right"][number % 2];
    let mut all = Vec::new();
    for number in 0..JOBS {
        let urgency = ["low", "low", "high"][number % 3];
        let labels = json!({"kueue.x-k8s.io/queue-name": queue(number), "kueue.x-k8s.io/priority-class": urgency});
        let run_for = format!("{}ms", 700 + 400 * (number % 5));
        all.push((
            "/apis/batch/v1/namespaces/default/jobs",
            json!({
            "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("job-{number}"), "labels": labels},
            "spec": {"suspend": true, "parallelism": 1 + number % 3, "completions": 1 + number % 3, "backoffLimit": 0,
                "template": pod(json!({"test.example.com/run-for": run_for}))}}),
        ));
        if number % (JOBS / GROUPS) == 0 {
            for member in 0..2 {
                let mut object =
                    pod(json!({"test.example.com/run-for": "2s", "kueue.x-k8s.io/pod-group-total-count": "2"}));
                object["apiVersion"] = "v1".into();
                object["kind"] = "Pod".into();
                object["metadata"]["name"] = format!("group-{number}-{member}").into();
                object["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": queue(number),
                    "kueue.x-k8s.io/pod-group-name": format!("group-{number}")});
                all.push(("/api/v1/namespaces/default/pods", object));
            }
        }
    }
    all
}

struct Bed {
    plane: Plane,
    clock: Clock,
    replicas: Vec<Process>,
    started: usize,
}

impl Bed {
    /// Both replicas run, and are ready.
    fn start_replicas(&mut self) {
        while self.replicas.len() < 2 {
            let dir = self.plane.info().logs.with_file_name(format!("manager-{}", self.started));
            self.started += 1;
            let program = Path::new(env!("CARGO_BIN_EXE_kueue"));
            self.replicas.push(self.plane.start_manager(program, CONFIGURATION, &dir).unwrap());
        }
    }

    /// Two queues that lend to each other, and two classes of urgency.
    fn make_queues(&self) {
        let apply = |kind: &str, object: Value| self.create(&format!("{KUEUE}/{kind}"), &object);
        let meta = |kind: &str, name: &str| json!({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}});
        apply("resourceflavors", meta("ResourceFlavor", "plain"));
        for (name, value) in [("low", 1), ("high", 10)] {
            let mut class = meta("WorkloadPriorityClass", name);
            class["value"] = value.into();
            apply("workloadpriorityclasses", class);
        }
        for name in ["left", "right"] {
            let mut queue = meta("ClusterQueue", name);
            queue["spec"] = json!({"cohortName": "both", "namespaceSelector": {},
                "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [
                    {"name": "plain", "resources": [{"name": "cpu", "nominalQuota": "4"}]}]}]});
            apply("clusterqueues", queue);
            let mut local = meta("LocalQueue", name);
            local["spec"] = json!({"clusterQueue": name});
            apply("namespaces/default/localqueues", local);
        }
    }

    /// Creates an object as somebody does who tries again when nobody is there to ask.
    fn create(&self, path: &str, object: &Value) {
        let name = &object["metadata"]["name"];
        self.until(&format!("{name} is not created"), || {
            let answer = self.plane.send(&Request::post(path, object.clone()));
            answer.is_ok_and(|answer| answer.is_success() || answer.status == 409)
        });
    }

    fn until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(
                begin.elapsed() < PATIENCE,
                "{what} after {PATIENCE:?}; logs: {}",
                self.plane.info().logs.display()
            );
            sleep(LOOK_EVERY);
        }
    }

    /// When something began after which the API server does not answer, and when it did again.
    fn silent(&self, trouble: impl FnOnce(&Self)) -> (Timestamp, Timestamp) {
        let begin = self.clock.now();
        trouble(self);
        let get = || self.plane.send(&Request::get("/readyz"));
        self.until("the API server does not answer", || get().is_ok_and(|answer| answer.is_success()));
        (begin, self.clock.now())
    }

    /// Waits until somebody leads, and so much longer, and kills it.
    fn kill_leader(&mut self, leads: Duration) -> (u32, Timestamp) {
        let mut leader = None;
        self.until("nobody leads", || {
            let lease = self.plane.send(&Request::get(LEASE)).ok().filter(Response::is_success);
            let holder =
                lease.map(|lease| lease.body["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned());
            let is_it =
                |replica: &Process| holder.as_ref().is_some_and(|name| name.contains(&format!("_{}-", replica.id())));
            leader = self.replicas.iter().position(is_it);
            leader.is_some()
        });
        sleep(leads);
        let mut leader = self.replicas.remove(leader.unwrap());
        leader.check().unwrap();
        let (id, at) = (leader.id(), self.clock.now());
        leader.kill();
        (id, at)
    }

    /// Waits until everything ended.
    fn await_end(&self) {
        let ended = |path: &str, is_over: fn(&Value) -> bool| {
            let Ok(list) = self.plane.send(&Request::get(path)) else { return false };
            let items = list.body["items"].as_array().cloned().unwrap_or_default();
            !items.is_empty() && items.iter().all(is_over)
        };
        self.until("not all jobs are complete", || {
            ended("/apis/batch/v1/namespaces/default/jobs", |job| is_true(job, "Complete"))
        });
        self.until("not all Workloads are finished", || {
            ended(&format!("{KUEUE}/namespaces/default/workloads"), |workload| is_true(workload, "Finished"))
        });
    }
}
