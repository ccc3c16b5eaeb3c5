//! `batch/v1` Jobs.

use kueue_jobs::kinds::batch_job::Job;

use super::Runners;
use super::job_reconciler::reconcile;

pub const RUNNERS: Runners = &[("TestReconciler", reconcile::<Job>)];
