//! What happens to claims of volumes: nobody makes volumes here, but whoever deletes a claim wants it gone.
//!
//! | claim | is |
//! |---|---|
//! | being deleted, and no pod uses it | let go: the finalizer that protected it is removed |
//! | being deleted while a pod uses it | kept until that pod ends |

use std::sync::Arc;

use kueue_api::meta::object;
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::informer::Index;
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::feeds::{Feeds, Line, View};
use crate::kinds::Pod;
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};

const GROUP: &str = "";
const VERSION: &str = "v1";
const FINALIZER: &str = "kubernetes.io/pvc-protection";

object! {
    /// Somebody's wish for a volume.
    pub struct PersistentVolumeClaim in GROUP/VERSION/"persistentvolumeclaims", namespaced: true {
    }
}

struct Claims {
    client: Client,
    claims: View<PersistentVolumeClaim>,
    pods: View<Pod>,
    by_claim: Index,
}

/// The claims that a pod uses; one that ended uses none.
fn claims_of(pod: &Pod) -> Vec<Key> {
    if pod.is_terminal() {
        return Vec::new();
    }
    let volumes = pod.spec.rest.get("volumes").and_then(Value::as_array).into_iter().flatten();
    let names = volumes.filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str());
    names.map(|name| Key::new(pod.metadata.namespace.as_str(), name)).collect()
}

/// Listens to claims and the pods that use them; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.claims.line_up(&line);
    let by_claim = feeds.pods.view().store.index(|pod: &Pod| claims_of(pod).iter().map(Key::to_string).collect());
    let freed = Arc::clone(&line);
    feeds.pods.listen(move |delta| {
        if let Some(old) = &delta.old {
            claims_of(&old.object).into_iter().for_each(|claim| freed.add(claim));
        }
    });
    let (client, claims, pods) = (parts.client.clone(), feeds.claims.view(), feeds.pods.view());
    let claims = Claims { client, claims, pods, by_claim };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(claims), AT_ONCE))))
}

impl Reconciler<Key> for Claims {
    fn name(&self) -> &'static str {
        "claim"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(claim) = self.claims.get(key).filter(|claim| claim.metadata.deletion_timestamp.is_some()) else {
            return Ok(Next::Done);
        };
        if !self.pods.store.find(self.by_claim, &key.to_string()).is_empty() {
            return Ok(Next::Done);
        }
        let mut free = (*claim).clone();
        free.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER);
        let Some(patch) = Patch::between(&*claim, &free, MANAGER) else { return Ok(Next::Done) };
        let freed = self.client.change::<PersistentVolumeClaim>(key, &patch).await;
        gone_is_fine(freed.map(|_| ())).map(|()| Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_uses_its_claims_until_it_ends() {
        let pod = |phase: &str| -> Pod {
            serde_json::from_value(json!({"metadata": {"namespace": "n", "name": "p"}, "status": {"phase": phase},
                "spec": {"volumes": [{"name": "a", "emptyDir": {}},
                    {"name": "b", "persistentVolumeClaim": {"claimName": "data"}}]}}))
            .unwrap()
        };
        assert_eq!(claims_of(&pod("Running")), [Key::new("n", "data")]);
        assert!(claims_of(&pod("Succeeded")).is_empty());
    }
}
