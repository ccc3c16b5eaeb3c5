//! Keeps the certificate good and the API server informed, on every replica: whoever comes first does it, the others
//! find it done.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use kueue_api::kueue::names::FIELD_MANAGER_KUEUE;
use kueue_api::meta::{Object, ObjectMeta, object};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::key::Key;
use kueue_runtime::server::Certificate;
use kueue_runtime::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tracing::{info, warn};

use crate::certificate::Material;
use crate::registration::{
    CustomResourceDefinition, Facts, MutatingWebhookConfiguration, Register, ValidatingWebhookConfiguration, base_name,
    configuration_name,
};

const CORE_GROUP: &str = "";
const V1: &str = "v1";
/// How long one watch lasts.
const WATCH_LASTS: Duration = Duration::from_secs(300);
const FIRST_RETRY: Duration = Duration::from_millis(500);
const LAST_RETRY: Duration = Duration::from_secs(60);
/// How often the certificate is looked at although nobody changed it.
const LOOK_AGAIN: Duration = Duration::from_secs(12 * 3600);
/// How long API servers may take to act on what they were told: so much later a new certificate is shown.
const HEARD_WITHIN: Duration = Duration::from_secs(5);
/// A new certificate is shown after so long although somebody could not be told.
const TELL_WITHIN: Duration = Duration::from_secs(60);
/// Definitions of kinds that have several versions.
const CONVERTED: [&str; 5] = ["clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads"];

/// How many objects say something about us: these and both configurations.
const TOLD: usize = CONVERTED.len() + 2;

object! {
    pub struct Secret in CORE_GROUP/V1/"secrets", namespaced: true {
        pub data?: BTreeMap<String, String>,
    }
}

/// What is kept.
#[derive(Debug)]
pub struct Keeper {
    pub client: Client,
    pub clock: Clock,
    /// The namespace of the manager.
    pub namespace: String,
    pub service: String,
    /// The Secret with the certificate; none when somebody else looks after certificates.
    pub secret: Option<String>,
    /// What clients of the server are shown.
    pub certificate: Certificate,
    /// Namespaces with a LocalQueue for jobs that name none; missing when all jobs wait, queue or not.
    pub default_namespaces: watch::Receiver<Option<Vec<String>>>,
    /// Becomes true when the API server knows all it needs to ask us.
    pub registered: watch::Sender<bool>,
}

/// The authorities that each object names, by the object's name.
type Told = watch::Sender<BTreeMap<String, String>>;

/// Waits until all of them name authorities that are so.
async fn until_told(told: &Told, is_so: impl Fn(&String) -> bool) {
    let all = |told: &BTreeMap<String, String>| told.len() == TOLD && told.values().all(&is_so);
    // The sender is as old as this.
    drop(told.subscribe().wait_for(all).await);
}

impl Keeper {
    /// Runs until it is dropped.
    pub async fn run(self) {
        let default_namespaces = self.default_namespaces.borrow().clone();
        let facts = watch::Sender::new(Facts { default_namespaces, ..Facts::default() });
        let told = Told::default();
        let base = base_name(&self.service).to_owned();
        let mut tasks = JoinSet::new();
        let informing = |name: String| Informing {
            client: self.client.clone(),
            key: Key::cluster(name),
            facts: facts.subscribe(),
            told: told.clone(),
        };
        let named = |kind: &str| informing(configuration_name(&base, kind));
        tasks.spawn(named("mutating").inform::<MutatingWebhookConfiguration>());
        tasks.spawn(named("validating").inform::<ValidatingWebhookConfiguration>());
        for plural in CONVERTED {
            tasks.spawn(informing(format!("{plural}.kueue.x-k8s.io")).inform::<CustomResourceDefinition>());
        }
        let report = async {
            until_told(&told, |authorities| self.secret.is_none() || !authorities.is_empty()).await;
            self.registered.send_replace(true);
        };
        tokio::join!(self.follow_queues(&facts), self.keep_certificate(&facts, &told), report);
    }

