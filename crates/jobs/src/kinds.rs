//! The job kinds, one file each, and what is done with jobs of any kind.

pub mod batch_job;
pub mod deployment;
pub mod pod;
pub mod serving;
pub mod statefulset;

use std::pin::Pin;

use kueue_api::kueue::names::event;
use kueue_api::meta::OwnerReference;
use kueue_runtime::client::{Client, Dependents, Failure};
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;

use crate::job::Job;

/// What is told about a job that is deleted because its Workload was switched off long ago: reason and message.
pub const DELETED: (&str, &str) = (event::job::DELETED, "Deleted job: deactivation retention period expired");

/// A request that deletes a job.
pub type Deletion = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;

/// Deletes jobs of the kinds that are enabled, found by who owns a Workload.
#[derive(Clone, Debug, Default)]
pub struct Deleters(Vec<Deleter>);

#[derive(Clone, Debug)]
struct Deleter {
    api_version: String,
    kind: &'static str,
    recorder: Recorder,
    delete: fn(Client, Key, String) -> Deletion,
}

impl Deleters {
    /// The same with another kind.
    pub fn with<J: Job>(mut self, recorder: &Recorder) -> Self {
        let delete = |client: Client, key: Key, uid: String| -> Deletion {
            Box::pin(async move {
                let deleted = client.delete::<J>(&key, &uid, Dependents::Background).await;
                deleted.or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })
            })
        };
        let recorder = recorder.named(J::EVENT_SOURCE);
        self.0.push(Deleter { api_version: J::api_version(), kind: J::KIND, recorder, delete });
        self
    }

    /// The request that deletes the owner, if it is of a kind that is enabled.
    pub fn deletion(&self, client: &Client, namespace: &str, owner: &OwnerReference) -> Option<Deletion> {
        let is_meant = |known: &&Deleter| known.api_version == owner.api_version && known.kind == owner.kind;
        let found = self.0.iter().find(is_meant)?;
        let deletion = (found.delete)(client.clone(), Key::new(namespace, owner.name.as_str()), owner.uid.clone());
        let (recorder, event) = (found.recorder.clone(), deleted(namespace, owner));
        Some(Box::pin(async move {
            deletion.await?;
            recorder.record(event);
            Ok(())
        }))
    }
}

fn deleted(namespace: &str, owner: &OwnerReference) -> Event {
    let OwnerReference { api_version, kind, name, uid, .. } = owner.clone();
    let regarding = Regarding { api_version, kind, name, uid, namespace: namespace.to_owned() };
    let (reason, note) = DELETED;
    Event { regarding, is_warning: false, reason: reason.to_owned(), note: note.to_owned() }
}
