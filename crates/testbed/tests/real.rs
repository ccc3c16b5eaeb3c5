//! The real suite: the bed itself, on one control plane that all tests share.
//!
//! `cargo xtask test` runs it where Go is installed; `cargo test -p kueue-testbed --test real` runs it alone.

#![allow(clippy::unwrap_used, reason = "all of this is tests, also the functions that they share")]

mod real {
    pub mod ending;
    pub mod reaching;
    pub mod resetting;
    pub mod scenarios;
}

use std::sync::{OnceLock, RwLock};

use kueue_testbed::cache::Cache;
use kueue_testbed::{Plane, PlaneSpec, Planes, Profile, nodes, recipe, toolchain};

/// Started by the first test; the end of this process ends it, because its supervisor's input ends then.
static PLANES: OnceLock<Planes> = OnceLock::new();
/// Held for writing by a test that needs the control plane for itself.
static ALONE: RwLock<()> = RwLock::new(());

fn say(line: &str) {
    eprintln!("testbed: {line}");
}

fn cache() -> Cache {
    let cache = Cache::find().unwrap();
    toolchain::build(&cache, &mut say).unwrap();
    cache
}

/// Beds of this clone's suite: the next run clears what this one leaves, and other clones do not meet it.
fn bed_name(what: &str) -> String {
    format!("suite-{:08x}-{what}", recipe::fnv1a(&[env!("CARGO_MANIFEST_DIR")]) & 0xffff_ffff)
}

/// The shared full control plane.
fn plane() -> Plane {
    let start = || {
        let spec = PlaneSpec::new(Profile::Full, nodes::parse(nodes::DEFAULT).unwrap());
        Planes::start(&cache(), &bed_name("shared"), vec![spec], &mut say).unwrap()
    };
    PLANES.get_or_init(start).plane(1).unwrap()
}
