//! The StatefulSet controller: pods with numbers that keep their names.
//!
//! | stateful set | gets |
//! |---|---|
//! | `OrderedReady` | the next pod when all before it are ready; fewer replicas: the last one gone first |
//! | `Parallel` | all pods at once |
//! | a pod that failed | another one of the same name |
//! | another template, `RollingUpdate` | its pods replaced from the last down to the partition, one at a time when the others are ready |
//! | another template, `OnDelete` | pods of it as old ones are deleted |
//! | whatever happens | its counts and revisions |
//!
//! Claims of volumes are not made: pods here have no disks.

use std::sync::Arc;

use kueue_runtime::client::{Client, Dependents, Failure, Patch};
use kueue_runtime::events::{Event, Recorder, Regarding};
use kueue_runtime::key::Key;
use kueue_runtime::reconciler::{self, Next, Reconciler};
use tokio::task::JoinSet;

use crate::deployment::hash;
use crate::feeds::{Feeds, Line, Owned, View};
use crate::kinds::{Pod, StatefulSet, StatefulSetStatus, controller_of};
use crate::replica_set::pod_of;
use crate::{AT_ONCE, MANAGER, Parts, Start, gone_is_fine};

const REVISION: &str = "controller-revision-hash";
const POD_NAME: &str = "statefulset.kubernetes.io/pod-name";
const POD_INDEX: &str = "apps.kubernetes.io/pod-index";

struct StatefulSets {
    client: Client,
    recorder: Recorder,
    sets: View<StatefulSet>,
    owned: Owned<Pod>,
}

/// Listens to stateful sets and their pods; returns what begins to look after them.
pub(crate) fn connect(parts: &Parts, feeds: &mut Feeds) -> Start {
    let line = Line::default();
    feeds.stateful_sets.line_up(&line);
    feeds.pods.line_up_owners::<StatefulSet>(&line);
    let sets = StatefulSets {
        client: parts.client.clone(),
        recorder: parts.recorder.named("statefulset-controller"),
        sets: feeds.stateful_sets.view(),
        owned: feeds.owned_pods(),
    };
    Box::new(move |tasks: &mut JoinSet<()>| drop(tasks.spawn(reconciler::run(line, Arc::new(sets), AT_ONCE))))
}

fn revision(set: &StatefulSet) -> String {
    format!("{}-{}", set.metadata.name, hash(&set.spec.template))
}

fn number(pod: &Pod) -> Option<i32> {
    pod.metadata.name.rsplit_once('-')?.1.parse().ok()
}

fn pod(set: &StatefulSet, number: i32) -> Pod {
    let mut pod = pod_of(set, &set.spec.template);
    let name = format!("{}-{number}", set.metadata.name);
    pod.metadata.generate_name.clear();
    for (label, value) in [(REVISION, revision(set)), (POD_NAME, name.clone()), (POD_INDEX, number.to_string())] {
        pod.metadata.labels.insert(label.to_owned(), value);
    }
    pod.spec.rest.insert("hostname".to_owned(), name.as_str().into());
    if !set.spec.service_name.is_empty() {
        pod.spec.rest.insert("subdomain".to_owned(), set.spec.service_name.as_str().into());
    }
    pod.metadata.name = name;
    pod
}

/// What is to be done now.
#[derive(Debug, Default, PartialEq)]
struct Plan {
    create: Vec<i32>,
    /// Numbers of pods to be deleted.
    delete: Vec<i32>,
}

