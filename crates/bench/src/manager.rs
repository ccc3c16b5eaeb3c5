//! Measures a manager on a real API server: the loads of Kueue's own performance test, how soon freed quota is used, and
//! a start with many Workloads.
//!
//! API server and etcd are the test bed's, without controllers. Generator, runner and recorder are ours; the manager is
//! ours or any program that takes `--kubeconfig FILE`, each on a control plane of its own, one after the other.

mod figures;
mod load;
mod recorder;
mod requests;
mod runner;
mod subject;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kueue_testbed::cache::Cache;
use kueue_testbed::http::Request;
use kueue_testbed::recipe::Program;
use kueue_testbed::{Plane, PlaneSpec, Planes, Profile, recipe, toolchain};
use tokio::task::JoinSet;

use figures::{Figure, Outcome, Part};
use load::Load;
use requests::Requests;
use runner::Runner;
use subject::{Cost, Subject};

/// Kueue's own limit for large-scale is half an hour.
const AT_MOST: Duration = Duration::from_secs(1800);
/// How long an API server may take to serve a new kind.
const SERVED_WITHIN: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What of the test bed runs.
const NEEDED: [Program; 2] = [Program::Etcd, Program::ApiServer];
/// The definitions of all kinds; nobody converts versions here, as in Kueue's performance test.
const DEFINITIONS: &str = include_str!("../../../dist/manifests.yaml");

