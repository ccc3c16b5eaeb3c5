//! The loads: how many queues, with which quota, and which Workloads arrive in each of them when.

use std::time::Duration;

use anyhow::{Context, Result};
use kueue_api::core_v1::Namespace;
use kueue_api::kueue::v1beta2::{ClusterQueue, LocalQueue, ResourceFlavor, Workload};
use serde_json::json;

/// The one flavor of all queues.
const FLAVOR: &str = "rf";
const CLASS_LABEL: &str = "kueue.x-k8s.io/performance-scheduler-class";
const RUNNING_LABEL: &str = "kueue.x-k8s.io/performance-scheduler-running-ms";

/// Queues, and the Workloads that each of them gets.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub name: &'static str,
    cohorts: usize,
    /// Of each cohort.
    queues: usize,
    pub nominal: u32,
    borrowing: u32,
    pub classes: &'static [Class],
    /// Workloads of a class are divided by this.
    divided: usize,
}

/// Workloads of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Class {
    pub name: &'static str,
    /// In each queue.
    count: usize,
    pub cpu: u32,
    priority: i32,
    running_ms: u64,
    /// How long before each of them.
    interval_ms: u64,
}

impl Class {
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms)
    }

    pub fn running(&self) -> Duration {
        Duration::from_millis(self.running_ms)
    }
}

#[rustfmt::skip]
pub const BASELINE: Load = Load { name: "baseline", cohorts: 5, queues: 6, nominal: 20, borrowing: 100, divided: 1, classes: &[
    Class { name: "small", count: 350, cpu: 1, priority: 50, running_ms: 200, interval_ms: 100 },
    Class { name: "medium", count: 100, cpu: 5, priority: 100, running_ms: 500, interval_ms: 500 },
    Class { name: "large", count: 50, cpu: 20, priority: 200, running_ms: 1000, interval_ms: 1200 },
] };

#[rustfmt::skip]
pub const LARGE_SCALE: Load = Load { name: "large-scale", cohorts: 10, queues: 100, nominal: 20, borrowing: 100, divided: 1, classes: &[
    Class { name: "small", count: 35, cpu: 1, priority: 50, running_ms: 150, interval_ms: 60 },
    Class { name: "medium", count: 11, cpu: 5, priority: 100, running_ms: 350, interval_ms: 300 },
    Class { name: "large", count: 4, cpu: 20, priority: 200, running_ms: 700, interval_ms: 700 },
] };

/// One queue with room for one: nothing else is going on when its quota becomes free.
#[rustfmt::skip]
pub const WAKE: Load = Load { name: "wake", cohorts: 1, queues: 1, nominal: 1, borrowing: 0, divided: 1, classes: &[
    Class { name: "one", count: 60, cpu: 1, priority: 0, running_ms: 150, interval_ms: 0 },
] };

/// As many Workloads as in large-scale, all there before anybody looks at them.
#[rustfmt::skip]
pub const RESTART: Load = Load { name: "restart", cohorts: 10, queues: 100, nominal: 20, borrowing: 100, divided: 1, classes: &[
    Class { name: "one", count: 50, cpu: 20, priority: 0, running_ms: 3_600_000, interval_ms: 0 },
] };

/// What exists before the first Workload comes.
pub struct Objects {
    pub flavor: ResourceFlavor,
    pub namespaces: Vec<Namespace>,
    pub cluster_queues: Vec<ClusterQueue>,
    pub local_queues: Vec<LocalQueue>,
}

impl Load {
    /// The same with so few that it is over in seconds.
    pub fn quick(self) -> Self {
        let (cohorts, queues) = (self.cohorts.min(2), self.queues.min(3));
        Self { cohorts, queues, divided: 10, ..self }
    }

    /// How many Workloads of a class come to each queue.
    pub fn count(&self, class: &Class) -> usize {
        class.count.div_ceil(self.divided)
    }

    pub fn total(&self) -> usize {
        let each: usize = self.classes.iter().map(|class| self.count(class)).sum();
        each * self.cohorts * self.queues
    }

