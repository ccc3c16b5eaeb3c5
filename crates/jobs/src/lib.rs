//! Jobs of any kind: what the framework asks of a kind, what it does with a job and its Workload, and one file per kind.
//!
//! What is to be done about a job is decided by a pure function of the objects around it ([`step`](step::step)); the
//! [`reconciler`] reads those from informers and carries the actions out. Quota and the Workload's status are not
//! decided here: what a job does is reported as a fact.

pub mod job;

pub mod ancestor;
pub mod integrations;

pub mod name;
pub mod pod_shape;
pub mod topology_request;

pub mod start;
pub mod workload;

pub mod webhook;

pub mod report;

pub mod step;

pub mod opened;
pub mod owners;

pub mod reconciler;

pub mod kinds;

pub mod ungater;
