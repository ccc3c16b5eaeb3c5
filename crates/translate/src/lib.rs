//! From objects to the engine's changes, and from its effects to objects. Pure: whoever calls it owns the objects.

mod fair_sharing;
mod metric_labels;
mod node;
mod patch;
mod placement;
mod queue;
mod requests;
mod settings;
mod status;
mod usage;
mod visibility;
mod workload;

pub use fair_sharing::{admission_fair_sharing, consumed_from_engine};
pub use metric_labels::MetricLabels;
pub use node::{node, plain_pod};
pub use patch::{admission_patch, condition_patch, reclaimable_patch};
pub use placement::flavor;
pub use queue::{admission_check, cluster_queue, cohort, local_queue, topology};
pub use requests::{ResourceRules, Transformation, adjust, outside_limit_ranges, requests_above_limits};
pub use settings::{resource_rules, settings};
pub use status::{status_from_engine, status_to_engine, topology_to_engine};
pub use usage::{Holders, cluster_queue_usage, local_queue_usage};
pub use visibility::{pending_in_cluster_queue, pending_in_local_queue};
pub use workload::{Surroundings, runtime_classes, workload};
