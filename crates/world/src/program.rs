//! Programs that really run when their pod does: the sandbox lets its manager be one, so that its Deployment is real.

use std::fmt::Debug;
use std::pin::Pin;

use kueue_runtime::key::Key;

use crate::kinds::Pod;

/// Whether a program started, or in which words it refused.
pub type Starting<'a> = Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>>;

/// A program behind some pods.
pub trait Program: Debug + Send + Sync {
    /// Whether that pod is one of its own.
    fn is_in(&self, pod: &Pod) -> bool;

    /// Starts it for a pod whose containers start. A refusal ends the containers with code 1 and these words.
    fn start<'a>(&'a self, pod: &'a Pod) -> Starting<'a>;

    /// Whether it runs for that pod.
    fn runs(&self, pod: &Key) -> bool;

    /// Ends it, if it runs for that pod.
    fn stop(&self, pod: &Key);
}