    /// How much quota there is, of all queues together.
    pub fn quota(&self) -> f64 {
        f64::from(self.nominal) * (self.cohorts * self.queues) as f64
    }

    /// Namespace, ClusterQueue and LocalQueue have the same name.
    pub fn queue_names(&self) -> Vec<String> {
        let names = (0..self.cohorts).flat_map(|cohort| (0..self.queues).map(move |queue| (cohort, queue)));
        names.map(|(cohort, queue)| format!("cq-0-{queue}-cohort-{cohort}")).collect()
    }

    pub fn objects(&self) -> Result<Objects> {
        let cohort_of = |name: &str| name.rsplit_once("-cohort-").map(|(_, cohort)| format!("cohort-{cohort}"));
        let names = self.queue_names();
        let flavor = serde_json::from_value(json!({"metadata": {"name": FLAVOR}, "spec": {}}))?;
        let namespace = |name: &String| json!({"metadata": {"name": name}});
        let cluster_queue = |name: &String| {
            let cpu = json!({"name": "cpu", "nominalQuota": self.nominal, "borrowingLimit": self.borrowing});
            json!({"metadata": {"name": name, "labels": {CLASS_LABEL: "cq"}}, "spec": {
                "cohortName": cohort_of(name),
                "queueingStrategy": "BestEffortFIFO",
                "namespaceSelector": {},
                "flavorFungibility": {"whenCanBorrow": "MayStopSearch", "whenCanPreempt": "TryNextFlavor"},
                "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [{"name": FLAVOR, "resources": [cpu]}]}],
            }})
        };
        let local_queue =
            |name: &String| json!({"metadata": {"name": name, "namespace": name}, "spec": {"clusterQueue": name}});
        Ok(Objects {
            flavor,
            namespaces: all(&names, namespace)?,
            cluster_queues: all(&names, cluster_queue)?,
            local_queues: all(&names, local_queue)?,
        })
    }

    /// One Workload of a class in a queue.
    pub fn workload(&self, queue: &str, class: &Class, number: usize) -> Result<Workload> {
        let container =
            json!({"name": "c", "image": "none", "resources": {"requests": {"cpu": class.cpu.to_string()}}});
        let labels = json!({CLASS_LABEL: class.name, RUNNING_LABEL: class.running_ms.to_string()});
        let workload = json!({
            "metadata": {"name": format!("{}-0-{number}", class.name), "namespace": queue, "labels": labels},
            "spec": {
                "queueName": queue,
                "priority": class.priority,
                "podSets": [{"name": "main", "count": 1,
                    "template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}],
            },
        });
        serde_json::from_value(workload).context("a Workload of the load")
    }

    /// The class that a Workload says it is of.
    pub fn class_of(&self, workload: &Workload) -> Option<&'static Class> {
        let name = workload.metadata.labels.get(CLASS_LABEL)?;
        self.classes.iter().find(|class| class.name == name)
    }
}

fn all<T: serde::de::DeserializeOwned>(
    names: &[String],
    make: impl Fn(&String) -> serde_json::Value,
) -> Result<Vec<T>> {
    let objects: Result<Vec<T>, _> = names.iter().map(|name| serde_json::from_value(make(name))).collect();
    objects.context("an object of the load")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_are_as_large_as_those_of_kueue() {
        assert_eq!([BASELINE.total(), LARGE_SCALE.total(), RESTART.total()], [15_000, 50_000, 50_000]);
        assert!(BASELINE.quick().total() < 500);
    }

    #[test]
    fn every_object_of_a_load_can_be_made() {
        let objects = BASELINE.objects().unwrap();
        assert_eq!(objects.cluster_queues.len(), 30);
        assert_eq!(objects.cluster_queues[7].spec.cohort_name, "cohort-1");
        let workload = BASELINE.workload("cq-0-0-cohort-0", &BASELINE.classes[1], 3).unwrap();
        assert_eq!(BASELINE.class_of(&workload).map(|class| class.cpu), Some(5));
    }
}
