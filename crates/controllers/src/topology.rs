//! Around the placement of pods: what nodes and pods say to the engine, and what its decisions do to pods.
//!
//! The engine decides which domains the pods of a Workload go to, which nodes failed under it and where its pods go
//! instead. Here pods are let go to their nodes, and pods are ended that wait for a node on which they can never run.

pub mod pods;
pub mod stranded;
pub mod ungater;

pub use pods::{feed_pods, hostname_values, slice_values};
pub use stranded::Stranded;
pub use ungater::Ungater;
