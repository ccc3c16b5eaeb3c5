//! Checks that ask the cluster autoscaler for nodes before a Workload starts.
//!
//! [`plan`](plan::plan) looks at a Workload that has quota, at what it was asked for and at what the autoscaler said,
//! and tells what is to be written; [`reconciler`] does it. As any controller of a check it writes the state of its
//! checks itself, each time based on the version that was read.

pub mod check;
pub mod name;
pub mod need;
pub mod plan;
pub mod reconciler;
pub mod state;
#[cfg(test)]
mod tests;
