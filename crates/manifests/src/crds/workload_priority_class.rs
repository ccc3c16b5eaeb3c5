//! WorkloadPriorityClass: a named priority for queueing.

use crate::crd::{Column, Conversion, Kind, Scope, Version};
use crate::schema::{Schema, int32, object, string};

pub(super) const KIND: Kind = Kind {
    name: "WorkloadPriorityClass",
    plural: "workloadpriorityclasses",
    short_names: &["wpc"],
    scope: Scope::Cluster,
    versions: &[Version::V1Beta2, Version::V1Beta1],
    deprecated: &[Version::V1Beta1],
    conversion: Conversion::None,
    has_status: false,
    selectable_fields: &[],
    columns,
    schema,
};

fn columns(_: Version) -> Vec<Column> {
    vec![Column::new("Value", "integer", ".value", "The priority of jobs of this class.")]
}

fn schema(_: Version) -> Schema {
    object()
        .doc(
            "A WorkloadPriorityClass names a priority that jobs can ask for with the label kueue.x-k8s.io/priority-class. \
             It decides about the order of jobs in their queue and about who preempts whom, and leaves the priority of \
             the pods alone.",
        )
        .required("value", int32(), "The priority. Higher goes first.")
        .field("description", string().max_len(2048), "When people should use this class.")
}
