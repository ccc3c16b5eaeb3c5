//! The lines about what queues are made of: flavors, quotas per flavor and resource, cohorts, namespaces.
//!
//! ```text
//! queue … [F.RESOURCE=N …] [borrowing=PRIORITY|any] [next-borrow] [stop-preempt] [prefer-preempt] [weight=W]
//!         [serves=KEY:VALUE] [on=CHECK:FLAVOR] | queue NAME gone
//! cohort NAME [parent=P] [cpu=N] [borrow=N] [lend=N] [weight=W] | cohort NAME gone
//! flavor NAME [label=KEY:VALUE] [taint=KEY] | flavor NAME gone
//! namespace [KEY=VALUE …] | namespace gone | local NAME gone
//! job … [boost=N] [memory=N] [gpu=N] [second=CPUxCOUNT] [select=KEY:VALUE] [tolerates] [invalid=WORD]
//! prio JOB N | reclaim JOB N | holds JOB QUEUE FLAVOR CPU [at=NODE:PODS,…] [unreadable] | back S | totals | why JOB
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use kueue_core::amount::Amount;
use kueue_core::duration::Duration;
use kueue_core::selector::LabelSelector;

use super::Stage;
use super::nodes::level;
use crate::*;

type Options<'a> = BTreeMap<&'a str, &'a str>;

pub(super) fn policy(options: &Options<'_>, key: &str) -> PreemptionPolicy {
    match options.get(key) {
        Some(&"lower") => PreemptionPolicy::LowerPriority,
        Some(&"newer") => PreemptionPolicy::LowerOrNewerEqualPriority,
        Some(&"any") => PreemptionPolicy::Any,
        Some(other) => panic!("no such policy: {other}"),
        None => PreemptionPolicy::Never,
    }
}

fn pair(text: &str) -> (&str, &str) {
    text.split_once(':').unwrap_or_else(|| panic!("not KEY:VALUE: {text}"))
}

/// What the options of a queue say about its quotas and choices.
pub(super) fn dress_queue(spec: &mut QueueSpec, options: &Options<'_>) {
    let groups = groups(options);
    if !groups.is_empty() {
        spec.groups = groups;
    }
    spec.preemption.borrow_within_cohort =
        options.get("borrowing").map(|most| BorrowWithinCohort { max_priority: most.parse().ok() });
    spec.fungibility = Fungibility {
        try_next_before_borrowing: options.contains_key("next-borrow"),
        try_next_before_preempting: !options.contains_key("stop-preempt"),
        prefers_preemption: options.contains_key("prefer-preempt"),
    };
    if let Some(weight) = options.get("weight") {
        spec.weight = weight.parse().unwrap();
    }
    if let Some((key, value)) = options.get("serves").map(|label| pair(label)) {
        let match_labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        spec.namespaces = Some(LabelSelector { match_labels, ..LabelSelector::default() });
    }
    if let Some((check, flavor)) = options.get("on").map(|label| pair(label)) {
        spec.checks.push(QueueCheckSpec { name: check.into(), flavors: vec![flavor.into()] });
    }
}

/// Flavors with the same resources form a group.
fn groups(options: &Options<'_>) -> Vec<ResourceGroupSpec> {
    let mut flavors: BTreeMap<&str, Vec<QuotaSpec>> = BTreeMap::new();
    for (key, nominal) in options {
        if let Some((flavor, resource)) = key.split_once('.') {
            flavors.entry(flavor).or_default().push(quota(resource, nominal, options));
        }
    }
    let mut groups: Vec<ResourceGroupSpec> = Vec::new();
    for (flavor, resources) in flavors {
        let names: Vec<Name> = resources.iter().map(|quota| quota.resource.clone()).collect();
        let flavor = FlavorQuotaSpec { flavor: flavor.into(), resources };
        match groups.iter_mut().find(|group| group.resources == names) {
            Some(group) => group.flavors.push(flavor),
            None => groups.push(ResourceGroupSpec { resources: names, flavors: vec![flavor] }),
        }
    }
    groups
}

fn quota(resource: &str, nominal: &str, options: &Options<'_>) -> QuotaSpec {
    let amount = |text: &str| Amount::new(units(resource, text.parse().unwrap()));
    let limit = |key: &str| options.get(key).map(|limit| amount(limit));
    QuotaSpec {
        resource: resource.into(),
        nominal: amount(nominal),
        borrowing_limit: limit("borrow"),
        lending_limit: limit("lend"),
    }
}

fn units(resource: &str, number: i64) -> i64 {
    if resource == "cpu" { number.saturating_mul(1000) } else { number }
}

/// What the options of a job say about its pods.
pub(super) fn dress_job(spec: &mut WorkloadSpec, options: &Options<'_>) {
    if let Some(boost) = options.get("boost") {
        spec.priority_boost = boost.parse().unwrap();
    }
    spec.invalid = options.get("invalid").map(|why| (*why).into());
    let main = &mut spec.pod_sets[0];
    for resource in ["memory", "gpu"] {
        if let Some(number) = options.get(resource) {
            main.requests.push((resource.into(), number.parse().unwrap()));
        }
    }
    if let Some((key, value)) = options.get("select").map(|label| pair(label)) {
        main.placement.node_selector.insert(key.into(), value.into());
    }
    if options.contains_key("tolerates") {
        let operator = TolerationOperator::Exists;
        main.placement.tolerations.push(Toleration {
            key: "".into(),
            operator,
            value: "".into(),
            effect: None,
            is_limited: false,
        });
    }
    if let Some((cpu, count)) = options.get("second").and_then(|more| more.split_once('x')) {
        let mut second = main.clone();
        second.name = "second".into();
        second.requests = vec![("cpu".into(), units("cpu", cpu.parse().unwrap()))];
        second.count = count.parse().unwrap();
        spec.pod_sets.push(second);
    }
}

