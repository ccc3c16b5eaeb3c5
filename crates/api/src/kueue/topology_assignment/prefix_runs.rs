//! Splits nodes into runs whose names begin alike, one slice each: `pool-a-1`, `pool-a-2`, `pool-b-1`.

use super::{SLICE_DOMAINS_MAX, SLICES_MAX, TopologyAssignment, TopologyDomainAssignment, common_len, slice};
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
    // A prefix is never all of a name, so the last byte does not matter.
    let heads: Vec<&[u8]> = domains.iter().map(|domain| domain.values[level].as_bytes()).map(without_last).collect();
    let shared = shared_heads(&heads);
    let deepest = shared.iter().map(|head| dash_ends(head).count()).max().unwrap_or(0);
    for depth in (1..=deepest).rev() {
        let keys: Vec<&[u8]> =
            shared.iter().map(|head| &head[..dash_ends(head).take(depth).last().unwrap_or(0)]).collect();
        let starts: Vec<usize> = (0..keys.len()).filter(|&at| at == 0 || keys[at] != keys[at - 1]).collect();
        if slice_count(&starts, keys.len()) <= SLICES_MAX {
            return starts;
        }
    }
    vec![0]
}

/// How much of each head another head begins with too. In sorted order that other one stands next to it.
fn shared_heads<'a>(heads: &[&'a [u8]]) -> Vec<&'a [u8]> {
    let mut order: Vec<usize> = (0..heads.len()).collect();
    order.sort_by_key(|&at| heads[at]);
    let mut shared = vec![0; heads.len()];
    for pair in order.windows(2) {
        let common = common_len(heads[pair[0]].iter(), heads[pair[1]].iter());
        for &at in pair {
            shared[at] = common.max(shared[at]);
        }
    }
    heads.iter().zip(shared).map(|(head, shared)| &head[..shared]).collect()
}

fn without_last(name: &[u8]) -> &[u8] {
    &name[..name.len().saturating_sub(1)]
}

/// Where the prefixes that end with `-` end, shortest first.
fn dash_ends(head: &[u8]) -> impl Iterator<Item = usize> {
    head.iter().enumerate().filter(|(_, byte)| **byte == b'-').map(|(at, _)| at + 1)
}

fn slice_count(starts: &[usize], total: usize) -> usize {
    let ends = starts.iter().skip(1).copied().chain([total]);
    starts.iter().zip(ends).map(|(start, end)| (end - start).div_ceil(SLICE_DOMAINS_MAX)).sum()
}
