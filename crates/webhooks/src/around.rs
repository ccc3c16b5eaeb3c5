//! What answers depend on besides the objects themselves.

use std::collections::BTreeMap;

use kueue_api::meta::{ObjectMeta, OwnerReference};
use kueue_jobs::ancestor::{Ancestor, Lost, Search};
use kueue_jobs::integrations::Integrations;
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

    /// The metadata of an owner; none when it does not exist.
    fn owner(
        &self,
        namespace: &str,
        owner: &OwnerReference,
    ) -> impl Future<Output = Result<Option<ObjectMeta>, Failure>> + Send;
}

/// Finds whom a job belongs to. Almost always nobody, which needs no look.
pub(crate) async fn ancestor<S: Surroundings>(
    surroundings: &S,
    integrations: &Integrations,
    job: &ObjectMeta,
    counts_unqueued: bool,
) -> Result<Result<Option<Ancestor>, Lost>, Failure> {
    let mut search = Search::of(job, integrations, counts_unqueued);
    loop {
        let owner = match search.wants() {
            Ok(Some(owner)) => owner,
            Ok(None) => return Ok(Ok(search.found())),
            Err(lost) => return Ok(Err(lost)),
        };
        let found = surroundings.owner(&job.namespace, &owner).await?;
        if let Err(lost) = search.tell(&owner, found) {
            return Ok(Err(lost));
        }
    }
}