impl Stage {
    /// Plays a line, if it is one of these.
    pub(super) fn play_shape(&mut self, verb: &str, name: &str, words: &[&str]) -> bool {
        let options: Options<'_> = words.iter().map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let is_gone = options.contains_key("gone");
        let key: Name = name.into();
        match verb {
            "queue" if is_gone => self.apply(Change::QueueGone(key)),
            "cohort" if is_gone => self.apply(Change::CohortGone(key)),
            "flavor" if is_gone => self.apply(Change::FlavorGone(key)),
            "namespace" if is_gone => self.apply(Change::NamespaceGone("ns".into())),
            "local" if is_gone => self.apply(Change::LocalQueueGone { namespace: "ns".into(), name: key }),
            "cohort" => self.cohort(name, &options),
            "flavor" => self.flavor(name, &options),
            "namespace" => {
                let labels = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
                self.apply(Change::Namespace { name: "ns".into(), labels });
            }
            "prio" => self.edit(name, |job| job.priority = words[1].parse().unwrap()),
            "reclaim" => {
                self.edit(name, |job| job.status.reclaimable = vec![("main".into(), words[1].parse().unwrap())]);
            }
            "holds" => self.holds(name, words),
            "back" => self.now = self.now + Duration::from_seconds(-name.parse::<i64>().unwrap()),
            "totals" => self.tell_usage(),
            "why" => {
                let workload = Key { namespace: "ns".into(), name: key };
                let why = self.engine.explain(&workload).expect("the engine knows every job");
                self.told += &why.to_string();
            }
            _ => return false,
        }
        true
    }

    fn cohort(&mut self, name: &str, options: &Options<'_>) {
        let quotas = options.get("cpu").map(|nominal| quota("cpu", nominal, options));
        let group = |quota| ResourceGroupSpec {
            resources: vec!["cpu".into()],
            flavors: vec![FlavorQuotaSpec { flavor: "f".into(), resources: vec![quota] }],
        };
        self.apply(Change::Cohort(CohortSpec {
            name: name.into(),
            parent: options.get("parent").map(|parent| (*parent).into()),
            groups: quotas.into_iter().map(group).collect(),
            weight: options.get("weight").map_or(1.0, |weight| weight.parse().unwrap()),
            revision: 0,
        }));
    }

    fn flavor(&mut self, name: &str, options: &Options<'_>) {
        let mut nodes = FlavorNodes::default();
        if let Some((key, value)) = options.get("label").map(|label| pair(label)) {
            nodes.labels.insert(key.into(), value.into());
        }
        if let Some(key) = options.get("taint") {
            nodes.taints.push(Taint { key: (*key).into(), value: "".into(), effect: TaintEffect::NoSchedule });
        }
        self.apply(Change::Flavor(FlavorSpec { name: name.into(), nodes }));
    }

    /// Somebody else says that the job holds quota, and maybe where its pods are.
    fn holds(&mut self, name: &str, words: &[&str]) {
        let shares = words.iter().filter_map(|word| word.strip_prefix("at=")).flat_map(|places| places.split(','));
        let share = |share: &str| {
            let (node, count) = share.split_once(':').unwrap();
            DomainShare { values: [node.into()].into(), count: count.parse().unwrap() }
        };
        let domains: Vec<DomainShare> = shares.map(share).collect();
        let place = TopologyAssignment { levels: [level("host")].into(), domains };
        let place = (!place.domains.is_empty()).then(|| Arc::new(place));
        let (now, cpu) = (self.now, units("cpu", words[3].parse().unwrap()));
        self.edit(name, |job| {
            let pod_set = PodSetAdmission {
                name: "main".into(),
                count: Some(1),
                flavors: vec![("cpu".into(), words[2].into())],
                usage: vec![("cpu".into(), cpu)],
                topology: place,
                unreadable: words.contains(&"unreadable").then(|| "nonsense".into()),
                delayed: None,
            };
            job.status.admission = Some(Arc::new(Admission { queue: words[1].into(), pod_sets: vec![pod_set] }));
            for kind in [ConditionKind::QuotaReserved, ConditionKind::Admitted] {
                job.status.conditions.retain(|condition| condition.kind != kind);
                job.status.conditions.push(Condition {
                    kind,
                    verdict: Verdict::True,
                    reason: "Elsewhere".into(),
                    message: "".into(),
                    since: now,
                    generation: 1,
                });
            }
        });
    }

    fn tell_usage(&mut self) {
        for queue in self.engine.queue_names().cloned().collect::<Vec<_>>() {
            let usage = self.engine.usage(&queue);
            let parts: Vec<String> = usage
                .iter()
                .map(|(flavor, resource, amount)| format!("{flavor}.{resource}={}", amount.get()))
                .collect();
            self.told +=
                &format!("  {queue} uses {}\n", if parts.is_empty() { "nothing".into() } else { parts.join(" ") });
        }
    }
}
