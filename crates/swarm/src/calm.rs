//! After the storm: faults stop, users open their queues again, and everything must come to its end.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::audit::starts::is_gated;
use crate::audit::{CLUSTER_QUEUES, JOBS, LOCAL_QUEUES, PODS, WORKLOADS, is_true};
use crate::load::{Job, Kind, NAMESPACE};
use crate::play::{KUEUE, Play, folder};

/// How often it is looked whether everything has come to its end, and how often at most.
const LOOK_EVERY: Duration = Duration::from_secs(10);
const LOOKS_MAX: usize = 240;
/// How many looks users give their groups before they delete what is left of one that lost a member.
const LOOKS_FOR_GROUPS: usize = 3;
/// How many looks it may take until nothing is left.
const LOOKS_TO_LEAVE: usize = 12;
/// How long it takes until all is written: events that came again are counted every half minute.
const SETTLES: Duration = Duration::from_secs(40);
/// For so long nobody may write anything when nothing happens.
const SILENCE: Duration = Duration::from_secs(120);
/// Kinds of which nothing may be left when users deleted what they made.
const LEFT_BEHIND: [&str; 8] = [
    JOBS,
    PODS,
    WORKLOADS,
    LOCAL_QUEUES,
    CLUSTER_QUEUES,
    "resourceflavors.kueue.x-k8s.io",
    "provisioningrequests.autoscaling.x-k8s.io",
    "podtemplates",
];
const FINALIZERS: [&str; 2] = ["kueue.x-k8s.io/managed", "kueue.x-k8s.io/resource-in-use"];

