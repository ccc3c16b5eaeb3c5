//! The vocabulary every other crate shares: field paths and errors in the API server's words.
//!
//! Nothing here does I/O, reads a clock or knows a Kubernetes object.

pub mod field;
