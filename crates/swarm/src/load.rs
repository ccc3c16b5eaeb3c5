//! Queues and jobs: what they are, and their manifests.

use kueue_storm::Random;
use serde_json::{Value, json};

use crate::trouble::Edit;

pub const NAMESPACE: &str = "default";
const KUEUE: &str = "kueue.x-k8s.io/v1beta2";
const QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";
const PRIORITY_LABEL: &str = "kueue.x-k8s.io/priority-class";

/// A cluster, and how its managers are told to run.
#[derive(Clone, Debug)]
pub struct Setup {
    pub queues: Vec<Queue>,
    pub flavors: usize,
    pub has_cohort: bool,
    /// How many managers there are.
    pub replicas: usize,
    pub shares_fairly: bool,
    pub waits_for_pods: bool,
    /// Whether managers look after the registration of their webhooks; that reads large objects at every start.
    pub registers: bool,
}

/// A ClusterQueue with one LocalQueue of the same name.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The cpu of each flavor.
    pub quota: Vec<usize>,
    pub borrowing_limit: Option<usize>,
    pub lending_limit: Option<usize>,
    pub is_strict: bool,
    pub preempts: bool,
}

impl Queue {
    /// How much cpu a job may ask for that is to get it some day.
    pub fn room(&self) -> usize {
        *self.quota.iter().max().unwrap_or(&1)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Job,
    /// A Job that may run with fewer pods.
    PartialJob,
    Pod,
    PodGroup,
}

/// Something a user submits.
#[derive(Clone, Debug)]
pub struct Job {
    pub name: String,
    pub at_ms: u64,
    pub kind: Kind,
    pub queue: usize,
    pub pods: usize,
    /// What each pod asks for.
    pub cpu: usize,
    /// How long its pods run.
    pub seconds: usize,
    pub priority: Option<&'static str>,
    /// Whether its pods end with an error.
    pub fails: bool,
}

/// The priority classes, with their values.
pub const PRIORITIES: [(&str, i32); 2] = [("low", -10), ("high", 100)];

pub fn queue_name(queue: usize) -> String {
    format!("q{queue}")
}

fn flavor_name(flavor: usize) -> String {
    format!("f{flavor}")
}

impl Setup {
    pub fn draw(random: &mut Random) -> Self {
        let flavors = 1 + random.below(2);
        let has_cohort = random.once_in(2);
        let queue = |random: &mut Random| Queue {
            quota: (0..flavors).map(|_| 2 + random.below(6)).collect(),
            borrowing_limit: (has_cohort && random.once_in(3)).then(|| random.below(4)),
            lending_limit: (has_cohort && random.once_in(3)).then(|| random.below(3)),
            is_strict: random.once_in(3),
            preempts: !random.once_in(3),
        };
        let queues = (0..1 + random.below(3)).map(|_| queue(random)).collect();
        Self {
            queues,
            flavors,
            has_cohort,
            replicas: 1 + random.below(2),
            shares_fairly: random.once_in(4),
            waits_for_pods: random.once_in(4),
            registers: random.once_in(8),
        }
    }

    /// The managers' configuration.
    pub fn configuration(&self) -> String {
        let mut config = json!({
            "apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration",
            "integrations": {"frameworks": ["batch/job", "pod", "deployment", "statefulset"]},
        });
        if self.shares_fairly {
            config["fairSharing"] = json!({"preemptionStrategies": ["LessThanOrEqualToFinalShare"]});
        }
        if self.waits_for_pods {
            config["waitForPodsReady"] = json!({"timeout": "5m", "blockAdmission": true});
        }
        config.to_string()
    }