fn plan(set: &StatefulSet, pods: &[Arc<Pod>]) -> Plan {
    let first = set.spec.ordinals.as_ref().map_or(0, |ordinals| ordinals.start);
    let wanted = first..first + set.spec.replicas.unwrap_or(1);
    let in_order = set.spec.pod_management_policy != "Parallel";
    let find = |number_of: i32| pods.iter().find(|pod| number(pod) == Some(number_of));
    let is_well = |pod: &Pod| pod.is_ready() && pod.is_active();
    let mut plan = Plan::default();
    for number in wanted.clone() {
        match find(number) {
            None => plan.create.push(number),
            Some(pod) if pod.is_terminal() && !pod.is_going() => plan.delete.push(number),
            Some(pod) if is_well(pod) => continue,
            Some(_) => {}
        }
        if in_order {
            return plan;
        }
    }
    let mut spare: Vec<i32> = pods.iter().filter(|pod| !pod.is_going()).filter_map(|pod| number(pod)).collect();
    spare.retain(|number| !wanted.contains(number));
    spare.sort_unstable_by(|a, b| b.cmp(a));
    let is_any_going = pods.iter().any(|pod| pod.is_going());
    if in_order {
        spare.truncate(usize::from(!is_any_going));
    }
    if !spare.is_empty() || !plan.create.is_empty() || !plan.delete.is_empty() || is_any_going {
        plan.delete.extend(spare);
        return plan;
    }
    if set.spec.update_strategy.r#type != "OnDelete" && wanted.clone().all(|n| find(n).is_some_and(|pod| is_well(pod)))
    {
        let partition = set.spec.update_strategy.rolling_update.as_ref().map_or(0, |rolling| rolling.partition);
        let wanted_revision = revision(set);
        let is_old =
            |number: &i32| find(*number).is_some_and(|pod| pod.metadata.labels.get(REVISION) != Some(&wanted_revision));
        plan.delete.extend(wanted.rev().take_while(|number| *number >= first + partition).find(is_old));
    }
    plan
}

fn status(set: &StatefulSet, pods: &[Arc<Pod>], created: usize) -> StatefulSetStatus {
    let count = |is_meant: &dyn Fn(&Pod) -> bool| {
        i32::try_from(pods.iter().filter(|pod| is_meant(pod)).count()).unwrap_or(i32::MAX)
    };
    let update = revision(set);
    let is_updated = |pod: &Pod| pod.metadata.labels.get(REVISION) == Some(&update);
    let created = i32::try_from(created).unwrap_or(0);
    let ready = count(&|pod| pod.is_active() && pod.is_ready());
    let updated = count(&is_updated) + created;
    let replicas = count(&|_| true) + created;
    let is_over = updated == replicas && ready == set.spec.replicas.unwrap_or(1);
    let known = &set.status.current_revision;
    let current = if known.is_empty() || is_over { update.clone() } else { known.clone() };
    StatefulSetStatus {
        observed_generation: set.metadata.generation,
        replicas,
        ready_replicas: ready,
        available_replicas: ready,
        current_replicas: count(&|pod| pod.metadata.labels.get(REVISION) == Some(&current))
            + if current == update { created } else { 0 },
        updated_replicas: updated,
        current_revision: current,
        update_revision: update,
        collision_count: Some(0),
    }
}

impl Reconciler<Key> for StatefulSets {
    fn name(&self) -> &'static str {
        "statefulset"
    }

    async fn reconcile(&self, key: &Key) -> Result<Next, Failure> {
        let Some(set) = self.sets.get(key) else { return Ok(Next::Done) };
        if set.metadata.deletion_timestamp.is_some() {
            return Ok(Next::Done);
        }
        let mut pods = self.owned.named("StatefulSet", key);
        pods.retain(|pod| controller_of(&**pod).is_some_and(|owner| owner.uid == set.metadata.uid));
        let plan = plan(&set, &pods);
        let mut last = None;
        for number in &plan.create {
            let made = self.client.make(&pod(&set, *number)).await?;
            let note = format!("create Pod {} in StatefulSet {} successful", made.name, key.name);
            self.tell(&set, "SuccessfulCreate", note);
            last = Some(made);
        }
        if let Some(last) = last {
            self.owned.view.until_seen(&last.version).await;
        }
        for gone in pods.iter().filter(|pod| number(pod).is_some_and(|number| plan.delete.contains(&number))) {
            let deleted =
                self.client.delete::<Pod>(&Key::of(&**gone), &gone.metadata.uid, Dependents::Background).await;
            gone_is_fine(deleted)?;
            let note = format!("delete Pod {} in StatefulSet {} successful", gone.metadata.name, key.name);
            self.tell(&set, "SuccessfulDelete", note);
        }
        let shown = StatefulSet { status: status(&set, &pods, plan.create.len()), ..(*set).clone() };
        if let Some(patch) = Patch::between(&*set, &shown, MANAGER) {
            let written = self.client.change::<StatefulSet>(key, &patch.of_status()).await?;
            self.sets.until_seen(&written.version).await;
        }
        Ok(Next::Done)
    }
}

