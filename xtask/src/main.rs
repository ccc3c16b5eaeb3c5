//! `cargo xtask`: everything a person or a check does with this repository.

fn main() {}
