//! Runs the data sets recorded from Kueue against our crates.
//!
//! A corpus file holds one test function of Kueue as data. [`packages`] maps each file to a small runner that calls our
//! code and compares; [`corpus`] decodes files; [`compare`] says whether two values are the same and, if not, where.

mod cluster;
pub mod compare;
pub mod corpus;
pub mod deferred;
mod known;
pub mod not_applicable;
mod objects;
pub mod packages;
pub mod report;
pub mod scenarios;
pub mod suite;
mod trace;
