//! Writes the install files, or checks that they are up to date.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Parser;
use kueue_manifests::crds;
use kueue_manifests::install::{self, Options};

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
        let stale: Vec<&str> = files
            .iter()
            .filter(|file| fs::read_to_string(args.out.join(&file.path)).ok().as_deref() != Some(&file.text))
            .map(|file| file.path.as_str())
            .collect();
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
    println!("CRD sizes as JSON, of at most {ANNOTATION_BYTES} bytes for plain kubectl apply:");
    for kind in crds::kinds() {
        println!("  {:<28}{:>7}", kind.plural, kind.to_crd().to_string().len());
    }
    println!("wrote {} files below {}", files.len(), args.out.display());
    Ok(())
}
