//! What answers depend on besides the objects themselves.

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_api::kueue::v1beta2::Workload;
use kueue_api::meta::ObjectMeta;
use kueue_jobs::ancestor::{Ancestor, Lost};
use kueue_jobs::step::Settings;
use kueue_runtime::client::Failure;

/// Looks up what is around a job.
pub trait Surroundings: Send + Sync + 'static {
    /// The labels of a namespace; none when there is no such namespace.
    fn namespace(&self, name: &str) -> Option<BTreeMap<String, String>>;

    /// Whether a namespace has a LocalQueue for jobs that name none, and it is not stopped.
    fn has_default_queue(&self, namespace: &str) -> bool;

    /// Whether there is a WorkloadPriorityClass for jobs that name none.
    fn has_default_priority_class(&self) -> bool;

    /// Whether jobs of a LocalQueue are sent to other clusters.
    fn is_dispatched(&self, namespace: &str, queue: &str) -> bool;

    /// A Workload, as far as it was seen.
    fn workload(&self, namespace: &str, name: &str) -> Option<Arc<Workload>>;

    /// Whom a job belongs to, if anybody; who is not to be found is not an error of the API server.
    fn ancestor(
        &self,
        job: &ObjectMeta,
        settings: &Settings,
    ) -> impl Future<Output = Result<Result<Option<Ancestor>, Lost>, Failure>> + Send;
}
