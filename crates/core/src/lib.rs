//! The vocabulary every other crate shares: field paths and errors in the API server's words, quantities, quota amounts,
//! resource requests, times and durations, names, labels and selectors, bytes as text, feature gates.
//!
//! Nothing here does I/O, reads a clock or knows a Kubernetes object.

pub mod field;

pub mod amount;
pub mod quantity;
pub mod requests;
pub mod resource;
pub mod resource_list;

pub mod backoff;
pub mod duration;
mod quote;
pub mod time;

pub mod base64;
pub mod csv;
pub mod label;
pub mod name;
pub mod selector;
pub mod yaml;

pub mod gates;
