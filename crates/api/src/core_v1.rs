//! Partial views of core Kubernetes objects: the fields Kueue reads by name, everything else kept as it came.
//!
//! A pod template travels from a job into a Workload and back. It must come out as it went in, whatever Kubernetes
//! version wrote it, so a view never drops, adds or defaults a field. Two spellings of the same thing are not told
//! apart: `null` is "not given" at every depth, and quantities are printed in canonical form, as every Kubernetes
//! client does.

#[macro_use]
mod view;

mod affinity;
mod lease;
mod limit_range;
mod namespace;
mod node;
mod pod;
mod pod_template;
mod priority_class;
mod requests;
mod runtime_class;
mod taint;

pub use kueue_core::resource_list::ResourceList;

pub use affinity::{
    Affinity, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm,
};
pub use lease::{Lease, LeaseSpec};
pub use limit_range::{LimitRange, LimitRangeItem, LimitRangeSpec};
pub use namespace::Namespace;
pub use node::{Node, NodeCondition, NodeSpec, NodeStatus, Pod, PodStatus};
pub use pod::{
    ClaimUse, Container, PodResourceClaim, PodSchedulingGate, PodSpec, PodTemplateSpec, ResourceRequirements,
    TemplateMeta,
};
pub use pod_template::PodTemplate;
pub use priority_class::PriorityClass;
pub use runtime_class::{Overhead, RuntimeClass};
pub use taint::{Taint, Toleration, has_taint_key};

const GROUP: &str = "";
const VERSION: &str = "v1";

#[cfg(test)]
mod tests;
