//! Our kinds, one file each, and the parts that several of them share.
//!
//! A kind's function takes the version and returns the schema, so that both versions come from one description and a
//! difference is stated where it is. Limits and rules are the same in every version: an object is checked in the
//! version of the request, and one that only the older version accepts could later not be updated in the newer one.

mod pods;
mod quota;
mod status;

mod admission_check;
mod cluster_queue;
mod cohort;
mod local_queue;
mod multi_kueue_cluster;
mod multi_kueue_config;
mod provisioning_request_config;
mod resource_flavor;
mod topology;
mod workload;
mod workload_priority_class;

use crate::crd::Kind;

/// Every kind, by name.
pub fn kinds() -> Vec<Kind> {
    vec![
        admission_check::KIND,
        cluster_queue::KIND,
        cohort::KIND,
        local_queue::KIND,
        multi_kueue_cluster::KIND,
        multi_kueue_config::KIND,
        provisioning_request_config::KIND,
        resource_flavor::KIND,
        topology::KIND,
        workload::KIND,
        workload_priority_class::KIND,
    ]
}
