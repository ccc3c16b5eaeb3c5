//! The Workloads of an elastic job: one while it keeps its size, two while it waits to grow.

use std::sync::Arc;

use kueue_api::kueue::names::{annotation, label};
use kueue_api::kueue::v1beta2::{PodSet, Workload};
use kueue_api::slices::{self, Slice};

use super::{Action, Look, Over, key};
use crate::job::{Job, Write};
use crate::kinds::ray;
use crate::report::Report;

impl<J: Job> Look<'_, J> {
    /// The slice that stands for the job; none of it where a new one has to be made. Nothing is said when the job has other
    /// pod sets than before, which slices cannot follow.
    pub(super) fn slice(&mut self, pod_sets: &[PodSet]) -> Result<Option<Option<Arc<Workload>>>, Over> {
        let slices = self.slices();
        let plan = slices::plan(pod_sets, &slices);
        for over in plan.finish {
            let report = Report::Finished { reason: over.reason, message: over.message.to_owned() };
            let finished = &slices[over.workload];
            self.finished.push(finished.metadata.name.clone());
            self.actions.push(Action::Report(Arc::new(finished.clone()), report));
        }
        let found = match plan.slice {
            Slice::Incompatible => return Ok(None),
            Slice::New => None,
            Slice::Current(index) => Some(Arc::new(slices[index].clone())),
            Slice::Resized(index) => {
                let counts = slices::counts(pod_sets);
                let old = Arc::new(slices[index].clone());
                Some(self.change(&old, |resized| slices::resize(&mut resized.spec.pod_sets, &counts)))
            }
        };
        self.follow_as_slices(found, &slices).map(Some)
    }

    /// Lets a job remember what its cluster was like when this slice was made.
    pub(super) fn note_cluster(&mut self) {
        let notes = ray::notes(&self.job, self.around.ray_cluster.as_deref(), self.around.settings.gates);
        let before = self.job.metadata().annotations.clone();
        self.job.metadata_mut().annotations.extend(notes);
        if self.job.metadata().annotations != before {
            self.actions.push(Action::Write(Write::Spec(self.job.clone())));
        }
    }

    /// Slices that are not over, the oldest first.
    fn slices(&self) -> Vec<Workload> {
        let workloads = self.around.workloads.iter().map(|workload| (**workload).clone());
        let mut slices = slices::unfinished(workloads);
        slices.retain(|slice| !self.finished.contains(&slice.metadata.name));
        slices
    }

    /// While a job waits to grow, the slice that runs has the priority of the one that waits: both are compared with
    /// others.
    fn follow_as_slices(
        &mut self,
        found: Option<Arc<Workload>>,
        slices: &[Workload],
    ) -> Result<Option<Arc<Workload>>, Over> {
        let is_other =
            |slice: &&Workload| found.as_ref().is_none_or(|found| found.metadata.name != slice.metadata.name);
        let active = slices::latest_active(slices).filter(is_other).cloned().map(Arc::new);
        let has_found = found.is_some();
        let mut followers: Vec<Arc<Workload>> = found.into_iter().chain(active).collect();
        self.follow_priority(&mut followers)?;
        Ok(followers.into_iter().next().filter(|_| has_found))
    }

    /// Marks a new Workload as a slice, and the one that it takes the place of.
    pub(super) fn link_slice(&self, made: &mut Workload) -> Result<(), Over> {
        let slices = self.slices();
        let annotations = &mut made.metadata.annotations;
        annotations.insert(annotation::ELASTIC_JOB.to_owned(), label::TRUE.to_owned());
        let first = match slices.as_slice() {
            [] => made.metadata.name.clone(),
            [old] => {
                annotations.insert(annotation::WORKLOAD_SLICE_REPLACEMENT_FOR.to_owned(), key(old));
                slices::slice_name(old).to_owned()
            }
            several => return Err(Over::failed(format!("unexpected workload-slices count: {}", several.len()))),
        };
        annotations.insert(annotation::WORKLOAD_SLICE_NAME.to_owned(), first);
        Ok(())
    }
}
