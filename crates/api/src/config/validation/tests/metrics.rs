//! Labels that operators add to metrics.

use expect_test::expect;

use super::check_file;

#[test]
fn custom_labels() {
    check_file(
        "metrics:
  customLabels:
  - name: 1team
  - name: team
    sourceLabelKey: not a key
  - name: team
    sourceAnnotationKey: also/not/a/key
  - name: both
    sourceLabelKey: a
    sourceAnnotationKey: b
",
        &expect![[r#"
            line 3: metrics.customLabels[0].name: Invalid value: "1team": must match ^[a-zA-Z][a-zA-Z0-9_]*$
            line 5: metrics.customLabels[1].sourceLabelKey: Invalid value: "not a key": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
            line 6: metrics.customLabels[2].name: Duplicate value: "team"
            line 7: metrics.customLabels[2].sourceAnnotationKey: Invalid value: "also/not/a/key": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')
            line 8: metrics.customLabels[3]: Invalid value: {"name":"both","sourceAnnotationKey":"b","sourceLabelKey":"a"}: sourceLabelKey and sourceAnnotationKey are mutually exclusive
        "#]],
    );
}

#[test]
fn custom_labels_track_few_values() {
    let values = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>().join("', '");
    check_file(
        "metrics: {customLabels: [{name: a, sourceKind: Workload}]}\n",
        &expect![[r#"
        line 1: metrics.customLabels[0].trackedValues: Invalid value: []: must not be empty when sourceKind is 'Workload'
    "#]],
    );
    let label = |kind: &str, count: usize| {
        let values = values(count);
        format!("metrics: {{customLabels: [{{name: a, sourceKind: {kind}, trackedValues: ['{values}']}}]}}\n")
    };
    check_file(
        &label("Workload", 13),
        &expect![[r#"
        line 1: metrics.customLabels[0].trackedValues: Invalid value: ["0","1","2","3","4","5","6","7","8","9","10","11","12"]: must not be greater than 12 when sourceKind is 'Workload'
    "#]],
    );
    check_file(
        &label("Workload", 12),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &label("Cohort", 17),
        &expect![[r#"
        line 1: metrics.customLabels[0].trackedValues: Too many: 17: must have at most 16 items
    "#]],
    );
    check_file(
        &label("Cohort", 16),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        "metrics: {customLabels: [{name: a, trackedValues: [p, q, p]}]}\n",
        &expect![[r#"
            line 1: metrics.customLabels[0].trackedValues: Invalid value: ["p","q","p"]: must not contain duplicates
        "#]],
    );
}

#[test]
fn custom_labels_are_few() {
    let labels = |kind: &str, count: usize| {
        let values = if kind == "Workload" { ", trackedValues: [v]" } else { "" };
        (0..count)
            .map(|n| format!("  - {{name: {}{n}, sourceKind: {kind}{values}}}\n", kind.to_lowercase()))
            .collect::<String>()
    };
    let file = |labels: &[String]| format!("metrics:\n  customLabels:\n{}", labels.concat());
    check_file(
        &file(&[labels("Workload", 2), labels("Cohort", 6), labels("LocalQueue", 6)]),
        &expect![[r#"
        fine
    "#]],
    );
    check_file(
        &file(&[labels("Workload", 3)]),
        &expect![[r#"
        line 2: metrics.customLabels: Invalid value: [{"name":"workload0","sourceKind":"Workload","trackedValues":["v"]},{"name":"workload1","sourceKind":"Workload","trackedValues":["v"]},{"name":"workload2","sourceKind":"Workload","trackedValues":["v"]}]: too many custom labels for source kind Workload: found 3, expected <= 2
    "#]],
    );
    let many = [
        labels("Cohort", 6),
        labels("ClusterQueue", 6),
        labels("LocalQueue", 6),
        labels("Workload", 2),
        labels("Node", 1),
    ];
    check_file(
        &file(&many),
        &expect![[r#"
        line 2: metrics.customLabels: Too many: 21: must have at most 20 items
        line 2: metrics.customLabels: Invalid value: [{"name":"cohort0","sourceKind":"Cohort"},{"name":"cohort1","sourceKind":"Cohort"},{"name":"cohort2","sourceKind":"Cohort"},{"name":"cohort3","sourceKind":"Cohort"},{"name":"cohort4","sourceKind":"Cohort"},{"name":"cohort5","sourceKind":"Cohort"},{"name":"clusterqueue0","sourceKind":"ClusterQueue"},{"name":"clusterqueue1","sourceKind":"ClusterQueue"},{"name":"clusterqueue2","sourceKind":"ClusterQueue"},{"name":"clusterqueue3","sourceKind":"ClusterQueue"},{"name":"clusterqueue4","sourceKind":"ClusterQueue"},{"name":"clusterqueue5","sourceKind":"ClusterQueue"},{"name":"localqueue0","sourceKind":"LocalQueue"},{"name":"localqueue1","sourceKind":"LocalQueue"},{"name":"localqueue2","sourceKind":"LocalQueue"},{"name":"localqueue3","sourceKind":"LocalQueue"},{"name":"localqueue4","sourceKind":"LocalQueue"},{"name":"localqueue5","sourceKind":"LocalQueue"},{"name":"workload0","sourceKind":"Workload","trackedValues":["v"]},{"name":"workload1","sourceKind":"Workload","trackedValues":["v"]},{"name":"node0","sourceKind":"Node"}]: unknown source kind: Node
    "#]],
    );
}
