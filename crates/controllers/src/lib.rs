//! The engine's owner, which tells it what is so and writes what it decides, and the controllers of queues and of what
//! queues refer to.
//!
//! How the parts fit together is told in `docs/adr/0011-the-shell-around-the-engine.md`.

pub mod owner;

pub mod feed;

pub mod check_states;
mod conditions;

pub mod cluster_queue;
pub mod cohort;
pub mod failure_recovery;
pub mod guard;
pub mod local_queue;
pub mod priority_class;
pub mod provisioning;
pub mod topology;
