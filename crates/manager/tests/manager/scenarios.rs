//! The scenarios of `testbed/manager` on the embedded server, in virtual time and with a pretend world; and again with an
//! API server that fails in every way, and with a manager that is killed again and again.
//!
//! `cargo test -p kueue --test real` runs the same files on a real control plane.

#![allow(clippy::unwrap_used, reason = "a bed that cannot be made fails its test")]

use std::path::PathBuf;
use std::time::Duration;

use kueue_api::config::{DEFAULT_NAMESPACE, load};
use kueue_apiserver::faults::{Faults, Rule};
use kueue_apiserver::{ApiServer, Settings};
use kueue_core::gates::{Gate, Gates};
use kueue_manager::{Manager, Observer, keep_registered, serve};
use kueue_runtime::clock::Clock;
use kueue_testbed::Result;
use kueue_testbed::bed::{Bed as _, Need};
use kueue_testbed::embedded::Embedded;
use kueue_testbed::http::{Request, Response};
use kueue_testbed::scenario::Scenario;
use kueue_world::World;
use kueue_world::autoscaler::Temper;
use kueue_world::behaviour::Defaults;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use crate::bed::{START, faulty_client, image, install_visibility, install_webhooks, install_webhooks_at, show_log};

/// What a manager has to live with.
#[derive(Clone, Copy, PartialEq)]
enum Weather {
    Fine,
    /// Of a hundred requests, and of a hundred watches, a few meet each fault there is.
    Faulty,
    /// The manager is killed every few seconds, whatever it is doing, and another one begins.
    Killed,
}

/// How the API server reaches the manager.
#[derive(Clone, Copy, PartialEq)]
enum Line {
    /// Without sockets, so that time can be virtual.
    InProcess,
    /// Over HTTPS, as it is shipped; sockets take real time.
    Https { webhooks: u16, probes: u16 },
}

const FAULT_RATE: f64 = 0.03;
const LOOK_EVERY: Duration = Duration::from_millis(100);
const KILLED_EVERY: Duration = Duration::from_millis(3700);
/// How much longer than usual things may take when something goes wrong all the time.
const PATIENCE: u32 = 20;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testbed/manager")
}

fn check(name: &str, weather: Weather) {
    play(name, weather, None, Line::InProcess);
}

/// In fine weather, with the sockets and certificates of production.
fn check_over_https(name: &str) {
    let free = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // Both are open before one is closed, so that they differ.
    let (webhooks, probes) = (free(), free());
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let line = Line::Https { webhooks: port(&webhooks), probes: port(&probes) };
    drop((webhooks, probes));
    play(name, Weather::Fine, None, line);
}

/// The same with the autoscaler's API, and an autoscaler that does what the seed says.
fn check_autoscaled(name: &str, weather: Weather, seed: u64) {
    let dead = Some((Duration::from_secs(90), Duration::from_secs(20)));
    let (silent, sold_out, failing) = (20, 20, 30);
    let (flapping, lying, expiring) = (20, 20, 20);
    let temper = Temper { seed, silent, sold_out, failing, flapping, lying, expiring, revoking: 0, dead, until: None };
    play(name, weather, Some(temper), Line::InProcess);
}

fn play(name: &str, weather: Weather, temper: Option<Temper>, line: Line) {
    show_log();
    let scenario = Scenario::read(&folder().join(format!("{name}.yaml")), name).unwrap();
    let bed = match line {
        Line::InProcess => Embedded::start_from(Some(image()), [1; 32]).unwrap(),
        Line::Https { .. } => in_real_time().playing(Need::Certificates),
    };
    let bed = bed.playing(Need::Workloads);
    let bed = if weather == Weather::Fine { bed } else { bed.with_patience(PATIENCE) };
    let config = scenario.manager.clone().unwrap_or_else(|| json!({}));
    let server = bed.server().clone();
    let (is_wanted, mut wanted) = watch::channel(true);
    let (answering, answers) = watch::channel(None);
    let is_answering = answering.subscribe();
    bed.within(async {
        let clock = match line {
            Line::InProcess => {
                install_webhooks(&server, answers.clone()).await;
                install_visibility(&server, answers).await;
                Clock::starting_at(START.parse().unwrap())
            }
            Line::Https { webhooks, .. } => {
                install_webhooks_at(&server, webhooks).await;
                Clock::of_the_machine()
            }
        };
        let reliable = faulty_client(&server, &Faults::new(0, []));
        let pods = Defaults { domain: "test.example.com".to_owned(), ..Defaults::default() };
        if temper.is_some() {
            define_the_autoscalers_api(&server).await;
        }
        let world = World::new(reliable.clone(), clock, pods).with_temper(temper.unwrap_or_default());
        tokio::spawn(world.with_nodes(nodes()).run());
        let client = match weather {
            Weather::Faulty => faulty_client(&server, &Faults::new(7, Rule::all(FAULT_RATE))),
            Weather::Fine | Weather::Killed => reliable,
        };
        tokio::spawn(async move {
            // Who asks for managers is gone when the test is over.
            while wanted.wait_for(|is_wanted| *is_wanted).await.is_ok() {
                let (manager, observer) = manager(&config, client.clone(), clock, line);
                let manager = tokio::spawn(manager);
                let killed = async {
                    match weather {
                        Weather::Killed => tokio::time::sleep(KILLED_EVERY).await,
                        Weather::Fine | Weather::Faulty => std::future::pending().await,
                    }
                };
                let answer = async {
                    observer.ready().await;
                    if let Line::Https { probes, .. } = line {
                        until_ready(probes).await;
                    }
                    answering.send_replace(Some(observer.clone()));
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    () = killed => {}
                    () = answer => {}
                    _ = wanted.wait_for(|is_wanted| !*is_wanted) => {}
                }
                manager.abort();
                answering.send_replace(None);
            }
        });
    });
    let bed = Managed { bed, is_wanted, is_answering };
    if weather == Weather::Fine {
        bed.switch_manager(true).unwrap();
    }
    if let Err(problem) = scenario.run(&bed, name) {
        panic!("{}\n{problem}", scenario.about);
    }
}

