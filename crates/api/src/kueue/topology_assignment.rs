//! The two forms of a topology assignment: domains one by one, and the compact slices that v1beta2 stores.
//!
//! A slice writes what its domains have in common once: a name that all share, or else the common beginning and end of
//! the names; one pod count if all are equal. [`encode`] may also split nodes into runs with the same name prefix, one
//! slice each, where that is shorter.

use std::collections::BTreeSet;

use kueue_core::field::{Error, Path};
use kueue_core::gates::{Gate, Gates};

use super::v1beta2::{
    TopologyAssignment, TopologyAssignmentSlice, TopologyAssignmentSliceLevelIndividualValues,
    TopologyAssignmentSliceLevelValues, TopologyAssignmentSlicePodCounts, WorkloadStatus,
};
use crate::kueue::names::{HOSTNAME_LABEL, condition};
use crate::meta::{Condition, ConditionStatus};
use crate::wire::wire_struct;

mod prefix_runs;
#[cfg(test)]
mod tests;

wire_struct! {
    /// One domain and the pods that go there.
    pub struct TopologyDomainAssignment {
        /// The domain's name at each level, from the highest to the lowest.
        pub values: Vec<String>,
        /// How many pods.
        pub count: i32,
    }
}

/// The longest list that the schema of a slice allows.
const SLICE_DOMAINS_MAX: usize = 100_000;
/// The most slices that the schema allows.
const SLICES_MAX: usize = 1_000;
/// A slice can announce any number of domains in a few bytes; more than this in all is refused.
const DOMAINS_MAX: usize = 1_000_000;

/// Writes domains in compact form. Fails when a domain does not have a name for every level.
pub fn encode(
    levels: &[String],
    domains: &[TopologyDomainAssignment],
    gates: Gates,
) -> Result<TopologyAssignment, Error> {
    if !gates.enabled(Gate::TASAssignmentsEncodingByHostnamePrefix) {
        check_values(levels, domains)?;
        return Ok(one_slice(levels, domains));
    }
    let by_prefix = encode_by_hostname_prefix(levels, domains)?;
    if by_prefix.slices.len() <= 1 || domains.len() > SLICE_DOMAINS_MAX {
        return Ok(by_prefix);
    }
    let whole = one_slice(levels, domains);
    Ok(if printed_len(&whole) < printed_len(&by_prefix) { whole } else { by_prefix })
}

/// One slice per run of nodes whose names begin alike, whether or not that is shorter.
pub fn encode_by_hostname_prefix(
    levels: &[String],
    domains: &[TopologyDomainAssignment],
) -> Result<TopologyAssignment, Error> {
    check_values(levels, domains)?;
    Ok(prefix_runs::encode(levels, domains))
}

/// The domains of a compact form, in order. Fails when it announces more than it holds.
pub fn decode(assignment: &TopologyAssignment) -> Result<Vec<TopologyDomainAssignment>, Error> {
    let announced = |slice: &TopologyAssignmentSlice| usize::try_from(slice.domain_count).unwrap_or(0);
    let total: usize = assignment.slices.iter().map(announced).sum();
    if total > DOMAINS_MAX {
        return Err(Error::too_many(&Path::new("slices"), total, DOMAINS_MAX));
    }
    let mut domains = Vec::with_capacity(total);
    for (index, slice) in assignment.slices.iter().enumerate() {
        check_slice(slice, announced(slice), assignment.levels.len())
            .map_err(|error| error.under(&Path::new("slices").index(index)))?;
        domains.extend((0..announced(slice)).map(|domain| {
            TopologyDomainAssignment {
                values: slice.values_per_level[..assignment.levels.len()]
                    .iter()
                    .map(|values| value_at(values, domain))
                    .collect(),
                count: slice.pod_counts.universal.unwrap_or_else(|| slice.pod_counts.individual[domain]),
            }
        }));
    }
    Ok(domains)
}

/// The nodes that a workload's pods were given; none before it is admitted, or where the lowest level is not the host.
pub fn assigned_nodes(status: &WorkloadStatus) -> Result<BTreeSet<String>, Error> {
    let mut nodes = BTreeSet::new();
    let is_admitted =
        |condition: &Condition| condition.r#type == condition::ADMITTED && condition.status == ConditionStatus::True;
    let Some(admission) = status.admission.as_ref().filter(|_| status.conditions.iter().any(is_admitted)) else {
        return Ok(nodes);
    };
    for assignment in admission.pod_set_assignments.iter().filter_map(|pod_set| pod_set.topology_assignment.as_ref()) {
        if assignment.levels.last().is_some_and(|level| level == HOSTNAME_LABEL) {
            let domains = decode(assignment)?.into_iter().filter(|domain| domain.count > 0);
            nodes.extend(domains.filter_map(|mut domain| domain.values.pop()));
        }
    }
    Ok(nodes)
}

fn check_values(levels: &[String], domains: &[TopologyDomainAssignment]) -> Result<(), Error> {
    match domains.iter().position(|domain| domain.values.len() < levels.len()) {
        None => Ok(()),
        Some(index) => Err(Error::invalid(
            &Path::new("domains").index(index).child("values"),
            domains[index].values.clone(),
            format!("must have {} values, one per level", levels.len()),
        )),
    }
}