impl StatefulSets {
    fn tell(&self, set: &StatefulSet, reason: &str, note: String) {
        let regarding = Regarding::of(set);
        self.recorder.record(Event { regarding, is_warning: false, reason: reason.to_owned(), note });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn set(replicas: i32, more: &Value) -> StatefulSet {
        let mut set = json!({"metadata": {"name": "s", "namespace": "n"}, "spec": {"template": {"spec": {}}}});
        for (key, value) in more.as_object().unwrap() {
            set["spec"][key] = value.clone();
        }
        set["spec"]["replicas"] = json!(replicas);
        serde_json::from_value(set).unwrap()
    }

    /// Pods as a text says: `.` missing, `r` ready, `w` waiting, `f` failed, `o` ready of an old template.
    fn pods(set: &StatefulSet, text: &str) -> Vec<Arc<Pod>> {
        let made = |(number, what): (usize, char)| {
            let mut pod = pod(set, i32::try_from(number).unwrap());
            pod.status.phase = if what == 'f' { "Failed" } else { "Running" }.to_owned();
            if matches!(what, 'r' | 'o') {
                pod.status.conditions = serde_json::from_value(json!([{"type": "Ready", "status": "True"}])).unwrap();
            }
            if what == 'o' {
                pod.metadata.labels.insert(REVISION.to_owned(), "old".to_owned());
            }
            (what != '.').then(|| Arc::new(pod))
        };
        text.chars().enumerate().filter_map(made).collect()
    }

    fn check(replicas: i32, more: &Value, there: &str, create: &[i32], delete: &[i32]) {
        let set = set(replicas, more);
        let expected = Plan { create: create.to_vec(), delete: delete.to_vec() };
        assert_eq!(plan(&set, &pods(&set, there)), expected, "{there}");
    }

    #[test]
    fn pods_come_in_order() {
        check(3, &json!({}), "", &[0], &[]);
        check(3, &json!({}), "w", &[], &[]);
        check(3, &json!({}), "r", &[1], &[]);
        check(3, &json!({}), "r.r", &[1], &[]);
        check(3, &json!({}), "rf", &[], &[1]);
        check(3, &json!({"podManagementPolicy": "Parallel"}), "w", &[1, 2], &[]);
    }

    #[test]
    fn pods_go_from_the_last() {
        check(1, &json!({}), "rrr", &[], &[2]);
        check(1, &json!({"podManagementPolicy": "Parallel"}), "rrr", &[], &[2, 1]);
    }

    #[test]
    fn a_new_template_reaches_the_last_pod_first() {
        check(3, &json!({}), "ooo", &[], &[2]);
        check(3, &json!({}), "oor", &[], &[1]);
        check(3, &json!({}), "oow", &[], &[]);
        check(3, &json!({"updateStrategy": {"type": "OnDelete"}}), "ooo", &[], &[]);
        check(3, &json!({"updateStrategy": {"rollingUpdate": {"partition": 2}}}), "oor", &[], &[]);
    }

    #[test]
    fn counts_tell_old_from_new() {
        let set = set(3, &json!({}));
        let status = status(&set, &pods(&set, "oor"), 0);
        assert_eq!((status.replicas, status.ready_replicas, status.updated_replicas), (3, 3, 1));
    }
}
