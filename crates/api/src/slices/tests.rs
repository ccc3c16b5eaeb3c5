use kueue_core::time::Time;

use super::*;
use crate::meta::Condition;

/// `NAME:COUNT [quota] [evicted] [finished] [for=NAME]`, the oldest first.
fn slices(text: &str) -> Vec<Workload> {
    let start: Time = "2026-01-01T00:00:00Z".parse().unwrap();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate();
    lines
        .map(|(age, line)| {
            let mut words = line.split_whitespace();
            let (name, count) = words.next().unwrap().split_once(':').unwrap();
            let mut slice = Workload::default();
            slice.metadata.namespace = "ns".to_owned();
            slice.metadata.name = name.to_owned();
            slice.metadata.creation_timestamp =
                start + kueue_core::duration::Duration::from_seconds(i64::try_from(age).unwrap());
            slice.spec.pod_sets = pod_sets(count);
            for word in words {
                let kind = match word {
                    "quota" => condition::QUOTA_RESERVED,
                    "evicted" => condition::EVICTED,
                    "finished" => condition::FINISHED,
                    other => {
                        let old = format!("ns/{}", other.strip_prefix("for=").unwrap());
                        let annotations = &mut slice.metadata.annotations;
                        annotations.insert(annotation::WORKLOAD_SLICE_REPLACEMENT_FOR.to_owned(), old);
                        continue;
                    }
                };
                slice.status.conditions.push(Condition {
                    r#type: kind.to_owned(),
                    status: ConditionStatus::True,
                    ..Condition::default()
                });
            }
            slice
        })
        .collect()
}

/// `2` or `head=1,workers=4`.
fn pod_sets(text: &str) -> Vec<PodSet> {
    text.split(',')
        .map(|part| {
            let (name, count) = part.split_once('=').unwrap_or(("main", part));
            PodSet { name: name.to_owned(), count: count.parse().unwrap(), ..PodSet::default() }
        })
        .collect()
}

/// The plan in words.
fn planned(job: &str, text: &str) -> String {
    let slices = unfinished(slices(text));
    let Plan { finish, slice } = plan(&pod_sets(job), &slices);
    let name = |index: usize| slices[index].metadata.name.clone();
    let mut words: Vec<String> =
        finish.iter().map(|over| format!("finish {} ({})", name(over.workload), over.reason)).collect();
    words.push(match slice {
        Slice::New => "create".to_owned(),
        Slice::Current(index) => format!("keep {}", name(index)),
        Slice::Resized(index) => format!("resize {}", name(index)),
        Slice::Incompatible => "incompatible".to_owned(),
    });
    words.join("; ")
}

#[test]
fn a_job_without_slices_gets_one_and_a_job_of_other_shape_keeps_none() {
    assert_eq!(planned("3", ""), "create");
    assert_eq!(planned("3", "old:3 finished"), "create");
    assert_eq!(planned("head=1,workers=3", "one:3 quota"), "incompatible");
    assert_eq!(planned("3", "one:3"), "keep one");
}

#[test]
fn a_slice_changes_in_place_unless_it_grows_while_it_holds_quota() {
    assert_eq!(planned("5", "one:3"), "resize one");
    assert_eq!(planned("2", "one:3 quota"), "resize one");
    assert_eq!(planned("5", "one:3 quota"), "create");
    assert_eq!(planned("a=1,b=5", "one:a=2,b=4 quota"), "create");
}

#[test]
fn while_a_replacement_waits_it_follows_the_job_and_the_old_slice_stays() {
    assert_eq!(planned("5", "one:3 quota\n two:5 for=one"), "keep two");
    assert_eq!(planned("6", "one:3 quota\n two:5 for=one"), "resize two");
    assert_eq!(planned("6", "one:3 quota\n two:5 quota for=one"), "finish one (WorkloadSliceReplaced); create");
}

#[test]
fn leftovers_of_races_and_evictions_are_finished() {
    assert_eq!(planned("5", "one:3 quota evicted\n two:5 for=one"), "finish one (WorkloadSliceReplaced); keep two",);
    assert_eq!(planned("5", "one:3 quota\n two:5 for=one\n three:5 for=one"), "finish three (OutOfSync); keep two",);
    assert_eq!(
        planned("5", "one:3 quota\n two:4 quota for=one\n three:5 for=two"),
        "finish one (WorkloadSliceReplaced); keep three",
    );
    assert_eq!(planned("2", "one:1\n two:2"), "finish one (OutOfSync); keep two");
}

#[test]
fn nonsense_about_replacement_ends_in_one_slice() {
    assert_eq!(
        planned("2", "one:1 quota for=one\n two:2 quota for=two"),
        "finish one (WorkloadSliceReplaced); keep two"
    );
    assert_eq!(planned("2", "one:1 for=two\n two:2 for=one"), "finish one (WorkloadSliceReplaced); keep two");
    assert_eq!(planned("2", "one:1 evicted\n two:2 evicted"), "finish one (OutOfSync); finish two (OutOfSync); create");
}

#[test]
fn the_active_slice_is_the_newest_that_keeps_its_quota() {
    let all = slices("one:1 quota\n two:2 quota\n three:3 quota evicted\n four:4");
    assert_eq!(latest_active(&unfinished(all)).map(|slice| slice.metadata.name.as_str()), Some("two"));
}

#[test]
fn a_pod_belongs_to_the_first_slice_of_its_job() {
    let pod = |annotations: &[(&str, &str)]| -> Option<String> {
        let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        of_pod(&ObjectMeta { annotations, ..ObjectMeta::default() }).map(str::to_owned)
    };
    let (slice, workload) = (annotation::WORKLOAD_SLICE_NAME, annotation::WORKLOAD);
    assert_eq!(pod(&[(slice, "first"), (workload, "second")]).as_deref(), Some("first"));
    assert_eq!(pod(&[(workload, "only")]).as_deref(), Some("only"));
    assert_eq!(pod(&[]), None);
}
