//! A job of no kind: what Kueue's tests of the framework mock. It has no abilities and the pod sets that a case gives it.

use std::sync::Arc;

use kueue_api::kueue::v1beta2::PodSet;
use kueue_api::meta::object;
use kueue_api::pod_set_info::PodSetInfo;
use kueue_api::wire::wire_struct;
use kueue_core::gates::Gates;
use kueue_jobs::job::{BadPodSets, CannotStart, Finish};

const GROUP: &str = "batch";
const VERSION: &str = "v1";

object! {
    /// Stored as a Job, which is what the tests call it.
    pub struct Job in GROUP/VERSION/"jobs", namespaced: true {
        pub spec: Spec,
        pub pod_sets?: Vec<PodSet>,
        pub active?: Option<bool>,
    }
}

wire_struct! {
    pub struct Spec {
        pub suspend?: Option<bool>,
        pub ..rest,
    }
}

impl kueue_jobs::job::Job for Job {
    const FRAMEWORK: &'static str = "batch/job";
    const EVENT_SOURCE: &'static str = "given";

    fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    fn suspend(&mut self) {
        self.spec.suspend = Some(true);
    }

    fn pod_sets(&self, _: Gates) -> Result<Vec<PodSet>, BadPodSets> {
        Ok(self.pod_sets.clone())
    }

    fn run(&mut self, given: &[PodSetInfo], gates: Gates) -> Result<(), CannotStart> {
        self.spec.suspend = Some(false);
        for (pod_set, info) in self.pod_sets.iter_mut().zip(given) {
            info.merge_into(Arc::make_mut(&mut pod_set.template), gates)?;
        }
        Ok(())
    }

    fn restore(&mut self, _: &[PodSetInfo]) -> bool {
        false
    }

    fn is_active(&self) -> bool {
        false
    }

    fn pods_ready(&self) -> bool {
        false
    }

    fn finished(&self) -> Option<Finish> {
        None
    }

    fn wants_active(&self) -> Option<bool> {
        self.active
    }
}
