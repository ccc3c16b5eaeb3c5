//! Owners of jobs, of any kind, read from the API server.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use kueue_api::meta::{ObjectMeta, OwnerReference};
use kueue_runtime::client::{Client, Failure};
use kueue_runtime::key::Key;

use crate::ancestor::{Ancestor, Lost, Search};
use crate::integrations::{Integrations, OwnerKind};

/// Reads owners. What a kind is called in addresses is asked once.
#[derive(Clone, Debug)]
pub struct Owners {
    client: Client,
    plurals: Arc<Mutex<HashMap<OwnerKind, String>>>,
}

impl Owners {
    pub fn new(client: Client) -> Self {
        Self { client, plurals: Arc::default() }
    }

    /// The job that an object belongs to, if any; who is not to be found is not an error of the API server.
    pub async fn ancestor(
        &self,
        of: &ObjectMeta,
        integrations: &Integrations,
        counts_unqueued: bool,
    ) -> Result<Result<Option<Ancestor>, Lost>, Failure> {
        let mut search = Search::of(of, integrations, counts_unqueued);
        loop {
            let owner = match search.wants() {
                Err(lost) => return Ok(Err(lost)),
                Ok(None) => return Ok(Ok(search.found())),
                Ok(Some(owner)) => owner,
            };
            let found = self.metadata(&of.namespace, &owner).await?;
            if let Err(lost) = search.tell(&owner, found) {
                return Ok(Err(lost));
            }
        }
    }

    async fn metadata(&self, namespace: &str, owner: &OwnerReference) -> Result<Option<ObjectMeta>, Failure> {
        let Some(plural) = self.plural(owner).await? else { return Ok(None) };
        let key = Key::new(namespace, owner.name.as_str());
        match self.client.metadata(&owner.api_version, &plural, &key).await {
            Ok(metadata) => Ok(Some(metadata)),
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    async fn plural(&self, owner: &OwnerReference) -> Result<Option<String>, Failure> {
        let kind = OwnerKind::new(owner.api_version.as_str(), owner.kind.as_str());
        if let Some(known) = self.known(&kind) {
            return Ok(Some(known));
        }
        let found = self.client.plural(&owner.api_version, &owner.kind).await?;
        if let Some(plural) = &found {
            let mut plurals = self.plurals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            plurals.insert(kind, plural.clone());
        }
        Ok(found)
    }

    fn known(&self, kind: &OwnerKind) -> Option<String> {
        self.plurals.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get(kind).cloned()
    }
}
