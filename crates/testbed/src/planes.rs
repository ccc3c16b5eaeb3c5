//! Control planes as their users hold them: started together, found again, ended.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::cache::{Cache, make_dir};
use crate::control::{Answer, Ask, BedInfo, News, Order, PlaneInfo, PlaneSpec, ProgramStatus, Route, ask, line};
use crate::http::{Client, Request, Response};
use crate::manager;
use crate::problem::{Problem, Result};
use crate::process::{Process, testbed_program};
use crate::supervisor::{STAY, failure_file, info_file, socket_file};

/// Control planes under one supervisor. Those started here end with this value, or with this process, unless they are
/// told to [`stay`](Planes::stay).
#[derive(Debug)]
pub struct Planes {
    dir: PathBuf,
    info: BedInfo,
    supervisor: Option<(Child, ChildStdin)>,
}

impl Planes {
    /// Starts control planes as the bed of this name and waits until they are ready.
    pub fn start(cache: &Cache, name: &str, planes: Vec<PlaneSpec>, say: &mut dyn FnMut(&str)) -> Result<Planes> {
        let program = testbed_program()?;
        let dir = cache.bed_dir(name);
        let failed = |error: std::io::Error| Problem::file("run", &program, &error);
        // Not our standard error: who reads that from a pipe would wait for its end as long as the bed stays up.
        let log = dir.with_extension("supervisor.log");
        make_dir(&cache.bed_dir(""))?;
        let errors = File::create(&log).map_err(|error| Problem::file("create", &log, &error))?;
        let mut child = Command::new(&program)
            .arg("supervise")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(failed)?;
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Problem::new("the supervisor was started without pipes"));
        };
        let order = Order { dir: dir.clone(), cache: cache.root().to_path_buf(), planes };
        writeln!(input, "{}", line(&order)).map_err(failed)?;
        let info = await_ready(BufReader::new(output), say);
        match info {
            Ok(info) => Ok(Planes { dir, info, supervisor: Some((child, input)) }),
            Err(problem) => {
                drop(input);
                let _ = child.wait();
                Err(problem)
            }
        }
    }

    /// The running bed of this name; `None` when there is none.
    pub fn find(cache: &Cache, name: &str) -> Result<Option<Planes>> {
        let dir = cache.bed_dir(name);
        let Ok(text) = std::fs::read_to_string(info_file(&dir)) else {
            return Ok(None);
        };
        if ask(&socket_file(&dir), &Ask::Status)?.is_none() {
            return Ok(None);
        }
        let info = serde_json::from_str(&text);
        let info = info.map_err(|error| Problem::new(format!("{} is damaged: {error}", info_file(&dir).display())))?;
        Ok(Some(Planes { dir, info, supervisor: None }))
    }

    /// Why the bed of this name ended by itself, when it did.
    pub fn failure(cache: &Cache, name: &str) -> Option<String> {
        let dir = cache.bed_dir(name);
        if let Ok(text) = std::fs::read_to_string(failure_file(&dir)) {
            return Some(text);
        }
        info_file(&dir).exists().then(|| "its supervisor was killed, and all of its programs with it".to_string())
    }

    /// Lets the control planes outlive this process.
    pub fn stay(mut self) -> Result<()> {
        if let Some((_, mut input)) = self.supervisor.take() {
            let told = writeln!(input, "{STAY}").and_then(|()| input.flush());
            told.map_err(|error| Problem::new(format!("the supervisor has ended: {error}")))?;
        }
        Ok(())
    }

    /// Ends all programs; when this returns they are gone.
    pub fn down(mut self) -> Result<()> {
        let answer = ask(&socket_file(&self.dir), &Ask::Down)?;
        if let Some((mut child, input)) = self.supervisor.take() {
            drop(input);
            let _ = child.wait();
        }
        match answer {
            Some(Answer::Failed(what)) => Err(Problem::new(what)),
            _ => Ok(()),
        }
    }

    /// The programs that run, with their memory.
    pub fn status(&self) -> Result<Vec<ProgramStatus>> {
        match ask(&socket_file(&self.dir), &Ask::Status)? {
            Some(Answer::Status(programs)) => Ok(programs),
            _ => Err(Problem::new("the bed has ended")),
        }
    }

    pub fn infos(&self) -> &[PlaneInfo] {
        &self.info.planes
    }

    /// One control plane, counted from 1.
    pub fn plane(&self, number: usize) -> Result<Plane> {
        let info = number.checked_sub(1).and_then(|index| self.info.planes.get(index));
        let info = info.ok_or_else(|| {
            Problem::new(format!("there is no control plane {number}, only 1 to {}", self.info.planes.len()))
        })?;
        Plane::new(number, info.clone(), socket_file(&self.dir))
    }
}

