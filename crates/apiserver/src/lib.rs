//! An embedded Kubernetes API server: generic, in memory, a `tower::Service` first and an HTTPS socket second.
//!
//! It carries the sandbox, hermetic tests and simulations, and knows nothing of Kueue. How it is built is told in
//! `docs/adr/0008-an-embedded-api-server.md`; what a client sees in `docs/apiserver.md`.

pub use kueue_core::base64;
pub mod clock;
pub mod json;
pub mod random;
pub mod status;

pub mod schema;
pub mod store;

pub mod dial;

pub mod crd;
pub mod kinds;
pub mod meta;

pub mod managed;
pub mod patch;
pub mod table;

pub mod admission;
pub mod aggregate;
pub mod protobuf;

pub mod auth;
mod bootstrap;
mod collect;
pub mod expire;
pub mod faults;
pub mod rest;
pub mod socket;
mod tally;

pub use rest::service::{ApiServer, Image, Settings};
