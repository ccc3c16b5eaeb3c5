//! `kueue-testbed`: builds, starts and stops the real control plane. `cargo xtask testbed` runs it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use clap::{Parser, Subcommand};
use kueue_testbed::cache::Cache;
use kueue_testbed::exchanges::{self, Replay};
use kueue_testbed::{PlaneSpec, Planes, Problem, Profile, Result, Route, kinds, nodes, process, supervisor, toolchain};

#[derive(Parser)]
#[command(about = "A real Kubernetes control plane on this machine")]
struct Arguments {
    /// The bed's name; by default one per clone.
    #[arg(long, global = true, value_name = "NAME")]
    bed: Option<String>,
    #[command(subcommand)]
    command: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Build what is missing of the control plane's programs, and start nothing.
    Build {
        /// Where Go is missing say so on standard output, in one line, and be content.
        #[arg(long)]
        if_possible: bool,
    },
    /// Build what is missing, start, wait until ready.
    Up {
        /// How many control planes.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
        clusters: u8,
        /// What runs in each of them.
        #[arg(long, value_enum, default_value = "full")]
        profile: Profile,
        /// The nodes of each, as in testbed/nodes.yaml.
        #[arg(long, value_name = "FILE")]
        nodes: Option<PathBuf>,
        /// The program of our manager: installed with its manifests, and run with the rights of its ServiceAccount.
        #[arg(long, value_name = "PROGRAM")]
        manager: Option<PathBuf>,
    },
    /// End every program of the bed.
    Down,
    /// What runs, where, and how much memory it takes.
    Status,
    /// Run a command with the bed's programs on the PATH and KUBECONFIG set.
    Exec {
        #[arg(long, default_value_t = 1)]
        cluster: usize,
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Write a kubeconfig that is a ServiceAccount.
    Kubeconfig {
        #[arg(long, default_value_t = 1)]
        cluster: usize,
        /// Whose rights it has.
        #[arg(long, value_name = "NAMESPACE/NAME")]
        service_account: String,
        file: PathBuf,
    },
    /// Send the API server's calls of a Service to a port on loopback.
    Route {
        #[arg(long, default_value_t = 1)]
        cluster: usize,
        #[arg(value_name = "NAMESPACE/SERVICE:PORT=LOOPBACKPORT")]
        route: Route,
    },
    /// Replay the recorded exchanges, each story on a control plane of the profile it needs.
    Exchanges {
        /// The data set.
        #[arg(long)]
        dir: PathBuf,
        /// The data set's replayer.
        #[arg(long)]
        replayer: PathBuf,
        /// Only stories whose name matches.
        #[arg(long, value_name = "REGEX")]
        story: Option<String>,
        /// Also write the result as JSON.
        #[arg(long, value_name = "FILE")]
        report: Option<PathBuf>,
    },
    /// Print a PATH with the bed's programs in front, whether they have been built or not.
    Path,
    /// Write the built-in kinds as data, from a control plane that is started for it.
    Kinds {
        /// The folder of `resources.json` and the other files.
        folder: PathBuf,
    },
    #[command(hide = true)]
    Supervise,
    #[command(hide = true)]
    Child {
        parent: u32,
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<OsString>,
    },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("testbed: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    let cache = Cache::find()?;
    let name = arguments.bed.unwrap_or_else(default_name);
    match arguments.command {
        Action::Build { if_possible } => {
            if if_possible && !cache.missing().is_empty() && toolchain::find_go().is_err() {
                println!("skipped: Go is not installed, and the test bed is built with it");
                return Ok(ExitCode::SUCCESS);
            }
            toolchain::build(&cache, &mut say)?;
            say(&format!("all programs are in {}", cache.root().display()));
        }
        Action::Up { clusters, profile, nodes, manager } => {
            // It runs in a folder of the bed.
            let found =
                |program: PathBuf| program.canonicalize().map_err(|error| Problem::file("find", &program, &error));
            let manager = manager.map(found).transpose()?;
            let spec = PlaneSpec { manager, ..PlaneSpec::new(profile, read_nodes(nodes)?) };
            up(&cache, &name, clusters.into(), &spec)?;
        }
        Action::Down => match Planes::find(&cache, &name)? {
            Some(planes) => {
                planes.down()?;
                say("down: every program has ended");
            }
            None => say("down: nothing was running"),
        },
        Action::Status => status(&cache, &name)?,
        Action::Exec { cluster, command } => return exec(&cache, &name, cluster, &command),
        Action::Kubeconfig { cluster, service_account, file } => {
            let account = service_account.split_once('/');
            let (namespace, account) = account.ok_or_else(|| Problem::new("--service-account takes NAMESPACE/NAME"))?;
            running(&cache, &name)?.plane(cluster)?.write_service_account_kubeconfig(namespace, account, &file)?;
            say(&format!("wrote {}", file.display()));
        }
        Action::Route { cluster, route } => running(&cache, &name)?.plane(cluster)?.route(route)?,
        Action::Exchanges { dir, replayer, story, report } => {
            toolchain::build(&cache, &mut say)?;
            let bed = format!("{name}-exchanges");
            let found = exchanges::replay(&cache, &bed, &Replay { dir, replayer, story }, &mut say)?;
            if let Some(file) = report {
                let text = serde_json::to_string_pretty(&found).map_err(|error| Problem::new(error.to_string()))?;
                std::fs::write(&file, text).map_err(|error| Problem::file("write", &file, &error))?;
            }
            print!("{}", found.table());
            println!("{}/{} stories passed", found.passed, found.total);
            return Ok(if found.passed == found.total { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        Action::Kinds { folder } => {
            toolchain::build(&cache, &mut say)?;
            let spec = PlaneSpec::new(Profile::Bare, Vec::new());
            let planes = Planes::start(&cache, &format!("{name}-kinds"), vec![spec], &mut say)?;
            kinds::write(&planes.plane(1)?, &folder)?;
            planes.down()?;
            say(&format!("the kinds are in {}", folder.display()));
        }
        Action::Path => println!("{}", cache.search_path().to_string_lossy()),
        Action::Supervise => supervisor::run()?,
        Action::Child { parent, program, args } => return Err(process::become_child(parent, &program, &args)),
    }
    Ok(ExitCode::SUCCESS)
}

fn say(line: &str) {
    eprintln!("testbed: {line}");
}

/// A bed per clone: two clones never end each other's.
fn default_name() -> String {
    let clone = env!("CARGO_MANIFEST_DIR");
    format!("clone-{:08x}", kueue_testbed::recipe::fnv1a(&[clone]) & 0xffff_ffff)
}

fn read_nodes(file: Option<PathBuf>) -> Result<Vec<nodes::NodeGroup>> {
    let text = match file {
        Some(file) => std::fs::read_to_string(&file).map_err(|error| Problem::file("read", &file, &error))?,
        None => nodes::DEFAULT.to_string(),
    };
    nodes::parse(&text)
}

fn up(cache: &Cache, name: &str, clusters: usize, spec: &PlaneSpec) -> Result<()> {
    if let Some(planes) = Planes::find(cache, name)? {
        let same = planes.infos().len() == clusters && planes.infos().iter().all(|plane| plane.profile == spec.profile);
        if !same {
            return Err(Problem::new(format!("a bed of {} control planes runs already", planes.infos().len()))
                .next("end it first: cargo xtask testbed down"));
        }
        say("already up");
        return status(cache, name);
    }
    toolchain::build(cache, &mut say)?;
    let begin = Instant::now();
    let planes = Planes::start(cache, name, vec![spec.clone(); clusters], &mut say)?;
    say(&format!("ready after {:.1} s", begin.elapsed().as_secs_f64()));
    planes.stay()?;
    status(cache, name)
}

fn running(cache: &Cache, name: &str) -> Result<Planes> {
    Planes::find(cache, name)?.ok_or_else(|| {
        let why = Planes::failure(cache, name).map(|failure| format!(": {failure}")).unwrap_or_default();
        let problem = Problem::new(format!("no bed is running{why}"));
        if why.contains("next: ") { problem } else { problem.next("start one: cargo xtask testbed up") }
    })
}

fn status(cache: &Cache, name: &str) -> Result<()> {
    let planes = running(cache, name)?;
    let programs = planes.status()?;
    for (index, plane) in planes.infos().iter().enumerate() {
        println!("cluster {}  {}", index + 1, plane.server);
        println!("  kubeconfig  {}", plane.kubeconfig.display());
        println!("  logs        {}", plane.logs.display());
        let mut total = 0;
        for program in programs.iter().filter(|program| program.plane == index + 1) {
            let memory = program.memory_kb.unwrap_or_default();
            total += memory;
            println!("  {:<24} pid {:<8} {:>5} MB", program.program, program.pid, memory / 1024);
        }
        println!("  {:<24} {:>18} MB", "together", total / 1024);
    }
    say(&format!("{} up; try: cargo xtask testbed exec -- kubectl get nodes", planes.infos().len()));
    Ok(())
}

fn exec(cache: &Cache, name: &str, cluster: usize, command: &[OsString]) -> Result<ExitCode> {
    let planes = running(cache, name)?;
    let plane = planes.plane(cluster)?;
    let status = Command::new("/usr/bin/env")
        .args(command)
        .env("PATH", cache.search_path())
        .env("KUBECONFIG", &plane.info().kubeconfig)
        .status()
        .map_err(|error| Problem::new(format!("cannot run {}: {error}", command[0].display())))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
