//! The process that holds a bed's control planes: it starts them, answers for them, and takes them with it.
//!
//! It lives until it is told to go (`down`), until one of its programs ends, or, unless it was told to stay, until the
//! process that started it is gone: it sees its standard input end. Its children die with it, whatever ends it (see
//! [`crate::process`]).

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::cache::{Cache, make_dir, write};
use crate::control::{Answer, Ask, BedInfo, News, Order, PlaneSpec, line};
use crate::launch::Launch;
use crate::problem::{Problem, Result};

/// On two cores busy with other things an API server takes up to half a minute.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// How often the programs are looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What the caller writes to let the supervisor outlive it.
pub(crate) const STAY: &str = "stay";

/// Files of a bed beside its planes' directories.
pub(crate) fn socket_file(dir: &Path) -> PathBuf {
    dir.join("control.sock")
}

pub(crate) fn info_file(dir: &Path) -> PathBuf {
    dir.join("bed.json")
}

pub(crate) fn failure_file(dir: &Path) -> PathBuf {
    dir.join("failure.txt")
}

enum Event {
    CallerIsGone,
    Asked(Ask, UnixStream),
}

struct Supervisor {
    dir: PathBuf,
    planes: Vec<Launch>,
    events: Receiver<Event>,
    sender: Sender<Event>,
    /// Held as long as this process lives: no second supervisor uses the directory.
    _lock: File,
}

/// Runs a supervisor to its end. Its order comes on standard input, its news go to standard output.
pub fn run() -> Result<()> {
    // It fails only when this is a session leader already.
    let _ = rustix::process::setsid();
    let mut input = BufReader::new(std::io::stdin());
    let mut first = String::new();
    let read = input.read_line(&mut first).map_err(|error| Problem::new(format!("no order: {error}")));
    read?;
    let order: Order = serde_json::from_str(&first).map_err(|error| Problem::new(format!("no order: {error}")))?;
    let started = begin(&order, input);
    let mut supervisor = match started {
        Ok(supervisor) => supervisor,
        Err(problem) => {
            tell(&News::Failed { what: problem.to_string() });
            return Ok(());
        }
    };
    let served = supervisor.start(order.planes, &Cache::at(order.cache)).and_then(|()| supervisor.serve());
    if let Err(problem) = served {
        // While starting, the caller waits for news; later it has gone, and the next command reads the file.
        let _ = write(&failure_file(&order.dir), &problem.to_string());
        tell(&News::Failed { what: problem.to_string() });
        supervisor.clean_up();
    }
    Ok(())
}

/// Takes the bed's directory for this supervisor alone and listens to the caller.
fn begin(order: &Order, input: BufReader<std::io::Stdin>) -> Result<Supervisor> {
    make_dir(&order.dir)?;
    let lock = order.dir.join("lock");
    let file = File::create(&lock).map_err(|error| Problem::file("create", &lock, &error))?;
    if file.try_lock().is_err() {
        return Err(Problem::new("this bed is running, or being started, already")
            .next("use it (`cargo xtask testbed status`), or end it first (`cargo xtask testbed down`)"));
    }
    clear(&order.dir)?;
    let (sender, events) = mpsc::channel();
    let caller = sender.clone();
    thread::spawn(move || {
        if input.lines().map_while(std::result::Result::ok).all(|text| text != STAY) {
            let _ = caller.send(Event::CallerIsGone);
        }
    });
    Ok(Supervisor { dir: order.dir.clone(), planes: Vec::new(), events, sender, _lock: file })
}

/// Removes what an earlier bed left, its logs too.
fn clear(dir: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Problem::file("clear", dir, &error);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let removed = match path.file_name().and_then(|name| name.to_str()) {
            Some("lock") => Ok(()),
            _ if path.is_dir() => fs::remove_dir_all(&path),
            _ => fs::remove_file(&path),
        };
        removed.map_err(failed)?;
    }
    Ok(())
}

impl Supervisor {
    fn start(&mut self, specs: Vec<PlaneSpec>, cache: &Cache) -> Result<()> {
        for (index, spec) in specs.into_iter().enumerate() {
            let mut plane = Launch::prepare(cache, &self.dir, index + 1, spec)?;
            plane.start_server()?;
            self.planes.push(plane);
        }
        self.wait("the API server", Launch::server_is_ready)?;
        for plane in &mut self.planes {
            plane.start_rest()?;
        }
        self.wait("nodes and ServiceAccounts", Launch::is_settled)?;
        self.planes.iter_mut().try_for_each(Launch::start_manager)?;
        let info = BedInfo { supervisor: std::process::id(), planes: self.planes.iter().map(Launch::info).collect() };
        self.listen()?;
        crate::keys::write_secret(&info_file(&self.dir), &line(&info))?;
        tell(&News::Ready(info));
        Ok(())
    }

