use kueue_core::amount::Amount;
use kueue_core::selector::LabelSelector;

use super::*;
use crate::*;

fn journal() -> Journal {
    let at: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    let mut journal = Journal::default();
    let mut add = |call| journal.steps.push(Step { at, call });
    add(Call::Apply(Change::Namespace { name: "ns".into(), labels: Default::default() }));
    add(Call::Apply(Change::Flavor(FlavorSpec { name: "f".into(), ..FlavorSpec::default() })));
    let quota = QuotaSpec { resource: "cpu".into(), nominal: Amount::UNLIMITED, ..QuotaSpec::default() };
    let flavors = vec![FlavorQuotaSpec { flavor: "f".into(), resources: vec![quota] }];
    add(Call::Apply(Change::Queue(Box::new(QueueSpec {
        name: "q".into(),
        groups: vec![ResourceGroupSpec { resources: vec!["cpu".into()], flavors }],
        namespaces: Some(LabelSelector::default()),
        weight: f64::INFINITY,
        ..QueueSpec::default()
    }))));
    let lq =
        LocalQueueSpec { namespace: "ns".into(), name: "l".into(), queue: "q".into(), ..LocalQueueSpec::default() };
    add(Call::Apply(Change::LocalQueue(lq)));
    let pod_set =
        PodSetSpec { name: "main".into(), count: 1, requests: vec![("cpu".into(), 1000)], ..PodSetSpec::default() };
    add(Call::Apply(Change::Workload(Box::new(WorkloadSpec {
        namespace: "ns".into(),
        name: "job".into(),
        local_queue: "l".into(),
        is_active: true,
        pod_sets: vec![pod_set],
        ..WorkloadSpec::default()
    }))));
    add(Call::Settle);
    add(Call::Flush);
    add(Call::Cycle);
    journal
}

#[test]
fn a_journal_read_from_its_text_gives_the_same_effects() {
    let journal = journal();
    let again = Journal::from_text(&journal.to_text()).unwrap();
    assert_eq!(again.to_text(), journal.to_text());
    let effects = again.replay();
    assert_eq!(effects, journal.replay());
    assert!(!effects.last().unwrap().is_empty(), "the job is admitted");
}

#[test]
fn a_damaged_journal_says_where() {
    assert!(matches!(Journal::from_text(""), Err(JournalError::NoSettings)));
    let damaged = journal().to_text().replacen("flush", "flash", 1);
    assert_eq!(Journal::from_text(&damaged).unwrap_err().to_string(), "line 8 of the journal cannot be read");
}