impl Drop for Planes {
    fn drop(&mut self) {
        if let Some((mut child, input)) = self.supervisor.take() {
            drop(input);
            let _ = child.wait();
        }
    }
}

fn await_ready(output: impl BufRead, say: &mut dyn FnMut(&str)) -> Result<BedInfo> {
    for text in output.lines().map_while(std::result::Result::ok) {
        match serde_json::from_str(&text) {
            Ok(News::Progress(text)) => say(&text),
            Ok(News::Ready(info)) => return Ok(info),
            Ok(News::Failed { what }) => return Err(Problem::new(what)),
            Err(error) => return Err(Problem::new(format!("the supervisor said {text:?}: {error}"))),
        }
    }
    Err(Problem::new("the supervisor ended while it started the control plane").next("start again"))
}

/// One running control plane.
#[derive(Debug, Clone)]
pub struct Plane {
    number: usize,
    info: PlaneInfo,
    client: Client,
    control: PathBuf,
}

impl Plane {
    fn new(number: usize, info: PlaneInfo, control: PathBuf) -> Result<Plane> {
        let authority = std::fs::read_to_string(&info.authority);
        let authority = authority.map_err(|error| Problem::file("read", &info.authority, &error))?;
        let client = Client::new(info.port, &authority, &info.token)?;
        Ok(Plane { number, info, client, control })
    }

    pub fn info(&self) -> &PlaneInfo {
        &self.info
    }

    /// The administrator's client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a request as administrator.
    pub fn send(&self, request: &Request) -> Result<Response> {
        self.client.send(request)
    }

    /// Sends the API server's calls of a Service to a port on loopback.
    pub fn route(&self, route: Route) -> Result<()> {
        self.order(&Ask::Route { plane: self.number, route })
    }

    /// Ends the API server and starts another one; returns before that answers.
    pub fn restart_server(&self) -> Result<()> {
        self.order(&Ask::RestartServer { plane: self.number })
    }

    fn order(&self, order: &Ask) -> Result<()> {
        match ask(&self.control, order)? {
            Some(Answer::Done) => Ok(()),
            Some(Answer::Failed(what)) => Err(Problem::new(what)),
            Some(Answer::Status(_)) | None => Err(Problem::new("the bed has ended")),
        }
    }

    /// Writes a kubeconfig that is a ServiceAccount, with the rights that RBAC gives it and no others.
    pub fn write_service_account_kubeconfig(&self, namespace: &str, name: &str, file: &Path) -> Result<()> {
        manager::Reach { client: &self.client, info: &self.info }.write_account(namespace, name, file)
    }

    /// Installs what our manager needs with plain `kubectl apply`. Returns what that says.
    pub fn install_manager(&self, kubectl: &Path) -> Result<String> {
        manager::install(&manager::Reach { client: &self.client, info: &self.info }, kubectl)
    }

    /// Starts our manager with a configuration, as a child of this process and of the calling thread, and waits until
    /// its webhooks can be called.
    pub fn start_manager(&self, program: &Path, configuration: &str, dir: &Path) -> Result<Process> {
        let reach = manager::Reach { client: &self.client, info: &self.info };
        let started = manager::start(&reach, program, configuration, dir)?;
        started.routes.iter().try_for_each(|route| self.route(route.clone()))?;
        started.await_ready()
    }
}
