//! What a Cohort's status shows: its share, where shares are computed.

use std::sync::Arc;

use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_api::kueue::v1beta2::{Cohort, FairSharingStatus};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::informer::Store;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};

use crate::owner::Handle;

/// Shows Cohorts.
#[derive(Debug)]
pub struct Cohorts {
    pub client: Client,
    pub engine: Handle,
    pub objects: Arc<Store<Cohort>>,
    /// Whether shares are computed.
    pub shares_fairly: bool,
}

/// Whether a change of a Cohort is one that somebody asked for: our own words in its status are none.
pub fn has_new_spec(old: Option<&Cohort>, new: Option<&Cohort>) -> bool {
    old.map(|cohort| &cohort.spec) != new.map(|cohort| &cohort.spec)
}

impl Reconciler<Key> for Cohorts {
    fn name(&self) -> &'static str {
        "cohort_controller"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(object) = self.objects.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let name = Arc::clone(&key.name);
        let share = self.engine.ask(move |engine| engine.cohort_share(&name, &[])).await.flatten();
        let mut shown = (*object).clone();
        let share = share.filter(|_| self.shares_fairly);
        shown.status.fair_sharing = share.map(|share| FairSharingStatus { weighted_share: share.rounded });
        if let Some(patch) = Patch::between(&*object, &shown, FIELD_MANAGER_KUEUE) {
            self.client.patch::<Cohort>(key, &patch.of_status()).await?;
        }
        Ok(Next::Done)
    }
}
