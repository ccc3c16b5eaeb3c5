//! The steps: what users, jobs, check controllers and the clock do.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use kueue_api::kueue::names::{annotation, condition};
use kueue_api::kueue::v1beta2::{CheckState, PreemptionGatePosition, Workload};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_core::duration::Duration;
use kueue_engine::{Change, Eviction, Key, Name, Stamp};
use kueue_translate::status_from_engine;
use serde_json::Value;

use crate::cluster::read;

use super::super::state::{Shown, texts};
use super::World;

impl World {
    pub(super) fn play(&mut self, step: &Value, shown: &mut Shown) -> Result<()> {
        let names = texts(&step["names"]);
        match step["do"].as_str().context("a step has a name")? {
            "cycle" => self.cycle(shown),
            "flush" => {
                self.cluster.engine.flush(self.cluster.now);
                self.settle(shown);
            }
            "sampleLocalQueues" => self.sample(shown),
            "advance" => self.advance(step["seconds"].as_i64().context("seconds")?, shown),
            "create" => {
                for object in step["workloads"].as_array().into_iter().flatten() {
                    self.create(object, shown)?;
                }
            }
            "delete" => {
                for key in names {
                    self.delete(&key, shown);
                }
            }
            "finish" => self.each(&names, shown, finish),
            "completeEvictions" => self.complete_evictions(shown),
            "setPriority" => {
                let priority = i32::try_from(step["priority"].as_i64().context("priority")?)?;
                self.each(&names, shown, |object, _| object.spec.priority = Some(priority));
            }
            "setActive" => {
                let is_active = step["state"] == "true";
                self.each(&names, shown, |object, _| object.spec.active = Some(is_active));
            }
            "ungate" => self.each(&names, shown, |object, _| {
                object.metadata.annotations.remove(annotation::ADMISSION_GATED_BY);
            }),
            "scaleDown" => {
                let counts: BTreeMap<String, i32> = read(&step["counts"])?;
                self.each(&names, shown, |object, _| {
                    for pod_set in &mut object.spec.pod_sets {
                        pod_set.count = counts.get(&pod_set.name).copied().unwrap_or(pod_set.count);
                    }
                });
            }
            "reclaim" => {
                let pods: Vec<_> = read(&step["reclaimablePods"])?;
                self.each(&names, shown, |object, _| object.status.reclaimable_pods = pods.clone());
            }
            "podsReadyTimeout" => {
                let backoff = Duration::from_seconds(step["seconds"].as_i64().context("seconds")?);
                for key in names {
                    self.time_out(&key, backoff, shown);
                }
            }
            "openGate" => {
                let gate = step["gate"].as_str().context("gate")?;
                self.each(&names, shown, |object, now| open_gate(object, gate, now));
            }
            "setCheck" => self.each(&names, shown, |object, now| set_check(object, step, now)),
            other => return self.play_object(other, step, &names, shown),
        }
        Ok(())
    }

    fn play_object(&mut self, action: &str, step: &Value, names: &[String], shown: &mut Shown) -> Result<()> {
        match action {
            "updateClusterQueue" | "createClusterQueue" => {
                self.cluster.add_as("ClusterQueue", &step["clusterQueue"])?;
            }
            "updateLocalQueue" => self.cluster.add_as("LocalQueue", &step["localQueue"])?,
            "updateCohort" => self.set_cohort(&step["cohort"])?,
            "updateResourceFlavor" | "createResourceFlavor" => {
                self.cluster.add_as("ResourceFlavor", &step["resourceFlavor"])?;
            }
            "updateAdmissionCheck" => self.cluster.add_as("AdmissionCheck", &step["admissionCheck"])?,
            "deleteClusterQueue" => {
                for name in names {
                    self.apply(Change::QueueGone(name.as_str().into()));
                }
            }
            "deleteCohort" => {
                for name in names {
                    self.cohorts.retain(|known| known != name);
                    self.apply(Change::CohortGone(name.as_str().into()));
                }
            }
            "addNodes" | "updateNodes" => {
                for node in step["nodes"].as_array().into_iter().flatten() {
                    self.cluster.add_as("Node", node)?;
                    self.settle(shown);
                }
            }
            "addPods" => {
                for pod in step["pods"].as_array().into_iter().flatten() {
                    self.add_pod(pod)?;
                    self.settle(shown);
                }
            }
            "removeNodes" => {
                for name in names {
                    self.apply(Change::NodeGone(name.as_str().into()));
                    self.settle(shown);
                }
            }
            "removePods" => {
                for name in names {
                    self.plain_pods.remove(name);
                    let (namespace, name) = split(name);
                    self.apply(Change::PlainPodGone { namespace, name });
                    self.settle(shown);
                }
            }
            other => bail!("step {other} is not implemented yet"),
        }
        self.settle(shown);
        Ok(())
    }

