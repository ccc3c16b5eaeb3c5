//! Wire types of every group and version, with conversion, defaulting and validation as pure functions.

pub mod core_v1;
