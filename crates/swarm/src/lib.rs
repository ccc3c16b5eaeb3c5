//! Whole systems with random load and random faults: what must hold always holds, and after the storm everything ends.
//!
//! A seed stands for a [`plan::Plan`]: a cluster, its jobs, and what goes wrong. [`play::outcome`] plays it on the embedded
//! API server under virtual time, and an [`audit::Audit`] looks at every change and every request.

pub mod audit;
mod bed;
mod calm;
mod load;
pub mod plan;
pub mod play;
mod replica;
pub mod shrink;
mod trouble;
