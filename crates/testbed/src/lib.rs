//! The test bed: a real Kubernetes control plane on this machine, in one command.
//!
//! It builds etcd, the API server, the controllers, the scheduler and KWOK from pinned Go modules, starts one or
//! several control planes on loopback, and stops them again. Scenarios run on a [`Bed`], which is a real control plane
//! here and can be any other thing that answers like one. Nothing here knows of Kueue.

pub mod cache;
pub mod http;
pub mod keys;
pub mod ports;
pub mod problem;
pub mod recipe;
pub mod toolchain;

pub use problem::{Problem, Result};
