//! Lets the pods of a placed Workload go to their nodes: by the ranks that their job gave them, or as they come.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use kueue_api::core_v1::Pod;
use kueue_api::kueue::names::{
    FIELD_MANAGER_KUEUE, HOSTNAME_LABEL, SCHEDULING_GATE_TOPOLOGY, annotation, condition, label,
};
use kueue_api::kueue::topology_assignment::{TopologyDomainAssignment, decode};
use kueue_api::kueue::v1beta2::{PodSetAssignment, PodSetTopologyRequest, Workload};
use kueue_api::meta::ConditionStatus;
use kueue_core::gates::Gates;
use kueue_core::time::Time;
use kueue_jobs::kinds::pod::group_name;
use kueue_jobs::opened::{OnOpened, Opened};
use kueue_runtime::client::{Client, Failure, Patch};
use kueue_runtime::clock::Clock;
use kueue_runtime::informer::{Index, Store};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{Next, Reconciler};
use tracing::warn;

use super::pods::{is_gated, is_over};

/// A pod that may go, and the labels of the nodes it goes to.
#[derive(Clone, PartialEq, Debug)]
pub struct Start<'p> {
    pub pod: &'p Pod,
    pub node_labels: BTreeMap<String, String>,
}

/// A pod says where the indices of its replica begin, and it is no number.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("failed to parse offset annotation: {value:?} of pod {pod} is no number")]
pub struct BadOffset {
    pub pod: String,
    pub value: String,
}

/// What the ranks of a pod set begin with, and what they stay below.
#[derive(Clone, Copy, Default)]
struct Ranks {
    offset: i64,
    end: i64,
}

/// Whether the Workload runs, and its pods wait for their nodes.
pub fn is_placed(workload: &Workload) -> bool {
    let is_admitted = workload
        .status
        .conditions
        .iter()
        .any(|known| known.r#type == condition::ADMITTED && known.status == ConditionStatus::True);
    is_admitted && assignments(workload).any(|assigned| assigned.topology_assignment.is_some())
}

fn assignments(workload: &Workload) -> impl Iterator<Item = &PodSetAssignment> {
    workload.status.admission.iter().flat_map(|admission| &admission.pod_set_assignments)
}

/// The pods that may go now, of all pods of the Workload.
pub fn pods_to_start<'p>(workload: &Workload, pods: &[&'p Pod]) -> Result<Vec<Start<'p>>, BadOffset> {
    let mut starts = Vec::new();
    if !is_placed(workload) {
        return Ok(starts);
    }
    for assigned in assignments(workload) {
        let Some(compact) = &assigned.topology_assignment else { continue };
        // What cannot be read is no place; such a Workload is evicted.
        let Ok(domains) = decode(compact) else { continue };
        let of_pod_set = |pod: &&&Pod| pod.metadata.labels.get(label::POD_SET) == Some(&assigned.name) && !is_over(pod);
        let pods: Vec<&'p Pod> = pods.iter().filter(of_pod_set).copied().collect();
        let mut ranks = ranks_of(workload, assigned);
        if let Some(offset) = pods.first().map(|first| index_offset(first)).transpose()?.flatten() {
            ranks = Ranks { offset: ranks.offset.saturating_add(offset), end: ranks.end.saturating_add(offset) };
        }
        let places = Places { levels: &compact.levels, domains: &domains };
        let request = request_of(workload, &assigned.name);
        let found = places.by_rank(assigned, &pods, request, ranks).unwrap_or_else(|| places.as_they_come(&pods));
        let is_failed = |domain: usize| {
            let node = places.node(domain);
            node.is_some_and(|node| workload.status.unhealthy_nodes.iter().any(|failed| failed.name == *node))
        };
        // Until another node is found for it, a pod had better wait than be sent to one that failed.
        let found = found.into_iter().filter(|(pod, domain)| is_gated(pod) && !is_failed(*domain));
        starts.extend(found.map(|(pod, domain)| Start { pod, node_labels: places.labels(domain) }));
    }
    Ok(starts)
}

fn request_of<'w>(workload: &'w Workload, pod_set: &str) -> Option<&'w PodSetTopologyRequest> {
    workload.spec.pod_sets.iter().find(|known| known.name == pod_set)?.topology_request.as_ref()
}

