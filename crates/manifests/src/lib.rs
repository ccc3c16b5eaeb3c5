//! Everything that `kubectl apply` installs, as values: CRDs, RBAC, webhooks, deployment.
//!
//! The files below `dist/` are made from here and committed, so that a change shows in review as users will get it:
//! `cargo xtask manifests` writes them, and `cargo xtask test` fails when they are out of date.

pub mod schema;

pub mod crd;
pub mod crds;

mod manager;
mod rbac;
mod webhooks;

pub mod install;
pub mod yaml;

pub use manager::CONFIGURATION;