    /// Waits until all planes are so far, watching caller and programs meanwhile.
    fn wait(&mut self, what: &str, is_done: fn(&Launch) -> bool) -> Result<()> {
        let begin = Instant::now();
        let mut told = begin;
        let mut waiting: Vec<usize> = (0..self.planes.len()).collect();
        loop {
            waiting.retain(|index| !is_done(&self.planes[*index]));
            if waiting.is_empty() {
                return Ok(());
            }
            self.planes.iter_mut().try_for_each(Launch::check)?;
            match self.events.recv_timeout(LOOK_EVERY) {
                Ok(Event::CallerIsGone) => return Err(Problem::new("the caller ended while the bed was starting")),
                Ok(Event::Asked(..)) | Err(_) => {}
            }
            if begin.elapsed() > READY_WITHIN {
                let seconds = READY_WITHIN.as_secs();
                return Err(Problem::new(format!("waited {seconds} s for {what}, in vain"))
                    .next(format!("read the logs in {}/plane-*/logs", self.dir.display())));
            }
            if told.elapsed() > Duration::from_secs(2) {
                told = Instant::now();
                tell(&News::Progress(format!("waiting for {what}, {} s", begin.elapsed().as_secs())));
            }
        }
    }

    /// Answers others on the control socket.
    fn listen(&self) -> Result<()> {
        let path = socket_file(&self.dir);
        let listener = UnixListener::bind(&path).map_err(|error| {
            Problem::file("listen on", &path, &error)
                .next("a socket's path may have about 100 characters: set KUEUE_TESTBED_CACHE to a shorter one")
        })?;
        let sender = self.sender.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                let mut text = String::new();
                let _ = BufReader::new(&stream).read_line(&mut text);
                if let Ok(ask) = serde_json::from_str(&text) {
                    let _ = sender.send(Event::Asked(ask, stream));
                }
            }
        });
        Ok(())
    }

    /// Holds the planes until the end.
    fn serve(&mut self) -> Result<()> {
        loop {
            match self.events.recv_timeout(LOOK_EVERY) {
                Ok(Event::CallerIsGone) => {
                    self.clean_up();
                    return Ok(());
                }
                Ok(Event::Asked(Ask::Down, mut stream)) => {
                    self.clean_up();
                    let _ = writeln!(stream, "{}", line(&Answer::Done));
                    return Ok(());
                }
                Ok(Event::Asked(ask, mut stream)) => {
                    let _ = writeln!(stream, "{}", line(&self.answer(ask)));
                }
                Err(RecvTimeoutError::Timeout) => self.planes.iter_mut().try_for_each(Launch::check)?,
                Err(RecvTimeoutError::Disconnected) => unreachable!("we hold a sender ourselves"),
            }
        }
    }

    fn answer(&mut self, ask: Ask) -> Answer {
        match ask {
            Ask::Down => Answer::Done,
            Ask::Status => Answer::Status(self.planes.iter().flat_map(Launch::status).collect()),
            Ask::RestartServer { plane } => match self.planes.get_mut(plane.wrapping_sub(1)) {
                Some(plane) => {
                    plane.restart_server().map_or_else(|error| Answer::Failed(error.to_string()), |()| Answer::Done)
                }
                None => Answer::Failed(format!("there is no control plane {plane}")),
            },
            Ask::Route { plane, route } => match self.planes.get(plane.wrapping_sub(1)) {
                Some(plane) => {
                    plane.routes.add(route);
                    Answer::Done
                }
                None => Answer::Failed(format!("there is no control plane {plane}")),
            },
        }
    }

    /// Ends all programs and removes all but the logs.
    fn clean_up(&mut self) {
        let count = self.planes.len();
        self.planes.clear();
        for number in 1..=count {
            let _ = fs::remove_dir_all(self.dir.join(format!("plane-{number}/etcd")));
        }
        let _ = fs::remove_file(info_file(&self.dir));
        let _ = fs::remove_file(socket_file(&self.dir));
    }
}

/// The caller may be gone or may have closed our output when it let us stay; then nobody listens.
fn tell(news: &News) {
    let mut output = std::io::stdout();
    let _ = writeln!(output, "{}", line(news)).and_then(|()| output.flush());
}
