//! What every controller needs and nothing of what Kueue decides: one clock, a client with limits, informers that tell
//! old and new apart, work queues, reconcilers, an event recorder, leadership and a server.
//!
//! Of the wire types only the metadata every object has is known here. Why this is not `kube::runtime` is told in
//! `docs/adr/0011-the-shell-around-the-engine.md`.

pub mod clock;
pub mod key;

pub mod client;
pub mod connect;

pub mod informer;

pub mod meters;
pub mod queue;
pub mod reconciler;

pub mod events;

pub mod leadership;

pub mod server;

pub mod watch;
