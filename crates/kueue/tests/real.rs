//! The scenarios of `testbed/manager` and `testbed/acceptance` with the built manager on a real control plane.
//!
//! They share the control plane, each in a namespace of its own; those that need another configuration come after the
//! others, with another manager. `cargo test -p kueue --test real -- WORD…` runs those with one of the words in their name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use kueue_testbed::bed::{Bed, Need};
use kueue_testbed::cache::Cache;
use kueue_testbed::control::PlaneInfo;
use kueue_testbed::http::{Request, Response};
use kueue_testbed::nodes::NodeGroup;
use kueue_testbed::process::Process;
use kueue_testbed::recipe::Program;
use kueue_testbed::scenario::Scenario;
use kueue_testbed::{Plane, PlaneSpec, Planes, Problem, Profile, Result, audit, recipe, toolchain};
use serde_json::json;

/// More only compete for the machine.
const AT_ONCE: usize = 8;
const FOLDERS: [&str; 2] = ["../../testbed/manager", "../../testbed/acceptance"];
/// Rows 0.2 and 3.4 of the acceptance list, as far as they are about a cluster: wait as told, change the configuration.
const AFTER_INSTALLATION: [&str; 4] = [
    "kubectl -n kueue-system wait endpoints/kueue-webhook-service --for=jsonpath={.subsets} --timeout=60s",
    "kubectl -n kueue-system get cm kueue-manager-config -o jsonpath={.data.controller_manager_config\\\\.yaml} \
     | yq '.integrations.frameworks += [\"pod\"]' > $SCRATCH/kueueconfig.yaml && kubectl -n kueue-system create cm \
     kueue-manager-config --from_file=controller_manager_config.yaml=$SCRATCH/kueueconfig.yaml --dry-run=client -o yaml \
     | kubectl -n kueue-system apply -f -",
    "kubectl -n kueue-system rollout restart deployment kueue-controller-manager",
    "kubectl -n kueue-system rollout status deployment kueue-controller-manager --timeout=60s",
];
/// A scenario and what its file is called.
type Named = (String, Scenario);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    match run(&words) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all scenarios that are wanted; says how many failed.
fn run(words: &[String]) -> Result<usize> {
    let groups = by_configuration(words)?;
    let cache = Cache::find()?;
    toolchain::build(&cache, &mut say)?;
    let bed = format!("manager-{:08x}", recipe::fnv1a(&[env!("CARGO_MANIFEST_DIR")]) & 0xffff_ffff);
    let spec = PlaneSpec { audits: true, ..PlaneSpec::new(Profile::Full, nodes()) };
    let planes = Planes::start(&cache, &bed, vec![spec], &mut say)?;
    let plane = planes.plane(1)?;
    install(&plane, &cache)?;
    let mut operators = play_operators(&plane)?;
    let (mut passed, mut failed) = (0, Vec::new());
    for (number, ((configuration, _), scenarios)) in groups.into_iter().enumerate() {
        let dir = plane.info().logs.with_file_name(format!("manager-{number}"));
        let bed = Managed { plane: &plane, configuration, dir, manager: Mutex::default() };
        bed.switch_manager(true)?;
        let (fine, mut not) = run_at_once(&bed, scenarios);
        if let Some(mut manager) = bed.manager.into_inner().expect("nobody panics with the manager")
            && let Err(problem) = manager.check()
        {
            not.push(("manager".to_string(), problem.to_string()));
        }
        passed += fine;
        failed.append(&mut not);
    }
    operators.check()?;
    let forbidden = audit::forbidden(&audit::events(plane.info())?);
    if !forbidden.is_empty() {
        failed.push(("rights".to_string(), format!("the shipped roles lack:\n{}", forbidden.join("\n"))));
    }
    for (name, problem) in &failed {
        println!("\n---- {name} ----\n{problem}");
    }
    if !failed.is_empty() {
        println!("\nlogs: {}", plane.info().logs.display());
    }
    let verdict = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {verdict}. {passed} passed; {} failed; 0 ignored", failed.len());
    Ok(failed.len())
}

/// Installs what a manager needs in both ways that users have, and again, which changes nothing; then what they type
/// next. The pods of the Deployment are pretended, so what a manager makes of its configuration does not show here.
fn install(plane: &Plane, cache: &Cache) -> Result<()> {
    let kubectl = cache.program(Program::Kubectl);
    typed(plane, cache, "kubectl apply --server-side -f dist/manifests.yaml")?;
    plane.install_manager(&kubectl)?;
    let again = plane.install_manager(&kubectl)?;
    let changed: Vec<&str> = again.lines().filter(|line| !line.ends_with(" unchanged")).collect();
    if !changed.is_empty() {
        return Err(Problem::new(format!("installing again changes something:\n{}", changed.join("\n"))));
    }
    AFTER_INSTALLATION.iter().try_for_each(|command| typed(plane, cache, command))
}

/// Types a command at the top of the clone.
fn typed(plane: &Plane, cache: &Cache, command: &str) -> Result<()> {
    let programs = [Program::Kubectl, Program::Yq].map(|program| cache.program(program));
    let folders = programs.iter().filter_map(|program| program.parent()).map(Path::to_path_buf);
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(folders.chain(std::env::split_paths(&usual)));
    let path = path.map_err(|error| Problem::new(format!("no PATH: {error}")))?;
    let said = Command::new("bash")
        .args(["-o", "pipefail", "-c", command])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .env("KUBECONFIG", &plane.info().kubeconfig)
        .env("SCRATCH", env!("CARGO_TARGET_TMPDIR"))
        .env("PATH", path)
        .output()
        .map_err(|error| Problem::file("start", Path::new("bash"), &error))?;
    match said.status.success() {
        true => Ok(()),
        false => Err(Problem::new(format!("{command}\n{}", String::from_utf8_lossy(&said.stderr)))),
    }
}

