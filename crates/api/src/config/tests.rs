use expect_test::{Expect, expect};
use kueue_core::field::Path;
use proptest::prelude::*;

use super::*;

/// A file that says something about everything.
const EVERY_FIELD: &str = include_str!("tests/every_field.yaml");

/// Loads a text and shows the effective configuration, or every problem and then Kueue's words.
fn check_load(text: &str, expected: &Expect) {
    let shown = match load(text, "kueue-system") {
        Ok(configuration) => encode(&configuration),
        Err(rejected) => {
            let problems: String = rejected.problems.iter().map(|problem| format!("{problem}\n")).collect();
            format!("{problems}=> {rejected}\n")
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn an_empty_file_is_all_defaults() {
    check_load(
        "",
        &expect![[r#"
        apiVersion: config.kueue.x-k8s.io/v1beta2
        clientConnection:
          burst: 500
          qps: 300
        health:
          healthProbeBindAddress: ":8081"
        integrations:
          frameworks:
          - batch/job
        internalCertManagement:
          enable: true
          webhookSecretName: kueue-webhook-server-cert
          webhookServiceName: kueue-webhook-service
        kind: Configuration
        leaderElection:
          leaderElect: true
          leaseDuration: 15s
          renewDeadline: 10s
          resourceLock: leases
          resourceName: c1f6bfd2.kueue.x-k8s.io
          resourceNamespace: ""
          retryPeriod: 2s
        manageJobsWithoutQueueName: false
        managedJobsNamespaceSelector:
          matchExpressions:
          - key: kubernetes.io/metadata.name
            operator: NotIn
            values:
            - kube-system
            - kueue-system
        metrics:
          bindAddress: ":8443"
          localQueueMetrics:
            enable: true
        multiKueue:
          dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-all-at-once
          gcInterval: 1m0s
          origin: multikueue
          workerLostTimeout: 15m0s
        namespace: kueue-system
        visibilityServer:
          bindPort: 8082
        waitForPodsReady:
          blockAdmission: false
          recoveryTimeout: 30m0s
          requeuingStrategy:
            backoffBaseSeconds: 60
            backoffMaxSeconds: 3600
            timestamp: Eviction
          timeout: 30m0s
        webhook:
          certDir: /tmp/k8s-webhook-server/serving-certs
          port: 9443
    "#]],
    );
}

#[test]
fn v1beta1_keeps_its_own_defaults() {
    check_load(
        "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n",
        &expect![[r#"
        apiVersion: config.kueue.x-k8s.io/v1beta2
        clientConnection:
          burst: 500
          qps: 300
        health:
          healthProbeBindAddress: ":8081"
        integrations:
          frameworks:
          - batch/job
        internalCertManagement:
          enable: true
          webhookSecretName: kueue-webhook-server-cert
          webhookServiceName: kueue-webhook-service
        kind: Configuration
        leaderElection:
          leaderElect: true
          leaseDuration: 15s
          renewDeadline: 10s
          resourceLock: leases
          resourceName: c1f6bfd2.kueue.x-k8s.io
          resourceNamespace: ""
          retryPeriod: 2s
        manageJobsWithoutQueueName: false
        managedJobsNamespaceSelector:
          matchExpressions:
          - key: kubernetes.io/metadata.name
            operator: NotIn
            values:
            - kube-system
            - kueue-system
        metrics:
          bindAddress: ":8443"
          localQueueMetrics:
            enable: true
        multiKueue:
          dispatcherName: kueue.x-k8s.io/multikueue-dispatcher-all-at-once
          gcInterval: 1m0s
          origin: multikueue
          workerLostTimeout: 15m0s
        namespace: kueue-system
        webhook:
          certDir: /tmp/k8s-webhook-server/serving-certs
          port: 9443
    "#]],
    );
}

#[test]
fn unknown_and_repeated_fields_are_refused() {
    check_load(
        "kind: Configuration\nnamespaces: x\nhealth:\n  liveness: y\ninvalid: 1\n",
        &expect![[r#"
        line 2: namespaces: Unknown field: did you mean "namespace"?
        line 4: health.liveness: Unknown field
        line 5: invalid: Unknown field
        => strict decoding error: unknown field "health.liveness", unknown field "invalid", unknown field "namespaces"
    "#]],
    );
    check_load(
        "namespace: a\nhealth: {}\nnamespace: b\nfoo: 1\n",
        &expect![[r#"
        line 3: namespace: Duplicate field: already set in line 1
        line 4: foo: Unknown field
        => strict decoding error: yaml: unmarshal errors:
          line 3: key "namespace" already set in map, unknown field "foo"
    "#]],
    );
    check_load(
        "{\"namespace\": \"a\", \"foo\": 1,\n\"namespace\": \"b\"}",
        &expect![[r#"
        line 1: foo: Unknown field
        line 2: namespace: Duplicate field: already set in line 1
        => strict decoding error: unknown field "foo", duplicate field "namespace"
    "#]],
    );
}

#[test]
fn only_the_two_versions_are_known() {
    check_load(
        "apiVersion: config.kueue.x-k8s.io/v1\nkind: Configuration\n",
        &expect![[r#"
        line 1: apiVersion: Unsupported value: "config.kueue.x-k8s.io/v1": supported values: "config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1"
        => line 1: apiVersion: Unsupported value: "config.kueue.x-k8s.io/v1": supported values: "config.kueue.x-k8s.io/v1beta2", "config.kueue.x-k8s.io/v1beta1"
    "#]],
    );
    check_load(
        "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Deployment\n",
        &expect![[r#"
        line 2: kind: Unsupported value: "Deployment": supported values: "Configuration"
        => line 2: kind: Unsupported value: "Deployment": supported values: "Configuration"
    "#]],
    );
    check_load(
        "apiVersion: 1\n",
        &expect![[r#"
        line 1: apiVersion: Invalid value: 1: must be a string
        => line 1: apiVersion: Invalid value: 1: must be a string
    "#]],
    );
    check_load(
        "just text\n",
        &expect![[r#"
        line 1: Invalid value: "just text": must be a mapping
        => line 1: Invalid value: "just text": must be a mapping
    "#]],
    );
}

#[test]
fn every_field_is_read_and_printed() {
    let configuration = check(EVERY_FIELD, "", "kueue-system", &|_| Ok(())).unwrap().configuration;
    let written = Document::parse(EVERY_FIELD).unwrap().root.to_value();
    let printed = Document::parse(&encode(&configuration)).unwrap().root.to_value();
    // Durations and quantities are printed in their canonical form.
    let canonical = |text: &str| match text {
        "1500ms" => "1.5s".to_owned(),
        "90s" => "1m30s".to_owned(),
        "2m" | "5m" | "1m" => format!("{text}0s"),
        "1h" | "24h" | "168h" => format!("{text}0m0s"),
        other => other.to_owned(),
    };
    assert_same(&written, &printed, &canonical, &Path::default());
}

fn assert_same(written: &Value, printed: &Value, canonical: &dyn Fn(&str) -> String, at: &Path) {
    match (written, printed) {
        (Value::Object(fields), Value::Object(others)) => {
            assert_eq!(fields.keys().collect::<Vec<_>>(), others.keys().collect::<Vec<_>>(), "{at}");
            for (name, value) in fields {
                assert_same(value, &others[name], canonical, &at.child(name));
            }
        }
        (Value::Array(items), Value::Array(others)) => {
            assert_eq!(items.len(), others.len(), "{at}");
            items.iter().zip(others).for_each(|(item, other)| assert_same(item, other, canonical, at));
        }
        (Value::String(text), Value::String(other)) => assert_eq!(canonical(text), *other, "{at}"),
        (Value::Number(_), Value::String(other)) => assert_eq!(written.to_string(), *other, "{at}"),
        _ => assert_eq!(written, printed, "{at}"),
    }
}

#[test]
fn the_lines_of_the_sample_are_found_again() {
    let mut wrong = EVERY_FIELD.replace("port: 9444", "port: x").replace("afterFinished: 1h", "afterFinished: -1h");
    wrong.push_str("extra: 1\n");
    let rejected = check(&wrong, "", "kueue-system", &|_| Ok(())).unwrap_err();
    let lines: Vec<&str> = wrong.lines().collect();
    let told: Vec<&str> = rejected.problems.iter().map(|p| lines[p.line.unwrap() as usize - 1].trim()).collect();
    assert_eq!(told, ["port: x", "afterFinished: -1h", "extra: 1"]);
}

/// Texts that mean something to YAML or to a field.
const SNIPPETS: &[&str] = &[
    "x", "-1", "5m", "yes", "~", "[", "{a: 1}", "&a b", "*a", "\t", "1e3", "'", "- ", "? ", "<<: *a", "!!int 5",
    "\u{e9}",
];

/// Which line changes, how, and what comes in.
fn edit() -> impl Strategy<Value = (usize, usize, &'static str)> {
    (0..EVERY_FIELD.lines().count(), 0..5_usize, proptest::sample::select(SNIPPETS))
}

fn edited(edits: &[(usize, usize, &str)]) -> String {
    let mut lines: Vec<String> = EVERY_FIELD.lines().map(str::to_owned).collect();
    for (at, kind, value) in edits {
        let at = at % lines.len().max(1);
        match kind {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => lines[at] = format!("{} {value}", lines[at].split(':').next().unwrap_or_default()),
            3 => lines[at] = format!("{}: {value}", lines[at].split(':').next().unwrap_or_default()),
            _ => lines[at] = lines[at].replacen("  ", value, 1),
        }
    }
    lines.join("\n")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_makes_us_panic(text in "[ -~\n\t\u{e9}]{0,200}") {
        let _ = check(&text, "", "kueue-system", &|_| Ok(()));
        let _ = check(&format!("{{{text}"), &text, "kueue-system", &|_| Ok(()));
    }

    #[test]
    fn what_is_accepted_prints_back_to_the_same(edits in proptest::collection::vec(edit(), 0..4)) {
        match check(&edited(&edits), "", "kueue-system", &|_| Ok(())) {
            Ok(checked) => {
                let again = check(&encode(&checked.configuration), "", "elsewhere", &|_| Ok(()));
                prop_assert_eq!(again.map(|again| again.configuration), Ok(checked.configuration));
            }
            Err(rejected) => prop_assert!(!rejected.problems.is_empty()),
        }
    }
}