/// Everything that [`decode`] indexes is there.
fn check_slice(slice: &TopologyAssignmentSlice, domains: usize, levels: usize) -> Result<(), Error> {
    let wrong = |field: Path, found: usize, expected: usize, each: &str| {
        Err(Error::invalid(&field, found, format!("must have {expected} entries, one per {each}")))
    };
    if slice.values_per_level.len() < levels {
        return wrong(Path::new("valuesPerLevel"), slice.values_per_level.len(), levels, "level");
    }
    for (level, values) in slice.values_per_level[..levels].iter().enumerate() {
        let roots = values.individual.as_ref().map_or(0, |individual| individual.roots.len());
        if values.universal.is_none() && roots < domains {
            let field = Path::new("valuesPerLevel").index(level).child("individual").child("roots");
            return wrong(field, roots, domains, "domain");
        }
    }
    if slice.pod_counts.universal.is_none() && slice.pod_counts.individual.len() < domains {
        let field = Path::new("podCounts").child("individual");
        return wrong(field, slice.pod_counts.individual.len(), domains, "domain");
    }
    Ok(())
}

fn value_at(values: &TopologyAssignmentSliceLevelValues, domain: usize) -> String {
    if let Some(universal) = &values.universal {
        return universal.clone();
    }
    let individual = values.individual.as_ref().expect("checked: a level has universal or individual values");
    let (prefix, suffix) = (individual.prefix.as_deref(), individual.suffix.as_deref());
    [prefix.unwrap_or_default(), &individual.roots[domain], suffix.unwrap_or_default()].concat()
}

fn one_slice(levels: &[String], domains: &[TopologyDomainAssignment]) -> TopologyAssignment {
    let slices = if domains.is_empty() { vec![] } else { vec![slice(levels.len(), domains)] };
    TopologyAssignment { levels: levels.to_vec(), slices }
}

/// One slice of at least one domain.
fn slice(levels: usize, domains: &[TopologyDomainAssignment]) -> TopologyAssignmentSlice {
    let values_of = |level: usize| domains.iter().map(move |domain| domain.values[level].as_str());
    let first_count = domains[0].count;
    let pod_counts = match domains.iter().all(|domain| domain.count == first_count) {
        true => TopologyAssignmentSlicePodCounts { universal: Some(first_count), individual: vec![] },
        false => TopologyAssignmentSlicePodCounts {
            universal: None,
            individual: domains.iter().map(|domain| domain.count).collect(),
        },
    };
    TopologyAssignmentSlice {
        domain_count: i32::try_from(domains.len()).unwrap_or(i32::MAX),
        values_per_level: (0..levels).map(|level| level_values(values_of(level))).collect(),
        pod_counts,
    }
}

/// The names of one level with what they have in common written once.
fn level_values<'a>(names: impl Iterator<Item = &'a str> + Clone) -> TopologyAssignmentSliceLevelValues {
    let first = names.clone().next().unwrap_or_default();
    if names.clone().all(|name| name == first) {
        return TopologyAssignmentSliceLevelValues { universal: Some(first.to_owned()), individual: None };
    }
    let (mut prefix, mut suffix, mut shortest) = (first, first, first.len());
    for name in names.clone() {
        prefix = &prefix[..common_prefix_len(prefix, name)];
        suffix = &suffix[suffix.len() - common_suffix_len(suffix, name)..];
        shortest = shortest.min(name.len());
    }
    // Of "ababa" and "aba" both the common beginning and the common end are "aba": the end wins.
    let prefix = &prefix[..floor_char_boundary(prefix, prefix.len().min(shortest - suffix.len()))];
    let part = |part: &str| (!part.is_empty()).then(|| part.to_owned());
    TopologyAssignmentSliceLevelValues {
        universal: None,
        individual: Some(TopologyAssignmentSliceLevelIndividualValues {
            prefix: part(prefix),
            suffix: part(suffix),
            roots: names.map(|name| name[prefix.len()..name.len() - suffix.len()].to_owned()).collect(),
        }),
    }
}

fn common_prefix_len(a: &str, b: &str) -> usize {
    floor_char_boundary(a, common_len(a.bytes(), b.bytes()))
}

fn common_suffix_len(a: &str, b: &str) -> usize {
    let same = common_len(a.bytes().rev(), b.bytes().rev());
    let start = (a.len() - same..=a.len()).find(|&at| a.is_char_boundary(at)).unwrap_or(a.len());
    a.len() - start
}

/// For how long two sequences are the same.
fn common_len<T: PartialEq>(a: impl Iterator<Item = T>, b: impl Iterator<Item = T>) -> usize {
    a.zip(b).take_while(|(a, b)| a == b).count()
}

/// The largest place up to `at` that is not inside a character.
fn floor_char_boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// How many bytes it takes on the wire.
fn printed_len(assignment: &TopologyAssignment) -> usize {
    serde_json::to_vec(assignment).map_or(usize::MAX, |text| text.len())
}