/// What is asked for.
#[derive(clap::Args)]
pub struct Wanted {
    /// Our manager, built for release.
    #[arg(long, value_name = "PROGRAM")]
    ours: PathBuf,
    /// Another manager, run after ours on the same loads: any program that takes --kubeconfig FILE.
    #[arg(long, value_name = "PROGRAM")]
    manager: Option<PathBuf>,
    /// Only loads whose name starts with this.
    #[arg(long, value_name = "LOAD")]
    only: Option<String>,
    /// Small and short: shows that everything runs; the figures say little.
    #[arg(long)]
    quick: bool,
    /// Also write the result as JSON.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

const ALL: [Load; 4] = [load::WAKE, load::BASELINE, load::RESTART, load::LARGE_SCALE];

pub fn run(wanted: &Wanted) -> Result<()> {
    let is_wanted = |load: &&Load| wanted.only.as_deref().is_none_or(|only| load.name.starts_with(only));
    let loads: Vec<&Load> = ALL.iter().filter(is_wanted).collect();
    if loads.is_empty() {
        bail!("no such load; there are: {}", ALL.map(|load| load.name).join(", "));
    }
    let mut subjects = vec![Subject::ours(&found(&wanted.ours)?)];
    if let Some(other) = &wanted.manager {
        subjects.push(Subject::other(&found(other)?));
    }
    let cache = Cache::find()?;
    if !NEEDED.iter().all(|program| cache.has(*program)) {
        toolchain::build(&cache, &mut say)?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut parts = Vec::new();
    for load in loads {
        let load = if wanted.quick { load.quick() } else { *load };
        let mut outcomes = Vec::new();
        for subject in &subjects {
            say(&format!("{} with {}: {} workloads", load.name, subject.name, load.total()));
            let stage = Stage::open(&cache)?;
            let outcome = match load.name {
                "restart" => runtime.block_on(stage.restart(load, subject)),
                _ => runtime.block_on(stage.play(load, subject)),
            };
            outcomes.push(outcome.with_context(|| format!("{} with {}", load.name, subject.name))?);
            stage.close()?;
        }
        let part = Part { load: load.name, workloads: load.total(), outcomes };
        part.print();
        parts.push(part);
    }
    figures::finish(&parts, wanted.quick, wanted.report.as_deref())
}

fn say(line: &str) {
    eprintln!("bench: {line}");
}

fn found(program: &Path) -> Result<PathBuf> {
    program.canonicalize().with_context(|| format!("there is no {}", program.display()))
}

/// A control plane for one manager and one load.
struct Stage {
    planes: Planes,
    plane: Plane,
    dir: PathBuf,
}

impl Stage {
    fn open(cache: &Cache) -> Result<Self> {
        // One per clone, so that two clones do not end each other's.
        let name = format!("bench-{:08x}", recipe::fnv1a(&[env!("CARGO_MANIFEST_DIR")]) & 0xffff_ffff);
        let planes = Planes::start(cache, &name, vec![PlaneSpec::new(Profile::Bare, Vec::new())], &mut say)?;
        let plane = planes.plane(1)?;
        install(&plane)?;
        Ok(Self { planes, plane, dir: cache.bed_dir(&name).join("bench") })
    }

    fn close(self) -> Result<()> {
        Ok(self.planes.down()?)
    }

    /// Plays a load to its end.
    async fn play(&self, load: Load, subject: &Subject) -> Result<Outcome> {
        let mut tasks = JoinSet::new();
        let kubeconfig = &self.plane.info().kubeconfig;
        let runner = Runner::begin(runner::connect(kubeconfig).await?, load, &mut tasks).await;
        let before = Requests::counted_by(&self.plane)?;
        let mut manager = subject.start(kubeconfig, &self.dir)?;
        runner.make_queues().await?;
        let ((), ended) = tokio::try_join!(runner.make_workloads(), runner.await_end(&mut manager, AT_MOST, &say))?;
        let cost = Cost::of(manager.process.id());
        let wall = ended - manager.began;
        drop(manager);
        let all = Requests::counted_by(&self.plane)?.since(&before);
        let servers = self.planes.status()?.into_iter().map(|program| {
            let cost = Cost::of(program.pid);
            (program.program, cost)
        });
        let servers = servers.collect();
        let requests = all.clone().since(&runner.own());
        Ok(figures::of_load(load, subject, wall, cost, &runner.recorder(), &all, requests, servers))
    }

    /// Lets a manager start when all Workloads are there already.
    async fn restart(&self, load: Load, subject: &Subject) -> Result<Outcome> {
        let mut tasks = JoinSet::new();
        let kubeconfig = &self.plane.info().kubeconfig;
        let runner = Runner::begin(runner::connect(kubeconfig).await?, load, &mut tasks).await;
        runner.make_queues().await?;
        runner.make_workloads().await?;
        let listed = runner.list().await?;
        let mut manager = subject.start(kubeconfig, &self.dir)?;
        let first = runner.await_admission(&mut manager, AT_MOST).await? - manager.began;
        let cost = Cost::of(manager.process.id());
        let figures = vec![
            Figure::new("bare list of all", listed.as_secs_f64(), "s"),
            Figure::new("first admission after the start", first.as_secs_f64(), "s"),
            Figure::new("later than a bare list", first.as_secs_f64() - listed.as_secs_f64(), "s").at_most(1.0),
            Figure::new("manager CPU until then", cost.cpu_s, "s"),
            Figure::new("manager peak memory until then", cost.peak_mb, "MB"),
        ];
        Ok(Outcome { manager: subject.name.clone(), figures, requests: Vec::new(), servers: Vec::new() })
    }
}

/// Installs the kinds, without the webhooks that would convert them, and waits until they are served.
fn install(plane: &Plane) -> Result<()> {
    let objects: Vec<serde_json::Value> =
        serde_saphyr::from_multiple(DEFINITIONS).context("dist/manifests.yaml cannot be read")?;
    let definitions = objects.into_iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut served = Vec::new();
    for mut definition in definitions {
        definition["spec"]["conversion"] = serde_json::json!({"strategy": "None"});
        let name = text(&definition["metadata"]["name"]);
        let spec = &definition["spec"];
        let mut versions = spec["versions"].as_array().into_iter().flatten();
        let stored = versions.find(|version| version["storage"] == true).map(|version| text(&version["name"]));
        served.push(format!(
            "/apis/{}/{}/{}?limit=1",
            text(&spec["group"]),
            stored.unwrap_or_default(),
            text(&spec["names"]["plural"])
        ));
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        plane.send(&Request::apply(&path, "bench", definition))?.success(&format!("cannot install {name}"))?;
    }
    let mut passed = Duration::ZERO;
    while !served.is_empty() {
        served.retain(|path| !plane.send(&Request::get(path.as_str())).is_ok_and(|answer| answer.is_success()));
        if passed >= SERVED_WITHIN {
            bail!("{} is not served", served.join(", "));
        }
        std::thread::sleep(LOOK_EVERY);
        passed += LOOK_EVERY;
    }
    Ok(())
}
