use expect_test::{Expect, expect};

use super::*;

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
