//! Writes the install files, or checks that they are up to date.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Parser;
use kueue_manifests::crds;
use kueue_manifests::install::{self, File, Options};

/// The most that an annotation may hold: plain `kubectl apply` keeps the whole manifest in one.
const ANNOTATION_BYTES: usize = 262_144;

/// Writes CustomResourceDefinitions and install manifests.
#[derive(Parser)]
struct Args {
    /// The folder to write to.
    #[arg(long)]
    out: PathBuf,
    /// The manager's image, if not the default.
    #[arg(long)]
    image: Option<String>,
    /// Write nothing; fail when a file differs from what would be written.
    #[arg(long)]
    check: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut options = Options::default();
    if let Some(image) = args.image {
        options.image = image;
    }
    let files = install::files(&options);
    if args.check {
        let stale = stale_files(&args.out, &files);
        if !stale.is_empty() {
            bail!("out of date below {}: {}; run `cargo xtask manifests`", args.out.display(), stale.join(", "));
        }
        println!("{} files below {} are up to date", files.len(), args.out.display());
        return Ok(());
    }
    for file in &files {
        let path = args.out.join(&file.path);
        let folder = path.parent().expect("a generated file is in a folder");
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    for path in leftovers(&args.out, &files) {
        fs::remove_file(args.out.join(&path)).with_context(|| format!("cannot remove {path}"))?;
    }
    println!("CRD sizes as JSON, of at most {ANNOTATION_BYTES} bytes for plain kubectl apply:");
    for kind in crds::kinds() {
        println!("  {:<28}{:>7}", kind.plural, kind.to_crd().to_string().len());
    }
    println!("wrote {} files below {}", files.len(), args.out.display());
    Ok(())
}

/// Files that are not as they would be written.
fn stale_files(out: &Path, files: &[File]) -> Vec<String> {
    let is_current = |file: &File| fs::read_to_string(out.join(&file.path)).is_ok_and(|text| text == file.text);
    let changed = files.iter().filter(|file| !is_current(file)).map(|file| file.path.clone());
    changed.chain(leftovers(out, files)).collect()
}

/// CustomResourceDefinitions of kinds that are no more.
fn leftovers(out: &Path, files: &[File]) -> Vec<String> {
    let entries = fs::read_dir(out.join("crds")).into_iter().flatten().flatten();
    let paths = entries.map(|entry| format!("crds/{}", entry.file_name().to_string_lossy()));
    paths.filter(|path| files.iter().all(|file| file.path != *path)).collect()
}
