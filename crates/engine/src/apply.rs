//! What each change does to the state.

mod claims;
mod nodes;
mod places;
mod queues;
mod references;
mod wake;
mod workloads;

pub(crate) use workloads::Before;
