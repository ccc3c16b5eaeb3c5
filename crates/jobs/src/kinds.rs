//! The job kinds, one file each, and what is done with jobs of any kind.

pub mod batch_job;
pub mod deployment;
pub mod jobset;
pub mod kubeflow;
pub mod pod;
pub mod ray;
pub mod serving;
pub mod statefulset;
mod templates;

use std::pin::Pin;

use kueue_api::kueue::names::event;
use kueue_api::meta::OwnerReference;
use kueue_runtime::client::{Client, Dependents, Failure};
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;

use crate::job::Job;

/// Does something with a kind of jobs.
pub trait Visitor {
    fn visit<J: Job>(&mut self);
}

macro_rules! kinds {
    ($($kind:ty),* $(,)?) => {
        /// Visits the kinds whose frameworks are enabled and that are managed as single objects.
        pub fn visit_enabled<'n>(frameworks: impl IntoIterator<Item = &'n str>, visitor: &mut impl Visitor) {
            for name in frameworks {
                $(if name == <$kind as Job>::FRAMEWORK {
                    visitor.visit::<$kind>();
                })*
            }
        }
    };
}

kinds! {
    batch_job::Job,
    jobset::JobSet,
    kubeflow::jaxjob::JAXJob,
    kubeflow::mpijob::MPIJob,
    kubeflow::paddlejob::PaddleJob,
    kubeflow::pytorchjob::PyTorchJob,
    kubeflow::tfjob::TFJob,
    kubeflow::xgboostjob::XGBoostJob,
    ray::raycluster::RayCluster,
    ray::rayjob::RayJob,
    ray::rayservice::RayService,
}

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
    /// Deletes jobs of the frameworks that are enabled.
    pub fn of<'n>(frameworks: impl IntoIterator<Item = &'n str>, recorder: &Recorder) -> Self {
        struct Adding<'a>(Deleters, &'a Recorder);
        impl Visitor for Adding<'_> {
            fn visit<J: Job>(&mut self) {
                self.0.add::<J>(self.1);
            }
        }
        let mut all = Adding(Self::default(), recorder);
        visit_enabled(frameworks, &mut all);
        all.0
    }

    /// And of one more kind.
    pub fn with<J: Job>(mut self, recorder: &Recorder) -> Self {
        self.add::<J>(recorder);
        self
    }

    fn add<J: Job>(&mut self, recorder: &Recorder) {
        let delete = |client: Client, key: Key, uid: String| -> Deletion {
            Box::pin(async move {
                let deleted = client.delete::<J>(&key, &uid, Dependents::Background).await;
                deleted.or_else(|failure| if failure.is_not_found() { Ok(()) } else { Err(failure) })
            })
        };
        let recorder = recorder.named(J::EVENT_SOURCE);
        self.0.push(Deleter { api_version: J::api_version(), kind: J::KIND, recorder, delete });
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

#[cfg(test)]
mod tests {
    use kueue_api::config::frameworks::Framework;

    use super::*;

    struct Names(Vec<(&'static str, String, &'static str)>);

    impl Visitor for Names {
        fn visit<J: Job>(&mut self) {
            self.0.push((J::FRAMEWORK, J::api_version(), J::KIND));
        }
    }

    #[test]
    fn only_kinds_that_are_enabled_are_visited() {
        let mut names = Names(Vec::new());
        visit_enabled(["batch/job", "unknown"], &mut names);
        assert_eq!(names.0, [("batch/job", "batch/v1".to_owned(), "Job")]);
    }

    #[test]
    fn each_kind_is_the_one_that_the_configuration_means() {
        let mut names = Names(Vec::new());
        let all = kueue_api::config::frameworks::FRAMEWORKS.iter().map(|framework| framework.name);
        visit_enabled(all, &mut names);
        for (name, api_version, kind) in names.0 {
            let known = Framework::named(name).unwrap().kind;
            assert_eq!((format!("{}/{}", known.group, known.version), known.kind), (api_version, kind));
        }
    }
}
