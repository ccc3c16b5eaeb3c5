//! The job kinds, one file each.

pub mod batch_job;