    /// Everything users made before the first job came.
    pub fn objects(&self) -> Vec<Value> {
        let meta = |name: String| json!({"name": name});
        let flavors = (0..self.flavors).map(|flavor| {
            json!({"apiVersion": KUEUE, "kind": "ResourceFlavor", "metadata": meta(flavor_name(flavor)),
                "spec": {"nodeLabels": {"pool": flavor_name(flavor)}}})
        });
        let classes = PRIORITIES.into_iter().map(|(name, value)| {
            json!({"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": meta(name.to_owned()), "value": value})
        });
        let queues = self.queues.iter().enumerate().flat_map(|(number, queue)| {
            let name = queue_name(number);
            let local = json!({"apiVersion": KUEUE, "kind": "LocalQueue",
                "metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"clusterQueue": name}});
            [self.cluster_queue(&name, queue), local]
        });
        flavors.chain(classes).chain(queues).collect()
    }

    fn cluster_queue(&self, name: &str, queue: &Queue) -> Value {
        let flavors = queue.quota.iter().enumerate().map(|(flavor, quota)| {
            let mut cpu = json!({"name": "cpu", "nominalQuota": quota});
            if let Some(limit) = queue.borrowing_limit {
                cpu["borrowingLimit"] = limit.into();
            }
            if let Some(limit) = queue.lending_limit {
                cpu["lendingLimit"] = limit.into();
            }
            json!({"name": flavor_name(flavor), "resources": [cpu]})
        });
        let flavors: Vec<Value> = flavors.collect();
        let mut spec = json!({
            "namespaceSelector": {},
            "queueingStrategy": if queue.is_strict { "StrictFIFO" } else { "BestEffortFIFO" },
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        });
        if queue.preempts {
            spec["preemption"] = json!({"withinClusterQueue": "LowerPriority"});
        }
        if self.has_cohort {
            spec["cohortName"] = "all".into();
            if queue.preempts {
                spec["preemption"]["reclaimWithinCohort"] = "Any".into();
            }
        }
        json!({"apiVersion": KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec})
    }

    /// Nodes with room for all of the quota.
    pub fn nodes(&self) -> Vec<Value> {
        let node = |flavor: usize| {
            let capacity = json!({"cpu": "64", "memory": "256Gi", "pods": "200"});
            json!({"apiVersion": "v1", "kind": "Node",
                "metadata": {"name": flavor_name(flavor), "labels": {"pool": flavor_name(flavor)}},
                "status": {"capacity": capacity, "allocatable": capacity}})
        };
        (0..self.flavors).map(node).collect()
    }
}

impl Job {
    /// A job that fits into the quota of its queue.
    pub fn draw(number: usize, setup: &Setup, storm_ms: u64, random: &mut Random) -> Self {
        let kind = *random.pick(&[Kind::Job, Kind::Job, Kind::Job, Kind::PartialJob, Kind::Pod, Kind::PodGroup]);
        let queue = random.below(setup.queues.len());
        let room = setup.queues[queue].room();
        let cpu = 1 + random.below(room.min(3));
        let pods = match kind {
            Kind::Pod => 1,
            _ => 1 + random.below(room / cpu),
        };
        Self {
            name: format!("job-{number}"),
            at_ms: random.below(usize::try_from(storm_ms).unwrap_or(1)) as u64,
            kind,
            queue,
            pods,
            cpu,
            seconds: 1 + random.below(40),
            priority: random.once_in(3).then(|| random.pick(&PRIORITIES).0),
            fails: random.once_in(10),
        }
    }

    /// What of it a user changes, as a merge patch.
    pub fn edited(edit: Edit) -> Value {
        match edit {
            Edit::Parallelism(pods) => json!({"spec": {"parallelism": pods}}),
            Edit::Queue(queue) => json!({"metadata": {"labels": {QUEUE_LABEL: queue_name(queue)}}}),
            Edit::Priority(class) => json!({"metadata": {"labels": {PRIORITY_LABEL: class}}}),
        }
    }

    /// What a user creates.
    pub fn objects(&self) -> Vec<Value> {
        let mut labels = json!({QUEUE_LABEL: queue_name(self.queue)});
        if let Some(priority) = self.priority {
            labels[PRIORITY_LABEL] = priority.into();
        }
        let spec = json!({"restartPolicy": "Never", "containers": [{
            "name": "c", "image": "example.com/work:1",
            "command": ["sh", "-c", format!("sleep {}; exit {}", self.seconds, i32::from(self.fails))],
            "resources": {"requests": {"cpu": self.cpu.to_string()}}}]});
        let pod = |name: String, labels: &Value, annotations: Value| {
            json!({"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {
                "name": name, "namespace": NAMESPACE, "labels": labels, "annotations": annotations}})
        };
        match self.kind {
            Kind::Job | Kind::PartialJob => {
                let mut job = json!({
                    "apiVersion": "batch/v1", "kind": "Job",
                    "metadata": {"name": self.name, "namespace": NAMESPACE, "labels": labels},
                    "spec": {"parallelism": self.pods, "completions": self.pods, "backoffLimit": 0,
                        "template": {"spec": spec}}});
                // A job of one pod cannot have fewer.
                if self.kind == Kind::PartialJob && self.pods > 1 {
                    job["metadata"]["annotations"] = json!({"kueue.x-k8s.io/job-min-parallelism": "1"});
                }
                vec![job]
            }
            Kind::Pod => vec![pod(self.name.clone(), &labels, json!({}))],
            Kind::PodGroup => {
                labels["kueue.x-k8s.io/pod-group-name"] = self.name.as_str().into();
                let total = json!({"kueue.x-k8s.io/pod-group-total-count": self.pods.to_string()});
                let member = |number: usize| pod(format!("{}-{number}", self.name), &labels, total.clone());
                (0..self.pods).map(member).collect()
            }
        }
    }

    /// Where these objects are, one path each.
    pub fn paths(&self) -> Vec<String> {
        match self.kind {
            Kind::Job | Kind::PartialJob => {
                vec![format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{}", self.name)]
            }
            Kind::Pod => vec![format!("/api/v1/namespaces/{NAMESPACE}/pods/{}", self.name)],
            Kind::PodGroup => {
                let member = |number| format!("/api/v1/namespaces/{NAMESPACE}/pods/{}-{number}", self.name);
                (0..self.pods).map(member).collect()
            }
        }
    }
}
