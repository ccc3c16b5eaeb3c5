//! Conversion between v1beta1 and v1beta2, as the conversion webhook does it.

use kueue_api::kueue::conversion::convert;
use kueue_api::kueue::{v1beta1, v1beta2};
use kueue_api::meta::Object;
use serde_json::Value;

use super::Runners;
use crate::compare::Rules;
use crate::corpus::{Case, Failure, decode};

pub const RUNNERS: Runners = &[
    ("TestClusterQueueConversion_RoundTrip", |case| {
        there_and_back::<v1beta1::ClusterQueue, v1beta2::ClusterQueue>(case, "v1beta1Obj")
    }),
    ("TestClusterQueueConvertFrom", |case| one_way::<v1beta1::ClusterQueue>(case)),
    ("TestClusterQueueConvertTo", |case| one_way::<v1beta2::ClusterQueue>(case)),
    ("TestLocalQueueConversion_RoundTrip", |case| {
        there_and_back::<v1beta1::LocalQueue, v1beta2::LocalQueue>(case, "v1beta1Obj")
    }),
    ("TestLocalQueueConvertFrom", |case| one_way::<v1beta1::LocalQueue>(case)),
    ("TestLocalQueueConvertTo", |case| one_way::<v1beta2::LocalQueue>(case)),
    ("TestMultiKueueClusterConversion_RoundTrip", |case| {
        there_and_back::<v1beta1::MultiKueueCluster, v1beta2::MultiKueueCluster>(case, "v1beta1Obj")
    }),
    ("TestMultiKueueClusterConversion_RoundTrip_Reverse", |case| {
        there_and_back::<v1beta2::MultiKueueCluster, v1beta1::MultiKueueCluster>(case, "v1beta2Obj")
    }),
    ("TestMultiKueueClusterConvertFrom", |case| one_way::<v1beta1::MultiKueueCluster>(case)),
    ("TestMultiKueueClusterConvertTo", |case| one_way::<v1beta2::MultiKueueCluster>(case)),
    ("TestWorkloadConversion_RoundTrip", |case| {
        there_and_back::<v1beta1::Workload, v1beta2::Workload>(case, "v1beta1Obj")
    }),
    ("TestWorkloadConvertFrom", |case| one_way::<v1beta1::Workload>(case)),
    ("TestWorkloadConvertTo", |case| one_way::<v1beta2::Workload>(case)),
];

fn one_way<To: Object>(case: &Case) -> Result<(), Failure> {
    same::<To>(case.raw("expected"), &converted::<To>(case, case.raw("input"))?)
}

fn there_and_back<Own: Object, Other: Object>(case: &Case, field: &str) -> Result<(), Failure> {
    let there = converted::<Other>(case, case.raw(field))?;
    same::<Own>(case.raw(field), &converted::<Own>(case, &there)?)
}

fn converted<To: Object>(case: &Case, object: &Value) -> Result<Value, Failure> {
    convert(object.clone(), &To::api_version(), case.gates()?).map_err(|error| Failure(error.to_string()))
}

/// Compared as objects of the type, as the recorded test does: how a zero value is spelled does not matter.
fn same<T: Object>(expected: &Value, actual: &Value) -> Result<(), Failure> {
    let printed = |what: &str, value: &Value| -> Result<Value, Failure> {
        let typed: Option<T> = decode(what, value)?;
        serde_json::to_value(typed).map_err(|error| Failure(error.to_string()))
    };
    Rules::default().same(&printed("the expected object", expected)?, &printed("the converted object", actual)?)
}