fn index_offset(pod: &Pod) -> Result<Option<i64>, BadOffset> {
    let Some(value) = pod.metadata.annotations.get(annotation::POD_INDEX_OFFSET) else { return Ok(None) };
    let bad = || BadOffset { pod: Key::of(pod).to_string(), value: value.clone() };
    value.parse::<i32>().map(|offset| Some(i64::from(offset))).map_err(|_| bad())
}

/// In a group of a leader and its workers, the leader has the first ranks.
fn ranks_of(workload: &Workload, assigned: &PodSetAssignment) -> Ranks {
    let count = |assigned: &PodSetAssignment| i64::from(assigned.count.unwrap_or_default());
    let group = |name: &str| request_of(workload, name).and_then(|request| request.pod_set_group_name.as_ref());
    let own = group(&assigned.name);
    let members: Vec<&PodSetAssignment> =
        assignments(workload).filter(|other| own.is_some() && group(&other.name) == own).take(2).collect();
    let [first, second] = members[..] else { return Ranks { offset: 0, end: count(assigned) } };
    let (leader, workers) = if count(first) > count(second) { (second, first) } else { (first, second) };
    if assigned.name == leader.name {
        return Ranks { offset: 0, end: count(leader) };
    }
    Ranks { offset: count(leader), end: count(leader).saturating_add(count(workers)) }
}

/// Where the pods of a pod set belong.
struct Places<'a> {
    levels: &'a [String],
    domains: &'a [TopologyDomainAssignment],
}

impl Places<'_> {
    fn labels(&self, domain: usize) -> BTreeMap<String, String> {
        self.levels.iter().cloned().zip(self.domains[domain].values.iter().cloned()).collect()
    }

    /// The node that a domain is, where domains are nodes.
    fn node(&self, domain: usize) -> Option<&String> {
        let is_by_host = self.levels.last().is_some_and(|level| level == HOSTNAME_LABEL);
        is_by_host.then(|| self.domains[domain].values.last()).flatten()
    }

    fn is_in(&self, pod: &Pod, domain: usize) -> bool {
        let mut values = self.levels.iter().zip(&self.domains[domain].values);
        let selected = |level: &String| pod.spec.node_selector.get(level).map_or("", String::as_str);
        values.all(|(level, value)| selected(level) == value)
    }

    /// The domain of a rank, if there are so many pods in all.
    fn of_rank(&self, rank: i64) -> Option<usize> {
        let mut end = 0_i64;
        self.domains.iter().position(|domain| {
            end = end.saturating_add(i64::from(domain.count.max(0)));
            rank < end
        })
    }

    /// Every pod where its rank belongs. Nothing when ranks are not asked for or not to be trusted: one is missing, no
    /// number, too high or taken twice, or a pod runs elsewhere than its rank says.
    fn by_rank<'p>(
        &self,
        assigned: &PodSetAssignment,
        pods: &[&'p Pod],
        request: Option<&PodSetTopologyRequest>,
        ranks: Ranks,
    ) -> Option<Vec<(&'p Pod, usize)>> {
        let request = request?;
        let index_label = request.pod_index_label.as_ref()?;
        let size = i64::from(assigned.count?);
        let groups = match &request.sub_group_index_label {
            Some(label) => Some((label, i64::from(request.sub_group_count.filter(|count| *count > 0)?))),
            None => None,
        };
        let mut found: BTreeMap<i64, &'p Pod> = BTreeMap::new();
        for pod in pods {
            let index = number(pod, index_label, ranks.end)?;
            let rank = match groups {
                None => index,
                Some((label, count)) => {
                    let of_group = size / count;
                    let group = number(pod, label, count)?;
                    (index < of_group).then(|| index + group * of_group)?
                }
            } - ranks.offset;
            if !(0..size).contains(&rank) || found.insert(rank, pod).is_some() {
                return None;
            }
        }
        let place = |(rank, pod): (i64, &'p Pod)| {
            let domain = self.of_rank(rank)?;
            (is_gated(pod) || self.is_in(pod, domain)).then_some((pod, domain))
        };
        found.into_iter().map(place).collect()
    }

    /// Fills one domain after the other with the pods that wait, in their order.
    fn as_they_come<'p>(&self, pods: &[&'p Pod]) -> Vec<(&'p Pod, usize)> {
        let mut waiting = pods.iter().filter(|pod| is_gated(pod)).copied();
        let mut found = Vec::new();
        for (domain, share) in self.domains.iter().enumerate() {
            let there = pods.iter().filter(|pod| !is_gated(pod) && self.is_in(pod, domain)).count();
            let room = usize::try_from(share.count).unwrap_or_default().saturating_sub(there);
            found.extend(waiting.by_ref().take(room).map(|pod| (pod, domain)));
        }
        found
    }
}

