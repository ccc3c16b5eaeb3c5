//! Where the data sets are: beside the clone, or where the environment says.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::program::root;

/// A data set recorded from the real thing.
#[derive(Clone, Copy, Debug)]
pub struct DataSet {
    /// The folder's name.
    pub name: &'static str,
    /// The environment variable that says where else it is.
    pub variable: &'static str,
}

pub const CORPUS: DataSet = DataSet { name: "corpus", variable: "KUEUE_CORPUS" };
pub const SCENARIOS: DataSet = DataSet { name: "scenarios", variable: "KUEUE_SCENARIOS" };
pub const EXCHANGES: DataSet = DataSet { name: "exchanges", variable: "KUEUE_EXCHANGES" };

impl DataSet {
    /// The folder, if it is there.
    pub fn find(self) -> Option<PathBuf> {
        let dir = match std::env::var_os(self.variable) {
            Some(dir) => PathBuf::from(dir),
            None => root().join("../shared").join(self.name),
        };
        dir.is_dir().then_some(dir)
    }

    /// The folder named on the command line, or the one found; an error says how to name it.
    pub fn locate(self, named: Option<PathBuf>) -> Result<PathBuf> {
        match named.or_else(|| self.find()) {
            Some(dir) if dir.is_dir() => Ok(std::path::absolute(dir)?),
            Some(dir) => bail!("{} is not a folder", dir.display()),
            None => bail!(
                "no {name} beside this clone (../shared/{name}); name its folder or set {variable}",
                name = self.name,
                variable = self.variable
            ),
        }
    }
}
