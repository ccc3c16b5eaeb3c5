//! A sandbox in a file: everything that is stored, and what time it was. The next one goes on from there.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{BufRead as _, BufReader, BufWriter, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use kueue_apiserver::{ApiServer, Image};
use kueue_runtime::clock::Clock;
use serde::{Deserialize, Serialize};
use tracing::warn;

/// How often it is written while things change: so much is lost when a sandbox is killed.
const EVERY: Duration = Duration::from_secs(5);

/// Renewals of Leases are no reason to write: everybody else rests, and who holds one takes it again.
const LEASES: &str = "leases.coordination.k8s.io";

/// The first line; the image follows.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Beginning {
    sandbox_time: Timestamp,
}

/// What an earlier sandbox left.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) time: Timestamp,
    pub(crate) image: Image,
}

/// Where it is kept. Copies write one after the other, and nobody else does.
#[derive(Debug, Clone)]
pub(crate) struct StateFile {
    path: PathBuf,
    /// A file that is locked as long as this one is in use, since the other one is replaced again and again. Nothing when
    /// the last word is written.
    turn: Arc<Mutex<Option<File>>>,
}

impl StateFile {
    /// Takes the file for this sandbox alone.
    pub(crate) fn take(path: PathBuf) -> Result<Self> {
        let lock = beside(&path, ".lock");
        let own = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock);
        let own = own.with_context(|| format!("cannot write {}", lock.display()))?;
        match own.try_lock() {
            Ok(()) => Ok(Self { path, turn: Arc::new(Mutex::new(Some(own))) }),
            Err(TryLockError::WouldBlock) => bail!("another sandbox keeps itself in {}", path.display()),
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("cannot lock {}", lock.display())),
        }
    }

    /// Nothing when no sandbox was kept there.
    pub(crate) fn read(&self) -> Result<Option<Kept>> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.with_context(|| format!("cannot read {}", self.path.display()))?,
        };
        let kept = read(BufReader::new(file));
        kept.map(Some).with_context(|| format!("{} holds no sandbox; name another file", self.path.display()))
    }

    /// Replaces the file in one go: whoever is killed meanwhile leaves the old one.
    pub(crate) fn write(&self, server: &ApiServer, time: Timestamp) -> Result<()> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if turn.is_none() {
            return Ok(());
        }
        let new = beside(&self.path, ".new");
        write(&new, time, &server.image()).with_context(|| format!("cannot write {}", new.display()))?;
        fs::rename(&new, &self.path).with_context(|| format!("cannot write {}", self.path.display()))
    }

    /// Writes for the last time, and leaves the file to others.
    pub(crate) fn close(&self, server: &ApiServer, time: Timestamp) -> Result<()> {
        let written = self.write(server, time);
        self.turn.lock().unwrap_or_else(PoisonError::into_inner).take();
        written
    }

    /// Writes again and again while something changes; runs until it is dropped.
    pub(crate) async fn keep(self, server: ApiServer, clock: Clock) {
        let mut written = server.server().store.changed_beside(LEASES);
        loop {
            tokio::time::sleep(EVERY).await;
            let changed = server.server().store.changed_beside(LEASES);
            if changed == written {
                continue;
            }
            let (file, server, time) = (self.clone(), server.clone(), clock.now());
            match tokio::task::spawn_blocking(move || file.write(&server, time)).await {
                Ok(Ok(())) => written = changed,
                Ok(Err(error)) => warn!("the sandbox is not kept: {error:#}"),
                Err(error) => warn!("the sandbox is not kept: {error}"),
            }
        }
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn read(mut input: BufReader<File>) -> Result<Kept> {
    let mut first = String::new();
    input.read_line(&mut first)?;
    let Beginning { sandbox_time } = serde_json::from_str(&first).context("its first line")?;
    Ok(Kept { time: sandbox_time, image: Image::read(input)? })
}

/// It holds secrets, so it is its owner's alone.
fn write(path: &Path, time: Timestamp, image: &Image) -> Result<()> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    let mut out = BufWriter::new(file);
    serde_json::to_writer(&mut out, &Beginning { sandbox_time: time })?;
    out.write_all(b"\n")?;
    image.write(&mut out)?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    Ok(())
}