    async fn follow_queues(&self, facts: &watch::Sender<Facts>) {
        let mut namespaces = self.default_namespaces.clone();
        loop {
            let now = namespaces.borrow_and_update().clone();
            facts.send_if_modified(|facts| std::mem::replace(&mut facts.default_namespaces, now.clone()) != now);
            // Who knows the queues is gone only while everything ends.
            if namespaces.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    async fn keep_certificate(&self, facts: &watch::Sender<Facts>, told: &Told) {
        let Some(secret) = &self.secret else { return };
        let key = Key::new(self.namespace.as_str(), secret.as_str());
        let mut retry = Retry::default();
        let mut shown: Option<Material> = None;
        loop {
            match self.good_material(&key, shown.as_ref()).await {
                Ok((material, version)) => {
                    retry = Retry::default();
                    facts.send_if_modified(|facts| {
                        let is_new = facts.authorities != material.authorities;
                        facts.authorities.clone_from(&material.authorities);
                        is_new
                    });
                    // Whoever asks must trust the new one before it is shown; the old one is trusted until then.
                    if shown.as_ref().is_some_and(|shown| *shown != material) {
                        let is_told = until_told(told, |authorities| *authorities == material.authorities);
                        if tokio::time::timeout(TELL_WITHIN, is_told).await.is_ok() {
                            sleep(HEARD_WITHIN).await;
                        }
                    }
                    if let Err(error) =
                        self.certificate.replace(material.certificate.as_bytes(), material.key.as_bytes())
                    {
                        warn!(secret = %key, %error, "cannot use the certificate");
                    }
                    shown = Some(material);
                    tokio::select! {
                        biased;
                        () = until_changed::<Secret>(&self.client, &key, &version) => {}
                        () = sleep(self.clock.wait(LOOK_AGAIN)) => {}
                    }
                }
                Err(failure) if failure.is_conflict() => {}
                Err(failure) => retry.wait(&key, &failure).await,
            }
        }
    }

    /// What the Secret holds if it is good, or else something new that it holds from now on: the authority of what is
    /// shown stays trusted.
    async fn good_material(&self, key: &Key, shown: Option<&Material>) -> Result<(Material, String), Failure> {
        let found = match self.client.get::<Secret>(key).await {
            Ok(secret) => Some(secret),
            Err(failure) if failure.is_not_found() => None,
            Err(failure) => return Err(failure),
        };
        let name = format!("{}.{}.svc", self.service, self.namespace);
        let now = self.clock.time();
        let old = found.as_ref().and_then(|secret| Material::from_data(&secret.data));
        if let (Some(secret), Some(old)) = (&found, &old)
            && old.is_good_for(&name, now)
        {
            return Ok((old.clone(), secret.metadata.resource_version.clone()));
        }
        let material = Material::make(&name, shown.or(old.as_ref()), now)
            .map_err(|error| Failure::Missing(format!("cannot make a certificate: {error}")))?;
        let written = match found {
            Some(secret) => {
                let wanted = Secret { data: material.to_data(), ..secret.clone() };
                match Patch::between(&secret, &wanted, FIELD_MANAGER_KUEUE) {
                    Some(patch) => self.client.patch::<Secret>(key, &patch).await?,
                    None => secret,
                }
            }
            None => {
                let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
                let metadata = ObjectMeta { namespace, name, ..ObjectMeta::default() };
                self.client.create(&Secret { metadata, data: material.to_data(), ..Secret::default() }).await?
            }
        };
        info!(secret = %key, "made a new certificate");
        Ok((material, written.metadata.resource_version))
    }
}

/// Keeps one object informed about us.
struct Informing {
    client: Client,
    key: Key,
    facts: watch::Receiver<Facts>,
    told: Told,
}

impl Informing {
    /// Keeps the object saying what is so, whoever else writes it.
    async fn inform<T: Object + Register + Clone>(mut self) {
        let mut retry = Retry::default();
        loop {
            let now = self.facts.borrow_and_update().clone();
            match say::<T>(&self.client, &self.key, &now).await {
                Ok(version) => {
                    retry = Retry::default();
                    self.is_told(&now.authorities);
                    tokio::select! {
                        biased;
                        () = until_changed::<T>(&self.client, &self.key, &version) => {}
                        changed = self.facts.changed() => if changed.is_err() { return },
                    }
                }
                Err(failure) if failure.is_conflict() => {}
                Err(failure) => {
                    // Nobody asks us because of an object that is not there.
                    if failure.is_not_found() {
                        self.is_told(&now.authorities);
                    }
                    tokio::select! {
                        biased;
                        () = retry.wait(&self.key, &failure) => {}
                        changed = self.facts.changed() => if changed.is_err() { return },
                    }
                }
            }
        }
    }

    fn is_told(&self, authorities: &str) {
        self.told.send_if_modified(|told| {
            let before = told.insert(self.key.name.to_string(), authorities.to_owned());
            before.is_none_or(|before| before != authorities)
        });
    }
}

/// Makes an object say what is so. Returns its version.
async fn say<T: Object + Register + Clone>(client: &Client, key: &Key, facts: &Facts) -> Result<String, Failure> {
    let there: T = client.get(key).await?;
    let mut wanted = there.clone();
    wanted.register(facts);
    match Patch::between(&there, &wanted, FIELD_MANAGER_KUEUE) {
        Some(patch) => client.patch::<T>(key, &patch).await.map(|written| written.metadata().resource_version.clone()),
        None => Ok(there.metadata().resource_version.clone()),
    }
}

/// Waits until an object is not what it was at that version, or may not be.
async fn until_changed<T: Object>(client: &Client, key: &Key, version: &str) {
    if let Ok(mut events) = client.watch_one::<T>(key, version, WATCH_LASTS).await {
        use kueue_runtime::client::WatchEvent::{Applied, Bookmark, Deleted, Unreadable};
        loop {
            match events.next().await {
                Ok(Some(Applied(_) | Deleted(_) | Unreadable(_))) => return,
                Ok(Some(Bookmark { .. })) => {}
                Ok(None) | Err(_) => break,
            }
        }
    }
    sleep(FIRST_RETRY).await;
}

/// Waits longer after each failure, and says each once.
#[derive(Default)]
struct Retry {
    failures: u32,
    said: String,
}

impl Retry {
    async fn wait(&mut self, key: &Key, failure: &Failure) {
        let text = failure.to_string();
        if text != self.said {
            warn!(object = %key, error = text, "cannot tell the API server about our webhooks, trying again");
            self.said = text;
        }
        let wait = FIRST_RETRY.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX)).min(LAST_RETRY);
        self.failures = self.failures.saturating_add(1);
        sleep(wait.max(failure.retry_after().unwrap_or_default())).await;
    }
}