/// A label's number, if it is one below the end.
fn number(pod: &Pod, label: &str, end: i64) -> Option<i64> {
    let number: i64 = pod.metadata.labels.get(label)?.parse().ok()?;
    (0..end).contains(&number).then_some(number)
}

/// The pod without its gate, sent to its nodes.
pub fn started(start: &Start<'_>) -> Pod {
    let mut pod = start.pod.clone();
    pod.spec.scheduling_gates.retain(|gate| gate.name != SCHEDULING_GATE_TOPOLOGY);
    pod.spec.node_selector.extend(start.node_labels.clone());
    pod
}

/// How long the pod waited that goes now.
pub fn opened<'w>(start: &Start<'_>, workload: &'w Workload, gates: Gates, now: Time) -> Option<Opened<'w>> {
    let is_group = group_name(&start.pod.metadata, gates).is_some();
    Opened::now(SCHEDULING_GATE_TOPOLOGY, is_group, workload, now)
}

/// The pods that were let go and are not seen to be gone yet: until they are, nobody knows which places are taken.
#[derive(Debug, Default)]
pub struct Expected(Mutex<HashMap<Key, HashSet<String>>>);

impl Expected {
    fn change<R>(&self, key: &Key, change: impl FnOnce(&mut HashSet<String>) -> R) -> R {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_workload = all.entry(key.clone()).or_default();
        let result = change(of_workload);
        if of_workload.is_empty() {
            all.remove(key);
        }
        result
    }

    pub fn expect<'u>(&self, key: &Key, uids: impl IntoIterator<Item = &'u str>) {
        self.change(key, |expected| expected.extend(uids.into_iter().map(str::to_owned)));
    }

    /// Whether all that were let go are seen to be.
    pub fn is_fulfilled(&self, key: &Key, pods: &[&Pod]) -> bool {
        self.change(key, |expected| {
            expected.retain(|uid| pods.iter().any(|pod| pod.metadata.uid == *uid && is_gated(pod)));
            expected.is_empty()
        })
    }
}

/// Lets pods go, one Workload at a time.
pub struct Ungater {
    pub client: Client,
    pub clock: Clock,
    pub gates: Gates,
    pub workloads: Arc<Store<Workload>>,
    pub pods: Arc<Store<Pod>>,
    /// Pods by [`slice_values`](super::slice_values).
    pub by_slice: Index,
    pub expected: Expected,
    pub on_opened: OnOpened,
}

impl std::fmt::Debug for Ungater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ungater").field("expected", &self.expected).finish_non_exhaustive()
    }
}

impl Reconciler<Key> for Ungater {
    fn name(&self) -> &'static str {
        "tas_topology_ungater"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(workload) = self.workloads.get(key).map(|stored| stored.object) else { return Ok(Next::Done) };
        let chain = workload.metadata.annotations.get(annotation::WORKLOAD_SLICE_NAME);
        let chain = format!("{}/{}", key.namespace, chain.map_or(&*key.name, String::as_str));
        let pods: Vec<Arc<Pod>> =
            self.pods.find(self.by_slice, &chain).into_iter().map(|(_, stored)| stored.object).collect();
        let pods: Vec<&Pod> = pods.iter().map(|pod| &**pod).collect();
        // When they are seen, their events lead here again.
        if !self.expected.is_fulfilled(key, &pods) {
            return Ok(Next::Done);
        }
        let starts = match pods_to_start(&workload, &pods) {
            Ok(starts) => starts,
            Err(bad) => {
                warn!(workload = %key, %bad, "no pod is let go");
                return Ok(Next::Done);
            }
        };
        let mut failed = None;
        for start in &starts {
            let Some(patch) = Patch::between(start.pod, &started(start), FIELD_MANAGER_KUEUE) else { continue };
            match self.client.patch::<Pod>(&Key::of(start.pod), &patch).await {
                Ok(_) => {
                    // Not before: a look may end at any moment, with the Lease, and what was not done is never seen.
                    self.expected.expect(key, [start.pod.metadata.uid.as_str()]);
                    let opened = opened(start, &workload, self.gates, self.clock.time());
                    opened.iter().for_each(|opened| (self.on_opened)(opened));
                }
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => {
                    failed.get_or_insert(failure);
                }
            }
        }
        failed.map_or(Ok(Next::Done), Err)
    }
}
