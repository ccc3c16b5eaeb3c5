//! The test bed: a real Kubernetes control plane on this machine, in one command.
//!
//! It builds etcd, the API server, the controllers, the scheduler and KWOK from pinned Go modules, starts one or
//! several control planes on loopback, and stops them again. Nothing here knows of Kueue but [`manager`], which installs
//! what `dist/` has, and [`audit`], which tells what it did.

pub mod audit;
pub mod bed;
pub mod cache;
pub mod control;
mod egress;
pub mod embedded;
pub mod exchanges;
pub mod http;
mod keys;
pub mod kinds;
mod launch;
pub mod manager;
pub mod nodes;
pub mod planes;
mod ports;
pub mod problem;
pub mod process;
pub mod recipe;
pub mod reset;
pub mod scenario;
pub mod supervisor;
pub mod toolchain;

pub use bed::Bed;
pub use control::{PlaneSpec, Profile, Route};
pub use planes::{Plane, Planes};
pub use problem::{Problem, Result};
