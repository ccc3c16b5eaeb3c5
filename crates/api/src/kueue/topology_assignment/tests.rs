use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// `level level` on the first line, then `value value = count` per domain; shows one line per slice.
#[track_caller]
fn check(gates: Gates, text: &str, expected: &Expect) {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let levels = words(lines.next().unwrap());
    let domains: Vec<TopologyDomainAssignment> = lines
        .map(|line| {
            let (values, count) = line.split_once('=').unwrap();
            TopologyDomainAssignment { values: words(values), count: count.trim().parse().unwrap() }
        })
        .collect();
    let encoded = encode(&levels, &domains, gates).unwrap();
    assert_eq!(decode(&encoded).unwrap(), domains);
    let shown: String = encoded.slices.iter().map(|slice| serde_json::to_string(slice).unwrap() + "\n").collect();
    expected.assert_eq(&shown);
}

fn plain() -> Gates {
    Gates::default().with(Gate::TASAssignmentsEncodingByHostnamePrefix, false)
}

#[test]
fn what_domains_have_in_common_is_written_once() {
    check(
        plain(),
        "block rack
         b1 r1.x = 2
         b1 r22.x = 2",
        &expect![[r#"
            {"domainCount":2,"valuesPerLevel":[{"universal":"b1"},{"individual":{"prefix":"r","suffix":".x","roots":["1","22"]}}],"podCounts":{"universal":2}}
        "#]],
    );
    check(
        plain(),
        "rack
         a = 1
         b = 2",
        &expect![[r#"
            {"domainCount":2,"valuesPerLevel":[{"individual":{"roots":["a","b"]}}],"podCounts":{"individual":[1,2]}}
        "#]],
    );
    check(plain(), "rack", &expect![""]);
}

#[test]
fn beginning_and_end_do_not_overlap() {
    check(
        plain(),
        "rack
         ababa = 1
         aba = 1",
        &expect![[r#"
            {"domainCount":2,"valuesPerLevel":[{"individual":{"suffix":"aba","roots":["ab",""]}}],"podCounts":{"universal":1}}
        "#]],
    );
}

#[test]
fn characters_are_not_cut_in_two() {
    check(
        plain(),
        "rack
         aä1ü = 1
         aö1ü = 1",
        &expect![[r#"
            {"domainCount":2,"valuesPerLevel":[{"individual":{"prefix":"a","suffix":"1ü","roots":["ä","ö"]}}],"podCounts":{"universal":1}}
        "#]],
    );
}

#[test]
fn nodes_are_split_by_name_where_that_is_shorter() {
    let node = |pool: &str, count: usize| -> String {
        (0..count).map(|index| format!("cluster-{pool}-with-a-long-name-{index} = 1\n")).collect()
    };
    let text = format!("kubernetes.io/hostname\n{}{}", node("pool-a", 3), node("pool-b", 3));
    check(
        Gates::default(),
        &text,
        &expect![[r#"
            {"domainCount":6,"valuesPerLevel":[{"individual":{"prefix":"cluster-pool-","roots":["a-with-a-long-name-0","a-with-a-long-name-1","a-with-a-long-name-2","b-with-a-long-name-0","b-with-a-long-name-1","b-with-a-long-name-2"]}}],"podCounts":{"universal":1}}
        "#]],
    );
    check(
        plain(),
        &text,
        &expect![[r#"
            {"domainCount":6,"valuesPerLevel":[{"individual":{"prefix":"cluster-pool-","roots":["a-with-a-long-name-0","a-with-a-long-name-1","a-with-a-long-name-2","b-with-a-long-name-0","b-with-a-long-name-1","b-with-a-long-name-2"]}}],"podCounts":{"universal":1}}
        "#]],
    );
    check(
        Gates::default(),
        "kubernetes.io/hostname
         a-1 = 1
         a-2 = 1
         b-1 = 1
         b-2 = 1",
        &expect![[r#"
            {"domainCount":4,"valuesPerLevel":[{"individual":{"roots":["a-1","a-2","b-1","b-2"]}}],"podCounts":{"universal":1}}
        "#]],
    );
}

#[test]
fn shorter_prefixes_are_used_when_longer_ones_make_too_many_slices() {
    let levels = ["kubernetes.io/hostname".to_owned()];
    let node = |index: usize| TopologyDomainAssignment {
        values: vec![format!("site-{}-pool-{}-node-{}", index / 1500, index / 2, index % 2)],
        count: 1,
    };
    let domains: Vec<_> = (0..3000).map(node).collect();
    let encoded = encode(&levels, &domains, Gates::default()).unwrap();
    let sizes: Vec<i32> = encoded.slices.iter().map(|slice| slice.domain_count).collect();
    assert_eq!(sizes, [1500, 1500]);
}

#[test]
fn a_slice_that_announces_more_than_it_holds_is_refused() {
    let error = |json: &str| {
        let assignment: TopologyAssignment = serde_json::from_str(json).unwrap();
        decode(&assignment).unwrap_err().to_string()
    };
    let one_level = |slice: &str| error(&format!(r#"{{"levels":["a"],"slices":[{slice}]}}"#));
    assert_eq!(
        one_level(r#"{"domainCount":2,"valuesPerLevel":[{"individual":{"roots":["x"]}}],"podCounts":{"universal":1}}"#),
        "slices[0].valuesPerLevel[0].individual.roots: Invalid value: 1: must have 2 entries, one per domain"
    );
    assert_eq!(
        one_level(r#"{"domainCount":2,"valuesPerLevel":[{"universal":"x"}],"podCounts":{"individual":[1]}}"#),
        "slices[0].podCounts.individual: Invalid value: 1: must have 2 entries, one per domain"
    );
    assert_eq!(
        one_level(r#"{"domainCount":1,"valuesPerLevel":[{}],"podCounts":{"universal":1}}"#),
        "slices[0].valuesPerLevel[0].individual.roots: Invalid value: 0: must have 1 entries, one per domain"
    );
    assert_eq!(
        one_level(r#"{"domainCount":2147483647,"valuesPerLevel":[{"universal":"x"}],"podCounts":{"universal":1}}"#),
        "slices: Too many: 2147483647: must have at most 1000000 items"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoding_gives_back_what_was_encoded(
        domains in prop::collection::vec((prop::collection::vec("[ab]{0,3}(-[ab]{1,2}){0,3}[äö]?", 2), 1_i32..4), 0..20),
        by_prefix in any::<bool>(),
    ) {
        let levels = ["rack".to_owned(), "kubernetes.io/hostname".to_owned()];
        let domains: Vec<_> =
            domains.into_iter().map(|(values, count)| TopologyDomainAssignment { values, count }).collect();
        let gates = Gates::default().with(Gate::TASAssignmentsEncodingByHostnamePrefix, by_prefix);
        let encoded = encode(&levels, &domains, gates).unwrap();
        prop_assert_eq!(decode(&encoded).unwrap(), domains);
    }
}
