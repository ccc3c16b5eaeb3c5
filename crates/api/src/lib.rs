//! Wire types of every group and version, with conversion, defaulting and validation as pure functions.

pub mod config;
pub mod core_v1;
pub mod kueue;
pub mod meta;
pub mod wire;
