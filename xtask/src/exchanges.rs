//! `cargo xtask exchanges`: what a real API server answered, replayed against a server of ours or a real one.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::datasets::EXCHANGES;
use crate::program::{self, root};
use crate::testbed::testbed;

#[derive(Args, Debug)]
pub struct Wanted {
    /// The recordings; by default the data set beside the clone, or $KUEUE_EXCHANGES.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Real control planes of the test bed, each story on the profile it needs.
    #[arg(long, conflicts_with = "server")]
    bed: bool,
    /// A running server.
    #[arg(long, value_name = "URL", requires = "token")]
    server: Option<String>,
    /// The token of one of its administrators.
    #[arg(long, requires = "server")]
    token: Option<String>,
    /// What the server's side plays: hooks, vap, kcm, ...; stories with other needs are skipped and counted.
    #[arg(long, value_name = "LIST", requires = "server")]
    have: Option<String>,
    /// Only stories whose name matches.
    #[arg(long, value_name = "REGEX")]
    story: Option<String>,
}

pub fn run(wanted: Wanted, report: Option<&Path>) -> Result<()> {
    let dir = EXCHANGES.locate(wanted.dir)?;
    let replayer = replayer(&dir)?;
    let mut command = match (&wanted.server, wanted.bed) {
        (Some(server), _) => {
            let mut command = Command::new("python3");
            command.arg(&replayer).args(["--server", server, "--token", &wanted.token.unwrap_or_default()]);
            if let Some(have) = &wanted.have {
                command.args(["--have", have]);
            }
            command.arg(&dir);
            command
        }
        (None, true) => {
            let mut command = testbed();
            command.arg("exchanges").arg("--dir").arg(&dir).arg("--replayer").arg(&replayer);
            command
        }
        (None, false) => bail!(
            "there is no embedded API server yet; use --bed for real control planes, or --server URL --token T for a running one"
        ),
    };
    if let Some(story) = &wanted.story {
        command.args(["--story", story]);
    }
    if let Some(file) = report {
        command.arg("--report").arg(std::path::absolute(file)?);
    }
    program::run(command)
}

/// The replayer lies beside the data set.
fn replayer(dir: &Path) -> Result<PathBuf> {
    let places = [dir.join("../tools/replay-exchanges"), root().join("../shared/tools/replay-exchanges")];
    let found = places.iter().find(|place| place.is_file());
    found.cloned().with_context(|| format!("no replay-exchanges at {}", places[0].display()))
}
