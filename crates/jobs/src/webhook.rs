//! What is changed about a job when it is created, and what is refused: the rules that all kinds share.
//!
//! Everything is a pure function of the object and what is [`Around`] it. A kind that has rules of its own adds them in
//! [`Job::complete`], [`Job::validate_create`] and [`Job::validate_update`]; kinds that are no jobs to the framework, such
//! as Deployments, call the parts that they need.

pub mod defaulting;
pub mod dispatch;
pub mod topology;
pub mod validation;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::kueue::v1beta2::Workload;

use crate::ancestor::{Ancestor, Lost};
use crate::job::Job;
use crate::step::Settings;

/// What an answer may depend on besides the object.
pub struct Around<'a> {
    pub settings: &'a Settings,
    /// The labels of the object's namespace; none when there is no such namespace.
    pub namespace: Option<BTreeMap<String, String>>,
    /// Whether the namespace has a LocalQueue for jobs that name none, and it is not stopped.
    pub has_default_queue: bool,
    /// Whether there is a WorkloadPriorityClass for jobs that name none.
    pub has_default_priority_class: bool,
    /// Whom the object belongs to.
    pub ancestor: Result<Option<Ancestor>, Lost>,
    /// Whether jobs of that LocalQueue are sent to other clusters.
    pub is_dispatched: &'a dyn Fn(&str) -> bool,
    /// A Workload in the object's namespace by its name.
    pub workload: &'a dyn Fn(&str) -> Option<Arc<Workload>>,
}

impl std::fmt::Debug for Around<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Around").field("namespace", &self.namespace).finish_non_exhaustive()
    }
}

/// Why an object can neither be completed nor judged.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unanswerable {
    #[error(transparent)]
    Lost(#[from] Lost),
    #[error("failed to get namespace: namespace {0:?} not found")]
    NoNamespace(String),
}

/// Completes a new job as far as all kinds are alike.
pub fn default<J: Job>(job: &mut J, around: &Around<'_>) -> Result<(), Unanswerable> {
    defaulting::queue(job.metadata_mut(), around)?;
    defaulting::priority_class(job.metadata_mut(), around);
    if defaulting::should_suspend(job.metadata(), around)? && !job.is_suspended() {
        job.suspend();
    }
    defaulting::managed_by(job, around);
    Ok(())
}