impl Play<'_> {
    pub(crate) async fn calm(&mut self) -> Result<()> {
        self.replicas.mend()?;
        for queue in 0..self.plan.setup.queues.len() {
            self.set_stop_policy(queue, "None").await?;
        }
        if !self.comes_to_an_end().await? {
            return Ok(());
        }
        sleep(SETTLES).await;
        self.check_what_ended();
        let before = self.bed.audit.writes();
        sleep(SILENCE).await;
        let writes = self.bed.audit.writes() - before;
        if writes > 0 {
            self.bed.audit.fail("not silent", format!("{writes} writes while nothing happened"));
        }
        if self.is_broken() {
            return Ok(());
        }
        self.clean_up().await
    }

    /// Waits until every job has ended; says whether that came to be.
    async fn comes_to_an_end(&mut self) -> Result<bool> {
        for look in 0..LOOKS_MAX {
            sleep(LOOK_EVERY).await;
            if self.is_broken() {
                return Ok(false);
            }
            self.activate_all().await?;
            if look % LOOKS_FOR_GROUPS == LOOKS_FOR_GROUPS - 1 {
                self.give_up_groups().await?;
            }
            while self.hands.try_join_next().is_some() {}
            if self.hands.is_empty() && self.running().is_none() {
                return Ok(true);
            }
        }
        let waits = self.running().unwrap_or_else(|| "a user is still refused".to_owned());
        self.bed.audit.fail("does not end", waits);
        Ok(false)
    }

    /// Something that has not come to its end.
    fn running(&self) -> Option<String> {
        let accepted = self.accepted.lock().expect("nobody panics with the list").clone();
        let (jobs, pods) = (self.bed.all(JOBS), self.bed.all(PODS));
        let of_plan = self.plan.jobs.iter().enumerate().filter(|(number, _)| accepted.contains(number));
        let running = of_plan.map(|(_, job)| job).find_map(|job| match job.kind {
            Kind::Job | Kind::PartialJob => self.job_running(job, &jobs),
            Kind::Pod | Kind::PodGroup => None,
        });
        let has_ended = |pod: &Value| ["Succeeded", "Failed"].iter().any(|phase| pod["status"]["phase"] == *phase);
        let pod = || pods.iter().find(|pod| !has_ended(pod)).map(|pod| format!("pod {}", brief(pod)));
        let is_held = |object: &&Value| !object["metadata"]["deletionTimestamp"].is_null();
        let held =
            || pods.iter().chain(&jobs).find(is_held).map(|object| format!("deleted and held {}", brief(object)));
        let all = self.bed.all(WORKLOADS);
        let workload = || {
            all.iter()
                .find(|workload| !is_true(workload, "Finished"))
                .map(|workload| format!("Workload {}", brief(workload)))
        };
        running.or_else(pod).or_else(held).or_else(workload)
    }

    fn job_running(&self, job: &Job, jobs: &[Value]) -> Option<String> {
        match jobs.iter().find(|found| found["metadata"]["name"] == job.name) {
            Some(found) if is_true(found, "Complete") || is_true(found, "Failed") => None,
            Some(found) => Some(format!("Job {}", brief(found))),
            None if job.paths().iter().all(|path| self.deleted.contains(path)) => None,
            None => Some(format!("Job {} is gone, and no user deleted it", job.name)),
        }
    }

    /// When all jobs have ended nobody holds anything, and nobody says that there is something to wait for.
    fn check_what_ended(&self) {
        let finalizers = |object: &Value| -> Option<String> {
            let all = object["metadata"]["finalizers"].as_array().into_iter().flatten();
            all.filter_map(Value::as_str).find(|name| FINALIZERS.contains(name)).map(str::to_owned)
        };
        for object in self.bed.all(PODS).iter().chain(&self.bed.all(WORKLOADS)) {
            if let Some(finalizer) = finalizers(object) {
                self.bed.audit.fail("held for ever", format!("{finalizer} on {}", brief(object)));
            }
            if is_gated(object) {
                self.bed.audit.fail("held for ever", format!("the gate of {}", brief(object)));
            }
        }
        for queue in self.bed.all(CLUSTER_QUEUES).iter().chain(&self.bed.all(LOCAL_QUEUES)) {
            let status = &queue["status"];
            for count in ["pendingWorkloads", "reservingWorkloads", "admittedWorkloads"] {
                if status[count].as_i64().is_some_and(|count| count != 0) {
                    self.bed.audit.fail("status not true", format!("{count} of queue {}", brief(queue)));
                }
            }
            for list in ["flavorsUsage", "flavorsReservation"] {
                let flavors = status[list].as_array().into_iter().flatten();
                let mut totals = flavors.flat_map(|flavor| flavor["resources"].as_array().into_iter().flatten());
                if totals.any(|resource| resource["total"] != "0") {
                    self.bed.audit.fail("status not true", format!("{list} of queue {}", brief(queue)));
                }
            }
        }
    }

    /// Users take their Workloads back from where they left them.
    async fn activate_all(&mut self) -> Result<()> {
        for workload in self.bed.all(WORKLOADS).iter().filter(|workload| workload["spec"]["active"] == false) {
            self.change(&path(workload, "workloads"), &json!({"spec": {"active": true}})).await?;
        }
        Ok(())
    }

    /// A group that lost a member waits for another one; here users delete what is left instead.
    async fn give_up_groups(&mut self) -> Result<()> {
        let pods = self.bed.all(PODS);
        let groups = self.plan.jobs.iter().filter(|job| job.kind == Kind::PodGroup);
        for job in groups {
            let members =
                || pods.iter().filter(|pod| pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] == job.name);
            let is_fine =
                |pod: &Value| pod["status"]["phase"] != "Failed" && pod["metadata"]["deletionTimestamp"].is_null();
            if members().count() < job.pods || !members().all(is_fine) {
                // Without its Workload nobody waits for others in their place.
                let workload = format!("{KUEUE}/namespaces/{NAMESPACE}/workloads/{}", job.name);
                for path in job.paths().iter().chain([&workload]) {
                    self.delete(path).await?;
                }
            }
        }
        Ok(())
    }

    /// Users delete all they made: nothing may be left.
    async fn clean_up(&mut self) -> Result<()> {
        let jobs: Vec<String> = self.plan.jobs.iter().flat_map(Job::paths).collect();
        for path in jobs {
            self.delete(&path).await?;
        }
        let objects = self.plan.setup.objects();
        for object in objects.iter().rev() {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            self.delete(&format!("{}/{name}", folder(object))).await?;
        }
        for _ in 0..LOOKS_TO_LEAVE {
            sleep(LOOK_EVERY).await;
            if LEFT_BEHIND.iter().all(|collection| self.bed.all(collection).is_empty()) {
                return Ok(());
            }
        }
        for collection in LEFT_BEHIND {
            if let Some(left) = self.bed.all(collection).first() {
                self.bed.audit.fail("left behind", format!("{collection} {}", brief(left)));
            }
        }
        Ok(())
    }
}

fn path(object: &Value, plural: &str) -> String {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    format!("{KUEUE}/namespaces/{}/{plural}/{}", text("namespace"), text("name"))
}

/// An object, as far as it says why it waits.
fn brief(object: &Value) -> String {
    let (meta, mut status) = (&object["metadata"], object["status"].clone());
    if let Some(status) = status.as_object_mut() {
        status.remove("admission");
    }
    let text = format!("{} {} {}", meta["name"], meta["finalizers"], status);
    text.chars().take(600).collect()
}
