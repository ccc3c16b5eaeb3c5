//! `AdmissionCheck`: something besides quota that must agree before a workload runs.

use crate::kueue::GROUP;
use crate::kueue::v1beta2::VERSION;
use crate::meta::{Condition, object};
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
        /// Settings for that controller.
        pub parameters?: Option<AdmissionCheckParametersReference>,
    }
}

wire_struct! {
    /// An object with settings for a check's controller.
    pub struct AdmissionCheckParametersReference {
        /// Its API group.
        pub api_group?: String,
        /// Its kind.
        pub kind?: String,
        /// Its name.
        pub name?: String,
    }
}

wire_struct! {
    /// Whether a check works.
    pub struct AdmissionCheckStatus {
        /// `Active` says whether workloads may use it.
        pub conditions?: Vec<Condition>,
    }
}
