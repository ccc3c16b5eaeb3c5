//! Wire types of every group and version, with conversion, defaulting and validation as pure functions.

// The macros that declare wire types name their helpers by the name that other crates know them by.
extern crate self as kueue_api;

pub mod wire;

pub mod meta;

pub mod autoscaling;
pub mod core_v1;
pub mod kueue;
pub mod visibility;
pub mod webhook_filter;

pub mod lookup;

pub mod importer;
pub mod limit_range;
pub mod pod_set_info;
pub mod pod_sets;
pub mod priority;
pub mod slices;

pub mod validation;

pub mod config;
