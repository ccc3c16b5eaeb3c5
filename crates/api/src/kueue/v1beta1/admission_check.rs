//! `AdmissionCheck` with a delay that nothing reads any more.

use super::VERSION;
use crate::kueue::GROUP;
use crate::kueue::v1beta2::{AdmissionCheckParametersReference, AdmissionCheckStatus};
use crate::meta::object;
use crate::wire::wire_struct;

object! {
    /// Something that must agree before a workload runs.
    pub struct AdmissionCheck in GROUP/VERSION/"admissionchecks", namespaced: false {
        /// Who decides.
        pub spec: AdmissionCheckSpec,
        /// Whether the check works.
        pub status?: AdmissionCheckStatus,
    }
}

wire_struct! {
    /// Who decides a check.
    pub struct AdmissionCheckSpec {
        /// The controller that decides.
        pub controller_name: String,
        /// Has no effect.
        pub retry_delay_minutes?: Option<i64>,
        /// Settings for that controller.
        pub parameters?: Option<AdmissionCheckParametersReference>,
    }
}