fn say(line: &str) {
    eprintln!("testbed: {line}");
}

/// Plays KubeRay and the autoscaler, which no control plane has.
fn play_operators(plane: &Plane) -> Result<Process> {
    for crd in kueue_world::crds::crds() {
        let name = crd["metadata"]["name"].as_str().unwrap_or_default().to_string();
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        plane.send(&Request::apply(&path, "testbed", crd))?.success(&format!("cannot install {name}"))?;
    }
    let PlaneInfo { kubeconfig, logs, .. } = plane.info();
    let args = ["world", "--beside-a-cluster", "--domain=test.example.com"].map(str::to_string);
    let args = args.into_iter().chain([format!("--kubeconfig={}", kubeconfig.display())]).collect::<Vec<_>>();
    Process::start(Path::new(env!("CARGO_BIN_EXE_kueue")), &args, logs, &logs.join("world.log"))
}

/// Enough for all scenarios that run at once.
fn nodes() -> Vec<NodeGroup> {
    let capacity = [("cpu", "64"), ("memory", "256Gi"), ("pods", "200")];
    let capacity = capacity.map(|(name, amount)| (name.to_string(), amount.to_string())).into();
    let labels = BTreeMap::from([("kubernetes.io/os".to_string(), "linux".to_string())]);
    vec![NodeGroup { name: "pretend".to_string(), count: 2, capacity, labels, taints: Vec::new() }]
}

/// A control plane with a manager on it that can be stopped and started.
struct Managed<'a> {
    plane: &'a Plane,
    configuration: String,
    /// Where the manager keeps its files.
    dir: PathBuf,
    manager: Mutex<Option<Process>>,
}

impl Bed for Managed<'_> {
    fn send(&self, request: &Request) -> Result<Response> {
        Bed::send(self.plane, request)
    }

    fn pass(&self, duration: Duration) {
        self.plane.pass(duration);
    }

    fn has(&self, need: Need) -> bool {
        self.plane.has(need)
    }

    fn switch_manager(&self, is_on: bool) -> Result<()> {
        let mut manager = self.manager.lock().expect("nobody panics with the manager");
        // The one before is killed first.
        *manager = None;
        if is_on {
            let program = Path::new(env!("CARGO_BIN_EXE_kueue"));
            *manager = Some(self.plane.start_manager(program, &self.configuration, &self.dir)?);
        }
        Ok(())
    }
}

/// The scenarios with the text of the configuration that they need, and the name of the one that is alone with it.
fn by_configuration(words: &[String]) -> Result<BTreeMap<(String, String), Vec<Named>>> {
    let mut files = Vec::new();
    for folder in FOLDERS.map(|folder| Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)) {
        let entries = std::fs::read_dir(&folder).map_err(|error| Problem::file("read", &folder, &error))?;
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    let mut groups: BTreeMap<(String, String), Vec<Named>> = BTreeMap::new();
    for file in files.iter().filter(|path| path.extension().is_some_and(|extension| extension == "yaml")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !words.is_empty() && !words.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let scenario = Scenario::read(file, &name)?;
        let mut configuration = scenario.manager.clone().unwrap_or_else(|| json!({}));
        configuration["apiVersion"] = "config.kueue.x-k8s.io/v1beta2".into();
        configuration["kind"] = "Configuration".into();
        // The one before was killed, and its Lease would be waited for.
        configuration["leaderElection"] = json!({"leaderElect": false});
        let alone = if scenario.switches_manager() { name.clone() } else { String::new() };
        groups.entry((configuration.to_string(), alone)).or_default().push((name, scenario));
    }
    Ok(groups)
}

/// How many passed, and what is wrong with the others.
fn run_at_once(bed: &Managed<'_>, scenarios: Vec<Named>) -> (usize, Vec<(String, String)>) {
    let (passed, failed) = (Mutex::new(0), Mutex::new(Vec::new()));
    let helpers = AT_ONCE.min(scenarios.len()) - 1;
    let line = Mutex::new(scenarios);
    let next = || line.lock().expect("nobody panics in line").pop();
    let work = || {
        while let Some((name, scenario)) = next() {
            let begin = Instant::now();
            let outcome = scenario.run(bed, &name);
            let seconds = begin.elapsed().as_secs_f64();
            match outcome {
                Ok(()) => {
                    println!("test {name} ... ok ({seconds:.1} s)");
                    *passed.lock().expect("nobody panics while counting") += 1;
                }
                Err(problem) => {
                    println!("test {name} ... FAILED");
                    let told = format!("{}\n{problem}", scenario.about);
                    failed.lock().expect("nobody panics while counting").push((name, told));
                }
            }
        }
    };
    // Who is alone runs here: a manager that it starts ends with the thread that started it.
    std::thread::scope(|scope| {
        for _ in 0..helpers {
            scope.spawn(work);
        }
        work();
    });
    (passed.into_inner().unwrap_or_default(), failed.into_inner().unwrap_or_default())
}
