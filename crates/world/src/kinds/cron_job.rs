//! `batch/v1` CronJob.

use kueue_api::meta::object;
use kueue_api::wire::wire_struct;
use kueue_core::time::Time;
use serde_json::Value;

const GROUP: &str = "batch";
const VERSION: &str = "v1";

object! {
    /// Jobs that are made again and again.
    pub struct CronJob in GROUP/VERSION/"cronjobs", namespaced: true {
        pub spec?: CronJobSpec,
        pub status?: CronJobStatus,
    }
}

wire_struct! {
    pub struct CronJobSpec {
        pub schedule?: String,
        pub time_zone?: Option<String>,
        pub starting_deadline_seconds?: Option<i64>,
        /// `Allow`, `Forbid` or `Replace`.
        pub concurrency_policy?: String,
        pub suspend?: Option<bool>,
        pub job_template?: Value,
        pub successful_jobs_history_limit?: Option<i32>,
        pub failed_jobs_history_limit?: Option<i32>,
    }
}

wire_struct! {
    pub struct CronJobStatus {
        /// The jobs that have not ended.
        pub active?: Vec<JobReference>,
        pub last_schedule_time?: Option<Time>,
        pub last_successful_time?: Option<Time>,
    }
}

wire_struct! {
    pub struct JobReference {
        pub api_version?: String,
        pub kind?: String,
        pub namespace?: String,
        pub name?: String,
        pub uid?: String,
        pub resource_version?: String,
    }
}
