//! How many pods each replica set of a deployment should have.

use std::sync::Arc;

use serde_json::Value;

use super::{REVISION, plain};
use crate::kinds::{Deployment, ReplicaSet};

/// Tells the pods of one template from those of another.
pub(super) const HASH_LABEL: &str = "pod-template-hash";
/// Letters that make no words, as the server uses them in generated names.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short name for a template.
pub(crate) fn hash(template: &Value) -> String {
    let text = plain(template).to_string();
    let sum = text.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let letter = |digit: u8| char::from(LETTERS[usize::from(digit) % LETTERS.len()]);
    sum.to_string().bytes().map(letter).collect()
}

/// Whether the replica set was made of that template.
pub(super) fn is_of_template(set: &ReplicaSet, template: &Value) -> bool {
    plain(&set.spec.template) == plain(template)
}

pub(super) fn revision(set: &ReplicaSet) -> i64 {
    set.metadata.annotations.get(REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Whether nothing is left of an old replica set.
pub(super) fn is_empty(set: &ReplicaSet) -> bool {
    set.spec.replicas == Some(0) && set.status.replicas == 0 && set.metadata.deletion_timestamp.is_none()
}

/// How many pods there may be beyond the wanted number, and how many of it may be missing.
pub(super) fn limits(deployment: &Deployment) -> (i32, i32) {
    if deployment.spec.strategy.r#type == "Recreate" {
        return (0, deployment.spec.replicas.unwrap_or(1));
    }
    let rolling = deployment.spec.strategy.rolling_update.clone().unwrap_or_default();
    let desired = deployment.spec.replicas.unwrap_or(1);
    let surge = amount(&rolling.max_surge, desired, 99);
    let unavailable = amount(&rolling.max_unavailable, desired, 0);
    // With neither nothing could ever move.
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable.min(desired)) }
}

/// A number, or a percentage of the whole; a quarter when it is not given. `up` hundredths round up.
fn amount(value: &Value, whole: i32, up: i32) -> i32 {
    if let Some(number) = value.as_i64() {
        return i32::try_from(number).unwrap_or(i32::MAX);
    }
    let percent = value.as_str().and_then(|text| text.strip_suffix('%')?.parse::<i32>().ok()).unwrap_or(25);
    whole.saturating_mul(percent).saturating_add(up) / 100
}

/// The sizes that are to be written now; the rest follows when these have had their effect.
pub(super) fn plan(
    deployment: &Deployment,
    current: Option<&Arc<ReplicaSet>>,
    old: &[Arc<ReplicaSet>],
) -> Vec<(Arc<ReplicaSet>, i32)> {
    let desired = deployment.spec.replicas.unwrap_or(1);
    let size = |set: &Arc<ReplicaSet>| set.spec.replicas.unwrap_or(0);
    let mut active: Vec<Arc<ReplicaSet>> = old.iter().filter(|set| size(set) > 0).cloned().collect();
    active.sort_by_key(|set| revision(set));
    let Some(current) = current else {
        // Paused before its first rollout, or since: whoever has pods keeps the number.
        return active.pop().map(|set| (set, desired)).into_iter().collect();
    };
    if active.is_empty() {
        let is_waiting = deployment.spec.strategy.r#type == "Recreate" && old.iter().any(|set| has_pods(set));
        return if is_waiting { Vec::new() } else { vec![(Arc::clone(current), desired)] };
    }
    if deployment.spec.paused {
        return Vec::new();
    }
    if deployment.spec.strategy.r#type == "Recreate" {
        return active.into_iter().map(|set| (set, 0)).collect();
    }
    let total = size(current) + active.iter().map(size).sum::<i32>();
    let (surge, unavailable) = limits(deployment);
    let grown = size(current) + (desired + surge - total).min(desired - size(current)).max(0);
    let grown = grown.min(desired);
    if grown != size(current) {
        return vec![(Arc::clone(current), grown)];
    }
    let mut sizes = vec![(Arc::clone(current), grown)];
    sizes.extend(shrunk(current, &active, total, desired - unavailable));
    sizes
}

fn has_pods(set: &ReplicaSet) -> bool {
    set.status.replicas > 0 || set.status.terminating_replicas.unwrap_or(0) > 0
}

/// The old ones made smaller: first by pods that are of no use, then as far as enough stay available.
fn shrunk(
    current: &Arc<ReplicaSet>,
    active: &[Arc<ReplicaSet>],
    total: i32,
    needed: i32,
) -> Vec<(Arc<ReplicaSet>, i32)> {
    let size = |set: &ReplicaSet| set.spec.replicas.unwrap_or(0);
    let unready = (size(current) - current.status.available_replicas).max(0);
    let mut spare = total - needed - unready;
    let mut sizes: Vec<(Arc<ReplicaSet>, i32)> = active.iter().map(|set| (Arc::clone(set), size(set))).collect();
    if spare <= 0 {
        return Vec::new();
    }
    for (set, size) in &mut sizes {
        let useless = (*size - set.status.available_replicas).clamp(0, spare);
        *size -= useless;
        spare -= useless;
    }
    let available = current.status.available_replicas
        + active.iter().map(|set| set.status.available_replicas.min(size(set))).sum::<i32>();
    let mut surplus = (available - needed).max(0);
    for (_, size) in &mut sizes {
        let fewer = (*size).min(surplus);
        *size -= fewer;
        surplus -= fewer;
    }
    sizes
}
