//! Splits nodes into runs whose names begin alike, one slice each: `pool-a-1`, `pool-a-2`, `pool-b-1`.

use std::collections::HashMap;

use super::{SLICE_DOMAINS_MAX, SLICES_MAX, TopologyAssignment, TopologyDomainAssignment, slice};
use crate::kueue::names::HOSTNAME_LABEL;

/// One slice per run, or as few as the longest list allows where names have nothing in common.
pub(super) fn encode(levels: &[String], domains: &[TopologyDomainAssignment]) -> TopologyAssignment {
    let by_node = domains.len() > 1 && levels.last().is_some_and(|level| level == HOSTNAME_LABEL);
    let starts = if by_node { run_starts(levels.len() - 1, domains) } else { vec![0] };
    let ends = starts.iter().skip(1).copied().chain([domains.len()]);
    let runs = starts.iter().zip(ends).map(|(&start, end)| &domains[start..end]);
    let chunks = runs.flat_map(|run| run.chunks(SLICE_DOMAINS_MAX));
    TopologyAssignment { levels: levels.to_vec(), slices: chunks.map(|chunk| slice(levels.len(), chunk)).collect() }
}

/// Where the runs begin. Prefixes end with `-` and occur at least twice; the longest are used that do not make too many
/// slices.
fn run_starts(level: usize, domains: &[TopologyDomainAssignment]) -> Vec<usize> {
    let names: Vec<&str> = domains.iter().map(|domain| domain.values[level].as_str()).collect();
    let prefixes: Vec<Vec<&str>> = names.iter().map(|name| dash_prefixes(name)).collect();
    let mut occurrences: HashMap<&str, u32> = HashMap::with_capacity(names.len());
    for prefix in prefixes.iter().flatten() {
        *occurrences.entry(prefix).or_default() += 1;
    }
    let deepest = prefixes.iter().map(Vec::len).max().unwrap_or(0);
    for depth in (1..=deepest).rev() {
        let key = |candidates: &Vec<&str>| -> usize {
            let shared = candidates.iter().take(depth).rev().find(|prefix| occurrences[*prefix] > 1);
            shared.map_or(0, |prefix| prefix.len())
        };
        let keys: Vec<&str> = names.iter().zip(&prefixes).map(|(name, candidates)| &name[..key(candidates)]).collect();
        let starts: Vec<usize> = (0..keys.len()).filter(|&at| at == 0 || keys[at] != keys[at - 1]).collect();
        if slice_count(&starts, keys.len()) <= SLICES_MAX {
            return starts;
        }
    }
    vec![0]
}

/// Every beginning of a name that ends with `-` and is not all of it, shortest first.
fn dash_prefixes(name: &str) -> Vec<&str> {
    name.match_indices('-').map(|(at, _)| &name[..=at]).filter(|prefix| prefix.len() < name.len()).collect()
}

fn slice_count(starts: &[usize], total: usize) -> usize {
    let ends = starts.iter().skip(1).copied().chain([total]);
    starts.iter().zip(ends).map(|(start, end)| (end - start).div_ceil(SLICE_DOMAINS_MAX)).sum()
}
