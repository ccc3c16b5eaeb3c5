//! Objects of kinds that are known only by name: where they are served, and their metadata.

use http::Method;
use kueue_api::meta::ObjectMeta;
use serde::Deserialize;

use super::target::{collection_of, object_of};
use super::{Client, Failure};
use crate::key::Key;

/// What one version of a group serves.
#[derive(Deserialize)]
struct Served {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    kind: String,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    metadata: ObjectMeta,
}

impl Client {
    /// What objects of a kind are called in addresses; nothing when the API server does not serve the kind.
    pub async fn plural(&self, api_version: &str, kind: &str) -> Result<Option<String>, Failure> {
        let served: Result<Served, Failure> =
            self.read(Method::GET, collection_of(api_version), None, Vec::new()).await;
        match served {
            Ok(served) => {
                let mut objects = served.resources.into_iter().filter(|resource| !resource.name.contains('/'));
                Ok(objects.find(|resource| resource.kind == kind).map(|resource| resource.name))
            }
            Err(failure) if failure.is_not_found() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// The metadata of one object.
    pub async fn metadata(&self, api_version: &str, plural: &str, key: &Key) -> Result<ObjectMeta, Failure> {
        let target = object_of(api_version, plural, key);
        let named: Named = self.read(Method::GET, target, None, Vec::new()).await?;
        Ok(named.metadata)
    }
}