    fn cycle(&mut self, shown: &mut Shown) {
        if !self.cluster.engine.has_heads() {
            shown.is_idle = true;
            return;
        }
        let mut effects = self.cluster.engine.cycle(self.cluster.now);
        effects.extend(self.cluster.engine.settle(self.cluster.now));
        self.perform(&effects, shown);
    }

    fn create(&mut self, object: &Value, shown: &mut Shown) -> Result<()> {
        let mut workload: Workload = read(object)?;
        workload.metadata.generation = 1;
        let key = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
        self.cluster.workloads.insert(key.clone(), workload);
        self.send(&key, shown);
        Ok(())
    }

    fn delete(&mut self, key: &str, shown: &mut Shown) {
        self.cluster.workloads.remove(key);
        self.deleted.push(key.to_owned());
        let (namespace, name) = split(key);
        self.apply(Change::WorkloadGone { namespace, name });
        self.settle(shown);
    }

    fn each(&mut self, names: &[String], shown: &mut Shown, edit: impl Fn(&mut Workload, kueue_core::time::Time)) {
        for key in names {
            if let Some(object) = self.cluster.workloads.get_mut(key) {
                edit(object, self.cluster.now);
                self.send(key, shown);
            }
        }
    }

    /// Pods were not ready in time: what the life cycle writes then, with a backoff of the recording's choice.
    fn time_out(&mut self, key: &str, backoff: Duration, shown: &mut Shown) {
        let cluster = &mut self.cluster;
        let Some(object) = cluster.workloads.get_mut(key) else { return };
        let (namespace, name) = split(key);
        let eviction = Eviction::pods_not_ready(&Key { namespace, name }, false);
        let gates = cluster.engine.settings().gates;
        let stamp = Stamp { now: cluster.now, generation: object.metadata.generation, gates };
        let mut status = kueue_translate::status_to_engine(&object.status);
        status.back_off(cluster.now + backoff, true);
        status.evict(&eviction, stamp);
        status_from_engine(&status, &cluster.formatter, cluster.engine.settings().gates, &mut object.status);
        if status.admission.is_some() {
            let event = ["Normal".to_owned(), eviction.event_reason().to_string(), eviction.message.to_string()];
            shown.events.entry(key.to_owned()).or_default().push(event);
        }
        self.send(key, shown);
    }

    fn complete_evictions(&mut self, shown: &mut Shown) {
        let keys: Vec<String> = self.cluster.workloads.keys().cloned().collect();
        for key in keys {
            let conditions = &self.cluster.workloads[&key].status.conditions;
            let is_true = |kind: &str| conditions.iter().any(|c| c.r#type == kind && c.status == ConditionStatus::True);
            if is_true(condition::EVICTED) && is_true(condition::QUOTA_RESERVED) && !is_true(condition::FINISHED) {
                let (namespace, name) = split(&key);
                self.apply(Change::JobStopped { namespace, name });
                self.settle(shown);
            }
        }
    }
}

fn split(key: &str) -> (Name, Name) {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    (namespace.into(), name.into())
}

fn finish(object: &mut Workload, now: kueue_core::time::Time) {
    object.status.conditions.push(Condition {
        r#type: condition::FINISHED.to_owned(),
        status: ConditionStatus::True,
        last_transition_time: now,
        reason: "Succeeded".to_owned(),
        message: "Job finished successfully".to_owned(),
        ..Condition::default()
    });
}

fn open_gate(object: &mut Workload, gate: &str, now: kueue_core::time::Time) {
    if let Some(state) = object.status.preemption_gates.iter_mut().find(|state| state.name == gate) {
        state.position = PreemptionGatePosition::Open;
        state.last_transition_time = now;
    }
}

fn set_check(object: &mut Workload, step: &Value, now: kueue_core::time::Time) {
    let name = step["check"].as_str().unwrap_or_default();
    let state = CheckState::from(step["state"].as_str().unwrap_or_default());
    let Some(check) = object.status.admission_checks.iter_mut().find(|check| check.name == name) else { return };
    if check.state != state {
        check.last_transition_time = now;
    }
    check.state = state;
    check.message = step["message"].as_str().unwrap_or_default().to_owned();
    check.requeue_after_seconds = step["requeueAfterSeconds"].as_i64().and_then(|seconds| i32::try_from(seconds).ok());
    check.pod_set_updates = step.get("podSetUpdates").and_then(|updates| read(updates).ok()).unwrap_or_default();
}