async fn define_the_autoscalers_api(server: &ApiServer) {
    for crd in kueue_world::crds::crds() {
        let request = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
            .header("authorization", format!("Bearer {}", server.admin_token()))
            .header("content-type", "application/json");
        let answer = server.handle(request.body(crd.to_string()).unwrap()).await;
        assert_eq!(answer.status(), 201, "{}", crd["metadata"]["name"]);
    }
}

/// A bed whose manager can be stopped.
struct Managed {
    bed: Embedded,
    is_wanted: watch::Sender<bool>,
    /// The manager that is there and ready.
    is_answering: watch::Receiver<Option<Observer>>,
}

impl kueue_testbed::bed::Bed for Managed {
    fn send(&self, request: &Request) -> Result<Response> {
        self.bed.send(request)
    }

    fn pass(&self, duration: Duration) {
        self.bed.pass(duration);
    }

    fn has(&self, need: Need) -> bool {
        self.bed.has(need)
    }

    fn patience(&self) -> u32 {
        self.bed.patience()
    }

    fn switch_manager(&self, is_on: bool) -> Result<()> {
        self.is_wanted.send_replace(is_on);
        let mut answering = self.is_answering.clone();
        self.bed.within(async {
            answering.wait_for(|observer| observer.is_some() == is_on).await.unwrap();
        });
        Ok(())
    }
}

/// A manager that runs and tells the API server about itself, and who looks at it.
fn manager(
    config: &Value,
    client: kube::Client,
    clock: Clock,
    line: Line,
) -> (impl Future<Output = ()> + use<>, Observer) {
    let mut config = config.clone();
    config["apiVersion"] = "config.kueue.x-k8s.io/v1beta2".into();
    config["kind"] = "Configuration".into();
    // Whoever is killed leaves its Lease behind, and the next one would wait for it.
    config["leaderElection"] = json!({"leaderElect": false});
    if let Line::Https { webhooks, probes } = line {
        config["webhook"] = json!({"host": "127.0.0.1", "port": webhooks});
        config["health"] = json!({"healthProbeBindAddress": format!("127.0.0.1:{probes}")});
        config["metrics"] = json!({"bindAddress": "0"});
    }
    let config = load(&config.to_string(), DEFAULT_NAMESPACE).unwrap();
    let gates = Gates::default().with(Gate::VisibilityOnDemand, false);
    let manager = Manager::new(config.clone(), gates, client.clone(), clock, "manager".to_owned());
    let observer = manager.observer();
    let observing = observer.clone();
    let running = async move {
        match line {
            Line::InProcess => {
                tokio::join!(manager.run(), keep_registered(&config, &observing, client, clock));
            }
            Line::Https { .. } => {
                let serving = serve(&config, gates, &observing, client, clock).await.unwrap();
                tokio::join!(manager.run(), serving);
            }
        }
    };
    (running, observer)
}

/// A bed that lives in the time of the machine.
fn in_real_time() -> Embedded {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let server = runtime.block_on(async {
        let clock = kueue_apiserver::clock::Clock::starting_at(Clock::of_the_machine().now());
        ApiServer::start(Settings { collects: true, image: Some(image()), ..Settings::new(clock, [1; 32]) })
    });
    Embedded::around(server, runtime)
}

