//! Where built programs and running beds live: outside every clone, found again by the next one.
//!
//! ```text
//! programs/etcd-v3.7.3-0123456789ab/etcd        one folder per recipe, never changed once written
//! programs/build.lock                           held while building
//! ports/                                        locks on blocks of ports, held while a bed runs
//! beds/NAME/                                    keys, data, logs and sockets of one bed
//! ```

use std::fs;
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Result};
use crate::recipe::Program;

/// The cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `KUEUE_TESTBED_CACHE`, else `kueue-rs/testbed` in the user's cache directory.
    pub fn find() -> Result<Cache> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("KUEUE_TESTBED_CACHE")
            .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("kueue-rs/testbed")))
            .or_else(|| set("HOME").map(|home| home.join(".cache/kueue-rs/testbed")))
            .ok_or_else(|| Problem::new("no place for the cache: neither KUEUE_TESTBED_CACHE nor HOME is set"))?;
        Ok(Cache::at(root))
    }

    /// A cache at a given place.
    pub fn at(root: PathBuf) -> Cache {
        Cache { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn programs_dir(&self) -> PathBuf {
        self.root.join("programs")
    }

    pub(crate) fn ports_dir(&self) -> PathBuf {
        self.root.join("ports")
    }

    /// The directory of the bed with this name.
    pub fn bed_dir(&self, name: &str) -> PathBuf {
        self.root.join("beds").join(name)
    }

    /// Where a program is, or will be.
    pub fn program(&self, program: Program) -> PathBuf {
        self.programs_dir().join(program.module().folder()).join(program.name())
    }

    /// Whether a program was built to the end.
    pub fn has(&self, program: Program) -> bool {
        is_whole(&self.program(program))
    }

    /// What has still to be built.
    pub fn missing(&self) -> Vec<Program> {
        Program::ALL.into_iter().filter(|program| !self.has(*program)).collect()
    }

    /// The directories of the programs joined for `PATH`, in front of what is there already.
    pub fn search_path(&self) -> std::ffi::OsString {
        let mut dirs: Vec<PathBuf> = Vec::new();
        for program in Program::ALL {
            let dir = self.programs_dir().join(program.module().folder());
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        dirs.extend(std::env::split_paths(&inherited));
        std::env::join_paths(dirs).unwrap_or(inherited)
    }
}

/// Puts a finished file in its place in one step, and notes its size beside it.
///
/// A rename is atomic but says nothing of the bytes: after a crash or on a full disk a file can be shorter than what was
/// written. The size noted last tells a whole program from a cut one.
pub(crate) fn install(partial: &Path, place: &Path) -> Result<()> {
    let failed = |error: std::io::Error| Problem::file("install", place, &error);
    let size = fs::File::open(partial).and_then(|file| file.sync_all().and(file.metadata())).map_err(failed)?.len();
    fs::rename(partial, place).map_err(failed)?;
    fs::write(size_file(place), size.to_string()).map_err(failed)
}

fn is_whole(program: &Path) -> bool {
    let noted = fs::read_to_string(size_file(program)).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let real = fs::metadata(program).ok().filter(fs::Metadata::is_file).map(|meta| meta.len());
    noted.is_some() && noted == real
}

fn size_file(program: &Path) -> PathBuf {
    program.with_extension("size")
}

/// Makes a directory and all above it.
pub(crate) fn make_dir(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir).map_err(|error| Problem::file("create", dir, &error))
}

/// Writes a file whole.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| Problem::file("write", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("kueue-testbed-{}-{name}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    #[test]
    fn a_cut_program_counts_as_missing() {
        let dir = scratch("cut");
        let cache = Cache::at(dir.clone());
        let place = cache.program(Program::Yq);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(dir.join("partial"), "whole program").unwrap();
        install(&dir.join("partial"), &place).unwrap();
        assert!(cache.has(Program::Yq));
        fs::write(&place, "whole").unwrap();
        assert!(!cache.has(Program::Yq));
        assert_eq!(cache.missing().len(), Program::ALL.len());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn each_folder_is_once_in_the_search_path_and_comes_first() {
        let cache = Cache::at(PathBuf::from("/cache"));
        let path = cache.search_path();
        let ours: Vec<PathBuf> = std::env::split_paths(&path).take_while(|dir| dir.starts_with("/cache")).collect();
        assert_eq!(ours.len(), 6);
    }
}
