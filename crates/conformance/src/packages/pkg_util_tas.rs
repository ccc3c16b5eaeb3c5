//! The compact form of topology assignments.

use kueue_api::kueue::topology_assignment::{
    TopologyDomainAssignment, assigned_nodes, decode, encode, encode_by_hostname_prefix,
};
use kueue_api::kueue::v1beta2::TopologyAssignment;
use kueue_core::field::Error;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Runners;
use crate::compare::equal;
use crate::corpus::{self, Case, Failure};

pub const RUNNERS: Runners = &[
    ("TestCompactTopologyAssignmentEncodingWithHostnamePrefixRuns", |case| {
        let plain = Plain::read(case.raw("internal"))?;
        equal(
            &case.arg("want")?,
            &encode_by_hostname_prefix(&plain.levels, &plain.domains).map_err(|error| failure(&error))?,
        )
    }),
    ("TestHasNodeInPodSetAssignment", |case| {
        let admission = json!({"clusterQueue": "", "podSetAssignments": [case.raw("psa")]});
        on_node(case, &admission)
    }),
    ("TestHasTASAssignmentOnNode", |case| on_node(case, case.raw("admission"))),
    ("TestInternalFromV1Beta2", unpacked),
    ("TestInternalSeqFromV1Beta2", unpacked),
    ("TestPodCounts", |case| {
        let counts: Vec<i32> = domains(&case.arg("v1beta2")?)?.iter().map(|domain| domain.count).collect();
        equal(&case.arg("podCounts")?, &counts)
    }),
    ("TestTotalDomainCount", |case| equal(&case.arg("totalDomainCount")?, &domains(&case.arg("v1beta2")?)?.len())),
    ("TestV1Beta2FromInternal", |case| packed(case, case.raw("internal"), case.raw("v1beta2"))),
    ("TestV1Beta2FromInternal_hostnamePrefixFeatureGateAndFallback", |case| {
        let expected = |name: &str| case.expected(name).unwrap_or(&Value::Null);
        packed(case, expected("internal"), expected("want"))?;
        equal(&Plain::read(expected("internal"))?.domains, &domains(&wanted(expected("want"))?)?)
    }),
];

/// Whether pods of an admission are on a node.
fn on_node(case: &Case, admission: &Value) -> Result<(), Failure> {
    // Kueue asks this of workloads that run.
    let admitted = json!({"type": "Admitted", "status": "True", "reason": "Admitted", "message": "",
                          "lastTransitionTime": case.base_time});
    let status = json!({"admission": admission, "conditions": [admitted]});
    let status = corpus::decode("a status", &status)?.unwrap_or_default();
    let nodes = assigned_nodes(&status).map_err(|error| failure(&error))?;
    equal(&case.arg::<bool>("want")?, &nodes.contains(&case.arg::<String>("nodeName")?))
}

/// The expanded form, spelled as in Go.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
struct Plain {
    levels: Vec<String>,
    #[serde(deserialize_with = "go_domains")]
    domains: Vec<TopologyDomainAssignment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoDomain {
    #[serde(default)]
    values: Vec<String>,
    #[serde(default)]
    count: i32,
}

fn go_domains<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<TopologyDomainAssignment>, D::Error> {
    let domains = Vec::<GoDomain>::deserialize(deserializer)?;
    Ok(domains.into_iter().map(|GoDomain { values, count }| TopologyDomainAssignment { values, count }).collect())
}

impl Plain {
    fn read(value: &Value) -> Result<Self, Failure> {
        Ok(corpus::decode("the plain form", value)?.unwrap_or_default())
    }
}

fn wanted(value: &Value) -> Result<TopologyAssignment, Failure> {
    Ok(corpus::decode("the compact form", value)?.unwrap_or_default())
}

fn packed(case: &Case, plain: &Value, compact: &Value) -> Result<(), Failure> {
    let plain = Plain::read(plain)?;
    let got = encode(&plain.levels, &plain.domains, case.gates()?).map_err(|error| failure(&error))?;
    equal(&wanted(compact)?, &got)
}

fn unpacked(case: &Case) -> Result<(), Failure> {
    equal(&Plain::read(case.raw("internal"))?.domains, &domains(&case.arg("v1beta2")?)?)
}

fn domains(compact: &TopologyAssignment) -> Result<Vec<TopologyDomainAssignment>, Failure> {
    decode(compact).map_err(|error| failure(&error))
}

fn failure(error: &Error) -> Failure {
    Failure(error.to_string())
}
