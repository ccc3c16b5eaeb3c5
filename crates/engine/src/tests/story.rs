//! The small language of the stories: one line per object or event.
//!
//! ```text
//! queue NAME [cohort=C] cpu=N [spare=N] [borrow=N] [lend=N] [within=lower] [reclaim=any] [strict] [by-usage] [variants[=FLAVOR]] [checks=A,B]
//! job NAME [queue=a] cpu=N [prio=N] [count=N] [min=N] [replaces=JOB] [closed=GATE] [gated=BY] [most=S] [of=JOB] [only=FLAVOR,…] [and=N] [group=G]
//! scale JOB count=N | delete JOB
//! cycle | flush | advance S | finish JOB | stopped JOB | asks JOB | would JOB | uses QUEUE | fair, targeted (first lines); more in `life`, `look`, `nodes`, `shape` and `usage`
//! ```

mod life;
mod look;
mod nodes;
mod shape;
mod usage;

use std::collections::BTreeMap;

use crate::*;
use expect_test::Expect;
use kueue_core::amount::Amount;
use kueue_core::duration::Duration;
use kueue_core::gates::{Gate, Gates};
use kueue_core::selector::LabelSelector;
use kueue_core::time::Time;

/// Plays a story and compares what it tells.
pub(super) fn check(story: &str, expected: &Expect) {
    expected.assert_eq(&play(story));
}

/// Plays a story and compares the decisions alone: who starts, who waits and why, who must go for whom.
pub(super) fn brief(story: &str, expected: &Expect) {
    expected.assert_eq(&told(story, true));
}

/// The events of each cycle, and who waits in the end.
pub(super) fn play(story: &str) -> String {
    told(story, false)
}

fn told(story: &str, is_brief: bool) -> String {
    let settings_lines = ["fair", "targeted"];
    let is_chosen = |word: &str| story.lines().any(|line| line.trim() == word);
    let is_fair = is_chosen("fair");
    let strategies = vec![FairStrategy::LessThanOrEqualToFinalShare, FairStrategy::LessThanInitialShare];
    let mut settings = Settings {
        gates: Gates::default().with(Gate::ConcurrentAdmission, true),
        wake: if is_chosen("targeted") { WakePolicy::Targeted } else { WakePolicy::Batched },
        fair_sharing: is_fair.then_some(FairSharing { strategies }),
        ..Settings::default()
    };
    let lines = story.lines().map(str::trim).filter(|line| !line.is_empty() && !settings_lines.contains(line));
    let lines: Vec<&str> =
        lines.filter(|line| !life::choose(&mut settings, line) && !usage::choose(&mut settings, line)).collect();
    let mut stage = Stage::new(settings);
    stage.is_brief = is_brief;
    for line in lines {
        stage.play(line);
        stage.engine.check_invariants();
    }
    format!("{}{}", stage.told, stage.waiting())
}

struct Stage {
    engine: Engine,
    now: Time,
    jobs: BTreeMap<String, WorkloadSpec>,
    queues: BTreeMap<String, QueueSpec>,
    told: String,
    is_brief: bool,
}

impl Stage {
    fn new(settings: Settings) -> Self {
        let mut engine = Engine::new(settings);
        let now: Time = "2026-01-01T00:00:00Z".parse().unwrap();
        engine.apply(Change::Namespace { name: "ns".into(), labels: BTreeMap::new() }, now);
        for flavor in ["f", "g"] {
            engine.apply(Change::Flavor(FlavorSpec { name: flavor.into(), nodes: FlavorNodes::default() }), now);
        }
        Self { engine, now, jobs: BTreeMap::new(), queues: BTreeMap::new(), told: String::new(), is_brief: false }
    }

    fn play(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let verb = words.next().unwrap();
        let name = words.clone().next().unwrap_or_default().to_owned();
        let options: BTreeMap<&str, &str> = words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let rest: Vec<&str> = line.split_whitespace().skip(1).collect();
        if self.play_shape(verb, &name, &rest) {
            return;
        }
        match verb {
            "queue" => self.queue(&name, &options),
            "job" => self.job(&name, &options),
            "cycle" => {
                self.told.push_str("cycle\n");
                let effects = self.engine.cycle(self.now);
                self.tell(effects);
                self.settle();
            }
            "flush" => self.engine.flush(self.now),
            "advance" => {
                self.now = self.now + Duration::from_seconds(name.parse().unwrap());
                self.settle();
            }
            "finish" => self.finish(&name),
            "scale" => {
                let job = self.jobs.get_mut(&name).unwrap();
                job.pod_sets[0].count = options["count"].parse().unwrap();
                let spec = job.clone();
                self.apply(Change::Workload(Box::new(spec)));
            }
            "delete" => self.apply(Change::WorkloadGone { namespace: "ns".into(), name: name.as_str().into() }),
            "stopped" => self.apply(Change::JobStopped { namespace: "ns".into(), name: name.as_str().into() }),
            "would" => self.would(&name),
            "uses" => {
                let usage = self.engine.usage(&name).into_iter();
                let told: Vec<String> = usage.map(|(flavor, _, amount)| format!(" {flavor}={amount}")).collect();
                self.told += &format!("  {name} uses{}\n", told.concat());
            }
            "asks" => {
                let requests = self.jobs[&name].status.requests.iter();
                let told: Vec<String> = requests.map(|of| format!("{} {:?}", of.name, of.requests)).collect();
                self.told += &format!("  {name} asks for [{}]\n", told.join("; "));
            }
            other => {
                let is_played = self.play_usage(other, &name, &options)
                    || self.play_nodes(other, &rest)
                    || self.play_look(other, &rest);
                if !is_played {
                    self.play_life(other, &name, &rest);
                }
            }
        }
    }

