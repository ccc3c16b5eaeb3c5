//! The steps: what users, jobs, check controllers and the clock do.

use anyhow::{Context, Result, bail};
use kueue_api::kueue::names::{annotation, condition};
use kueue_api::kueue::v1beta2::{CheckState, Workload};
use kueue_api::meta::{Condition, ConditionStatus};
use kueue_engine::{Change, Name};
use serde_json::Value;

use super::super::state::{Shown, texts};
use super::World;
use super::setup::read;

impl World {
    pub(super) fn play(&mut self, step: &Value, shown: &mut Shown) -> Result<()> {
        let names = texts(&step["names"]);
        match step["do"].as_str().context("a step has a name")? {
            "cycle" => self.cycle(shown),
            "flush" => {
                self.engine.flush(self.now);
                self.settle(shown);
            }
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
            "reclaim" => {
                let pods: Vec<_> = read(&step["reclaimablePods"])?;
                self.each(&names, shown, |object, _| object.status.reclaimable_pods = pods.clone());
            }
            "setCheck" => self.each(&names, shown, |object, now| set_check(object, step, now)),
            other => return self.play_object(other, step, &names, shown),
        }
        Ok(())
    }

    fn play_object(&mut self, action: &str, step: &Value, names: &[String], shown: &mut Shown) -> Result<()> {
        let now = self.now;
        match action {
            "updateClusterQueue" | "createClusterQueue" => {
                self.engine.apply(kueue_translate::cluster_queue(&read(&step["clusterQueue"])?), now);
            }
            "updateLocalQueue" => self.engine.apply(kueue_translate::local_queue(&read(&step["localQueue"])?), now),
            "updateCohort" => self.set_cohort(&step["cohort"])?,
            "updateResourceFlavor" | "createResourceFlavor" => {
                self.engine.apply(kueue_translate::flavor(&read(&step["resourceFlavor"])?), now);
            }
            "updateAdmissionCheck" => {
                self.engine.apply(kueue_translate::admission_check(&read(&step["admissionCheck"])?), now);
            }
            "deleteClusterQueue" => {
                for name in names {
                    self.engine.apply(Change::QueueGone(name.as_str().into()), now);
                }
            }
            "deleteCohort" => {
                for name in names {
                    self.cohorts.retain(|known| known != name);
                    self.engine.apply(Change::CohortGone(name.as_str().into()), now);
                }
            }
            other => bail!("step {other} is not implemented yet"),
        }
        self.settle(shown);
        Ok(())
    }

    fn cycle(&mut self, shown: &mut Shown) {
        if !self.engine.has_heads() {
            shown.is_idle = true;
            return;
        }
        let effects = self.engine.cycle(self.now);
        self.perform_cycle(effects, shown);
    }

    fn perform_cycle(&mut self, effects: Vec<kueue_engine::Effect>, shown: &mut Shown) {
        let mut effects = effects;
        effects.extend(self.engine.settle(self.now));
        self.perform(effects, shown);
    }

    fn create(&mut self, object: &Value, shown: &mut Shown) -> Result<()> {
        let mut workload: Workload = read(object)?;
        workload.metadata.generation = 1;
        let key = format!("{}/{}", workload.metadata.namespace, workload.metadata.name);
        self.workloads.insert(key.clone(), workload);
        self.send(&key, shown);
        Ok(())
    }

    fn delete(&mut self, key: &str, shown: &mut Shown) {
        self.workloads.remove(key);
        self.deleted.push(key.to_owned());
        let (namespace, name) = split(key);
        self.engine.apply(Change::WorkloadGone { namespace, name }, self.now);
        self.settle(shown);
    }

    fn each(&mut self, names: &[String], shown: &mut Shown, edit: impl Fn(&mut Workload, kueue_core::time::Time)) {
        for key in names {
            if let Some(object) = self.workloads.get_mut(key) {
                edit(object, self.now);
                self.send(key, shown);
            }
        }
    }

    fn complete_evictions(&mut self, shown: &mut Shown) {
        let keys: Vec<String> = self.workloads.keys().cloned().collect();
        for key in keys {
            let conditions = &self.workloads[&key].status.conditions;
            let is_true = |kind: &str| conditions.iter().any(|c| c.r#type == kind && c.status == ConditionStatus::True);
            if is_true(condition::EVICTED) && is_true(condition::QUOTA_RESERVED) && !is_true(condition::FINISHED) {
                let (namespace, name) = split(&key);
                self.engine.apply(Change::JobStopped { namespace, name }, self.now);
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