/// Waits as the kubelet does until the API server can ask the manager.
async fn until_ready(probes: u16) {
    loop {
        let mut answer = String::new();
        if let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", probes)).await {
            stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: it\r\nConnection: close\r\n\r\n").await.unwrap();
            stream.read_to_string(&mut answer).await.unwrap();
        }
        if answer.starts_with("HTTP/1.1 200") {
            return;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn nodes() -> Vec<Value> {
    let capacity = json!({"cpu": "64", "memory": "256Gi", "pods": "200"});
    vec![json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "pretend", "labels": {"kubernetes.io/os": "linux"}},
        "status": {"capacity": capacity, "allocatable": capacity}})]
}

macro_rules! scenarios {
    (
        always { $($test:ident $file:literal)* }
        in_fine_weather { $($fine:ident $fine_file:literal)* }
        over_https { $($https:ident $https_file:literal)* }
        autoscaled $autoscaled:literal { $($seeded:ident $weather:ident $seed:literal)* }
    ) => {
        mod in_fine_weather {
            $(#[test] fn $test() { super::check($file, super::Weather::Fine); })*
            $(#[test] fn $fine() { super::check($fine_file, super::Weather::Fine); })*
            $(#[test] fn $https() { super::check_over_https($https_file); })*
        }

        mod with_faults {
            $(#[test] fn $test() { super::check($file, super::Weather::Faulty); })*
        }

        mod with_kills {
            $(#[test] fn $test() { super::check($file, super::Weather::Killed); })*
        }

        mod with_a_bad_autoscaler {
            $(#[test] fn $seeded() { super::check_autoscaled($autoscaled, super::Weather::$weather, $seed); })*
        }

        #[test]
        fn every_scenario_file_is_run() {
            let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
            let files = files.filter(|path| path.is_file());
            let mut files: Vec<String> =
                files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
            files.sort();
            let mut run = vec![$($file,)* $($fine_file,)* $($https_file,)* $autoscaled];
            run.sort_unstable();
            assert_eq!(files, run);
        }
    };
}

scenarios! {
    always {
    an_external_check_decides "admission-check"
    bad_references_are_told_and_mended "bad-references"
    a_topology_that_is_not_there_is_told "bad-topology"
    quota_is_borrowed_and_reclaimed "borrowing-and-reclaim"
    a_circle_of_cohorts_holds_nobody_for_ever "cohort-cycle"
    queues_share_fairly "fair-sharing"
    cohorts_lend_through_cohorts "hierarchical-cohorts"
    a_job_is_deleted "job-deleted"
    a_job_is_edited "job-edited"
    a_job_is_finished "job-finished"
    a_job_that_runs_already_is_stopped "job-not-suspended"
    a_job_is_scaled "job-scaled"
    a_job_is_admitted_in_part "partial-admission"
    priorities_decide "priorities"
    a_job_moves_to_another_queue "queue-moved"
    quota_changes_under_load "quota-change"
    a_single_job_completes "single-job"
    queues_are_stopped_and_drained "stop-and-drain"
    an_owner_of_the_same_name_is_another "owner-replaced"
    who_waits_can_be_asked "visibility"
    jobs_without_a_queue_wait_in_the_one_for_everybody "default-queue"
    a_deployment_is_scaled_and_rolled "deployment"
    pods_start_together "pods-gang"
    a_group_is_edited_halfway "pods-group-edited"
    a_member_of_a_group_is_deleted "pods-member-deleted"
    a_member_of_a_group_dies "pods-member-dies"
    a_group_cannot_use_the_admission_of_another_job "pods-name-collision"
    a_group_has_one_pod_too_many "pods-one-too-many"
    nobody_leaves_a_queue_behind "queue-left"
    a_statefulset_goes_to_zero_and_back "statefulset"
    older_versions_are_stored_and_read "stored-versions"
    a_topology_goes_after_its_last_user "topology-deleted"
    a_node_is_a_place_while_it_has_its_labels "topology-labels"
    another_node_takes_the_pods_of_a_failed_one "topology-node-fails"
    pods_run_in_racks_as_their_job_asks "topology-racks"
    pods_of_nobody_take_room "topology-strangers"
    places_that_cannot_be_read_are_found_anew "topology-unreadable"
    }

    // What they show depends on who is how fast.
    in_fine_weather {
    a_late_job_returns_to_the_head "pods-ready-timeout-head"
    a_late_job_returns_to_the_tail "pods-ready-timeout-tail"
    a_webhook_is_killed_and_comes_back "webhook-killed"
    }

    over_https {
    a_certificate_is_replaced_again_and_again "certificate-rotation"
    a_certificate_is_deleted "certificate-deleted"
    }

    // The seeds are arbitrary; each is another autoscaler.
    autoscaled "autoscaled-jobs" {
    every_job_runs_in_the_end Fine 1
    every_job_runs_in_the_end_with_another Fine 2
    every_job_runs_in_the_end_with_a_third Fine 3
    every_job_runs_in_the_end_with_faults Faulty 4
    every_job_runs_in_the_end_with_kills Killed 5
    }
}
