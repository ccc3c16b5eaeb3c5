//! `batch/v1` Job.

use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use kueue_core::time::Time;
use serde_json::Value;

use super::Condition;

const GROUP: &str = "batch";
const VERSION: &str = "v1";

object! {
    /// Pods that run to completion.
    pub struct Job in GROUP/VERSION/"jobs", namespaced: true {
        pub spec?: JobSpec,
        pub status?: JobStatus,
    }
}

wire_struct! {
    pub struct JobSpec {
        pub parallelism?: Option<i32>,
        pub completions?: Option<i32>,
        pub completion_mode?: String,
        pub suspend?: Option<bool>,
        pub managed_by?: Option<String>,
        pub backoff_limit?: Option<i32>,
        pub backoff_limit_per_index?: Option<i32>,
        pub max_failed_indexes?: Option<i32>,
        pub active_deadline_seconds?: Option<i64>,
        pub ttl_seconds_after_finished?: Option<i64>,
        pub pod_replacement_policy?: String,
        pub pod_failure_policy?: Option<PodFailurePolicy>,
        pub success_policy?: Option<SuccessPolicy>,
        pub template?: Value,
    }
}

wire_struct! {
    pub struct PodFailurePolicy {
        pub rules?: Vec<PodFailureRule>,
    }
}

wire_struct! {
    /// What the failure of a pod means. One of the two patterns is there.
    pub struct PodFailureRule {
        /// `FailJob`, `FailIndex`, `Ignore` or `Count`.
        pub action: String,
        pub on_exit_codes?: Option<OnExitCodes>,
        pub on_pod_conditions?: Vec<OnPodCondition>,
    }
}

wire_struct! {
    pub struct OnExitCodes {
        pub container_name?: Option<String>,
        /// `In` or `NotIn`.
        pub operator: String,
        pub values?: Vec<i32>,
    }
}

wire_struct! {
    pub struct OnPodCondition {
        pub r#type: String,
        pub status?: String,
    }
}

wire_struct! {
    pub struct SuccessPolicy {
        pub rules?: Vec<SuccessRule>,
    }
}

wire_struct! {
    pub struct SuccessRule {
        pub succeeded_indexes?: Option<String>,
        pub succeeded_count?: Option<i32>,
    }
}

wire_struct! {
    pub struct JobStatus {
        pub conditions?: Vec<Condition>,
        pub start_time?: Option<Time>,
        pub completion_time?: Option<Time>,
        pub active?: i32,
        pub ready?: Option<i32>,
        pub terminating?: Option<i32>,
        pub succeeded?: i32,
        pub failed?: i32,
        pub completed_indexes?: String,
        pub failed_indexes?: Option<String>,
        pub uncounted_terminated_pods?: Option<UncountedPods>,
    }
}

wire_struct! {
    /// Identities of pods that ended and are not in the counts yet, because they still carry our finalizer.
    pub struct UncountedPods {
        pub succeeded?: Vec<String>,
        pub failed?: Vec<String>,
    }
}

impl Job {
    pub(crate) fn is_indexed(&self) -> bool {
        self.spec.completion_mode == "Indexed"
    }

    pub(crate) fn is_suspended(&self) -> bool {
        self.spec.suspend == Some(true)
    }

    /// Whether only pods that really ended are replaced.
    pub(crate) fn replaces_only_failed(&self) -> bool {
        self.spec.pod_replacement_policy == "Failed"
    }

    /// When and how it ended for good.
    pub(crate) fn finished(&self) -> Option<&Condition> {
        let is_end = |condition: &&Condition| matches!(condition.r#type.as_str(), "Complete" | "Failed");
        self.status.conditions.iter().filter(|condition| condition.holds()).find(is_end)
    }
}
