//! What is to be done about a job, done to the objects of a case.

use kueue_api::kueue::names::FINALIZER_RESOURCE_IN_USE;
use kueue_api::kueue::v1beta2::Workload;
use kueue_engine::Settings;
use kueue_jobs::job::{Job, Write};
use kueue_jobs::kinds;
use kueue_jobs::reconciler::last_words;
use kueue_jobs::step::{Action, Outcome};

use super::Objects;
use super::facts::Consequence;
use crate::corpus::Failure;

impl Objects {
    /// Does what a look at the job came to; the job is gone when there was only its key left to look at.
    pub(crate) fn carry_out<J: Job>(
        &mut self,
        job: Option<&J>,
        outcome: &Outcome<J>,
        settings: &Settings,
    ) -> Result<(), Failure> {
        let mut current = job.cloned();
        for action in &outcome.actions {
            match action {
                Action::Write(write) => {
                    let Some(known) = &mut current else { continue };
                    let wanted = match write {
                        Write::Spec(wanted) | Write::Restored(wanted) => self.update(known, wanted).map(|()| wanted)?,
                        Write::Status(wanted) => self.update_status(known, wanted).map(|()| wanted)?,
                        Write::Terminate { reason, message } => {
                            self.add_conditions(known, &last_words(known, reason, message, self.now));
                            self.delete(known);
                            continue;
                        }
                        Write::Delete => {
                            self.delete(known);
                            continue;
                        }
                    };
                    known.clone_from(wanted);
                }
                Action::CreateWorkload(workload) => self.create(&**workload)?,
                Action::UpdateWorkload { old, new } => self.update(&**old, &**new)?,
                Action::DeleteWorkload(workload) => {
                    self.unguard(workload)?;
                    self.delete(&**workload);
                }
                Action::Unguard(workload) => self.unguard(workload)?,
                Action::Report(workload, report) => {
                    if self.note(workload, report, settings)? == Consequence::DeleteJob
                        && let Some(job) = job
                    {
                        self.delete(job);
                        let (reason, message) = kinds::DELETED;
                        self.tell(job, false, reason, message);
                    }
                }
                Action::Event { is_warning, reason, message } => {
                    if let Some(job) = job {
                        self.tell(job, *is_warning, reason, message);
                    }
                }
            }
        }
        Ok(())
    }

    fn unguard(&mut self, workload: &Workload) -> Result<(), Failure> {
        let meta = &workload.metadata;
        let Some(stored) = self.get::<Workload>(&meta.namespace, &meta.name)? else { return Ok(()) };
        let mut free = stored.clone();
        free.metadata.finalizers.retain(|finalizer| finalizer != FINALIZER_RESOURCE_IN_USE);
        self.update(&stored, &free)
    }
}