    fn apply(&mut self, change: Change) {
        self.engine.apply(change, self.now);
        self.settle();
    }

    fn settle(&mut self) {
        let effects = self.engine.settle(self.now);
        self.tell(effects);
    }

    fn tell(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Event(_) if self.is_brief => {}
                Effect::Event(event) => {
                    self.told += &format!("  {} {} {}\n", event.workload.name, event.reason, event.message);
                    if let Some(otherwise) = event.otherwise {
                        self.told += &format!("    or {} {}\n", otherwise.reason, otherwise.message);
                    }
                }
                Effect::Status { workload, status, decision } => {
                    if let Some(told) = decided(&workload, &status, &decision).filter(|_| self.is_brief) {
                        self.told += &format!("  {told}\n");
                    }
                    self.jobs.get_mut(&*workload.name).unwrap().status = (*status).clone();
                }
                Effect::MarkParent(workload) => {
                    self.told += &format!("  {} is a parent\n", workload.name);
                    self.jobs.get_mut(&*workload.name).unwrap().variant.get_or_insert_default().is_parent = true;
                }
                Effect::Consumed { .. } => {}
                Effect::Unguard(workload) => self.told += &format!("  {} may go\n", workload.name),
                Effect::Delete(workload) => self.told += &format!("  {} is to be deleted\n", workload.name),
                Effect::DeleteJob(workload) => {
                    self.told += &format!("  the job of {} is to be deleted\n", workload.name);
                }
                Effect::Deactivate(workload) => self.jobs.get_mut(&*workload.name).unwrap().is_active = false,
            }
        }
    }

    fn queue(&mut self, name: &str, options: &BTreeMap<&str, &str>) {
        let amount = |key: &str| options.get(key).map(|cpus| Amount::new(cpus.parse::<i64>().unwrap() * 1000));
        let flavor = |flavor: &str, nominal| {
            let quota = QuotaSpec {
                resource: "cpu".into(),
                nominal,
                borrowing_limit: amount("borrow"),
                lending_limit: amount("lend"),
            };
            FlavorQuotaSpec { flavor: flavor.into(), resources: vec![quota] }
        };
        let flavors = [("f", amount("cpu")), ("g", amount("spare"))];
        let flavors = flavors.into_iter().filter_map(|(name, nominal)| Some(flavor(name, nominal?)));
        let checks: Vec<&str> = options.get("checks").map(|checks| checks.split(',').collect()).unwrap_or_default();
        for check in &checks {
            let controller = CheckController::Other;
            self.apply(Change::Check(CheckSpec { name: (*check).into(), controller, is_active: true }));
        }
        let mut spec = QueueSpec {
            name: name.into(),
            cohort: options.get("cohort").map(|cohort| (*cohort).into()),
            groups: vec![ResourceGroupSpec { resources: vec!["cpu".into()], flavors: flavors.collect() }],
            strategy: match options.contains_key("strict") {
                true => QueueingStrategy::StrictFifo,
                false => QueueingStrategy::BestEffortFifo,
            },
            namespaces: Some(LabelSelector::default()),
            preemption: Preemption {
                within_queue: shape::policy(options, "within"),
                reclaim_within_cohort: shape::policy(options, "reclaim"),
                borrow_within_cohort: None,
            },
            fungibility: Fungibility::default(),
            checks: checks.iter().map(|name| QueueCheckSpec { name: (*name).into(), flavors: Vec::new() }).collect(),
            stop: StopPolicy::None,
            is_terminating: options.contains_key("terminating"),
            weight: 1.0,
            concurrent: options
                .get("variants")
                .map(|last| ConcurrentAdmission { last_acceptable_flavor: (!last.is_empty()).then(|| (*last).into()) }),
            is_usage_based: options.contains_key("by-usage"),
            revision: 0,
        };
        shape::dress_queue(&mut spec, options);
        self.queues.insert(name.to_owned(), spec.clone());
        self.apply(Change::Queue(Box::new(spec)));
        self.apply(Change::LocalQueue(LocalQueueSpec {
            namespace: "ns".into(),
            name: name.into(),
            queue: name.into(),
            weight: 1.0,
            ..LocalQueueSpec::default()
        }));
    }

    fn job(&mut self, name: &str, options: &BTreeMap<&str, &str>) {
        let number = |key: &str| options.get(key).map(|number| number.parse::<i32>().unwrap());
        let pod_set = PodSetSpec {
            name: "main".into(),
            count: number("count").unwrap_or(1),
            min_count: number("min"),
            requests: vec![("cpu".into(), i64::from(number("cpu").unwrap()) * 1000)],
            group: options.get("group").map(|group| (*group).into()),
            placement: PodPlacement::default(),
            topology: None,
            room: None,
            fingerprint: 0,
        };
        let more = number("and").map(|count| PodSetSpec { name: "more".into(), count, ..pod_set.clone() });
        let mut spec = WorkloadSpec {
            namespace: "ns".into(),
            name: name.into(),
            uid: name.into(),
            job_uid: None,
            created: self.now,
            generation: 1,
            local_queue: options.get("queue").copied().unwrap_or("a").into(),
            metric_labels: [].into(),
            priority: number("prio").unwrap_or(0),
            priority_boost: 0,
            priority_class: None,
            is_active: true,
            gated_by: None,
            variant: options.get("of").map(|parent| {
                let only = options.get("only").map(|list| list.split(',').map(Into::into).collect());
                Box::new(VariantSpec { is_parent: false, variant_of: Some((*parent).into()), allowed_flavors: only })
            }),
            replaces: options.get("replaces").map(|old| Key { namespace: "ns".into(), name: (*old).into() }),
            max_execution_s: None,
            pod_sets: [pod_set].into_iter().chain(more).collect(),
            ..WorkloadSpec::default()
        };
        life::dress(&mut spec, options);
        shape::dress_job(&mut spec, options);
        nodes::dress(&mut spec, options);
        self.jobs.insert(name.to_owned(), spec.clone());
        self.apply(Change::Workload(Box::new(spec)));
    }

    /// What the job would get in its queue, and who would have to go.
    fn would(&mut self, name: &str) {
        let key = Key { namespace: "ns".into(), name: name.into() };
        let queue = self.jobs[name].local_queue.clone();
        let view = self.engine.would_assign(&key, &queue, Oracle::Search).unwrap();
        let flavors = |pod_set: &PodSetAssignmentView| -> Vec<WantedFlavor> {
            let wanted = pod_set.flavors.iter().map(|chosen| WantedFlavor {
                resource: chosen.resource.clone(),
                flavor: chosen.flavor.clone(),
                needs_room: chosen.mode == Mode::Preempt,
            });
            wanted.collect()
        };
        let wanted: Vec<WantedPodSet> = view
            .pod_sets
            .iter()
            .map(|pod_set| WantedPodSet { count: pod_set.count, flavors: flavors(pod_set) })
            .collect();
        let reasons: Vec<&String> = view.pod_sets.iter().flat_map(|pod_set| &pod_set.reasons).collect();
        self.told += &format!("  {name} would get {:?} at height {} {reasons:?}\n", view.mode, view.borrowing);
        for victim in self.engine.victims(&key, &queue, &wanted) {
            self.told += &format!("    without {}: {}\n", victim.workload.name, victim.reason);
        }
    }

    fn finish(&mut self, name: &str) {
        let job = self.jobs.get_mut(name).unwrap();
        job.status.conditions.push(Condition {
            kind: ConditionKind::Finished,
            verdict: Verdict::True,
            reason: "Succeeded".into(),
            message: "".into(),
            since: self.now,
            generation: 1,
        });
        let spec = job.clone();
        self.apply(Change::Workload(Box::new(spec)));
    }

    fn waiting(&self) -> String {
        let mut waiting = String::new();
        for queue in self.engine.queue_names() {
            let view = self.engine.pending(queue);
            let names = |keys: &[Key]| keys.iter().map(|key| format!(" {}", key.name)).collect::<String>();
            if !view.active.is_empty() || !view.parked.is_empty() {
                waiting += &format!("{queue}:");
                for (word, keys) in [(" active", view.active), (" parked", view.parked)] {
                    if !keys.is_empty() {
                        waiting += &format!("{word}{}", names(&keys));
                    }
                }
                waiting += "\n";
            }
        }
        waiting
    }
}

/// One decision in a few words.
fn decided(workload: &Key, status: &Status, decision: &Decision) -> Option<String> {
    let name = &workload.name;
    match decision {
        Decision::Reserved => {
            let admission = status.admission.as_ref().expect("a reservation says what is reserved");
            let mut flavors: Vec<String> = Vec::new();
            for pod_set in &admission.pod_sets {
                flavors.extend(pod_set.flavors.iter().map(|(resource, flavor)| format!("{resource} in {flavor}")));
            }
            Some(format!("start {name}: {}{}", flavors.join(", "), nodes::places(admission)))
        }
        Decision::Waiting => {
            let why = status.condition(ConditionKind::QuotaReserved).map(|reserved| reserved.reason.clone());
            Some(format!("wait {name} ({})", why.unwrap_or_default()))
        }
        Decision::Preempted { reason, preemptor } => Some(format!("evict {name} ({reason}) for {}", preemptor.name)),
        Decision::Placed => {
            let admission = status.admission.as_ref().expect("places are given to who has quota");
            Some(format!("place {name}{}", nodes::places(admission)))
        }
        Decision::Evicted(reason) => Some(format!("evict {name} ({reason})")),
        _ => None,
    }
}
