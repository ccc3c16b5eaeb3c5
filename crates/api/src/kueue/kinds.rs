//! The table of all kinds and versions of the group.

use serde_json::Value;

use super::{v1alpha1, v1beta1, v1beta2};
use crate::meta::Object;

/// One kind in one version.
#[derive(Clone, Copy, Debug)]
pub struct KindInfo {
    /// The version within the group.
    pub version: &'static str,
    /// The kind, in CamelCase.
    pub kind: &'static str,
    /// The name in URLs.
    pub plural: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Reads an object as its type and prints it again: what is lost on the way, the type does not have.
    pub recode: fn(Value) -> Result<Value, serde_json::Error>,
}

impl KindInfo {
    const fn of<T: Object>() -> Self {
        Self {
            version: T::VERSION,
            kind: T::KIND,
            plural: T::PLURAL,
            namespaced: T::NAMESPACED,
            recode: |value| serde_json::to_value(serde_json::from_value::<T>(value)?),
        }
    }
}

/// Every kind in every version, by kind, the stored version first.
pub const KINDS: &[KindInfo] = &[
    KindInfo::of::<v1beta2::AdmissionCheck>(),
    KindInfo::of::<v1beta1::AdmissionCheck>(),
    KindInfo::of::<v1beta2::ClusterQueue>(),
    KindInfo::of::<v1beta1::ClusterQueue>(),
    KindInfo::of::<v1beta2::Cohort>(),
    KindInfo::of::<v1beta1::Cohort>(),
    KindInfo::of::<v1alpha1::Cohort>(),
    KindInfo::of::<v1beta2::LocalQueue>(),
    KindInfo::of::<v1beta1::LocalQueue>(),
    KindInfo::of::<v1beta2::MultiKueueCluster>(),
    KindInfo::of::<v1beta1::MultiKueueCluster>(),
    KindInfo::of::<v1beta2::MultiKueueConfig>(),
    KindInfo::of::<v1beta1::MultiKueueConfig>(),
    KindInfo::of::<v1beta2::ProvisioningRequestConfig>(),
    KindInfo::of::<v1beta1::ProvisioningRequestConfig>(),
    KindInfo::of::<v1beta2::ResourceFlavor>(),
    KindInfo::of::<v1beta1::ResourceFlavor>(),
    KindInfo::of::<v1beta2::Topology>(),
    KindInfo::of::<v1beta1::Topology>(),
    KindInfo::of::<v1beta2::Workload>(),
    KindInfo::of::<v1beta1::Workload>(),
    KindInfo::of::<v1beta2::WorkloadPriorityClass>(),
    KindInfo::of::<v1beta1::WorkloadPriorityClass>(),
];
